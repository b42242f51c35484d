CREATE TABLE `earning_days` (
	`program_id` text NOT NULL,
	`day` text NOT NULL,
	`partner_id` text NOT NULL,
	`currency` text NOT NULL,
	`commissions` integer NOT NULL,
	`millions` integer NOT NULL,
	`rest` integer NOT NULL,
	PRIMARY KEY(`program_id`, `day`, `partner_id`, `currency`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `list_days` (
	`program_id` text NOT NULL,
	`list` text NOT NULL,
	`day` text NOT NULL,
	`state` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`program_id`, `list`, `day`, `state`)
) WITHOUT ROWID;
--> statement-breakpoint
DROP INDEX `payments_partner`;
--> statement-breakpoint
CREATE INDEX `payments_partner` ON `payments` (`partner_id`,`outcome`) WHERE partner_id is not null;
--> statement-breakpoint
-- What overviews show; the days before are filled by the daily recount.
INSERT INTO `earning_days` (`program_id`, `day`, `partner_id`, `currency`, `commissions`, `millions`, `rest`)
	SELECT program_id, substr(created_at, 1, 10), partner_id, currency, count(*), sum(amount_cents / 1000000), sum(amount_cents % 1000000) FROM `commissions`
	WHERE status <> 'rejected' AND created_at >= date('now', '-40 days') GROUP BY 1, 2, 3, 4;
--> statement-breakpoint
INSERT INTO `list_days` (`program_id`, `list`, `day`, `state`, `count`)
	SELECT program_id, 'payments', substr(created_at, 1, 10), outcome, count(*) FROM `payments` WHERE outcome IS NOT NULL GROUP BY 1, 3, 4;
--> statement-breakpoint
CREATE TRIGGER `commissions_days_inserted` AFTER INSERT ON `commissions` WHEN NEW.status <> 'rejected' BEGIN INSERT INTO earning_days (program_id, day, partner_id, currency, commissions, millions, rest) VALUES (NEW.program_id, substr(NEW.created_at, 1, 10), NEW.partner_id, NEW.currency, 1, (NEW.amount_cents / 1000000), (NEW.amount_cents % 1000000)) ON CONFLICT (program_id, day, partner_id, currency) DO UPDATE SET commissions = commissions + excluded.commissions, millions = millions + excluded.millions, rest = rest + excluded.rest; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_days_moved` AFTER UPDATE OF `status`, `amount_cents`, `partner_id`, `currency`, `created_at` ON `commissions` WHEN (OLD.status = 'rejected') <> (NEW.status = 'rejected') OR (NEW.status <> 'rejected' AND (OLD.amount_cents IS NOT NEW.amount_cents OR OLD.partner_id IS NOT NEW.partner_id OR OLD.currency IS NOT NEW.currency OR substr(OLD.created_at, 1, 10) IS NOT substr(NEW.created_at, 1, 10))) BEGIN INSERT INTO earning_days (program_id, day, partner_id, currency, commissions, millions, rest) SELECT program_id, day, partner_id, currency, sum(n), sum(m), sum(r) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, OLD.partner_id AS partner_id, OLD.currency AS currency, -1 AS n, -(OLD.amount_cents / 1000000) AS m, -(OLD.amount_cents % 1000000) AS r WHERE OLD.status <> 'rejected' UNION ALL SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, NEW.partner_id AS partner_id, NEW.currency AS currency, 1 AS n, (NEW.amount_cents / 1000000) AS m, (NEW.amount_cents % 1000000) AS r WHERE NEW.status <> 'rejected') WHERE true GROUP BY 1, 2, 3, 4 ON CONFLICT (program_id, day, partner_id, currency) DO UPDATE SET commissions = commissions + excluded.commissions, millions = millions + excluded.millions, rest = rest + excluded.rest; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_days_deleted` AFTER DELETE ON `commissions` WHEN OLD.status <> 'rejected' BEGIN INSERT INTO earning_days (program_id, day, partner_id, currency, commissions, millions, rest) VALUES (OLD.program_id, substr(OLD.created_at, 1, 10), OLD.partner_id, OLD.currency, -1, -(OLD.amount_cents / 1000000), -(OLD.amount_cents % 1000000)) ON CONFLICT (program_id, day, partner_id, currency) DO UPDATE SET commissions = commissions + excluded.commissions, millions = millions + excluded.millions, rest = rest + excluded.rest; END;
--> statement-breakpoint
CREATE TRIGGER `payments_days_inserted` AFTER INSERT ON `payments` WHEN NEW.outcome IS NOT NULL BEGIN INSERT INTO list_days (program_id, list, day, state, count) VALUES (NEW.program_id, 'payments', substr(NEW.created_at, 1, 10), NEW.outcome, 1) ON CONFLICT (program_id, list, day, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_days_moved` AFTER UPDATE OF `outcome`, `created_at` ON `payments` WHEN OLD.outcome IS NOT NEW.outcome OR substr(OLD.created_at, 1, 10) IS NOT substr(NEW.created_at, 1, 10) BEGIN INSERT INTO list_days (program_id, list, day, state, count) SELECT OLD.program_id, 'payments', substr(OLD.created_at, 1, 10), OLD.outcome, -1 WHERE OLD.outcome IS NOT NULL UNION ALL SELECT NEW.program_id, 'payments', substr(NEW.created_at, 1, 10), NEW.outcome, 1 WHERE NEW.outcome IS NOT NULL ON CONFLICT (program_id, list, day, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_days_deleted` AFTER DELETE ON `payments` WHEN OLD.outcome IS NOT NULL BEGIN UPDATE list_days SET count = count - 1 WHERE program_id = OLD.program_id AND list = 'payments' AND day = substr(OLD.created_at, 1, 10) AND state = OLD.outcome; END;

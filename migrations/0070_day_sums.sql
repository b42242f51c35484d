DROP TRIGGER `commissions_days_inserted`;
--> statement-breakpoint
DROP TRIGGER `commissions_days_moved`;
--> statement-breakpoint
DROP TRIGGER `commissions_days_deleted`;
--> statement-breakpoint
DROP TRIGGER `payments_code_inserted`;
--> statement-breakpoint
DROP TRIGGER `payments_code_moved`;
--> statement-breakpoint
DROP TRIGGER `payments_code_deleted`;
--> statement-breakpoint
DROP TRIGGER `commissions_code_inserted`;
--> statement-breakpoint
DROP TRIGGER `commissions_code_moved`;
--> statement-breakpoint
DROP TRIGGER `commissions_code_deleted`;
--> statement-breakpoint
DROP TABLE `earning_days`;
--> statement-breakpoint
DROP TABLE `code_days`;
--> statement-breakpoint
-- Filled by the daily recount.
CREATE TABLE `earning_days` (
	`program_id` text NOT NULL,
	`day` text NOT NULL,
	`partner_id` text NOT NULL,
	`currency` text NOT NULL,
	`commissions` integer NOT NULL,
	`amount_cents` integer NOT NULL,
	PRIMARY KEY(`program_id`, `day`, `partner_id`, `currency`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `code_days` (
	`program_id` text NOT NULL,
	`day` text NOT NULL,
	`partner_id` text NOT NULL,
	`code_id` text NOT NULL,
	`currency` text NOT NULL,
	`sales` integer NOT NULL,
	`revenue_cents` integer NOT NULL,
	`earned_cents` integer NOT NULL,
	PRIMARY KEY(`program_id`, `day`, `partner_id`, `code_id`, `currency`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TRIGGER `commissions_days_inserted` AFTER INSERT ON `commissions` WHEN NEW.status <> 'rejected' BEGIN INSERT INTO earning_days (program_id, day, partner_id, currency, commissions, amount_cents) VALUES (NEW.program_id, substr(NEW.created_at, 1, 10), NEW.partner_id, NEW.currency, 1, NEW.amount_cents) ON CONFLICT (program_id, day, partner_id, currency) DO UPDATE SET commissions = commissions + excluded.commissions, amount_cents = amount_cents + excluded.amount_cents; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_days_moved` AFTER UPDATE OF `status`, `amount_cents`, `partner_id`, `currency`, `created_at` ON `commissions` WHEN (OLD.status = 'rejected') <> (NEW.status = 'rejected') OR (NEW.status <> 'rejected' AND (OLD.amount_cents IS NOT NEW.amount_cents OR OLD.partner_id IS NOT NEW.partner_id OR OLD.currency IS NOT NEW.currency OR substr(OLD.created_at, 1, 10) IS NOT substr(NEW.created_at, 1, 10))) BEGIN INSERT INTO earning_days (program_id, day, partner_id, currency, commissions, amount_cents) SELECT program_id, day, partner_id, currency, sum(n), sum(amount_cents) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, OLD.partner_id AS partner_id, OLD.currency AS currency, -1 AS n, -OLD.amount_cents AS amount_cents WHERE OLD.status <> 'rejected' UNION ALL SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, NEW.partner_id AS partner_id, NEW.currency AS currency, 1 AS n, NEW.amount_cents AS amount_cents WHERE NEW.status <> 'rejected') WHERE true GROUP BY 1, 2, 3, 4 ON CONFLICT (program_id, day, partner_id, currency) DO UPDATE SET commissions = commissions + excluded.commissions, amount_cents = amount_cents + excluded.amount_cents; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_days_deleted` AFTER DELETE ON `commissions` WHEN OLD.status <> 'rejected' BEGIN INSERT INTO earning_days (program_id, day, partner_id, currency, commissions, amount_cents) VALUES (OLD.program_id, substr(OLD.created_at, 1, 10), OLD.partner_id, OLD.currency, -1, -OLD.amount_cents) ON CONFLICT (program_id, day, partner_id, currency) DO UPDATE SET commissions = commissions + excluded.commissions, amount_cents = amount_cents + excluded.amount_cents; END;
--> statement-breakpoint
CREATE TRIGGER `payments_code_inserted` AFTER INSERT ON `payments` WHEN NEW.code_id IS NOT NULL BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, NEW.currency AS currency, 1 AS sales, (NEW.txn_amount_cents - NEW.adjusted_cents) AS revenue_cents, 0 AS earned_cents FROM partner_codes k WHERE k.id = NEW.code_id AND NEW.outcome = 'commission') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;
--> statement-breakpoint
CREATE TRIGGER `payments_code_moved` AFTER UPDATE OF `outcome`, `code_id`, `currency`, `txn_amount_cents`, `adjusted_cents`, `created_at` ON `payments` WHEN OLD.code_id IS NOT NULL OR NEW.code_id IS NOT NULL BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, OLD.currency AS currency, -1 AS sales, -(OLD.txn_amount_cents - OLD.adjusted_cents) AS revenue_cents, 0 AS earned_cents FROM partner_codes k WHERE k.id = OLD.code_id AND OLD.outcome = 'commission' UNION ALL SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, NEW.currency AS currency, 1 AS sales, (NEW.txn_amount_cents - NEW.adjusted_cents) AS revenue_cents, 0 AS earned_cents FROM partner_codes k WHERE k.id = NEW.code_id AND NEW.outcome = 'commission' UNION ALL SELECT c.program_id, substr(c.created_at, 1, 10), k.partner_id, k.id, c.currency, 0, 0, -c.amount_cents FROM partner_codes k CROSS JOIN commissions c INDEXED BY commissions_payment ON c.payment_id = OLD.id AND c.partner_id = k.partner_id WHERE k.id = OLD.code_id AND OLD.code_id IS NOT NEW.code_id AND c.status <> 'rejected' UNION ALL SELECT c.program_id, substr(c.created_at, 1, 10), k.partner_id, k.id, c.currency, 0, 0, c.amount_cents FROM partner_codes k CROSS JOIN commissions c INDEXED BY commissions_payment ON c.payment_id = NEW.id AND c.partner_id = k.partner_id WHERE k.id = NEW.code_id AND OLD.code_id IS NOT NEW.code_id AND c.status <> 'rejected') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;
--> statement-breakpoint
CREATE TRIGGER `payments_code_deleted` AFTER DELETE ON `payments` WHEN OLD.code_id IS NOT NULL BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, OLD.currency AS currency, -1 AS sales, -(OLD.txn_amount_cents - OLD.adjusted_cents) AS revenue_cents, 0 AS earned_cents FROM partner_codes k WHERE k.id = OLD.code_id AND OLD.outcome = 'commission') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_code_inserted` AFTER INSERT ON `commissions` WHEN NEW.payment_id IS NOT NULL AND NEW.status <> 'rejected' BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, NEW.currency AS currency, 0 AS sales, 0 AS revenue_cents, NEW.amount_cents AS earned_cents FROM payments p INDEXED BY payments_coded CROSS JOIN partner_codes k ON k.id = p.code_id AND k.partner_id = NEW.partner_id WHERE p.id = NEW.payment_id AND p.code_id IS NOT NULL AND NEW.status <> 'rejected') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_code_moved` AFTER UPDATE OF `status`, `amount_cents`, `partner_id`, `payment_id`, `currency`, `created_at` ON `commissions` WHEN (OLD.status = 'rejected') <> (NEW.status = 'rejected') OR (NEW.status <> 'rejected' AND (OLD.amount_cents IS NOT NEW.amount_cents OR OLD.partner_id IS NOT NEW.partner_id OR OLD.payment_id IS NOT NEW.payment_id OR OLD.currency IS NOT NEW.currency OR substr(OLD.created_at, 1, 10) IS NOT substr(NEW.created_at, 1, 10))) BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, OLD.currency AS currency, 0 AS sales, 0 AS revenue_cents, -OLD.amount_cents AS earned_cents FROM payments p INDEXED BY payments_coded CROSS JOIN partner_codes k ON k.id = p.code_id AND k.partner_id = OLD.partner_id WHERE p.id = OLD.payment_id AND p.code_id IS NOT NULL AND OLD.status <> 'rejected' UNION ALL SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, NEW.currency AS currency, 0 AS sales, 0 AS revenue_cents, NEW.amount_cents AS earned_cents FROM payments p INDEXED BY payments_coded CROSS JOIN partner_codes k ON k.id = p.code_id AND k.partner_id = NEW.partner_id WHERE p.id = NEW.payment_id AND p.code_id IS NOT NULL AND NEW.status <> 'rejected') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_code_deleted` AFTER DELETE ON `commissions` WHEN OLD.payment_id IS NOT NULL AND OLD.status <> 'rejected' BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, OLD.currency AS currency, 0 AS sales, 0 AS revenue_cents, -OLD.amount_cents AS earned_cents FROM payments p INDEXED BY payments_coded CROSS JOIN partner_codes k ON k.id = p.code_id AND k.partner_id = OLD.partner_id WHERE p.id = OLD.payment_id AND p.code_id IS NOT NULL AND OLD.status <> 'rejected') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;

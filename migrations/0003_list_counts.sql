CREATE TABLE `event_hours` (
	`program_id` text NOT NULL,
	`hour` text NOT NULL,
	`type` text NOT NULL,
	`count` integer NOT NULL,
	`minutes` text NOT NULL,
	PRIMARY KEY(`program_id`, `hour`, `type`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `list_counts` (
	`program_id` text NOT NULL,
	`list` text NOT NULL,
	`state` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`program_id`, `list`, `state`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `payments_outcome` ON `payments` (`program_id`,`outcome`,`id`);
--> statement-breakpoint
INSERT INTO `event_hours` (`program_id`, `hour`, `type`, `count`, `minutes`)
	SELECT program_id, hour, type, sum(n), json_group_object(minute, n)
	FROM (SELECT program_id, substr(created_at, 1, 13) AS hour, type, substr(created_at, 15, 2) AS minute, count(*) AS n FROM `events` GROUP BY 1, 2, 3, 4)
	GROUP BY 1, 2, 3;
--> statement-breakpoint
INSERT INTO `list_counts` (`program_id`, `list`, `state`, `count`)
	SELECT program_id, 'partners', status, count(*) FROM `partners` GROUP BY 1, 3
	UNION ALL SELECT program_id, 'payments', ifnull(outcome, ''), count(*) FROM `payments` GROUP BY 1, 3
	UNION ALL SELECT program_id, 'commissions', status, count(*) FROM `commissions` GROUP BY 1, 3
	UNION ALL SELECT program_id, 'payouts', status, count(*) FROM `payouts` GROUP BY 1, 3;
--> statement-breakpoint
CREATE TRIGGER `event_hours_inserted` AFTER INSERT ON `event_hours` BEGIN INSERT INTO event_counts (program_id, type, day, count) VALUES (new.program_id, new.type, substr(new.hour, 1, 10), new.count) ON CONFLICT (program_id, type, day) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `event_hours_updated` AFTER UPDATE OF `count` ON `event_hours` BEGIN INSERT INTO event_counts (program_id, type, day, count) VALUES (new.program_id, new.type, substr(new.hour, 1, 10), new.count - old.count) ON CONFLICT (program_id, type, day) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `partners_inserted` AFTER INSERT ON `partners` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'partners', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `partners_moved` AFTER UPDATE OF `status` ON `partners` WHEN old.status IS NOT new.status BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'partners', old.status, -1), (new.program_id, 'partners', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `partners_deleted` AFTER DELETE ON `partners` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'partners' AND state = old.status; END;
--> statement-breakpoint
CREATE TRIGGER `payments_inserted` AFTER INSERT ON `payments` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'payments', ifnull(new.outcome, ''), 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_moved` AFTER UPDATE OF `outcome` ON `payments` WHEN old.outcome IS NOT new.outcome BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'payments', ifnull(old.outcome, ''), -1), (new.program_id, 'payments', ifnull(new.outcome, ''), 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_deleted` AFTER DELETE ON `payments` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'payments' AND state = ifnull(old.outcome, ''); END;
--> statement-breakpoint
CREATE TRIGGER `commissions_inserted` AFTER INSERT ON `commissions` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'commissions', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_moved` AFTER UPDATE OF `status` ON `commissions` WHEN old.status IS NOT new.status BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'commissions', old.status, -1), (new.program_id, 'commissions', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_deleted` AFTER DELETE ON `commissions` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'commissions' AND state = old.status; END;
--> statement-breakpoint
CREATE TRIGGER `payouts_inserted` AFTER INSERT ON `payouts` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'payouts', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payouts_moved` AFTER UPDATE OF `status` ON `payouts` WHEN old.status IS NOT new.status BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'payouts', old.status, -1), (new.program_id, 'payouts', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payouts_deleted` AFTER DELETE ON `payouts` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'payouts' AND state = old.status; END;

INSERT INTO `list_counts` (`program_id`, `list`, `state`, `count`)
	SELECT program_id, 'flagged', status, count(*) FROM `commissions` INDEXED BY `commissions_flagged` WHERE flagged = 1 GROUP BY 1, 3;
--> statement-breakpoint
CREATE TRIGGER `commissions_flagged_inserted` AFTER INSERT ON `commissions` WHEN new.flagged = 1 BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'flagged', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_flagged_moved` AFTER UPDATE OF `flagged`, `status` ON `commissions` WHEN (old.flagged = 1 OR new.flagged = 1) AND (old.flagged IS NOT new.flagged OR old.status IS NOT new.status) BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'flagged', old.status, -old.flagged), (new.program_id, 'flagged', new.status, new.flagged) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_flagged_deleted` AFTER DELETE ON `commissions` WHEN old.flagged = 1 BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'flagged' AND state = old.status; END;

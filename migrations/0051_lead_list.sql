CREATE INDEX `payments_leads` ON `payments` (`program_id`,`id`) WHERE event = 'lead_created';
--> statement-breakpoint
INSERT INTO `list_counts` (`program_id`, `list`, `state`, `count`)
	SELECT program_id, 'leads', ifnull(outcome, ''), count(*) FROM `payments` INDEXED BY `payments_leads` WHERE event = 'lead_created' GROUP BY 1, 3;
--> statement-breakpoint
CREATE TRIGGER `payments_lead_inserted` AFTER INSERT ON `payments` WHEN new.event = 'lead_created' BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'leads', ifnull(new.outcome, ''), 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_lead_moved` AFTER UPDATE OF `outcome`, `event` ON `payments` WHEN (old.event = 'lead_created' OR new.event = 'lead_created') AND (old.event IS NOT new.event OR old.outcome IS NOT new.outcome) BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'leads', ifnull(old.outcome, ''), -(old.event = 'lead_created')), (new.program_id, 'leads', ifnull(new.outcome, ''), new.event = 'lead_created') ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_lead_deleted` AFTER DELETE ON `payments` WHEN old.event = 'lead_created' BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'leads' AND state = ifnull(old.outcome, ''); END;
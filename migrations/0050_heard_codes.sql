INSERT OR IGNORE INTO `waiting_events` (`provider`, `subject`, `program_id`)
SELECT DISTINCT `provider`, 'code-of:' || `ref_key`, `program_id` FROM `facts`
WHERE `kind` = 'code' AND `provider` = 'provider_b';
--> statement-breakpoint
INSERT OR IGNORE INTO `waiting_events` (`provider`, `subject`, `program_id`)
SELECT DISTINCT `provider`, 'code-of:' || `subject`, `program_id` FROM `fact_subjects`
WHERE `scope` = 'coded' AND `provider` = 'provider_b';
--> statement-breakpoint
UPDATE OR IGNORE `provider_events` SET `event_id` = 'discount:' || substr(`event_id`, 6)
WHERE `provider` = 'provider_a' AND `event_type` = 'code' AND `event_id` >= 'code:di_' AND `event_id` < 'code:di`';
--> statement-breakpoint
INSERT OR IGNORE INTO `waiting_events` (`provider`, `subject`, `program_id`)
SELECT DISTINCT f.`provider`, 'code:' || c.`value`, f.`program_id` FROM `facts` f, json_each(f.`data`, '$.codes') c
WHERE f.`provider` = 'provider_a' AND f.`kind` IN ('payment', 'code_use') AND c.`value` >= 'di_' AND c.`value` < 'di`'
AND NOT EXISTS (SELECT 1 FROM `facts` n WHERE n.`program_id` = f.`program_id` AND n.`provider` = f.`provider`
AND n.`kind` = 'code' AND n.`ref_key` = c.`value`);

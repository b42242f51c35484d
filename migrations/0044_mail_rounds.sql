CREATE TABLE `mail_rounds` (
	`program_id` text NOT NULL,
	`kind` text NOT NULL,
	`next_at` text DEFAULT '' NOT NULL,
	`since` text,
	`until` text,
	`position` text,
	PRIMARY KEY(`program_id`, `kind`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `mail_rounds_due` ON `mail_rounds` (`kind`,`next_at`,`program_id`);
--> statement-breakpoint
CREATE TRIGGER `programs_mail_rounds` AFTER INSERT ON `programs` BEGIN INSERT INTO mail_rounds (program_id, kind) VALUES (new.id, 'weekly_summary'), (new.id, 'commissions_earned') ON CONFLICT (program_id, kind) DO NOTHING; END;
--> statement-breakpoint
INSERT INTO mail_rounds (program_id, kind) SELECT id, 'weekly_summary' FROM programs UNION ALL SELECT id, 'commissions_earned' FROM programs;

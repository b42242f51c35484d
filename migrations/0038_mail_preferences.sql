CREATE TABLE `mail_preferences` (
	`program_id` text NOT NULL,
	`reader` text NOT NULL,
	`kind` text NOT NULL,
	`off_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `reader`, `kind`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `mails` ADD `partner_id` text;--> statement-breakpoint
ALTER TABLE `mails` ADD `subject_id` text;--> statement-breakpoint
CREATE UNIQUE INDEX `mails_once` ON `mails` (`program_id`,`kind`,`subject_id`) WHERE subject_id is not null;--> statement-breakpoint
CREATE INDEX `mails_failed` ON `mails` (`program_id`,`id`) WHERE status in ('refused', 'failed', 'unknown');--> statement-breakpoint
CREATE INDEX `mails_partner` ON `mails` (`partner_id`,`id`) WHERE partner_id is not null;
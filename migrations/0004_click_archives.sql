CREATE TABLE `click_archive_days` (
	`program_id` text NOT NULL,
	`day` text NOT NULL,
	PRIMARY KEY(`program_id`, `day`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `click_archives` (
	`program_id` text NOT NULL,
	`last_id` text NOT NULL,
	`first_id` text NOT NULL,
	`day` text NOT NULL,
	`count` integer NOT NULL,
	`key` text NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `last_id`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `event_counts` ADD `archived` integer DEFAULT 0 NOT NULL;
CREATE TABLE `click_rollups` (
	`program_id` text PRIMARY KEY NOT NULL,
	`until` text NOT NULL,
	`next_at` text
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `events` ADD `uncounted` integer;
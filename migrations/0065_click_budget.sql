CREATE TABLE `size_warnings` (
	`percent` integer PRIMARY KEY NOT NULL,
	`warned_at` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `click_drops` ADD `mailed` integer;--> statement-breakpoint
CREATE INDEX `click_drops_unmailed` ON `click_drops` (`program_id`,`day`) WHERE reason = 'over_budget' and mailed is null;
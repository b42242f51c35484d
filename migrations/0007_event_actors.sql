ALTER TABLE `events` ADD `actor` text;--> statement-breakpoint
ALTER TABLE `events` ADD `changes` text;
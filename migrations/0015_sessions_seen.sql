ALTER TABLE `sessions` ADD `last_seen_at` text;--> statement-breakpoint
ALTER TABLE `sessions` ADD `device` text;--> statement-breakpoint
CREATE INDEX `sessions_email` ON `sessions` (`email`);--> statement-breakpoint
ALTER TABLE `sign_in_links` ADD `failed_at` text;
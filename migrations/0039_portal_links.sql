CREATE TABLE `portal_links` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`email` text NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL,
	`used_at` text,
	`session_hash` text,
	`framed` integer,
	`device` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `portal_links_session` ON `portal_links` (`session_hash`);--> statement-breakpoint
CREATE INDEX `portal_links_email` ON `portal_links` (`email`);--> statement-breakpoint
CREATE INDEX `portal_links_partner` ON `portal_links` (`partner_id`);
CREATE TABLE `used_stamps` (
	`expires_at` text NOT NULL,
	`nonce` text NOT NULL,
	`program_id` text NOT NULL,
	PRIMARY KEY(`expires_at`, `nonce`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `application_drafts` ADD `network` text;--> statement-breakpoint
ALTER TABLE `application_drafts` ADD `site` text;
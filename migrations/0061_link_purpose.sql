ALTER TABLE `sessions` ADD `proven_as` text;--> statement-breakpoint
ALTER TABLE `sign_in_links` ADD `purpose` text DEFAULT 'invitation' NOT NULL;
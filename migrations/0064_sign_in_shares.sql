ALTER TABLE `sign_in_links` ADD `network` text;--> statement-breakpoint
ALTER TABLE `sign_in_links` ADD `site` text;
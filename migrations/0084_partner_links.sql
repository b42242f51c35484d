ALTER TABLE `programs` ADD `partner_links` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `partner_slugs_partner` ON `partner_slugs` (`partner_id`);
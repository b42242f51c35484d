ALTER TABLE `programs` ADD `brand_color` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `time_zone` text DEFAULT 'UTC' NOT NULL;
ALTER TABLE `commissions` ADD `review_reasons` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `programs` ADD `live_only` integer;
ALTER TABLE `provider_connections` ADD `reading` text;--> statement-breakpoint
ALTER TABLE `provider_connections` ADD `next_read_at` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX `provider_connections_due` ON `provider_connections` (`next_read_at`) WHERE api_key is not null;
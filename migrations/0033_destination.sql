ALTER TABLE `provider_connections` ADD `destination` text;--> statement-breakpoint
ALTER TABLE `provider_connections` ADD `last_test_event_at` text;
CREATE TABLE `missed_deliveries` (
	`endpoint_id` text NOT NULL,
	`event_id` text NOT NULL,
	PRIMARY KEY(`endpoint_id`, `event_id`)
) WITHOUT ROWID;
--> statement-breakpoint
DROP INDEX `deliveries_due`;--> statement-breakpoint
CREATE INDEX `deliveries_lane` ON `deliveries` (`endpoint_id`,`status`,`next_attempt_at`) WHERE status in ('pending', 'delivering');--> statement-breakpoint
CREATE INDEX `provider_events_body` ON `provider_events` (`received_at`) WHERE body is not null;
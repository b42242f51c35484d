CREATE TABLE `claimed_subscriptions` (
	`subscription_id` text NOT NULL,
	`program_id` text NOT NULL,
	PRIMARY KEY(`subscription_id`, `program_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `waiting_events` (
	`provider` text NOT NULL,
	`subject` text NOT NULL,
	`program_id` text NOT NULL,
	PRIMARY KEY(`provider`, `subject`, `program_id`)
) WITHOUT ROWID;
--> statement-breakpoint
DROP INDEX `payments_subscription`;--> statement-breakpoint
DROP INDEX `payments_customer`;--> statement-breakpoint
CREATE INDEX `payments_of_b` ON `payments` (`provider_transaction_id`,`program_id`) WHERE provider = 'provider_b';--> statement-breakpoint
CREATE INDEX `payments_by_subscription` ON `payments` (`subscription_id`,`program_id`) WHERE subscription_id is not null;--> statement-breakpoint
CREATE INDEX `payments_by_customer` ON `payments` (`customer_id`,`program_id`) WHERE customer_id is not null;--> statement-breakpoint
ALTER TABLE `programs` ADD `provider_a_refusals` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `provider_b_refusals` text;--> statement-breakpoint
-- What waits since less than the vendor's own retries last; its payment may still come.
INSERT OR IGNORE INTO `waiting_events` (`provider`, `subject`, `program_id`) SELECT DISTINCT s.provider, s.subject, s.program_id FROM provider_events e CROSS JOIN fact_subjects s ON s.program_id = e.program_id AND s.provider = e.provider AND s.fact_id >= e.event_id || '#' AND s.fact_id < e.event_id || '$' AND s.scope IN ('payment', 'subscription') WHERE e.body IS NOT NULL AND e.received_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days') AND e.provider = 'provider_b' AND e.outcome = 'waiting';

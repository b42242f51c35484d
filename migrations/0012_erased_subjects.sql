CREATE TABLE `erased_subjects` (
	`program_id` text NOT NULL,
	`provider` text NOT NULL,
	`scope` text NOT NULL,
	`subject` text NOT NULL,
	`erased_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `provider`, `scope`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `idempotency_keys` ADD `names_customer` integer;--> statement-breakpoint
CREATE INDEX `idempotency_keys_customer` ON `idempotency_keys` (`program_id`) WHERE names_customer = 1;--> statement-breakpoint
CREATE INDEX `provider_events_ignored` ON `provider_events` (`received_at`) WHERE body is not null and ignored is not null;
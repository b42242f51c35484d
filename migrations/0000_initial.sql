CREATE TABLE `click_batches` (
	`id` text PRIMARY KEY NOT NULL,
	`flushed_at` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `click_counts` (
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`day` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`program_id`, `partner_id`, `day`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `click_drops` (
	`program_id` text NOT NULL,
	`day` text NOT NULL,
	`reason` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`program_id`, `day`, `reason`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `click_objects` (
	`name` text PRIMARY KEY NOT NULL,
	`created_at` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `commissions` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`payment_id` text,
	`flow_id` text,
	`payout_id` text,
	`kind` text NOT NULL,
	`source_commission_id` text,
	`status` text NOT NULL,
	`flagged` integer DEFAULT false NOT NULL,
	`review_reason` text,
	`dismissed_reasons` text DEFAULT '' NOT NULL,
	`rejected_reason` text,
	`amount_cents` integer NOT NULL,
	`txn_amount_cents` integer NOT NULL,
	`currency` text NOT NULL,
	`provider` text,
	`provider_transaction_id` text,
	`subscription_id` text,
	`customer_email` text,
	`rate` text NOT NULL,
	`note` text,
	`created_at` text NOT NULL,
	`approved_at` text,
	`paid_at` text,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`partner_id`) REFERENCES `partners`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`payment_id`) REFERENCES `payments`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`payout_id`) REFERENCES `payouts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `commissions_list` ON `commissions` (`program_id`,`id`);--> statement-breakpoint
CREATE INDEX `commissions_status` ON `commissions` (`program_id`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `commissions_partner` ON `commissions` (`partner_id`,`id`);--> statement-breakpoint
CREATE INDEX `commissions_payment` ON `commissions` (`payment_id`);--> statement-breakpoint
CREATE INDEX `commissions_payout` ON `commissions` (`payout_id`) WHERE payout_id is not null;--> statement-breakpoint
CREATE INDEX `commissions_payable` ON `commissions` (`program_id`,`partner_id`,`currency`,`created_at`) WHERE status = 'approved' and payout_id is null;--> statement-breakpoint
CREATE UNIQUE INDEX `commissions_one_sale` ON `commissions` (`payment_id`,`partner_id`) WHERE kind = 'sale';--> statement-breakpoint
CREATE TABLE `commit_guards` (
	`lost_race` integer NOT NULL,
	CONSTRAINT "lost_race" CHECK(lost_race = 0)
);
--> statement-breakpoint
CREATE TABLE `deliveries` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`endpoint_id` text NOT NULL,
	`event_id` text NOT NULL,
	`event` text NOT NULL,
	`status` text DEFAULT 'pending' NOT NULL,
	`attempt_count` integer DEFAULT 0 NOT NULL,
	`next_attempt_at` text,
	`claimed_until` text,
	`created_at` text NOT NULL,
	`completed_at` text,
	FOREIGN KEY (`endpoint_id`) REFERENCES `webhook_endpoints`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `deliveries_endpoint` ON `deliveries` (`endpoint_id`,`id`);--> statement-breakpoint
CREATE INDEX `deliveries_event` ON `deliveries` (`event_id`);--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`next_attempt_at`) WHERE status in ('pending', 'delivering');--> statement-breakpoint
CREATE TABLE `delivery_attempts` (
	`delivery_id` text NOT NULL,
	`number` integer NOT NULL,
	`started_at` text NOT NULL,
	`duration_ms` integer NOT NULL,
	`status_code` integer,
	`error` text,
	`response_excerpt` text,
	PRIMARY KEY(`delivery_id`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `event_counts` (
	`program_id` text NOT NULL,
	`type` text NOT NULL,
	`day` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`program_id`, `type`, `day`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `events` (
	`program_id` text NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`payload` text NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `events_type` ON `events` (`program_id`,`type`,`id`) WHERE type <> 'click';--> statement-breakpoint
CREATE TABLE `fact_subjects` (
	`program_id` text NOT NULL,
	`provider` text NOT NULL,
	`scope` text NOT NULL,
	`subject` text NOT NULL,
	`fact_id` text NOT NULL,
	PRIMARY KEY(`program_id`, `provider`, `scope`, `subject`, `fact_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `fact_subjects_fact` ON `fact_subjects` (`program_id`,`provider`,`fact_id`);--> statement-breakpoint
CREATE TABLE `facts` (
	`program_id` text NOT NULL,
	`provider` text NOT NULL,
	`fact_id` text NOT NULL,
	`kind` text NOT NULL,
	`occurred_at` text NOT NULL,
	`ref_key` text,
	`data` text NOT NULL,
	PRIMARY KEY(`program_id`, `provider`, `fact_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `flows` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`name` text NOT NULL,
	`event` text DEFAULT 'transaction_completed' NOT NULL,
	`action_type` text NOT NULL,
	`action_value` real NOT NULL,
	`conditions` text NOT NULL,
	`priority` real DEFAULT 0 NOT NULL,
	`active` integer DEFAULT true NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `flows_order` ON `flows` (`program_id`,`priority`);--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`program_id` text NOT NULL,
	`key` text NOT NULL,
	`request_hash` text NOT NULL,
	`claimed_by` text NOT NULL,
	`status_code` integer,
	`body` text,
	`created_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `idempotency_keys_age` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE TABLE `messages` (
	`event_id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`event` text NOT NULL,
	`body` text NOT NULL,
	`created_at` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `partner_slugs` (
	`program_id` text NOT NULL,
	`slug_key` text NOT NULL,
	`partner_id` text NOT NULL,
	PRIMARY KEY(`program_id`, `slug_key`),
	FOREIGN KEY (`partner_id`) REFERENCES `partners`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `partners` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`email` text NOT NULL,
	`first_name` text,
	`last_name` text,
	`slug` text NOT NULL,
	`status` text DEFAULT 'invited' NOT NULL,
	`commission_pct` real,
	`payout_method` text,
	`payout_email` text,
	`provider_a_account_id` text,
	`metadata` text,
	`search_text` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `partners_list` ON `partners` (`program_id`,`id`);--> statement-breakpoint
CREATE INDEX `partners_status` ON `partners` (`program_id`,`status`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `partners_email` ON `partners` (`program_id`,lower("email"));--> statement-breakpoint
CREATE TABLE `payments` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`provider` text NOT NULL,
	`provider_transaction_id` text NOT NULL,
	`outcome` text,
	`partner_id` text,
	`ref` text,
	`currency` text NOT NULL,
	`txn_amount_cents` integer NOT NULL,
	`gross_cents` integer NOT NULL,
	`adjusted_cents` integer DEFAULT 0 NOT NULL,
	`customer_email` text,
	`customer_id` text,
	`subscription_id` text,
	`decision` text,
	`facts_revision` integer DEFAULT 0 NOT NULL,
	`settled_revision` integer DEFAULT 0 NOT NULL,
	`erased_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `payments_transaction` ON `payments` (`program_id`,`provider`,`provider_transaction_id`);--> statement-breakpoint
CREATE INDEX `payments_list` ON `payments` (`program_id`,`id`);--> statement-breakpoint
CREATE INDEX `payments_subscription` ON `payments` (`program_id`,`subscription_id`) WHERE subscription_id is not null;--> statement-breakpoint
CREATE INDEX `payments_customer` ON `payments` (`program_id`,`customer_id`) WHERE customer_id is not null;--> statement-breakpoint
CREATE INDEX `payments_partner` ON `payments` (`partner_id`,`outcome`);--> statement-breakpoint
CREATE INDEX `payments_unsettled` ON `payments` (`updated_at`) WHERE settled_revision < facts_revision;--> statement-breakpoint
CREATE TABLE `payouts` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`amount_cents` integer NOT NULL,
	`currency` text NOT NULL,
	`status` text NOT NULL,
	`method` text,
	`period_start` text,
	`period_end` text NOT NULL,
	`due_at` text NOT NULL,
	`commission_count` integer NOT NULL,
	`reference` text,
	`failure_code` text,
	`failure_message` text,
	`attempt` integer DEFAULT 0 NOT NULL,
	`attempt_params` text,
	`attempt_started_at` text,
	`reconcile_at` text,
	`created_at` text NOT NULL,
	`paid_at` text,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`partner_id`) REFERENCES `partners`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `payouts_list` ON `payouts` (`program_id`,`id`);--> statement-breakpoint
CREATE INDEX `payouts_status` ON `payouts` (`program_id`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `payouts_partner` ON `payouts` (`partner_id`,`id`);--> statement-breakpoint
CREATE INDEX `payouts_processing` ON `payouts` (`reconcile_at`) WHERE status = 'processing';--> statement-breakpoint
CREATE TABLE `programs` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`owner_email` text NOT NULL,
	`domain` text,
	`currency` text DEFAULT 'USD' NOT NULL,
	`default_commission_pct` real DEFAULT 20 NOT NULL,
	`payout_term` text DEFAULT 'NET-15' NOT NULL,
	`min_payout_cents` integer DEFAULT 0 NOT NULL,
	`cookie_days` integer DEFAULT 60 NOT NULL,
	`attribution` text DEFAULT 'last' NOT NULL,
	`auto_approve_days` integer,
	`shard` integer DEFAULT 0 NOT NULL,
	`api_key_hash` text NOT NULL,
	`api_key_last4` text NOT NULL,
	`api_key_created_at` text NOT NULL,
	`api_key_last_used_at` text,
	`provider_a_webhook_secret` text,
	`provider_a_webhook_secret_previous` text,
	`provider_a_webhook_secret_previous_until` text,
	`provider_b_webhook_secret` text,
	`provider_b_webhook_secret_previous` text,
	`provider_b_webhook_secret_previous_until` text,
	`provider_a_api_key` text,
	`provider_a_last_event_at` text,
	`provider_b_last_event_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `programs_api_key_hash_unique` ON `programs` (`api_key_hash`);--> statement-breakpoint
CREATE TABLE `provider_events` (
	`program_id` text NOT NULL,
	`provider` text NOT NULL,
	`event_id` text NOT NULL,
	`event_type` text NOT NULL,
	`occurred_at` text NOT NULL,
	`received_at` text NOT NULL,
	`recorded_by` text NOT NULL,
	`outcome` text,
	`ignored` text,
	`audit_event_id` text,
	`body` text,
	PRIMARY KEY(`program_id`, `provider`, `event_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `provider_events_open` ON `provider_events` (`received_at`) WHERE audit_event_id is null;--> statement-breakpoint
CREATE TABLE `sessions` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`audience` text NOT NULL,
	`email` text NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `sessions_program` ON `sessions` (`program_id`,`audience`);--> statement-breakpoint
CREATE INDEX `sessions_partner` ON `sessions` (`partner_id`);--> statement-breakpoint
CREATE TABLE `sign_in_links` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`audience` text NOT NULL,
	`email` text NOT NULL,
	`program_id` text,
	`partner_id` text,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL,
	`used_at` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `sign_in_links_email` ON `sign_in_links` (`email`,`created_at`);--> statement-breakpoint
CREATE TABLE `webhook_endpoints` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`url` text NOT NULL,
	`secret` text NOT NULL,
	`secret_previous` text,
	`secret_previous_until` text,
	`events` text NOT NULL,
	`description` text,
	`active` integer DEFAULT true NOT NULL,
	`failing_since` text,
	`failure_count` integer DEFAULT 0 NOT NULL,
	`disabled_at` text,
	`deleted_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `webhook_endpoints_program` ON `webhook_endpoints` (`program_id`,`id`) WHERE deleted_at is null;
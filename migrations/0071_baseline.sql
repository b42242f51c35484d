CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`name` text NOT NULL,
	`scopes` text NOT NULL,
	`hash` text NOT NULL,
	`last4` text NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` text,
	`last_used_at` text,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);
--> statement-breakpoint
CREATE INDEX `api_keys_program` ON `api_keys` (`program_id`,`id`);
--> statement-breakpoint
CREATE TABLE `application_drafts` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`email` text NOT NULL,
	`name` text NOT NULL,
	`website` text,
	`answers` text NOT NULL,
	`terms_version` integer,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL,
	`mailbox` text NOT NULL,
	`network` text,
	`site` text,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `application_drafts_email` ON `application_drafts` (lower("email"),`created_at`);
--> statement-breakpoint
CREATE INDEX `application_drafts_mailbox` ON `application_drafts` (`mailbox`,`created_at`);
--> statement-breakpoint
CREATE INDEX `application_drafts_program` ON `application_drafts` (`program_id`,`created_at`);
--> statement-breakpoint
CREATE INDEX `application_drafts_past` ON `application_drafts` (`expires_at`);
--> statement-breakpoint
CREATE TABLE `applications` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`status` text NOT NULL,
	`email` text,
	`name` text,
	`website` text,
	`answers` text,
	`terms_version` integer,
	`consented_at` text,
	`partner_id` text,
	`note` text,
	`token_hash` text NOT NULL,
	`created_at` text NOT NULL,
	`decided_at` text,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `applications_token_hash_unique` ON `applications` (`token_hash`);
--> statement-breakpoint
CREATE INDEX `applications_list` ON `applications` (`program_id`,`id`);
--> statement-breakpoint
CREATE INDEX `applications_status` ON `applications` (`program_id`,`status`,`id`);
--> statement-breakpoint
CREATE INDEX `applications_email` ON `applications` (`program_id`,lower("email"));
--> statement-breakpoint
CREATE UNIQUE INDEX `applications_waiting` ON `applications` (`program_id`,lower("email")) WHERE status = 'pending';
--> statement-breakpoint
CREATE INDEX `applications_declined` ON `applications` (`decided_at`) WHERE status = 'declined' and email is not null;
--> statement-breakpoint
CREATE TABLE `balances` (
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`currency` text NOT NULL,
	`account` text NOT NULL,
	`amount_cents` integer NOT NULL,
	`commissions` integer NOT NULL,
	`entries` integer,
	PRIMARY KEY(`program_id`, `partner_id`, `currency`, `account`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `claimed_subscriptions` (
	`subscription_id` text NOT NULL,
	`program_id` text NOT NULL,
	PRIMARY KEY(`subscription_id`, `program_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `claims` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`status` text NOT NULL,
	`order_id` text,
	`day` text,
	`email_domain` text,
	`payment_id` text,
	`note` text,
	`created_at` text NOT NULL,
	`decided_at` text,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`partner_id`) REFERENCES `partners`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `claims_list` ON `claims` (`program_id`,`id`);
--> statement-breakpoint
CREATE INDEX `claims_status` ON `claims` (`program_id`,`status`,`id`);
--> statement-breakpoint
CREATE INDEX `claims_partner` ON `claims` (`partner_id`,`id`);
--> statement-breakpoint
CREATE INDEX `claims_open` ON `claims` (`partner_id`,`status`);
--> statement-breakpoint
CREATE UNIQUE INDEX `claims_order` ON `claims` (`partner_id`,`order_id`) WHERE order_id is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `claims_day` ON `claims` (`partner_id`,`day`,`email_domain`) WHERE day is not null;
--> statement-breakpoint
CREATE INDEX `claims_payment` ON `claims` (`payment_id`) WHERE payment_id is not null;
--> statement-breakpoint
CREATE TABLE `click_archive_days` (
	`program_id` text NOT NULL,
	`day` text NOT NULL,
	PRIMARY KEY(`program_id`, `day`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `click_archives` (
	`program_id` text NOT NULL,
	`last_id` text NOT NULL,
	`first_id` text NOT NULL,
	`day` text NOT NULL,
	`count` integer NOT NULL,
	`key` text NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `last_id`)
) WITHOUT ROWID;
--> statement-breakpoint
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
	`mailed` integer,
	PRIMARY KEY(`program_id`, `day`, `reason`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `click_drops_unmailed` ON `click_drops` (`program_id`,`day`) WHERE reason = 'over_budget' and mailed is null;
--> statement-breakpoint
CREATE TABLE `click_objects` (
	`name` text PRIMARY KEY NOT NULL,
	`created_at` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `click_rollups` (
	`program_id` text PRIMARY KEY NOT NULL,
	`until` text NOT NULL,
	`next_at` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `click_sources` (
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`day` text NOT NULL,
	`kind` text NOT NULL,
	`value` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`program_id`, `partner_id`, `day`, `kind`, `value`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `code_days` (
	`program_id` text NOT NULL,
	`day` text NOT NULL,
	`partner_id` text NOT NULL,
	`code_id` text NOT NULL,
	`currency` text NOT NULL,
	`sales` integer NOT NULL,
	`revenue_cents` integer NOT NULL,
	`earned_cents` integer NOT NULL,
	PRIMARY KEY(`program_id`, `day`, `partner_id`, `code_id`, `currency`)
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
	`review_reasons` text DEFAULT '' NOT NULL,
	`event_id` text,
	`seen_at` text DEFAULT '' NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`partner_id`) REFERENCES `partners`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`payment_id`) REFERENCES `payments`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`payout_id`) REFERENCES `payouts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `commissions_list` ON `commissions` (`program_id`,`id`);
--> statement-breakpoint
CREATE INDEX `commissions_status` ON `commissions` (`program_id`,`status`,`id`);
--> statement-breakpoint
CREATE INDEX `commissions_flagged` ON `commissions` (`program_id`,`id`) WHERE flagged = 1;
--> statement-breakpoint
CREATE INDEX `commissions_partner` ON `commissions` (`partner_id`,`id`);
--> statement-breakpoint
CREATE INDEX `commissions_payment` ON `commissions` (`payment_id`);
--> statement-breakpoint
CREATE INDEX `commissions_payout` ON `commissions` (`payout_id`) WHERE payout_id is not null;
--> statement-breakpoint
CREATE INDEX `commissions_payable` ON `commissions` (`program_id`,`partner_id`,`currency`,`created_at`) WHERE status = 'approved' and payout_id is null;
--> statement-breakpoint
CREATE INDEX `commissions_waiting` ON `commissions` (`partner_id`,`flagged`,`currency`,case when seen_at > created_at then seen_at else created_at end) WHERE status = 'pending';
--> statement-breakpoint
CREATE UNIQUE INDEX `commissions_one_sale` ON `commissions` (`payment_id`,`partner_id`) WHERE kind = 'sale';
--> statement-breakpoint
CREATE TABLE `commit_guards` (
	`lost_race` integer NOT NULL,
	CONSTRAINT "lost_race" CHECK(lost_race = 0)
);
--> statement-breakpoint
CREATE TABLE `decisions` (
	`program_id` text NOT NULL,
	`subject` text NOT NULL,
	`id` text NOT NULL,
	`partner_id` text NOT NULL,
	`commission_id` text NOT NULL,
	`commission_kind` text NOT NULL,
	`kind` text NOT NULL,
	`detail` text,
	`actor` text,
	`created_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `subject`, `id`)
) WITHOUT ROWID;
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
CREATE INDEX `deliveries_endpoint` ON `deliveries` (`endpoint_id`,`id`);
--> statement-breakpoint
CREATE INDEX `deliveries_event` ON `deliveries` (`event_id`);
--> statement-breakpoint
CREATE INDEX `deliveries_lane` ON `deliveries` (`endpoint_id`,`status`,`next_attempt_at`) WHERE status in ('pending', 'delivering');
--> statement-breakpoint
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
CREATE TABLE `differences` (
	`program_id` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`expected` text NOT NULL,
	`found` text NOT NULL,
	`found_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `kind`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `earning_days` (
	`program_id` text NOT NULL,
	`day` text NOT NULL,
	`partner_id` text NOT NULL,
	`currency` text NOT NULL,
	`commissions` integer NOT NULL,
	`amount_cents` integer NOT NULL,
	PRIMARY KEY(`program_id`, `day`, `partner_id`, `currency`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `entries` (
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`id` text NOT NULL,
	`currency` text NOT NULL,
	`commission_id` text NOT NULL,
	`payout_id` text,
	`from_account` text NOT NULL,
	`to_account` text NOT NULL,
	`amount_cents` integer NOT NULL,
	`posted_at` text NOT NULL,
	`event_id` text,
	PRIMARY KEY(`program_id`, `partner_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `entries_commission` ON `entries` (`commission_id`);
--> statement-breakpoint
CREATE TABLE `erased_subjects` (
	`program_id` text NOT NULL,
	`provider` text NOT NULL,
	`scope` text NOT NULL,
	`subject` text NOT NULL,
	`erased_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `provider`, `scope`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `event_counts` (
	`program_id` text NOT NULL,
	`type` text NOT NULL,
	`day` text NOT NULL,
	`count` integer NOT NULL,
	`archived` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`program_id`, `type`, `day`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `event_hours` (
	`program_id` text NOT NULL,
	`hour` text NOT NULL,
	`type` text NOT NULL,
	`count` integer NOT NULL,
	`minutes` text NOT NULL,
	PRIMARY KEY(`program_id`, `hour`, `type`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `events` (
	`program_id` text NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`payload` text NOT NULL,
	`created_at` text NOT NULL,
	`actor` text,
	`changes` text,
	`uncounted` integer,
	PRIMARY KEY(`program_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `events_type` ON `events` (`program_id`,`type`,`id`) WHERE type <> 'click';
--> statement-breakpoint
CREATE TABLE `fact_subjects` (
	`program_id` text NOT NULL,
	`provider` text NOT NULL,
	`scope` text NOT NULL,
	`subject` text NOT NULL,
	`fact_id` text NOT NULL,
	PRIMARY KEY(`program_id`, `provider`, `scope`, `subject`, `fact_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `fact_subjects_fact` ON `fact_subjects` (`program_id`,`provider`,`fact_id`);
--> statement-breakpoint
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
CREATE INDEX `facts_of_code` ON `facts` (`program_id`,`provider`,`ref_key`,`occurred_at`) WHERE kind = 'code';
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
CREATE INDEX `flows_order` ON `flows` (`program_id`,`priority`);
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`program_id` text NOT NULL,
	`key` text NOT NULL,
	`request_hash` text NOT NULL,
	`claimed_by` text NOT NULL,
	`status_code` integer,
	`body` text,
	`created_at` text NOT NULL,
	`names_customer` integer,
	`scopes` text,
	PRIMARY KEY(`program_id`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `idempotency_keys_age` ON `idempotency_keys` (`created_at`);
--> statement-breakpoint
CREATE INDEX `idempotency_keys_customer` ON `idempotency_keys` (`program_id`) WHERE names_customer = 1;
--> statement-breakpoint
CREATE TABLE `job_runs` (
	`job` text PRIMARY KEY NOT NULL,
	`position` text NOT NULL,
	`more` integer NOT NULL,
	`failed` integer NOT NULL,
	`began_at` text NOT NULL,
	`finished_at` text,
	`next_at` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `kept_texts` (
	`program_id` text NOT NULL,
	`id` text NOT NULL,
	`text` text NOT NULL,
	`kept_until` text NOT NULL,
	PRIMARY KEY(`program_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `kept_texts_age` ON `kept_texts` (`kept_until`);
--> statement-breakpoint
CREATE TABLE `list_counts` (
	`program_id` text NOT NULL,
	`list` text NOT NULL,
	`state` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`program_id`, `list`, `state`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `list_days` (
	`program_id` text NOT NULL,
	`list` text NOT NULL,
	`day` text NOT NULL,
	`state` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`program_id`, `list`, `day`, `state`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `mail_preferences` (
	`program_id` text NOT NULL,
	`reader` text NOT NULL,
	`kind` text NOT NULL,
	`off_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `reader`, `kind`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `mail_rounds` (
	`program_id` text NOT NULL,
	`kind` text NOT NULL,
	`next_at` text DEFAULT '' NOT NULL,
	`since` text,
	`until` text,
	`position` text,
	PRIMARY KEY(`program_id`, `kind`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `mail_rounds_due` ON `mail_rounds` (`kind`,`next_at`,`program_id`);
--> statement-breakpoint
CREATE TABLE `mails` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`kind` text NOT NULL,
	`recipient` text NOT NULL,
	`content` text,
	`status` text NOT NULL,
	`attempt_count` integer NOT NULL,
	`next_attempt_at` text,
	`claimed_until` text,
	`sender` text,
	`error` text,
	`refused_at` text,
	`created_at` text NOT NULL,
	`completed_at` text,
	`partner_id` text,
	`subject_id` text,
	`unsure` integer
);
--> statement-breakpoint
CREATE INDEX `mails_open` ON `mails` (`program_id`,`next_attempt_at`) WHERE status in ('pending', 'sending');
--> statement-breakpoint
CREATE INDEX `mails_refused` ON `mails` (`program_id`,`refused_at`) WHERE refused_at is not null;
--> statement-breakpoint
CREATE INDEX `mails_past` ON `mails` (`created_at`);
--> statement-breakpoint
CREATE INDEX `mails_to_strangers` ON `mails` (`program_id`,`created_at`) WHERE kind in ('invitation', 'member_invited');
--> statement-breakpoint
CREATE UNIQUE INDEX `mails_once` ON `mails` (`program_id`,`kind`,`subject_id`) WHERE subject_id is not null;
--> statement-breakpoint
CREATE INDEX `mails_failed` ON `mails` (`program_id`,`id`) WHERE status in ('refused', 'failed', 'unknown');
--> statement-breakpoint
CREATE INDEX `mails_partner` ON `mails` (`partner_id`,`id`) WHERE partner_id is not null;
--> statement-breakpoint
CREATE TABLE `messages` (
	`event_id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`event` text NOT NULL,
	`body` text NOT NULL,
	`created_at` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `missed_deliveries` (
	`endpoint_id` text NOT NULL,
	`event_id` text NOT NULL,
	PRIMARY KEY(`endpoint_id`, `event_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `partner_codes` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`provider` text NOT NULL,
	`code` text NOT NULL,
	`code_key` text NOT NULL,
	`provider_code_id` text,
	`created_at` text NOT NULL,
	`ended_at` text,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`partner_id`) REFERENCES `partners`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `partner_codes_partner` ON `partner_codes` (`partner_id`,`id`) WHERE ended_at is null;
--> statement-breakpoint
CREATE INDEX `partner_codes_key` ON `partner_codes` (`program_id`,`provider`,`code_key`);
--> statement-breakpoint
CREATE INDEX `partner_codes_vendor` ON `partner_codes` (`program_id`,`provider`,`provider_code_id`) WHERE provider_code_id is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `partner_codes_held_key` ON `partner_codes` (`program_id`,`provider`,`code_key`) WHERE ended_at is null;
--> statement-breakpoint
CREATE UNIQUE INDEX `partner_codes_held_vendor` ON `partner_codes` (`program_id`,`provider`,`provider_code_id`) WHERE ended_at is null and provider_code_id is not null;
--> statement-breakpoint
CREATE TABLE `partner_grams` (
	`program_id` text NOT NULL,
	`gram` text NOT NULL,
	`partner_id` text NOT NULL,
	PRIMARY KEY(`program_id`, `gram`, `partner_id`)
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
	`accounts_forgotten` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `partners_list` ON `partners` (`program_id`,`id`);
--> statement-breakpoint
CREATE INDEX `partners_status` ON `partners` (`program_id`,`status`,`id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `partners_email` ON `partners` (`program_id`,lower("email"));
--> statement-breakpoint
CREATE INDEX `partners_address` ON `partners` (lower("email"));
--> statement-breakpoint
CREATE INDEX `partners_unfolded` ON `partners` (`program_id`,`id`) WHERE substr(search_text, 1, 1) <> char(10);
--> statement-breakpoint
CREATE TABLE `passkeys` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`email` text NOT NULL,
	`credential_id` text NOT NULL,
	`public_key` text NOT NULL,
	`sign_count` integer NOT NULL,
	`challenged_at` integer NOT NULL,
	`device` text,
	`created_at` text NOT NULL,
	`last_used_at` text,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `passkeys_credential` ON `passkeys` (`credential_id`);
--> statement-breakpoint
CREATE INDEX `passkeys_email` ON `passkeys` (`email`);
--> statement-breakpoint
CREATE TABLE `past_rules` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`valid_until` text NOT NULL,
	`rules` text NOT NULL,
	`applies_from` text
);
--> statement-breakpoint
CREATE INDEX `past_rules_time` ON `past_rules` (`program_id`,`partner_id`,`valid_until`);
--> statement-breakpoint
CREATE INDEX `past_rules_seq` ON `past_rules` (`program_id`,`partner_id`,`seq`);
--> statement-breakpoint
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
	`rules_seen` integer DEFAULT 0 NOT NULL,
	`code_id` text,
	`event` text DEFAULT 'transaction_completed' NOT NULL,
	`seen_at` text DEFAULT '' NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `payments_transaction` ON `payments` (`program_id`,`provider`,`provider_transaction_id`);
--> statement-breakpoint
CREATE INDEX `payments_list` ON `payments` (`program_id`,`id`);
--> statement-breakpoint
CREATE INDEX `payments_outcome` ON `payments` (`program_id`,`outcome`,`id`);
--> statement-breakpoint
CREATE INDEX `payments_of_b` ON `payments` (`provider_transaction_id`,`program_id`) WHERE provider = 'provider_b';
--> statement-breakpoint
CREATE INDEX `payments_by_subscription` ON `payments` (`subscription_id`,`program_id`) WHERE subscription_id is not null;
--> statement-breakpoint
CREATE INDEX `payments_by_customer` ON `payments` (`customer_id`,`program_id`) WHERE customer_id is not null;
--> statement-breakpoint
CREATE INDEX `payments_by_email` ON `payments` (lower("customer_email"),`program_id`) WHERE customer_email is not null and (partner_id is null or coalesce(decision ->> 'ref_source', '') <> 'payment');
--> statement-breakpoint
CREATE INDEX `payments_by_named_email` ON `payments` (lower("customer_email"),`program_id`) WHERE customer_email is not null and not (partner_id is null or coalesce(decision ->> 'ref_source', '') <> 'payment');
--> statement-breakpoint
CREATE INDEX `payments_by_domain` ON `payments` (`program_id`,lower(substr("customer_email", instr("customer_email", '@') + 1)),`created_at`) WHERE customer_email is not null and (partner_id is null or coalesce(outcome, '') = 'partner_deactivated');
--> statement-breakpoint
CREATE INDEX `payments_leads` ON `payments` (`program_id`,`id`) WHERE event = 'lead_created';
--> statement-breakpoint
CREATE INDEX `payments_partner` ON `payments` (`partner_id`,`outcome`) WHERE partner_id is not null;
--> statement-breakpoint
CREATE INDEX `payments_coded` ON `payments` (`id`,`code_id`) WHERE code_id is not null;
--> statement-breakpoint
CREATE INDEX `payments_sold` ON `payments` (`partner_id`,`customer_id`,`provider`,`created_at`,`id`) WHERE customer_id is not null and coalesce(outcome, '') = 'commission' and event <> 'lead_created';
--> statement-breakpoint
CREATE INDEX `payments_code` ON `payments` (`code_id`) WHERE code_id is not null;
--> statement-breakpoint
CREATE INDEX `payments_unsettled` ON `payments` (`updated_at`) WHERE settled_revision < facts_revision;
--> statement-breakpoint
CREATE TABLE `payout_runs` (
	`program_id` text NOT NULL,
	`period_end` text NOT NULL,
	`finished_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `period_end`)
) WITHOUT ROWID;
--> statement-breakpoint
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
	`recipient_sealed` text NOT NULL,
	`recipient` text,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`partner_id`) REFERENCES `partners`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `payouts_list` ON `payouts` (`program_id`,`id`);
--> statement-breakpoint
CREATE INDEX `payouts_status` ON `payouts` (`program_id`,`status`,`id`);
--> statement-breakpoint
CREATE INDEX `payouts_partner` ON `payouts` (`partner_id`,`id`);
--> statement-breakpoint
CREATE INDEX `payouts_processing` ON `payouts` (`reconcile_at`) WHERE status = 'processing';
--> statement-breakpoint
CREATE INDEX `payouts_without_details` ON `payouts` (`partner_id`,`id`) WHERE status = 'pending' and recipient is null and (method is null or method in ('wallet', 'provider_a'));
--> statement-breakpoint
CREATE TABLE `portal_links` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`email` text NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL,
	`used_at` text,
	`session_hash` text,
	`framed` integer,
	`device` text,
	`made_by` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `portal_links_session` ON `portal_links` (`session_hash`);
--> statement-breakpoint
CREATE INDEX `portal_links_email` ON `portal_links` (`email`);
--> statement-breakpoint
CREATE INDEX `portal_links_partner` ON `portal_links` (`partner_id`);
--> statement-breakpoint
CREATE TABLE `program_members` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `program_members_email` ON `program_members` (`program_id`,lower("email"));
--> statement-breakpoint
CREATE INDEX `program_members_address` ON `program_members` (lower("email"));
--> statement-breakpoint
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
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`live_only` integer DEFAULT true NOT NULL,
	`code_precedence` text DEFAULT 'link' NOT NULL,
	`brand_color` text,
	`time_zone` text DEFAULT 'UTC' NOT NULL,
	`applications` text DEFAULT 'off' NOT NULL,
	`slug` text,
	`questions` text,
	`terms` text,
	`terms_version` integer DEFAULT 0 NOT NULL,
	`sale_amounts` text DEFAULT 'shown' NOT NULL,
	`assets` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `programs_api_key_hash_unique` ON `programs` (`api_key_hash`);
--> statement-breakpoint
CREATE UNIQUE INDEX `programs_slug` ON `programs` (`slug`);
--> statement-breakpoint
CREATE TABLE `provider_connections` (
	`program_id` text NOT NULL,
	`provider` text NOT NULL,
	`webhook_secret` text,
	`webhook_secret_previous` text,
	`webhook_secret_previous_until` text,
	`api_key` text,
	`last_event_at` text,
	`refusals` text,
	`seen_types` text,
	`reading` text,
	`next_read_at` text DEFAULT '' NOT NULL,
	`destination` text,
	`last_test_event_at` text,
	`last_connected_event_at` text,
	PRIMARY KEY(`program_id`, `provider`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `provider_connections_due` ON `provider_connections` (`next_read_at`) WHERE api_key is not null;
--> statement-breakpoint
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
CREATE INDEX `provider_events_open` ON `provider_events` (`received_at`) WHERE audit_event_id is null;
--> statement-breakpoint
CREATE INDEX `provider_events_body` ON `provider_events` (`received_at`) WHERE body is not null;
--> statement-breakpoint
CREATE TABLE `reconciliations` (
	`program_id` text PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL,
	`began_at` text NOT NULL,
	`finished_at` text,
	`reconciled_at` text,
	`mailed_at` text,
	`event_id` text NOT NULL,
	`position` text NOT NULL,
	`deliveries_left` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `rule_applications` (
	`seq` integer NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`source` text NOT NULL,
	`marked_id` text NOT NULL,
	`last_id` text NOT NULL,
	`applies_from` text NOT NULL,
	PRIMARY KEY(`program_id`, `seq`)
);
--> statement-breakpoint
CREATE TABLE `sale_days` (
	`program_id` text NOT NULL,
	`day` text NOT NULL,
	`partner_id` text NOT NULL,
	`leads` integer NOT NULL,
	`sales` integer NOT NULL,
	`first_sales` integer NOT NULL,
	PRIMARY KEY(`program_id`, `day`, `partner_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sessions` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`audience` text NOT NULL,
	`email` text NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL,
	`last_seen_at` text,
	`device` text,
	`proven_as` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `sessions_program` ON `sessions` (`program_id`,`audience`);
--> statement-breakpoint
CREATE INDEX `sessions_partner` ON `sessions` (`partner_id`);
--> statement-breakpoint
CREATE INDEX `sessions_email` ON `sessions` (`email`);
--> statement-breakpoint
CREATE TABLE `sign_in_links` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`audience` text NOT NULL,
	`email` text NOT NULL,
	`program_id` text,
	`partner_id` text,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL,
	`used_at` text,
	`failed_at` text,
	`return_to` text,
	`purpose` text DEFAULT 'invitation' NOT NULL,
	`network` text,
	`site` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `sign_in_links_email` ON `sign_in_links` (`email`,`created_at`);
--> statement-breakpoint
CREATE TABLE `size_warnings` (
	`percent` integer PRIMARY KEY NOT NULL,
	`warned_at` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `used_stamps` (
	`expires_at` text NOT NULL,
	`nonce` text NOT NULL,
	`program_id` text NOT NULL,
	PRIMARY KEY(`expires_at`, `nonce`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `waiting_events` (
	`provider` text NOT NULL,
	`subject` text NOT NULL,
	`program_id` text NOT NULL,
	PRIMARY KEY(`provider`, `subject`, `program_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `waiting_events_of_program` ON `waiting_events` (`program_id`,`provider`,`subject`);
--> statement-breakpoint
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
--> statement-breakpoint
CREATE TRIGGER `event_hours_inserted` AFTER INSERT ON `event_hours` BEGIN INSERT INTO event_counts (program_id, type, day, count) VALUES (new.program_id, new.type, substr(new.hour, 1, 10), new.count) ON CONFLICT (program_id, type, day) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `event_hours_updated` AFTER UPDATE OF `count` ON `event_hours` BEGIN INSERT INTO event_counts (program_id, type, day, count) VALUES (new.program_id, new.type, substr(new.hour, 1, 10), new.count - old.count) ON CONFLICT (program_id, type, day) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `partners_inserted` AFTER INSERT ON `partners` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'partners', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `partners_moved` AFTER UPDATE OF `status` ON `partners` WHEN old.status IS NOT new.status BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'partners', old.status, -1), (new.program_id, 'partners', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `partners_deleted` AFTER DELETE ON `partners` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'partners' AND state = old.status; END;
--> statement-breakpoint
CREATE TRIGGER `payments_inserted` AFTER INSERT ON `payments` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'payments', ifnull(new.outcome, ''), 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_moved` AFTER UPDATE OF `outcome` ON `payments` WHEN old.outcome IS NOT new.outcome BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'payments', ifnull(old.outcome, ''), -1), (new.program_id, 'payments', ifnull(new.outcome, ''), 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_deleted` AFTER DELETE ON `payments` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'payments' AND state = ifnull(old.outcome, ''); END;
--> statement-breakpoint
CREATE TRIGGER `commissions_inserted` AFTER INSERT ON `commissions` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'commissions', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_moved` AFTER UPDATE OF `status` ON `commissions` WHEN old.status IS NOT new.status BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'commissions', old.status, -1), (new.program_id, 'commissions', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_deleted` AFTER DELETE ON `commissions` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'commissions' AND state = old.status; END;
--> statement-breakpoint
CREATE TRIGGER `payouts_inserted` AFTER INSERT ON `payouts` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'payouts', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payouts_moved` AFTER UPDATE OF `status` ON `payouts` WHEN old.status IS NOT new.status BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'payouts', old.status, -1), (new.program_id, 'payouts', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payouts_deleted` AFTER DELETE ON `payouts` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'payouts' AND state = old.status; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_journal_deleted` AFTER DELETE ON `commissions` BEGIN INSERT INTO postings (program_id, partner_id, currency, commission_id, payout_id, from_account, to_account, amount_cents, commissions, posted_at) SELECT OLD.program_id, OLD.partner_id, OLD.currency, OLD.id, OLD.payout_id, iif(OLD.status = 'pending', 'pending', iif(OLD.status = 'paid', 'paid', iif(OLD.status = 'approved', iif(OLD.payout_id IS NULL, 'payable', 'in_payout'), iif(OLD.kind = 'clawback' AND OLD.amount_cents < 0, 'forgiven', 'expense')))), 'expense', OLD.amount_cents, 1, OLD.updated_at WHERE iif(OLD.status = 'pending', 'pending', iif(OLD.status = 'paid', 'paid', iif(OLD.status = 'approved', iif(OLD.payout_id IS NULL, 'payable', 'in_payout'), iif(OLD.kind = 'clawback' AND OLD.amount_cents < 0, 'forgiven', 'expense')))) <> 'expense'; END;
--> statement-breakpoint
CREATE TRIGGER `entries_deleted` BEFORE DELETE ON `entries` BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `entries_updated` BEFORE UPDATE ON `entries` BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_made` AFTER INSERT ON `flows` WHEN NEW.active = 1 BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (NEW.program_id, '', NEW.created_at, json_object('id', NEW.id, 'name', NEW.name, 'action_type', NEW.action_type, 'action_value', NEW.action_value, 'conditions', json(NEW.conditions), 'priority', NEW.priority, 'active', json('false'), 'created_at', NEW.created_at)); END;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_changed` AFTER UPDATE OF `name`, `action_type`, `action_value`, `conditions`, `priority`, `active` ON `flows` WHEN OLD.name IS NOT NEW.name OR OLD.action_type IS NOT NEW.action_type OR OLD.action_value IS NOT NEW.action_value OR OLD.conditions IS NOT NEW.conditions OR OLD.priority IS NOT NEW.priority OR OLD.active IS NOT NEW.active BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, '', NEW.updated_at, json_object('id', OLD.id, 'name', OLD.name, 'action_type', OLD.action_type, 'action_value', OLD.action_value, 'conditions', json(OLD.conditions), 'priority', OLD.priority, 'active', json(iif(OLD.active, 'true', 'false')), 'created_at', OLD.created_at)); END;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_deleted` AFTER DELETE ON `flows` WHEN OLD.active = 1 BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, '', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), json_object('id', OLD.id, 'name', OLD.name, 'action_type', OLD.action_type, 'action_value', OLD.action_value, 'conditions', json(OLD.conditions), 'priority', OLD.priority, 'active', json('true'), 'created_at', OLD.created_at)); END;
--> statement-breakpoint
CREATE TRIGGER `commissions_flagged_inserted` AFTER INSERT ON `commissions` WHEN new.flagged = 1 BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'flagged', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_flagged_moved` AFTER UPDATE OF `flagged`, `status` ON `commissions` WHEN (old.flagged = 1 OR new.flagged = 1) AND (old.flagged IS NOT new.flagged OR old.status IS NOT new.status) BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'flagged', old.status, -old.flagged), (new.program_id, 'flagged', new.status, new.flagged) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_flagged_deleted` AFTER DELETE ON `commissions` WHEN old.flagged = 1 BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'flagged' AND state = old.status; END;
--> statement-breakpoint
CREATE VIEW `postings` AS SELECT program_id, partner_id, currency, commission_id, payout_id, from_account, to_account, amount_cents, 0 AS commissions, posted_at, event_id FROM entries;
--> statement-breakpoint
CREATE TRIGGER `postings_entered` INSTEAD OF INSERT ON `postings` WHEN NEW.amount_cents <> 0 BEGIN INSERT INTO entries (program_id, partner_id, id, currency, commission_id, payout_id, from_account, to_account, amount_cents, posted_at, event_id) SELECT NEW.program_id, NEW.partner_id, 'ent_' || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> 45) & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> 40) & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> 35) & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> 30) & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> 25) & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> 20) & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> 15) & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> 10) & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> 5) & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> 0) & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1) || substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + (random() & 31), 1), NEW.currency, NEW.commission_id, NEW.payout_id, iif(NEW.amount_cents > 0, NEW.from_account, NEW.to_account), iif(NEW.amount_cents > 0, NEW.to_account, NEW.from_account), abs(NEW.amount_cents), NEW.posted_at, NEW.event_id FROM (SELECT CAST(strftime('%s', NEW.posted_at) AS INTEGER) * 1000 + CAST(substr(NEW.posted_at, 21, 3) AS INTEGER) AS ms); END;
--> statement-breakpoint
CREATE TRIGGER `commissions_journal_inserted` AFTER INSERT ON `commissions` BEGIN INSERT INTO postings (program_id, partner_id, currency, commission_id, payout_id, from_account, to_account, amount_cents, commissions, posted_at, event_id) SELECT NEW.program_id, NEW.partner_id, NEW.currency, NEW.id, NEW.payout_id, 'expense', iif(NEW.status = 'pending', 'pending', iif(NEW.status = 'paid', 'paid', iif(NEW.status = 'approved', iif(NEW.payout_id IS NULL, 'payable', 'in_payout'), iif(NEW.kind = 'clawback' AND NEW.amount_cents < 0, 'forgiven', 'expense')))), NEW.amount_cents, 1, NEW.updated_at, NEW.event_id WHERE iif(NEW.status = 'pending', 'pending', iif(NEW.status = 'paid', 'paid', iif(NEW.status = 'approved', iif(NEW.payout_id IS NULL, 'payable', 'in_payout'), iif(NEW.kind = 'clawback' AND NEW.amount_cents < 0, 'forgiven', 'expense')))) <> 'expense'; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_journal_changed` AFTER UPDATE OF `status`, `payout_id`, `amount_cents`, `partner_id`, `currency` ON `commissions` WHEN (OLD.status IS NOT NEW.status OR OLD.payout_id IS NOT NEW.payout_id OR OLD.amount_cents IS NOT NEW.amount_cents OR OLD.partner_id IS NOT NEW.partner_id OR OLD.currency IS NOT NEW.currency) BEGIN INSERT INTO postings (program_id, partner_id, currency, commission_id, payout_id, from_account, to_account, amount_cents, commissions, posted_at, event_id) SELECT OLD.program_id, OLD.partner_id, OLD.currency, OLD.id, ifnull(NEW.payout_id, OLD.payout_id), iif(OLD.status = 'pending', 'pending', iif(OLD.status = 'paid', 'paid', iif(OLD.status = 'approved', iif(OLD.payout_id IS NULL, 'payable', 'in_payout'), iif(OLD.kind = 'clawback' AND OLD.amount_cents < 0, 'forgiven', 'expense')))), iif(OLD.partner_id = NEW.partner_id AND OLD.currency = NEW.currency, iif(NEW.status = 'pending', 'pending', iif(NEW.status = 'paid', 'paid', iif(NEW.status = 'approved', iif(NEW.payout_id IS NULL, 'payable', 'in_payout'), iif(NEW.kind = 'clawback' AND NEW.amount_cents < 0, 'forgiven', 'expense')))), 'expense'), OLD.amount_cents, 1, NEW.updated_at, iif(NEW.event_id IS NOT OLD.event_id, NEW.event_id, NULL) WHERE iif(OLD.status = 'pending', 'pending', iif(OLD.status = 'paid', 'paid', iif(OLD.status = 'approved', iif(OLD.payout_id IS NULL, 'payable', 'in_payout'), iif(OLD.kind = 'clawback' AND OLD.amount_cents < 0, 'forgiven', 'expense')))) <> 'expense' AND NOT (OLD.partner_id = NEW.partner_id AND OLD.currency = NEW.currency AND iif(OLD.status = 'pending', 'pending', iif(OLD.status = 'paid', 'paid', iif(OLD.status = 'approved', iif(OLD.payout_id IS NULL, 'payable', 'in_payout'), iif(OLD.kind = 'clawback' AND OLD.amount_cents < 0, 'forgiven', 'expense')))) = iif(NEW.status = 'pending', 'pending', iif(NEW.status = 'paid', 'paid', iif(NEW.status = 'approved', iif(NEW.payout_id IS NULL, 'payable', 'in_payout'), iif(NEW.kind = 'clawback' AND NEW.amount_cents < 0, 'forgiven', 'expense'))))) UNION ALL SELECT NEW.program_id, NEW.partner_id, NEW.currency, NEW.id, ifnull(NEW.payout_id, OLD.payout_id), 'expense', iif(NEW.status = 'pending', 'pending', iif(NEW.status = 'paid', 'paid', iif(NEW.status = 'approved', iif(NEW.payout_id IS NULL, 'payable', 'in_payout'), iif(NEW.kind = 'clawback' AND NEW.amount_cents < 0, 'forgiven', 'expense')))), NEW.amount_cents - iif(OLD.partner_id = NEW.partner_id AND OLD.currency = NEW.currency AND iif(OLD.status = 'pending', 'pending', iif(OLD.status = 'paid', 'paid', iif(OLD.status = 'approved', iif(OLD.payout_id IS NULL, 'payable', 'in_payout'), iif(OLD.kind = 'clawback' AND OLD.amount_cents < 0, 'forgiven', 'expense')))) <> 'expense', OLD.amount_cents, 0), iif(OLD.partner_id = NEW.partner_id AND OLD.currency = NEW.currency AND iif(OLD.status = 'pending', 'pending', iif(OLD.status = 'paid', 'paid', iif(OLD.status = 'approved', iif(OLD.payout_id IS NULL, 'payable', 'in_payout'), iif(OLD.kind = 'clawback' AND OLD.amount_cents < 0, 'forgiven', 'expense')))) <> 'expense', 0, 1), NEW.updated_at, iif(NEW.event_id IS NOT OLD.event_id, NEW.event_id, NULL) WHERE iif(NEW.status = 'pending', 'pending', iif(NEW.status = 'paid', 'paid', iif(NEW.status = 'approved', iif(NEW.payout_id IS NULL, 'payable', 'in_payout'), iif(NEW.kind = 'clawback' AND NEW.amount_cents < 0, 'forgiven', 'expense')))) <> 'expense'; END;
--> statement-breakpoint
CREATE TRIGGER `payments_days_inserted` AFTER INSERT ON `payments` WHEN NEW.outcome IS NOT NULL BEGIN INSERT INTO list_days (program_id, list, day, state, count) VALUES (NEW.program_id, 'payments', substr(NEW.created_at, 1, 10), NEW.outcome, 1) ON CONFLICT (program_id, list, day, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_days_moved` AFTER UPDATE OF `outcome`, `created_at` ON `payments` WHEN OLD.outcome IS NOT NEW.outcome OR substr(OLD.created_at, 1, 10) IS NOT substr(NEW.created_at, 1, 10) BEGIN INSERT INTO list_days (program_id, list, day, state, count) SELECT OLD.program_id, 'payments', substr(OLD.created_at, 1, 10), OLD.outcome, -1 WHERE OLD.outcome IS NOT NULL UNION ALL SELECT NEW.program_id, 'payments', substr(NEW.created_at, 1, 10), NEW.outcome, 1 WHERE NEW.outcome IS NOT NULL ON CONFLICT (program_id, list, day, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_days_deleted` AFTER DELETE ON `payments` WHEN OLD.outcome IS NOT NULL BEGIN UPDATE list_days SET count = count - 1 WHERE program_id = OLD.program_id AND list = 'payments' AND day = substr(OLD.created_at, 1, 10) AND state = OLD.outcome; END;
--> statement-breakpoint
CREATE TRIGGER `partners_grams_added` AFTER UPDATE OF `search_text` ON `partners` WHEN OLD.search_text IS NOT NEW.search_text BEGIN INSERT INTO partner_grams (program_id, gram, partner_id) SELECT DISTINCT NEW.program_id, substr(NEW.search_text, n.key + 1, 3), NEW.id FROM json_each('[' || rtrim(replace(hex(zeroblob(length(NEW.search_text))), '00', '0,'), ',') || ']') n WHERE true ON CONFLICT DO NOTHING; END;
--> statement-breakpoint
CREATE TRIGGER `partners_grams_removed` AFTER UPDATE OF `search_text` ON `partners` WHEN OLD.search_text IS NOT NEW.search_text BEGIN DELETE FROM partner_grams WHERE program_id = OLD.program_id AND partner_id = OLD.id AND gram IN (SELECT substr(OLD.search_text, n.key + 1, 3) FROM json_each('[' || rtrim(replace(hex(zeroblob(length(OLD.search_text))), '00', '0,'), ',') || ']') n) AND gram NOT IN (SELECT substr(NEW.search_text, n.key + 1, 3) FROM json_each('[' || rtrim(replace(hex(zeroblob(length(NEW.search_text))), '00', '0,'), ',') || ']') n); END;
--> statement-breakpoint
CREATE TRIGGER `partners_grams_deleted` AFTER DELETE ON `partners` BEGIN DELETE FROM partner_grams WHERE program_id = OLD.program_id AND partner_id = OLD.id AND gram IN (SELECT substr(OLD.search_text, n.key + 1, 3) FROM json_each('[' || rtrim(replace(hex(zeroblob(length(OLD.search_text))), '00', '0,'), ',') || ']') n); END;
--> statement-breakpoint
CREATE TRIGGER `postings_balanced` INSTEAD OF INSERT ON `postings` WHEN NEW.amount_cents <> 0 OR NEW.commissions <> 0 BEGIN INSERT INTO balances (program_id, partner_id, currency, account, amount_cents, commissions, entries) SELECT NEW.program_id, holder.value, NEW.currency, side.value, iif(side.key = 0, -1, 1) * NEW.amount_cents, iif(side.key = 0, -1, 1) * NEW.commissions, iif(holder.value = '', NULL, NEW.amount_cents <> 0 AND side.value = iif(iif(NEW.amount_cents > 0, NEW.to_account, NEW.from_account) = 'expense', iif(NEW.amount_cents > 0, NEW.from_account, NEW.to_account), iif(NEW.amount_cents > 0, NEW.to_account, NEW.from_account))) FROM json_each(json_array(NEW.from_account, NEW.to_account)) side CROSS JOIN json_each(json_array(NEW.partner_id, '')) holder WHERE side.value <> 'expense' ON CONFLICT (program_id, partner_id, currency, account) DO UPDATE SET amount_cents = amount_cents + excluded.amount_cents, commissions = commissions + excluded.commissions, entries = entries + excluded.entries; END;
--> statement-breakpoint
CREATE TRIGGER `programs_rules_changed` AFTER UPDATE OF `default_commission_pct`, `attribution`, `code_precedence` ON `programs` WHEN OLD.default_commission_pct IS NOT NEW.default_commission_pct OR OLD.attribution IS NOT NEW.attribution OR OLD.code_precedence IS NOT NEW.code_precedence BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.id, '', NEW.updated_at, json_object('default_commission_pct', OLD.default_commission_pct, 'attribution', OLD.attribution, 'code_precedence', OLD.code_precedence)); END;
--> statement-breakpoint
CREATE TRIGGER `claims_inserted` AFTER INSERT ON `claims` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'claims', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `claims_moved` AFTER UPDATE OF `status` ON `claims` WHEN old.status IS NOT new.status BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'claims', old.status, -1), (new.program_id, 'claims', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `claims_deleted` AFTER DELETE ON `claims` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'claims' AND state = old.status; END;
--> statement-breakpoint
CREATE TRIGGER `applications_inserted` AFTER INSERT ON `applications` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'applications', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `applications_moved` AFTER UPDATE OF `status` ON `applications` WHEN old.status IS NOT new.status BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'applications', old.status, -1), (new.program_id, 'applications', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `applications_deleted` AFTER DELETE ON `applications` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'applications' AND state = old.status; END;
--> statement-breakpoint
CREATE TRIGGER `payments_sale_inserted` AFTER INSERT ON `payments` WHEN NEW.partner_id IS NOT NULL AND ((NEW.event = 'transaction_completed' AND NEW.outcome = 'commission') OR (NEW.event = 'lead_created' AND NEW.outcome IN ('commission', 'no_flow'))) BEGIN INSERT INTO sale_days (program_id, day, partner_id, leads, sales, first_sales) SELECT program_id, day, partner_id, sum(leads), sum(sales), sum(first_sales) FROM (SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, NEW.partner_id AS partner_id, (NEW.event = 'lead_created' AND NEW.outcome IN ('commission', 'no_flow')) AS leads, (NEW.event = 'transaction_completed' AND NEW.outcome = 'commission') AS sales, (NEW.event = 'transaction_completed' AND NEW.outcome = 'commission' AND (o.id IS NULL OR (NEW.created_at, NEW.id) < (o.created_at, o.id))) AS first_sales FROM (SELECT 1) LEFT JOIN (SELECT p.id, p.created_at FROM payments p INDEXED BY payments_sold WHERE p.partner_id = NEW.partner_id AND p.customer_id = NEW.customer_id AND p.provider = NEW.provider AND p.program_id = NEW.program_id AND coalesce(p.outcome, '') = 'commission' AND p.event <> 'lead_created' AND p.customer_id IS NOT NULL AND p.id <> NEW.id ORDER BY p.created_at, p.id LIMIT 1) o WHERE NEW.partner_id IS NOT NULL AND ((NEW.event = 'transaction_completed' AND NEW.outcome = 'commission') OR (NEW.event = 'lead_created' AND NEW.outcome IN ('commission', 'no_flow'))) UNION ALL SELECT NEW.program_id, substr(o.created_at, 1, 10), NEW.partner_id, 0, 0, -1 FROM (SELECT 1) LEFT JOIN (SELECT p.id, p.created_at FROM payments p INDEXED BY payments_sold WHERE p.partner_id = NEW.partner_id AND p.customer_id = NEW.customer_id AND p.provider = NEW.provider AND p.program_id = NEW.program_id AND coalesce(p.outcome, '') = 'commission' AND p.event <> 'lead_created' AND p.customer_id IS NOT NULL AND p.id <> NEW.id ORDER BY p.created_at, p.id LIMIT 1) o WHERE NEW.partner_id IS NOT NULL AND NEW.event = 'transaction_completed' AND NEW.outcome = 'commission' AND (NEW.created_at, NEW.id) < (o.created_at, o.id)) WHERE true GROUP BY 1, 2, 3 HAVING sum(leads) <> 0 OR sum(sales) <> 0 OR sum(first_sales) <> 0 ON CONFLICT (program_id, day, partner_id) DO UPDATE SET leads = leads + excluded.leads, sales = sales + excluded.sales, first_sales = first_sales + excluded.first_sales; END;
--> statement-breakpoint
CREATE TRIGGER `payments_sale_moved` AFTER UPDATE OF `outcome`, `partner_id`, `customer_id`, `created_at`, `event` ON `payments` WHEN (OLD.outcome IS NOT NEW.outcome OR OLD.partner_id IS NOT NEW.partner_id OR OLD.customer_id IS NOT NEW.customer_id OR OLD.created_at IS NOT NEW.created_at OR OLD.event IS NOT NEW.event) AND ((OLD.partner_id IS NOT NULL AND ((OLD.event = 'transaction_completed' AND OLD.outcome = 'commission') OR (OLD.event = 'lead_created' AND OLD.outcome IN ('commission', 'no_flow')))) OR (NEW.partner_id IS NOT NULL AND ((NEW.event = 'transaction_completed' AND NEW.outcome = 'commission') OR (NEW.event = 'lead_created' AND NEW.outcome IN ('commission', 'no_flow'))))) BEGIN INSERT INTO sale_days (program_id, day, partner_id, leads, sales, first_sales) SELECT program_id, day, partner_id, sum(leads), sum(sales), sum(first_sales) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, OLD.partner_id AS partner_id, -(OLD.event = 'lead_created' AND OLD.outcome IN ('commission', 'no_flow')) AS leads, -(OLD.event = 'transaction_completed' AND OLD.outcome = 'commission') AS sales, -(OLD.event = 'transaction_completed' AND OLD.outcome = 'commission' AND (o.id IS NULL OR (OLD.created_at, OLD.id) < (o.created_at, o.id))) AS first_sales FROM (SELECT 1) LEFT JOIN (SELECT p.id, p.created_at FROM payments p INDEXED BY payments_sold WHERE p.partner_id = OLD.partner_id AND p.customer_id = OLD.customer_id AND p.provider = OLD.provider AND p.program_id = OLD.program_id AND coalesce(p.outcome, '') = 'commission' AND p.event <> 'lead_created' AND p.customer_id IS NOT NULL AND p.id <> OLD.id ORDER BY p.created_at, p.id LIMIT 1) o WHERE OLD.partner_id IS NOT NULL AND ((OLD.event = 'transaction_completed' AND OLD.outcome = 'commission') OR (OLD.event = 'lead_created' AND OLD.outcome IN ('commission', 'no_flow'))) UNION ALL SELECT OLD.program_id, substr(o.created_at, 1, 10), OLD.partner_id, 0, 0, 1 FROM (SELECT 1) LEFT JOIN (SELECT p.id, p.created_at FROM payments p INDEXED BY payments_sold WHERE p.partner_id = OLD.partner_id AND p.customer_id = OLD.customer_id AND p.provider = OLD.provider AND p.program_id = OLD.program_id AND coalesce(p.outcome, '') = 'commission' AND p.event <> 'lead_created' AND p.customer_id IS NOT NULL AND p.id <> OLD.id ORDER BY p.created_at, p.id LIMIT 1) o WHERE OLD.partner_id IS NOT NULL AND OLD.event = 'transaction_completed' AND OLD.outcome = 'commission' AND (OLD.created_at, OLD.id) < (o.created_at, o.id) UNION ALL SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, NEW.partner_id AS partner_id, (NEW.event = 'lead_created' AND NEW.outcome IN ('commission', 'no_flow')) AS leads, (NEW.event = 'transaction_completed' AND NEW.outcome = 'commission') AS sales, (NEW.event = 'transaction_completed' AND NEW.outcome = 'commission' AND (o.id IS NULL OR (NEW.created_at, NEW.id) < (o.created_at, o.id))) AS first_sales FROM (SELECT 1) LEFT JOIN (SELECT p.id, p.created_at FROM payments p INDEXED BY payments_sold WHERE p.partner_id = NEW.partner_id AND p.customer_id = NEW.customer_id AND p.provider = NEW.provider AND p.program_id = NEW.program_id AND coalesce(p.outcome, '') = 'commission' AND p.event <> 'lead_created' AND p.customer_id IS NOT NULL AND p.id <> NEW.id ORDER BY p.created_at, p.id LIMIT 1) o WHERE NEW.partner_id IS NOT NULL AND ((NEW.event = 'transaction_completed' AND NEW.outcome = 'commission') OR (NEW.event = 'lead_created' AND NEW.outcome IN ('commission', 'no_flow'))) UNION ALL SELECT NEW.program_id, substr(o.created_at, 1, 10), NEW.partner_id, 0, 0, -1 FROM (SELECT 1) LEFT JOIN (SELECT p.id, p.created_at FROM payments p INDEXED BY payments_sold WHERE p.partner_id = NEW.partner_id AND p.customer_id = NEW.customer_id AND p.provider = NEW.provider AND p.program_id = NEW.program_id AND coalesce(p.outcome, '') = 'commission' AND p.event <> 'lead_created' AND p.customer_id IS NOT NULL AND p.id <> NEW.id ORDER BY p.created_at, p.id LIMIT 1) o WHERE NEW.partner_id IS NOT NULL AND NEW.event = 'transaction_completed' AND NEW.outcome = 'commission' AND (NEW.created_at, NEW.id) < (o.created_at, o.id)) WHERE true GROUP BY 1, 2, 3 HAVING sum(leads) <> 0 OR sum(sales) <> 0 OR sum(first_sales) <> 0 ON CONFLICT (program_id, day, partner_id) DO UPDATE SET leads = leads + excluded.leads, sales = sales + excluded.sales, first_sales = first_sales + excluded.first_sales; END;
--> statement-breakpoint
CREATE TRIGGER `payments_sale_deleted` AFTER DELETE ON `payments` WHEN OLD.partner_id IS NOT NULL AND ((OLD.event = 'transaction_completed' AND OLD.outcome = 'commission') OR (OLD.event = 'lead_created' AND OLD.outcome IN ('commission', 'no_flow'))) BEGIN INSERT INTO sale_days (program_id, day, partner_id, leads, sales, first_sales) SELECT program_id, day, partner_id, sum(leads), sum(sales), sum(first_sales) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, OLD.partner_id AS partner_id, -(OLD.event = 'lead_created' AND OLD.outcome IN ('commission', 'no_flow')) AS leads, -(OLD.event = 'transaction_completed' AND OLD.outcome = 'commission') AS sales, -(OLD.event = 'transaction_completed' AND OLD.outcome = 'commission' AND (o.id IS NULL OR (OLD.created_at, OLD.id) < (o.created_at, o.id))) AS first_sales FROM (SELECT 1) LEFT JOIN (SELECT p.id, p.created_at FROM payments p INDEXED BY payments_sold WHERE p.partner_id = OLD.partner_id AND p.customer_id = OLD.customer_id AND p.provider = OLD.provider AND p.program_id = OLD.program_id AND coalesce(p.outcome, '') = 'commission' AND p.event <> 'lead_created' AND p.customer_id IS NOT NULL AND p.id <> OLD.id ORDER BY p.created_at, p.id LIMIT 1) o WHERE OLD.partner_id IS NOT NULL AND ((OLD.event = 'transaction_completed' AND OLD.outcome = 'commission') OR (OLD.event = 'lead_created' AND OLD.outcome IN ('commission', 'no_flow'))) UNION ALL SELECT OLD.program_id, substr(o.created_at, 1, 10), OLD.partner_id, 0, 0, 1 FROM (SELECT 1) LEFT JOIN (SELECT p.id, p.created_at FROM payments p INDEXED BY payments_sold WHERE p.partner_id = OLD.partner_id AND p.customer_id = OLD.customer_id AND p.provider = OLD.provider AND p.program_id = OLD.program_id AND coalesce(p.outcome, '') = 'commission' AND p.event <> 'lead_created' AND p.customer_id IS NOT NULL AND p.id <> OLD.id ORDER BY p.created_at, p.id LIMIT 1) o WHERE OLD.partner_id IS NOT NULL AND OLD.event = 'transaction_completed' AND OLD.outcome = 'commission' AND (OLD.created_at, OLD.id) < (o.created_at, o.id)) WHERE true GROUP BY 1, 2, 3 HAVING sum(leads) <> 0 OR sum(sales) <> 0 OR sum(first_sales) <> 0 ON CONFLICT (program_id, day, partner_id) DO UPDATE SET leads = leads + excluded.leads, sales = sales + excluded.sales, first_sales = first_sales + excluded.first_sales; END;
--> statement-breakpoint
CREATE TRIGGER `programs_mail_rounds` AFTER INSERT ON `programs` BEGIN INSERT INTO mail_rounds (program_id, kind) VALUES (new.id, 'weekly_summary'), (new.id, 'commissions_earned') ON CONFLICT (program_id, kind) DO NOTHING; END;
--> statement-breakpoint
CREATE TRIGGER `programs_owned` AFTER INSERT ON `programs` BEGIN INSERT INTO program_members (id, program_id, email, role, created_at, updated_at) VALUES ('mem_' || substr(NEW.id, 6), NEW.id, NEW.owner_email, 'owner', NEW.created_at, NEW.created_at); END;
--> statement-breakpoint
CREATE TRIGGER `programs_owner_raised` BEFORE UPDATE OF `owner_email` ON `programs` BEGIN DELETE FROM program_members WHERE program_id = NEW.id AND lower(email) = lower(NEW.owner_email) AND role <> 'owner'; END;
--> statement-breakpoint
CREATE TRIGGER `programs_owner_moved` AFTER UPDATE OF `owner_email` ON `programs` WHEN NOT EXISTS (SELECT 1 FROM program_members WHERE program_id = NEW.id AND lower(email) = lower(NEW.owner_email) AND role = 'owner') BEGIN UPDATE program_members SET email = NEW.owner_email, role = 'owner', updated_at = NEW.updated_at WHERE program_id = NEW.id AND lower(email) = lower(OLD.owner_email); END;
--> statement-breakpoint
CREATE TRIGGER `payments_lead_inserted` AFTER INSERT ON `payments` WHEN new.event = 'lead_created' BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'leads', ifnull(new.outcome, ''), 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_lead_moved` AFTER UPDATE OF `outcome`, `event` ON `payments` WHEN (old.event = 'lead_created' OR new.event = 'lead_created') AND (old.event IS NOT new.event OR old.outcome IS NOT new.outcome) BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'leads', ifnull(old.outcome, ''), -(old.event = 'lead_created')), (new.program_id, 'leads', ifnull(new.outcome, ''), new.event = 'lead_created') ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payments_lead_deleted` AFTER DELETE ON `payments` WHEN old.event = 'lead_created' BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'leads' AND state = ifnull(old.outcome, ''); END;
--> statement-breakpoint
CREATE TRIGGER `decisions_deleted` BEFORE DELETE ON `decisions` BEGIN SELECT RAISE(ABORT, 'decisions are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `decisions_updated` BEFORE UPDATE ON `decisions` BEGIN SELECT RAISE(ABORT, 'decisions are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `partners_rules_changed` AFTER UPDATE OF `status`, `commission_pct`, `slug` ON `partners` WHEN OLD.status IS NOT NEW.status OR OLD.commission_pct IS NOT NEW.commission_pct OR OLD.slug IS NOT NEW.slug BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, OLD.id, NEW.updated_at, json_object('status', OLD.status, 'commission_pct', OLD.commission_pct, 'slug', OLD.slug)); END;
--> statement-breakpoint
CREATE TRIGGER `commissions_paid_unflagged` AFTER UPDATE OF `status` ON `commissions` WHEN new.flagged = 1 AND new.status = 'paid' BEGIN UPDATE commissions SET flagged = 0, review_reason = NULL, review_reasons = '' WHERE id = new.id; END;
--> statement-breakpoint
CREATE TRIGGER `balances_bounded` BEFORE INSERT ON `balances` WHEN NEW.amount_cents NOT BETWEEN -2251799813685247 AND 2251799813685247 BEGIN SELECT RAISE(ABORT, 'balance too large'); END;
--> statement-breakpoint
CREATE TRIGGER `balances_stay_bounded` BEFORE UPDATE OF `amount_cents` ON `balances` WHEN NEW.amount_cents NOT BETWEEN -2251799813685247 AND 2251799813685247 BEGIN SELECT RAISE(ABORT, 'balance too large'); END;
--> statement-breakpoint
CREATE TRIGGER `commissions_days_inserted` AFTER INSERT ON `commissions` WHEN NEW.status <> 'rejected' BEGIN INSERT INTO earning_days (program_id, day, partner_id, currency, commissions, amount_cents) VALUES (NEW.program_id, substr(NEW.created_at, 1, 10), NEW.partner_id, NEW.currency, 1, NEW.amount_cents) ON CONFLICT (program_id, day, partner_id, currency) DO UPDATE SET commissions = commissions + excluded.commissions, amount_cents = amount_cents + excluded.amount_cents; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_days_moved` AFTER UPDATE OF `status`, `amount_cents`, `partner_id`, `currency`, `created_at` ON `commissions` WHEN (OLD.status = 'rejected') <> (NEW.status = 'rejected') OR (NEW.status <> 'rejected' AND (OLD.amount_cents IS NOT NEW.amount_cents OR OLD.partner_id IS NOT NEW.partner_id OR OLD.currency IS NOT NEW.currency OR substr(OLD.created_at, 1, 10) IS NOT substr(NEW.created_at, 1, 10))) BEGIN INSERT INTO earning_days (program_id, day, partner_id, currency, commissions, amount_cents) SELECT program_id, day, partner_id, currency, sum(n), sum(amount_cents) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, OLD.partner_id AS partner_id, OLD.currency AS currency, -1 AS n, -OLD.amount_cents AS amount_cents WHERE OLD.status <> 'rejected' UNION ALL SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, NEW.partner_id AS partner_id, NEW.currency AS currency, 1 AS n, NEW.amount_cents AS amount_cents WHERE NEW.status <> 'rejected') WHERE true GROUP BY 1, 2, 3, 4 ON CONFLICT (program_id, day, partner_id, currency) DO UPDATE SET commissions = commissions + excluded.commissions, amount_cents = amount_cents + excluded.amount_cents; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_days_deleted` AFTER DELETE ON `commissions` WHEN OLD.status <> 'rejected' BEGIN INSERT INTO earning_days (program_id, day, partner_id, currency, commissions, amount_cents) VALUES (OLD.program_id, substr(OLD.created_at, 1, 10), OLD.partner_id, OLD.currency, -1, -OLD.amount_cents) ON CONFLICT (program_id, day, partner_id, currency) DO UPDATE SET commissions = commissions + excluded.commissions, amount_cents = amount_cents + excluded.amount_cents; END;
--> statement-breakpoint
CREATE TRIGGER `payments_code_inserted` AFTER INSERT ON `payments` WHEN NEW.code_id IS NOT NULL BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, NEW.currency AS currency, 1 AS sales, (NEW.txn_amount_cents - NEW.adjusted_cents) AS revenue_cents, 0 AS earned_cents FROM partner_codes k WHERE k.id = NEW.code_id AND NEW.outcome = 'commission') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;
--> statement-breakpoint
CREATE TRIGGER `payments_code_moved` AFTER UPDATE OF `outcome`, `code_id`, `currency`, `txn_amount_cents`, `adjusted_cents`, `created_at` ON `payments` WHEN OLD.code_id IS NOT NULL OR NEW.code_id IS NOT NULL BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, OLD.currency AS currency, -1 AS sales, -(OLD.txn_amount_cents - OLD.adjusted_cents) AS revenue_cents, 0 AS earned_cents FROM partner_codes k WHERE k.id = OLD.code_id AND OLD.outcome = 'commission' UNION ALL SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, NEW.currency AS currency, 1 AS sales, (NEW.txn_amount_cents - NEW.adjusted_cents) AS revenue_cents, 0 AS earned_cents FROM partner_codes k WHERE k.id = NEW.code_id AND NEW.outcome = 'commission' UNION ALL SELECT c.program_id, substr(c.created_at, 1, 10), k.partner_id, k.id, c.currency, 0, 0, -c.amount_cents FROM partner_codes k CROSS JOIN commissions c INDEXED BY commissions_payment ON c.payment_id = OLD.id AND c.partner_id = k.partner_id WHERE k.id = OLD.code_id AND OLD.code_id IS NOT NEW.code_id AND c.status <> 'rejected' UNION ALL SELECT c.program_id, substr(c.created_at, 1, 10), k.partner_id, k.id, c.currency, 0, 0, c.amount_cents FROM partner_codes k CROSS JOIN commissions c INDEXED BY commissions_payment ON c.payment_id = NEW.id AND c.partner_id = k.partner_id WHERE k.id = NEW.code_id AND OLD.code_id IS NOT NEW.code_id AND c.status <> 'rejected') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;
--> statement-breakpoint
CREATE TRIGGER `payments_code_deleted` AFTER DELETE ON `payments` WHEN OLD.code_id IS NOT NULL BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, OLD.currency AS currency, -1 AS sales, -(OLD.txn_amount_cents - OLD.adjusted_cents) AS revenue_cents, 0 AS earned_cents FROM partner_codes k WHERE k.id = OLD.code_id AND OLD.outcome = 'commission') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_code_inserted` AFTER INSERT ON `commissions` WHEN NEW.payment_id IS NOT NULL AND NEW.status <> 'rejected' BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, NEW.currency AS currency, 0 AS sales, 0 AS revenue_cents, NEW.amount_cents AS earned_cents FROM payments p INDEXED BY payments_coded CROSS JOIN partner_codes k ON k.id = p.code_id AND k.partner_id = NEW.partner_id WHERE p.id = NEW.payment_id AND p.code_id IS NOT NULL AND NEW.status <> 'rejected') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_code_moved` AFTER UPDATE OF `status`, `amount_cents`, `partner_id`, `payment_id`, `currency`, `created_at` ON `commissions` WHEN (OLD.status = 'rejected') <> (NEW.status = 'rejected') OR (NEW.status <> 'rejected' AND (OLD.amount_cents IS NOT NEW.amount_cents OR OLD.partner_id IS NOT NEW.partner_id OR OLD.payment_id IS NOT NEW.payment_id OR OLD.currency IS NOT NEW.currency OR substr(OLD.created_at, 1, 10) IS NOT substr(NEW.created_at, 1, 10))) BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, OLD.currency AS currency, 0 AS sales, 0 AS revenue_cents, -OLD.amount_cents AS earned_cents FROM payments p INDEXED BY payments_coded CROSS JOIN partner_codes k ON k.id = p.code_id AND k.partner_id = OLD.partner_id WHERE p.id = OLD.payment_id AND p.code_id IS NOT NULL AND OLD.status <> 'rejected' UNION ALL SELECT NEW.program_id AS program_id, substr(NEW.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, NEW.currency AS currency, 0 AS sales, 0 AS revenue_cents, NEW.amount_cents AS earned_cents FROM payments p INDEXED BY payments_coded CROSS JOIN partner_codes k ON k.id = p.code_id AND k.partner_id = NEW.partner_id WHERE p.id = NEW.payment_id AND p.code_id IS NOT NULL AND NEW.status <> 'rejected') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;
--> statement-breakpoint
CREATE TRIGGER `commissions_code_deleted` AFTER DELETE ON `commissions` WHEN OLD.payment_id IS NOT NULL AND OLD.status <> 'rejected' BEGIN INSERT INTO code_days (program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents) SELECT program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue_cents), sum(earned_cents) FROM (SELECT OLD.program_id AS program_id, substr(OLD.created_at, 1, 10) AS day, k.partner_id AS partner_id, k.id AS code_id, OLD.currency AS currency, 0 AS sales, 0 AS revenue_cents, -OLD.amount_cents AS earned_cents FROM payments p INDEXED BY payments_coded CROSS JOIN partner_codes k ON k.id = p.code_id AND k.partner_id = OLD.partner_id WHERE p.id = OLD.payment_id AND p.code_id IS NOT NULL AND OLD.status <> 'rejected') WHERE true GROUP BY 1, 2, 3, 4, 5 ON CONFLICT (program_id, day, partner_id, code_id, currency) DO UPDATE SET sales = sales + excluded.sales, revenue_cents = revenue_cents + excluded.revenue_cents, earned_cents = earned_cents + excluded.earned_cents; END;

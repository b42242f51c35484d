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
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `application_drafts_email` ON `application_drafts` (lower("email"),`created_at`);--> statement-breakpoint
CREATE INDEX `application_drafts_past` ON `application_drafts` (`expires_at`);--> statement-breakpoint
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
CREATE UNIQUE INDEX `applications_token_hash_unique` ON `applications` (`token_hash`);--> statement-breakpoint
CREATE INDEX `applications_list` ON `applications` (`program_id`,`id`);--> statement-breakpoint
CREATE INDEX `applications_status` ON `applications` (`program_id`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `applications_email` ON `applications` (`program_id`,lower("email"));--> statement-breakpoint
CREATE UNIQUE INDEX `applications_waiting` ON `applications` (`program_id`,lower("email")) WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX `applications_declined` ON `applications` (`decided_at`) WHERE status = 'declined' and email is not null;--> statement-breakpoint
ALTER TABLE `programs` ADD `applications` text DEFAULT 'off' NOT NULL;--> statement-breakpoint
ALTER TABLE `programs` ADD `slug` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `questions` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `terms` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `terms_version` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `programs_slug` ON `programs` (`slug`);
--> statement-breakpoint
CREATE TRIGGER `applications_inserted` AFTER INSERT ON `applications` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'applications', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `applications_moved` AFTER UPDATE OF `status` ON `applications` WHEN old.status IS NOT new.status BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'applications', old.status, -1), (new.program_id, 'applications', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `applications_deleted` AFTER DELETE ON `applications` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'applications' AND state = old.status; END;

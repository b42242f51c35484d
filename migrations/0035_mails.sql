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
	`completed_at` text
);
--> statement-breakpoint
CREATE INDEX `mails_open` ON `mails` (`program_id`,`next_attempt_at`) WHERE status in ('pending', 'sending');--> statement-breakpoint
CREATE INDEX `mails_refused` ON `mails` (`program_id`,`refused_at`) WHERE refused_at is not null;--> statement-breakpoint
CREATE INDEX `mails_past` ON `mails` (`created_at`);
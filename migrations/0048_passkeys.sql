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
CREATE UNIQUE INDEX `passkeys_credential` ON `passkeys` (`credential_id`);--> statement-breakpoint
CREATE INDEX `passkeys_email` ON `passkeys` (`email`);
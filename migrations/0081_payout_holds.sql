CREATE TABLE `pending_destinations` (
	`partner_id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`token_hash` text NOT NULL,
	`content` text NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL,
	FOREIGN KEY (`partner_id`) REFERENCES `partners`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `pending_destinations_token` ON `pending_destinations` (`token_hash`);--> statement-breakpoint
CREATE INDEX `pending_destinations_past` ON `pending_destinations` (`expires_at`);--> statement-breakpoint
ALTER TABLE `partners` ADD `payouts_held_until` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `payout_change_hold_days` integer DEFAULT 3 NOT NULL;
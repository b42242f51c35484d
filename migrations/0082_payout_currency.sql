CREATE TABLE `exchange_rates` (
	`program_id` text PRIMARY KEY NOT NULL,
	`base` text,
	`rates` text,
	`rated_at` text,
	`observed` text,
	`asked_at` text,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `programs` ADD `payout_currency` text;--> statement-breakpoint
CREATE INDEX `programs_converting` ON `programs` (`id`) WHERE payout_currency is not null;--> statement-breakpoint
ALTER TABLE `payouts` ADD `source_amounts` text;--> statement-breakpoint
ALTER TABLE `returned_lines` ADD `currency` text;
--> statement-breakpoint
DROP TRIGGER `payouts_returned_lines`;
--> statement-breakpoint
CREATE TRIGGER `payouts_returned_lines` AFTER UPDATE OF `status` ON `payouts` WHEN new.status = 'returned' AND old.status IS NOT 'returned' BEGIN INSERT INTO returned_lines (payout_id, commission_id, kind, amount_cents, created_at, currency) SELECT new.id, c.id, c.kind, c.amount_cents, c.created_at, c.currency FROM commissions c WHERE c.payout_id = new.id ON CONFLICT (payout_id, commission_id) DO NOTHING; END;

DROP INDEX `commissions_waiting`;--> statement-breakpoint
ALTER TABLE `commissions` ADD `seen_at` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX `commissions_waiting` ON `commissions` (`partner_id`,`flagged`,`currency`,case when seen_at > created_at then seen_at else created_at end) WHERE status = 'pending';--> statement-breakpoint
ALTER TABLE `payments` ADD `seen_at` text DEFAULT '' NOT NULL;
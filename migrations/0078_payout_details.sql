DROP INDEX `payouts_without_details`;--> statement-breakpoint
CREATE INDEX `payouts_without_details` ON `payouts` (`partner_id`,`id`) WHERE status = 'pending' and recipient is null;--> statement-breakpoint
ALTER TABLE `partners` ADD `bank_account_sealed` text;--> statement-breakpoint
ALTER TABLE `partners` ADD `bank_account` text;--> statement-breakpoint
ALTER TABLE `partners` ADD `crypto_address_sealed` text;--> statement-breakpoint
ALTER TABLE `partners` ADD `crypto_address` text;
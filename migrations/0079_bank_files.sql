ALTER TABLE `programs` ADD `debtor_name` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `debtor_iban` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `debtor_iban_sealed` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `debtor_bic` text;--> statement-breakpoint
ALTER TABLE `payout_exports` ADD `debtor_sealed` text;
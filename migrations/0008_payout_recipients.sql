ALTER TABLE `payouts` ADD `recipient_sealed` text;--> statement-breakpoint
ALTER TABLE `payouts` ADD `recipient` text;--> statement-breakpoint
CREATE INDEX `payouts_unfrozen` ON `payouts` (`program_id`,`id`) WHERE recipient_sealed is null and status in ('pending', 'failed');
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
CREATE INDEX `partner_codes_partner` ON `partner_codes` (`partner_id`,`id`) WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX `partner_codes_key` ON `partner_codes` (`program_id`,`provider`,`code_key`);--> statement-breakpoint
CREATE INDEX `partner_codes_vendor` ON `partner_codes` (`program_id`,`provider`,`provider_code_id`) WHERE provider_code_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `partner_codes_held_key` ON `partner_codes` (`program_id`,`provider`,`code_key`) WHERE ended_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX `partner_codes_held_vendor` ON `partner_codes` (`program_id`,`provider`,`provider_code_id`) WHERE ended_at is null and provider_code_id is not null;--> statement-breakpoint
ALTER TABLE `programs` ADD `code_precedence` text DEFAULT 'link' NOT NULL;--> statement-breakpoint
CREATE INDEX `facts_of_code` ON `facts` (`program_id`,`provider`,`ref_key`,`occurred_at`) WHERE kind = 'code';
--> statement-breakpoint
DROP TRIGGER `programs_rules_changed`;
--> statement-breakpoint
CREATE TRIGGER `programs_rules_changed` AFTER UPDATE OF `default_commission_pct`, `attribution`, `code_precedence` ON `programs` WHEN OLD.default_commission_pct IS NOT NEW.default_commission_pct OR OLD.attribution IS NOT NEW.attribution OR OLD.code_precedence IS NOT NEW.code_precedence BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.id, '', NEW.updated_at, json_object('default_commission_pct', OLD.default_commission_pct, 'attribution', OLD.attribution, 'code_precedence', OLD.code_precedence)); END;

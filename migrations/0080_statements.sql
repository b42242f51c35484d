CREATE TABLE `payout_statements` (
	`payout_id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`payer` text NOT NULL,
	`tax_data_id` text,
	`prefix` text NOT NULL,
	`invoice_number` integer,
	`issued_at` text NOT NULL,
	`credit_note_number` integer,
	`credited_at` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `payout_statements_invoices` ON `payout_statements` (`program_id`,`invoice_number`) WHERE invoice_number is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `payout_statements_credit_notes` ON `payout_statements` (`program_id`,`credit_note_number`) WHERE credit_note_number is not null;--> statement-breakpoint
CREATE TABLE `returned_lines` (
	`payout_id` text NOT NULL,
	`commission_id` text NOT NULL,
	`kind` text NOT NULL,
	`amount_cents` integer NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`payout_id`, `commission_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `tax_data` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`sealed` text NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`partner_id`) REFERENCES `partners`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `tax_data_program` ON `tax_data` (`program_id`,`id`);--> statement-breakpoint
ALTER TABLE `partners` ADD `tax_data_id` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `self_billing` text DEFAULT 'off' NOT NULL;--> statement-breakpoint
ALTER TABLE `programs` ADD `self_billing_prefix` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `programs` ADD `payer_name` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `payer_address` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `payer_country` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `payer_tax_id` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `require_tax_data` integer DEFAULT false NOT NULL;
--> statement-breakpoint
-- Until 2027-02-28: payouts paid before have the program as it is named now, and no number.
INSERT INTO `payout_statements` (payout_id, program_id, payer, prefix, issued_at) SELECT p.id, p.program_id, json_object('name', g.name, 'address', NULL, 'country', NULL, 'tax_id', NULL), '', ifnull(p.paid_at, p.updated_at) FROM payouts p JOIN programs g ON g.id = p.program_id WHERE p.status IN ('paid', 'returned');
--> statement-breakpoint
-- Until 2027-02-28: the commissions of payouts returned before, by the journal. One that is gone was a correction.
INSERT INTO `returned_lines` (payout_id, commission_id, kind, amount_cents, created_at) SELECT p.id, e.commission_id, ifnull(c.kind, 'clawback'), sum(iif(e.to_account = 'in_payout', e.amount_cents, -e.amount_cents)), ifnull(c.created_at, min(e.posted_at)) FROM payouts p JOIN entries e ON e.program_id = p.program_id AND e.partner_id = p.partner_id AND e.payout_id = p.id AND e.from_account IN ('payable', 'in_payout') AND e.to_account IN ('payable', 'in_payout') LEFT JOIN commissions c ON c.id = e.commission_id WHERE p.status = 'returned' GROUP BY p.id, e.commission_id;
--> statement-breakpoint
CREATE TRIGGER `payouts_stated` AFTER UPDATE OF `status` ON `payouts` WHEN new.status = 'paid' AND old.status IS NOT 'paid' BEGIN INSERT INTO payout_statements (payout_id, program_id, payer, tax_data_id, prefix, invoice_number, issued_at) SELECT new.id, g.id, json_object('name', ifnull(g.payer_name, g.name), 'address', g.payer_address, 'country', g.payer_country, 'tax_id', g.payer_tax_id), p.tax_data_id, g.self_billing_prefix, iif(g.self_billing = 'on', (SELECT ifnull(max(s.invoice_number), 0) + 1 FROM payout_statements s WHERE s.program_id = g.id AND s.invoice_number IS NOT NULL), NULL), ifnull(new.paid_at, new.updated_at) FROM programs g JOIN partners p ON p.id = new.partner_id WHERE g.id = new.program_id ON CONFLICT (payout_id) DO NOTHING; END;
--> statement-breakpoint
CREATE TRIGGER `payouts_returned_lines` AFTER UPDATE OF `status` ON `payouts` WHEN new.status = 'returned' AND old.status IS NOT 'returned' BEGIN INSERT INTO returned_lines (payout_id, commission_id, kind, amount_cents, created_at) SELECT new.id, c.id, c.kind, c.amount_cents, c.created_at FROM commissions c WHERE c.payout_id = new.id ON CONFLICT (payout_id, commission_id) DO NOTHING; END;
--> statement-breakpoint
CREATE TRIGGER `payouts_credited` AFTER UPDATE OF `status` ON `payouts` WHEN new.status = 'returned' AND old.status IS NOT 'returned' BEGIN UPDATE payout_statements SET credit_note_number = (SELECT ifnull(max(s.credit_note_number), 0) + 1 FROM payout_statements s WHERE s.program_id = new.program_id AND s.credit_note_number IS NOT NULL), credited_at = new.updated_at WHERE payout_id = new.id AND invoice_number IS NOT NULL AND credit_note_number IS NULL; END;
--> statement-breakpoint
CREATE TRIGGER `payout_statements_deleted` BEFORE DELETE ON `payout_statements` BEGIN SELECT RAISE(ABORT, 'statements are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `payout_statements_updated` BEFORE UPDATE ON `payout_statements` WHEN old.credit_note_number IS NOT NULL OR new.credit_note_number IS NULL OR old.payout_id IS NOT new.payout_id OR old.program_id IS NOT new.program_id OR old.payer IS NOT new.payer OR old.tax_data_id IS NOT new.tax_data_id OR old.prefix IS NOT new.prefix OR old.invoice_number IS NOT new.invoice_number OR old.issued_at IS NOT new.issued_at BEGIN SELECT RAISE(ABORT, 'statements are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `returned_lines_deleted` BEFORE DELETE ON `returned_lines` BEGIN SELECT RAISE(ABORT, 'statements are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `returned_lines_updated` BEFORE UPDATE ON `returned_lines` BEGIN SELECT RAISE(ABORT, 'statements are append-only'); END;

CREATE TABLE `claims` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`status` text NOT NULL,
	`order_id` text,
	`day` text,
	`email_domain` text,
	`payment_id` text,
	`note` text,
	`created_at` text NOT NULL,
	`decided_at` text,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`partner_id`) REFERENCES `partners`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `claims_list` ON `claims` (`program_id`,`id`);--> statement-breakpoint
CREATE INDEX `claims_status` ON `claims` (`program_id`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `claims_partner` ON `claims` (`partner_id`,`id`);--> statement-breakpoint
CREATE INDEX `claims_open` ON `claims` (`partner_id`,`status`);--> statement-breakpoint
CREATE UNIQUE INDEX `claims_order` ON `claims` (`partner_id`,`order_id`) WHERE order_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `claims_day` ON `claims` (`partner_id`,`day`,`email_domain`) WHERE day is not null;--> statement-breakpoint
CREATE INDEX `claims_payment` ON `claims` (`payment_id`) WHERE payment_id is not null;--> statement-breakpoint
CREATE INDEX `payments_by_domain` ON `payments` (`program_id`,lower(substr("customer_email", instr("customer_email", '@') + 1)),`created_at`) WHERE customer_email is not null and (partner_id is null or coalesce(outcome, '') = 'partner_deactivated');
--> statement-breakpoint
CREATE TRIGGER `claims_inserted` AFTER INSERT ON `claims` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'claims', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `claims_moved` AFTER UPDATE OF `status` ON `claims` WHEN old.status IS NOT new.status BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'claims', old.status, -1), (new.program_id, 'claims', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `claims_deleted` AFTER DELETE ON `claims` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'claims' AND state = old.status; END;

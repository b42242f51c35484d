CREATE TABLE `export_items` (
	`export_id` text NOT NULL,
	`payout_id` text NOT NULL,
	`status` text NOT NULL,
	PRIMARY KEY(`export_id`, `payout_id`),
	FOREIGN KEY (`export_id`) REFERENCES `payout_exports`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`payout_id`) REFERENCES `payouts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `export_items_open` ON `export_items` (`payout_id`) WHERE status = 'open';--> statement-breakpoint
CREATE TABLE `payout_exports` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`format` text NOT NULL,
	`currency` text NOT NULL,
	`count` integer NOT NULL,
	`amount_cents` integer NOT NULL,
	`status` text NOT NULL,
	`reference` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `payout_exports_list` ON `payout_exports` (`program_id`,`id`);--> statement-breakpoint
CREATE INDEX `payout_exports_status` ON `payout_exports` (`program_id`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `payouts_to_export` ON `payouts` (`program_id`,`method`,`currency`,`id`) WHERE status = 'pending';
--> statement-breakpoint
CREATE TRIGGER `payout_exports_inserted` AFTER INSERT ON `payout_exports` BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (new.program_id, 'payout_exports', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payout_exports_moved` AFTER UPDATE OF `status` ON `payout_exports` WHEN old.status IS NOT new.status BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (old.program_id, 'payout_exports', old.status, -1), (new.program_id, 'payout_exports', new.status, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `payout_exports_deleted` AFTER DELETE ON `payout_exports` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = old.program_id AND list = 'payout_exports' AND state = old.status; END;

CREATE TABLE `products` (
	`program_id` text NOT NULL,
	`provider` text NOT NULL,
	`id` text NOT NULL,
	`name` text,
	`last_seen_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `provider`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `products_recent` ON `products` (`program_id`,`last_seen_at`);
CREATE TABLE `kept_texts` (
	`program_id` text NOT NULL,
	`id` text NOT NULL,
	`text` text NOT NULL,
	`kept_until` text NOT NULL,
	PRIMARY KEY(`program_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `kept_texts_age` ON `kept_texts` (`kept_until`);
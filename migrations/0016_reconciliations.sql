CREATE TABLE `differences` (
	`program_id` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`expected` text NOT NULL,
	`found` text NOT NULL,
	`found_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `kind`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `reconciliations` (
	`program_id` text PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL,
	`began_at` text NOT NULL,
	`finished_at` text,
	`reconciled_at` text,
	`mailed_at` text,
	`event_id` text NOT NULL,
	`position` text NOT NULL,
	`deliveries_left` integer NOT NULL
) WITHOUT ROWID;

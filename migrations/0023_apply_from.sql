CREATE TABLE `rule_applications` (
	`seq` integer NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`source` text NOT NULL,
	`marked_id` text NOT NULL,
	`last_id` text NOT NULL,
	`applies_from` text NOT NULL,
	PRIMARY KEY(`program_id`, `seq`)
);
--> statement-breakpoint
ALTER TABLE `past_rules` ADD `applies_from` text;
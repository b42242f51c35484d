CREATE TABLE `click_sources` (
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`day` text NOT NULL,
	`kind` text NOT NULL,
	`value` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`program_id`, `partner_id`, `day`, `kind`, `value`)
) WITHOUT ROWID;

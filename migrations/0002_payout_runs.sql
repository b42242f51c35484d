CREATE TABLE `payout_runs` (
	`program_id` text NOT NULL,
	`period_end` text NOT NULL,
	`finished_at` text NOT NULL,
	PRIMARY KEY(`program_id`, `period_end`)
) WITHOUT ROWID;

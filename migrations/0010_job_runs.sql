CREATE TABLE `job_runs` (
	`job` text PRIMARY KEY NOT NULL,
	`position` text NOT NULL,
	`more` integer NOT NULL,
	`failed` integer NOT NULL,
	`began_at` text NOT NULL,
	`finished_at` text,
	`next_at` text NOT NULL
) WITHOUT ROWID;

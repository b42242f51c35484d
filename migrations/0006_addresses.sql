CREATE INDEX `partners_address` ON `partners` (lower("email"));--> statement-breakpoint
CREATE INDEX `programs_owner` ON `programs` (lower("owner_email"));
ALTER TABLE `application_drafts` ADD `mailbox` text;--> statement-breakpoint
CREATE INDEX `application_drafts_mailbox` ON `application_drafts` (`mailbox`,`created_at`);--> statement-breakpoint
CREATE INDEX `application_drafts_program` ON `application_drafts` (`program_id`,`created_at`);
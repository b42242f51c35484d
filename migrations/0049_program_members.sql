CREATE TABLE `program_members` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `program_members_email` ON `program_members` (`program_id`,lower("email"));--> statement-breakpoint
CREATE INDEX `program_members_address` ON `program_members` (lower("email"));
--> statement-breakpoint
INSERT INTO `program_members` (`id`, `program_id`, `email`, `role`, `created_at`, `updated_at`)
	SELECT 'mem_' || substr(id, 6), id, owner_email, 'owner', created_at, created_at FROM `programs`;
--> statement-breakpoint
CREATE TRIGGER `programs_owned` AFTER INSERT ON `programs` BEGIN INSERT INTO program_members (id, program_id, email, role, created_at, updated_at) VALUES ('mem_' || substr(NEW.id, 6), NEW.id, NEW.owner_email, 'owner', NEW.created_at, NEW.created_at); END;
--> statement-breakpoint
CREATE TRIGGER `programs_owner_raised` BEFORE UPDATE OF `owner_email` ON `programs` BEGIN DELETE FROM program_members WHERE program_id = NEW.id AND lower(email) = lower(NEW.owner_email) AND role <> 'owner'; END;
--> statement-breakpoint
CREATE TRIGGER `programs_owner_moved` AFTER UPDATE OF `owner_email` ON `programs` WHEN NOT EXISTS (SELECT 1 FROM program_members WHERE program_id = NEW.id AND lower(email) = lower(NEW.owner_email) AND role = 'owner') BEGIN UPDATE program_members SET email = NEW.owner_email, role = 'owner', updated_at = NEW.updated_at WHERE program_id = NEW.id AND lower(email) = lower(OLD.owner_email); END;

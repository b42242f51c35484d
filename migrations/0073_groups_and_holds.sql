CREATE TABLE `groups` (
	`id` text PRIMARY KEY NOT NULL,
	`program_id` text NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`commission_pct` real,
	`hold_days` integer,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`program_id`) REFERENCES `programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `groups_name` ON `groups` (`program_id`,lower("name"));--> statement-breakpoint
CREATE UNIQUE INDEX `groups_slug` ON `groups` (`program_id`,lower("slug"));--> statement-breakpoint
DROP INDEX `commissions_waiting`;--> statement-breakpoint
ALTER TABLE `commissions` ADD `hold_until` text;--> statement-breakpoint
CREATE INDEX `commissions_held` ON `commissions` (`program_id`,`hold_until`) WHERE status = 'pending' and flagged = 0;--> statement-breakpoint
CREATE INDEX `commissions_waiting` ON `commissions` (`partner_id`,`flagged`,`currency`,`hold_until`) WHERE status = 'pending';--> statement-breakpoint
ALTER TABLE `flows` ADD `hold_days` integer;--> statement-breakpoint
ALTER TABLE `partners` ADD `group_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX `partners_group` ON `partners` (`program_id`,`group_id`,`id`);--> statement-breakpoint
ALTER TABLE `programs` ADD `default_group_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `application_drafts` ADD `group_slug` text;--> statement-breakpoint
ALTER TABLE `applications` ADD `group_slug` text;
--> statement-breakpoint
-- Until 2027-02-28: each program has a default group with its partners, and each commission a hold.
INSERT INTO `groups` (id, program_id, name, slug, created_at, updated_at) SELECT 'grp_' || substr(id, 6), id, 'Default', 'default', created_at, created_at FROM programs;
--> statement-breakpoint
UPDATE `programs` SET default_group_id = 'grp_' || substr(id, 6);
--> statement-breakpoint
UPDATE `partners` SET group_id = 'grp_' || substr(program_id, 6);
--> statement-breakpoint
INSERT INTO list_counts (program_id, list, state, count) SELECT program_id, 'partner_groups', group_id, count(*) FROM partners GROUP BY program_id, group_id;
--> statement-breakpoint
UPDATE `commissions` SET hold_until = strftime('%Y-%m-%dT%H:%M:%fZ', iif(commissions.seen_at > commissions.created_at, commissions.seen_at, commissions.created_at), '+' || p.auto_approve_days || ' days') FROM programs p WHERE p.id = commissions.program_id AND p.auto_approve_days IS NOT NULL AND commissions.kind <> 'clawback';
--> statement-breakpoint
CREATE TRIGGER `programs_grouped` AFTER INSERT ON `programs` BEGIN INSERT INTO groups (id, program_id, name, slug, created_at, updated_at) VALUES ('grp_' || substr(NEW.id, 6), NEW.id, 'Default', 'default', NEW.created_at, NEW.created_at); END;
--> statement-breakpoint
CREATE TRIGGER `groups_first` AFTER INSERT ON `groups` BEGIN UPDATE programs SET default_group_id = NEW.id WHERE id = NEW.program_id AND default_group_id = ''; END;
--> statement-breakpoint
CREATE TRIGGER `partners_group_exists` BEFORE INSERT ON `partners` WHEN NEW.group_id <> '' AND NOT EXISTS (SELECT 1 FROM groups WHERE id = NEW.group_id AND program_id = NEW.program_id) BEGIN SELECT RAISE(ABORT, 'group is gone'); END;
--> statement-breakpoint
CREATE TRIGGER `partners_group_stays` BEFORE UPDATE OF `group_id` ON `partners` WHEN OLD.group_id IS NOT NEW.group_id AND NOT EXISTS (SELECT 1 FROM groups WHERE id = NEW.group_id AND program_id = NEW.program_id) BEGIN SELECT RAISE(ABORT, 'group is gone'); END;
--> statement-breakpoint
CREATE TRIGGER `groups_kept` BEFORE DELETE ON `groups` WHEN EXISTS (SELECT 1 FROM partners WHERE program_id = OLD.program_id AND group_id = OLD.id) OR EXISTS (SELECT 1 FROM programs WHERE id = OLD.program_id AND default_group_id = OLD.id) BEGIN SELECT RAISE(ABORT, 'group is in use'); END;
--> statement-breakpoint
CREATE TRIGGER `programs_group_exists` BEFORE UPDATE OF `default_group_id` ON `programs` WHEN NOT EXISTS (SELECT 1 FROM groups WHERE id = NEW.default_group_id AND program_id = NEW.id) BEGIN SELECT RAISE(ABORT, 'group is gone'); END;
--> statement-breakpoint
CREATE TRIGGER `partners_groups_inserted` AFTER INSERT ON `partners` WHEN NEW.group_id <> '' BEGIN INSERT INTO list_counts (program_id, list, state, count) VALUES (NEW.program_id, 'partner_groups', NEW.group_id, 1) ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `partners_grouped` AFTER INSERT ON `partners` WHEN NEW.group_id = '' BEGIN UPDATE partners SET group_id = (SELECT default_group_id FROM programs WHERE id = NEW.program_id) WHERE id = NEW.id; END;
--> statement-breakpoint
CREATE TRIGGER `partners_groups_moved` AFTER UPDATE OF `group_id` ON `partners` WHEN OLD.group_id IS NOT NEW.group_id BEGIN INSERT INTO list_counts (program_id, list, state, count) SELECT NEW.program_id, 'partner_groups', value, iif(key = 0, -1, 1) FROM json_each(json_array(OLD.group_id, NEW.group_id)) WHERE value <> '' ON CONFLICT (program_id, list, state) DO UPDATE SET count = count + excluded.count; END;
--> statement-breakpoint
CREATE TRIGGER `partners_groups_deleted` AFTER DELETE ON `partners` BEGIN UPDATE list_counts SET count = count - 1 WHERE program_id = OLD.program_id AND list = 'partner_groups' AND state = OLD.group_id; END;
--> statement-breakpoint
CREATE TRIGGER `groups_rules_changed` AFTER UPDATE OF `commission_pct`, `hold_days` ON `groups` WHEN OLD.commission_pct IS NOT NEW.commission_pct OR OLD.hold_days IS NOT NEW.hold_days BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, '', NEW.updated_at, json_object('id', OLD.id, 'slug', OLD.slug, 'commission_pct', OLD.commission_pct, 'hold_days', OLD.hold_days)); END;
--> statement-breakpoint
CREATE TRIGGER `groups_rules_deleted` AFTER DELETE ON `groups` BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, '', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), json_object('id', OLD.id, 'slug', OLD.slug, 'commission_pct', OLD.commission_pct, 'hold_days', OLD.hold_days)); END;
--> statement-breakpoint
DROP TRIGGER `partners_rules_changed`;
--> statement-breakpoint
CREATE TRIGGER `partners_rules_changed` AFTER UPDATE OF `status`, `commission_pct`, `slug`, `group_id` ON `partners` WHEN OLD.status IS NOT NEW.status OR OLD.commission_pct IS NOT NEW.commission_pct OR OLD.slug IS NOT NEW.slug OR (OLD.group_id <> '' AND OLD.group_id IS NOT NEW.group_id) BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, OLD.id, NEW.updated_at, json_object('status', OLD.status, 'commission_pct', OLD.commission_pct, 'slug', OLD.slug, 'group_id', OLD.group_id)); END;
--> statement-breakpoint
DROP TRIGGER `programs_rules_changed`;
--> statement-breakpoint
CREATE TRIGGER `programs_rules_changed` AFTER UPDATE OF `default_commission_pct`, `attribution`, `code_precedence`, `auto_approve_days` ON `programs` WHEN OLD.default_commission_pct IS NOT NEW.default_commission_pct OR OLD.attribution IS NOT NEW.attribution OR OLD.code_precedence IS NOT NEW.code_precedence OR OLD.auto_approve_days IS NOT NEW.auto_approve_days BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.id, '', NEW.updated_at, json_object('default_commission_pct', OLD.default_commission_pct, 'attribution', OLD.attribution, 'code_precedence', OLD.code_precedence, 'auto_approve_days', OLD.auto_approve_days)); END;
--> statement-breakpoint
DROP TRIGGER `flows_rules_made`;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_made` AFTER INSERT ON `flows` WHEN NEW.active = 1 BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (NEW.program_id, '', NEW.created_at, json_object('id', NEW.id, 'name', NEW.name, 'action_type', NEW.action_type, 'action_value', NEW.action_value, 'conditions', json(NEW.conditions), 'priority', NEW.priority, 'active', json('false'), 'created_at', NEW.created_at, 'hold_days', NEW.hold_days)); END;
--> statement-breakpoint
DROP TRIGGER `flows_rules_changed`;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_changed` AFTER UPDATE OF `name`, `action_type`, `action_value`, `conditions`, `priority`, `active`, `hold_days` ON `flows` WHEN OLD.name IS NOT NEW.name OR OLD.action_type IS NOT NEW.action_type OR OLD.action_value IS NOT NEW.action_value OR OLD.conditions IS NOT NEW.conditions OR OLD.priority IS NOT NEW.priority OR OLD.active IS NOT NEW.active OR OLD.hold_days IS NOT NEW.hold_days BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, '', NEW.updated_at, json_object('id', OLD.id, 'name', OLD.name, 'action_type', OLD.action_type, 'action_value', OLD.action_value, 'conditions', json(OLD.conditions), 'priority', OLD.priority, 'active', json(iif(OLD.active, 'true', 'false')), 'created_at', OLD.created_at, 'hold_days', OLD.hold_days)); END;
--> statement-breakpoint
DROP TRIGGER `flows_rules_deleted`;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_deleted` AFTER DELETE ON `flows` WHEN OLD.active = 1 BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, '', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), json_object('id', OLD.id, 'name', OLD.name, 'action_type', OLD.action_type, 'action_value', OLD.action_value, 'conditions', json(OLD.conditions), 'priority', OLD.priority, 'active', json('true'), 'created_at', OLD.created_at, 'hold_days', OLD.hold_days)); END;

CREATE TABLE `past_rules` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`program_id` text NOT NULL,
	`partner_id` text NOT NULL,
	`valid_until` text NOT NULL,
	`rules` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `past_rules_time` ON `past_rules` (`program_id`,`partner_id`,`valid_until`);--> statement-breakpoint
CREATE INDEX `past_rules_seq` ON `past_rules` (`program_id`,`partner_id`,`seq`);--> statement-breakpoint
ALTER TABLE `payments` ADD `rules_seen` integer;
--> statement-breakpoint
CREATE TRIGGER `programs_rules_changed` AFTER UPDATE OF `default_commission_pct`, `attribution` ON `programs` WHEN OLD.default_commission_pct IS NOT NEW.default_commission_pct OR OLD.attribution IS NOT NEW.attribution BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.id, '', NEW.updated_at, json_object('default_commission_pct', OLD.default_commission_pct, 'attribution', OLD.attribution)); END;
--> statement-breakpoint
CREATE TRIGGER `partners_rules_changed` AFTER UPDATE OF `status`, `commission_pct` ON `partners` WHEN OLD.status IS NOT NEW.status OR OLD.commission_pct IS NOT NEW.commission_pct BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, OLD.id, NEW.updated_at, json_object('status', OLD.status, 'commission_pct', OLD.commission_pct)); END;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_made` AFTER INSERT ON `flows` WHEN NEW.active = 1 BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (NEW.program_id, '', NEW.created_at, json_object('id', NEW.id, 'name', NEW.name, 'action_type', NEW.action_type, 'action_value', NEW.action_value, 'conditions', json(NEW.conditions), 'priority', NEW.priority, 'active', json('false'), 'created_at', NEW.created_at)); END;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_changed` AFTER UPDATE OF `name`, `action_type`, `action_value`, `conditions`, `priority`, `active` ON `flows` WHEN OLD.name IS NOT NEW.name OR OLD.action_type IS NOT NEW.action_type OR OLD.action_value IS NOT NEW.action_value OR OLD.conditions IS NOT NEW.conditions OR OLD.priority IS NOT NEW.priority OR OLD.active IS NOT NEW.active BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, '', NEW.updated_at, json_object('id', OLD.id, 'name', OLD.name, 'action_type', OLD.action_type, 'action_value', OLD.action_value, 'conditions', json(OLD.conditions), 'priority', OLD.priority, 'active', json(iif(OLD.active, 'true', 'false')), 'created_at', OLD.created_at)); END;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_deleted` AFTER DELETE ON `flows` WHEN OLD.active = 1 BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, '', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), json_object('id', OLD.id, 'name', OLD.name, 'action_type', OLD.action_type, 'action_value', OLD.action_value, 'conditions', json(OLD.conditions), 'priority', OLD.priority, 'active', json('true'), 'created_at', OLD.created_at)); END;
--> statement-breakpoint
-- The version before this migration, in a rollback, does not say it.
CREATE TRIGGER `payments_rules_seen` AFTER INSERT ON `payments` WHEN NEW.rules_seen IS NULL BEGIN UPDATE payments SET rules_seen = (SELECT ifnull(max(seq), 0) FROM past_rules) WHERE id = NEW.id; END;

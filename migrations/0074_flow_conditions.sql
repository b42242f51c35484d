DROP INDEX `payments_by_customer`;--> statement-breakpoint
CREATE INDEX `payments_counted_email` ON `payments` (lower("customer_email"),`program_id`,`created_at`,`provider_transaction_id`) WHERE customer_email is not null and event = 'transaction_completed' and coalesce(outcome, '') in ('commission', 'no_ref', 'unknown_ref', 'unknown_code', 'partner_not_active', 'partner_deactivated', 'no_flow', 'too_large');--> statement-breakpoint
CREATE INDEX `payments_by_customer` ON `payments` (`customer_id`,`program_id`,`created_at`,`provider_transaction_id`) WHERE customer_id is not null;--> statement-breakpoint
ALTER TABLE `flows` ADD `starts_at` text;--> statement-breakpoint
ALTER TABLE `flows` ADD `ends_at` text;--> statement-breakpoint
ALTER TABLE `flows` ADD `currency` text;--> statement-breakpoint
ALTER TABLE `programs` ADD `payments_compared` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
-- Until 2027-02-28: flows with an amount belong to a currency.
UPDATE `flows` SET `currency` = (SELECT `currency` FROM `programs` WHERE `id` = `flows`.`program_id`) WHERE `action_type` = 'flat' OR `conditions` LIKE '%"txn_amount_cents"%';--> statement-breakpoint
DROP TRIGGER `flows_rules_made`;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_made` AFTER INSERT ON `flows` WHEN NEW.active = 1 BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (NEW.program_id, '', NEW.created_at, json_object('id', NEW.id, 'name', NEW.name, 'action_type', NEW.action_type, 'action_value', NEW.action_value, 'conditions', json(NEW.conditions), 'priority', NEW.priority, 'active', json('false'), 'created_at', NEW.created_at, 'starts_at', NEW.starts_at, 'ends_at', NEW.ends_at, 'currency', NEW.currency, 'hold_days', NEW.hold_days)); END;
--> statement-breakpoint
DROP TRIGGER `flows_rules_changed`;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_changed` AFTER UPDATE OF `name`, `action_type`, `action_value`, `conditions`, `priority`, `active`, `starts_at`, `ends_at`, `currency`, `hold_days` ON `flows` WHEN OLD.name IS NOT NEW.name OR OLD.action_type IS NOT NEW.action_type OR OLD.action_value IS NOT NEW.action_value OR OLD.conditions IS NOT NEW.conditions OR OLD.priority IS NOT NEW.priority OR OLD.active IS NOT NEW.active OR OLD.starts_at IS NOT NEW.starts_at OR OLD.ends_at IS NOT NEW.ends_at OR OLD.currency IS NOT NEW.currency OR OLD.hold_days IS NOT NEW.hold_days BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, '', NEW.updated_at, json_object('id', OLD.id, 'name', OLD.name, 'action_type', OLD.action_type, 'action_value', OLD.action_value, 'conditions', json(OLD.conditions), 'priority', OLD.priority, 'active', json(iif(OLD.active, 'true', 'false')), 'created_at', OLD.created_at, 'starts_at', OLD.starts_at, 'ends_at', OLD.ends_at, 'currency', OLD.currency, 'hold_days', OLD.hold_days)); END;
--> statement-breakpoint
DROP TRIGGER `flows_rules_deleted`;
--> statement-breakpoint
CREATE TRIGGER `flows_rules_deleted` AFTER DELETE ON `flows` WHEN OLD.active = 1 BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, '', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), json_object('id', OLD.id, 'name', OLD.name, 'action_type', OLD.action_type, 'action_value', OLD.action_value, 'conditions', json(OLD.conditions), 'priority', OLD.priority, 'active', json('true'), 'created_at', OLD.created_at, 'starts_at', OLD.starts_at, 'ends_at', OLD.ends_at, 'currency', OLD.currency, 'hold_days', OLD.hold_days)); END;

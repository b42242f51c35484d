DROP TRIGGER `partners_rules_changed`;
--> statement-breakpoint
CREATE TRIGGER `partners_rules_changed` AFTER UPDATE OF `status`, `commission_pct`, `slug` ON `partners` WHEN OLD.status IS NOT NEW.status OR OLD.commission_pct IS NOT NEW.commission_pct OR OLD.slug IS NOT NEW.slug BEGIN INSERT INTO past_rules (program_id, partner_id, valid_until, rules) VALUES (OLD.program_id, OLD.id, NEW.updated_at, json_object('status', OLD.status, 'commission_pct', OLD.commission_pct, 'slug', OLD.slug)); END;

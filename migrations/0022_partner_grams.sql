CREATE TABLE `partner_grams` (
	`program_id` text NOT NULL,
	`gram` text NOT NULL,
	`partner_id` text NOT NULL,
	PRIMARY KEY(`program_id`, `gram`, `partner_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `partners_unfolded` ON `partners` (`program_id`,`id`) WHERE substr(search_text, 1, 1) <> char(10);
--> statement-breakpoint
CREATE TRIGGER `partners_grams_inserted` AFTER INSERT ON `partners` WHEN NEW.search_text <> '' BEGIN INSERT INTO partner_grams (program_id, gram, partner_id) SELECT DISTINCT NEW.program_id, substr(NEW.search_text, n.key + 1, 3), NEW.id FROM json_each('[' || rtrim(replace(hex(zeroblob(length(NEW.search_text))), '00', '0,'), ',') || ']') n WHERE true ON CONFLICT DO NOTHING; END;
--> statement-breakpoint
CREATE TRIGGER `partners_grams_added` AFTER UPDATE OF `search_text` ON `partners` WHEN OLD.search_text IS NOT NEW.search_text BEGIN INSERT INTO partner_grams (program_id, gram, partner_id) SELECT DISTINCT NEW.program_id, substr(NEW.search_text, n.key + 1, 3), NEW.id FROM json_each('[' || rtrim(replace(hex(zeroblob(length(NEW.search_text))), '00', '0,'), ',') || ']') n WHERE true ON CONFLICT DO NOTHING; END;
--> statement-breakpoint
CREATE TRIGGER `partners_grams_removed` AFTER UPDATE OF `search_text` ON `partners` WHEN OLD.search_text IS NOT NEW.search_text BEGIN DELETE FROM partner_grams WHERE program_id = OLD.program_id AND partner_id = OLD.id AND gram IN (SELECT substr(OLD.search_text, n.key + 1, 3) FROM json_each('[' || rtrim(replace(hex(zeroblob(length(OLD.search_text))), '00', '0,'), ',') || ']') n) AND gram NOT IN (SELECT substr(NEW.search_text, n.key + 1, 3) FROM json_each('[' || rtrim(replace(hex(zeroblob(length(NEW.search_text))), '00', '0,'), ',') || ']') n); END;
--> statement-breakpoint
CREATE TRIGGER `partners_grams_deleted` AFTER DELETE ON `partners` BEGIN DELETE FROM partner_grams WHERE program_id = OLD.program_id AND partner_id = OLD.id AND gram IN (SELECT substr(OLD.search_text, n.key + 1, 3) FROM json_each('[' || rtrim(replace(hex(zeroblob(length(OLD.search_text))), '00', '0,'), ',') || ']') n); END;

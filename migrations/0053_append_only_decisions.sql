CREATE TRIGGER `decisions_deleted` BEFORE DELETE ON `decisions` BEGIN SELECT RAISE(ABORT, 'decisions are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `decisions_updated` BEFORE UPDATE ON `decisions` BEGIN SELECT RAISE(ABORT, 'decisions are append-only'); END;

UPDATE `commissions` INDEXED BY `commissions_flagged` SET flagged = 0, review_reason = NULL, review_reasons = '' WHERE flagged = 1 AND status = 'paid' AND journaled = 1;
--> statement-breakpoint
UPDATE `commissions` INDEXED BY `commissions_flagged` SET flagged = review_reasons LIKE '%manual', review_reason = iif(review_reasons LIKE '%manual', 'manual', NULL), review_reasons = iif(review_reasons LIKE '%manual', 'manual', '') WHERE flagged = 1 AND kind = 'clawback' AND status = 'rejected' AND review_reason = 'disputed';
--> statement-breakpoint
CREATE TRIGGER `commissions_paid_unflagged` AFTER UPDATE OF `status`, `journaled` ON `commissions` WHEN new.flagged = 1 AND new.status = 'paid' AND new.journaled = 1 BEGIN UPDATE commissions SET flagged = 0, review_reason = NULL, review_reasons = '' WHERE id = new.id; END;

-- A balance beyond 2^53 - 1 would not be exact: the change that would make it is refused, whatever makes it.
CREATE TRIGGER `balances_bounded` BEFORE INSERT ON `balances` WHEN NEW.amount_cents NOT BETWEEN -9007199254740991 AND 9007199254740991 BEGIN SELECT RAISE(ABORT, 'balance too large'); END;
--> statement-breakpoint
CREATE TRIGGER `balances_stay_bounded` BEFORE UPDATE OF `amount_cents` ON `balances` WHEN NEW.amount_cents NOT BETWEEN -9007199254740991 AND 9007199254740991 BEGIN SELECT RAISE(ABORT, 'balance too large'); END;

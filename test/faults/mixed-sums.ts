/** The sums that triggers keep of partners and codes. */
import { BY_CODE } from "../support/by-code.ts";
import { BY_REVENUE } from "../support/by-revenue.ts";
import { BY_SALE } from "../support/by-sale.ts";

/** Compares the stored sums with the rows. */
export function checkSums(differs: (what: string, counted: string, real: string) => void): void {
  differs(
    "earning_days",
    `select program_id, day, partner_id, currency, commissions, amount_cents from earning_days
      where commissions <> 0 or amount_cents <> 0`,
    `select program_id, substr(created_at, 1, 10), partner_id, currency, count(*), sum(amount_cents) from commissions
      where status <> 'rejected' group by 1, 2, 3, 4`,
  );
  differs(
    "revenue of earning_days",
    "select program_id, day, partner_id, currency, revenue_cents from earning_days where revenue_cents <> 0",
    `select program_id, day, partner_id, currency, revenue from (${BY_REVENUE}) where revenue <> 0`,
  );
  differs(
    "partner_sales",
    `select program_id, partner_id, currency, sales, revenue_cents from partner_sales
      where sales <> 0 or revenue_cents <> 0`,
    `select program_id, partner_id, currency, sum(sales), sum(revenue) from (${BY_REVENUE}) group by 1, 2, 3`,
  );
  differs(
    "code_days",
    `select program_id, day, partner_id, code_id, currency, sales, revenue_cents, earned_cents from code_days
      where sales <> 0 or revenue_cents <> 0 or earned_cents <> 0`,
    `select program_id, day, partner_id, code_id, currency, sum(sales), sum(revenue), sum(earned) from (${BY_CODE})
      group by 1, 2, 3, 4, 5 having sum(sales) <> 0 or sum(revenue) <> 0 or sum(earned) <> 0`,
  );
  differs(
    "sale_days",
    `select program_id, day, partner_id, leads, sales, first_sales from sale_days
      where leads <> 0 or sales <> 0 or first_sales <> 0`,
    BY_SALE,
  );
}

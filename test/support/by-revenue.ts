/** Sales by day, partner and currency with their revenue, computed from payments: to compare the stored sums with. */
export const BY_REVENUE = `select program_id, substr(created_at, 1, 10) as day, partner_id, currency, count(*) as sales,
    sum(txn_amount_cents - adjusted_cents) as revenue
  from payments where partner_id is not null and event = 'transaction_completed' and outcome = 'commission'
  group by 1, 2, 3, 4`;

const KEPT = `select 'day' as kept, day, partner_id, currency, 0 as sales, revenue_cents as revenue from earning_days
    where program_id = ?1 and revenue_cents <> 0
  union all select 'all', '', partner_id, currency, sales, revenue_cents from partner_sales
    where program_id = ?1 and (sales <> 0 or revenue_cents <> 0)`;
const OF_PAYMENTS = `select 'day' as kept, day, partner_id, currency, 0 as sales, revenue from (${BY_REVENUE})
    where program_id = ?1 and revenue <> 0
  union all select 'all', '', partner_id, currency, sum(sales), sum(revenue) from (${BY_REVENUE})
    where program_id = ?1 group by 3, 4`;

/** The differences between the stored sums of revenue and sales of a program, and its payments. */
export const REVENUE_DIFFERENCES = `select 'kept' as side, * from (select * from (${KEPT}) except select * from (${OF_PAYMENTS}))
  union all select 'payments', * from (select * from (${OF_PAYMENTS}) except select * from (${KEPT}))`;

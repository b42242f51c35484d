/** The daily counts of each promotion code, computed from payments and commissions: to compare `code_days` with. */
export const BY_CODE = `select p.program_id as program_id, substr(p.created_at, 1, 10) as day, k.partner_id as partner_id,
    k.id as code_id, p.currency as currency, 1 as sales, p.txn_amount_cents - p.adjusted_cents as revenue, 0 as earned
  from payments p join partner_codes k on k.id = p.code_id where p.outcome = 'commission'
  union all
  select c.program_id, substr(c.created_at, 1, 10), k.partner_id, k.id, c.currency, 0, 0, c.amount_cents
  from commissions c join payments p on p.id = c.payment_id
    join partner_codes k on k.id = p.code_id and k.partner_id = c.partner_id where c.status <> 'rejected'`;

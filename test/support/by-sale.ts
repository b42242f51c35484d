/** The daily counts of partners' links, computed from payments: to compare `sale_days` with. */
export const BY_SALE = `select p.program_id as program_id, substr(p.created_at, 1, 10) as day, p.partner_id as partner_id,
    sum(p.event = 'lead_created') as leads, sum(p.event = 'transaction_completed') as sales,
    sum(p.event = 'transaction_completed' and not exists (
      select 1 from payments e where e.program_id = p.program_id and e.partner_id = p.partner_id
        and e.provider = p.provider and e.customer_id = p.customer_id and e.event = p.event and e.outcome = 'commission'
        and (e.created_at, e.id) < (p.created_at, p.id))) as first_sales
  from payments p where p.partner_id is not null
    and (p.outcome = 'commission' or (p.outcome = 'no_flow' and p.event = 'lead_created'))
  group by 1, 2, 3`;

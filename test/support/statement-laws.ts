/** The laws of statements and invoice numbers (OUT-34): each query selects the violations. */
export const STATEMENT_LAWS = {
  "each payout that was paid has one statement, and only a returned one a credit note": `select p.id, p.status,
      s.payout_id, s.invoice_number, s.credit_note_number from payouts p left join payout_statements s on s.payout_id = p.id
    where (p.status in ('paid', 'returned')) <> (s.payout_id is not null)
      or (s.credit_note_number is not null) <> (p.status = 'returned' and s.invoice_number is not null)
      or (s.credit_note_number is null) <> (s.credited_at is null)`,
  "numbers are 1, 2, 3 without gaps, for each program and series": `select program_id, max(invoice_number) as invoices,
      count(invoice_number), max(credit_note_number) as credit_notes, count(credit_note_number) from payout_statements
    group by program_id having ifnull(max(invoice_number), 0) <> count(invoice_number)
      or ifnull(max(credit_note_number), 0) <> count(credit_note_number)`,
  "the lines of a returned payout add up to it": `select p.id, p.amount_cents, sum(l.amount_cents), count(l.commission_id)
    from payouts p left join returned_lines l on l.payout_id = p.id where p.status = 'returned' and p.source_amounts is null
    group by p.id having sum(l.amount_cents) is not p.amount_cents or count(l.commission_id) <> p.commission_count`,
  "those of a converted one add up in each currency, and its conversions to it": `select p.id, s.value as source
    from payouts p, json_each(p.source_amounts) s where p.status = 'returned' and (
      s.value ->> 'amount_cents' <> (select sum(l.amount_cents) from returned_lines l
        where l.payout_id = p.id and l.currency = s.value ->> 'currency')
      or p.commission_count <> (select count(*) from returned_lines l where l.payout_id = p.id)
      or p.amount_cents <> (select sum(x.value ->> 'converted_cents') from json_each(p.source_amounts) x))`,
} as const;

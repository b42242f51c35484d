/** Mistakes that runs must find: those of the past, and others of the same kinds. Each replaces texts of the source. */
import type { Patch } from "./bundle.ts";

export interface Plant {
  name: string;
  patches: Patch[];
}

const plant = (name: string, file: string, ...texts: [find: string, put: string][]): Plant => ({
  name,
  patches: texts.map(([find, put]) => ({ file: `src/${file}`, find, put })),
});

export const PLANTS: readonly Plant[] = [
  {
    name: "D1: neither canceling a payout nor rejecting settles again",
    patches: [
      {
        file: "src/core/ledger/decisions.ts",
        find: "where k.payment_id = ${payment_id} and k.kind = 'clawback')",
        put: "where k.payment_id = ${payment_id} and k.kind = 'drawback')",
      },
    ],
  },
  plant("D2: a forgiven clawback counts as if it applied", "domain/commission.ts", [
    "subtract(sumDue(locked, waived, due), sumOf(locked))",
    "subtract(sumDue(locked, [], due), sumOf([...locked, ...waived]))",
  ]),
  {
    name: "D3: what a canceled payout's commission owes back falls into a later month",
    patches: [
      {
        file: "src/core/payouts/payouts.ts",
        find: "sql`c.payout_id = ${before.id} and",
        put: "sql`0 and c.payout_id = ${before.id} and",
      },
      {
        file: "src/core/payouts/payouts.ts",
        find: "await settleChanged(ctx, released, room);",
        put: "void [ctx, released];",
      },
      {
        file: "src/core/payouts/payable.ts",
        find: "and (${c}.amount_cents < 0\n",
        put: "and (0\n",
      },
    ],
  },
  plant("D4: a transfer is sent with whatever key is stored", "core/payouts/attempt.ts", [
    "if (frozen.key_mark === (await keyMark(api_key))) return",
    "if (frozen.key_mark !== api_key) return",
  ]),
  plant("D5: a refund is filed under the program of the URL", "core/inbound/take-event.ts", [
    "event.facts.some(mayWait) ? receiveChange : receiveUnclaimed",
    "(url: ProgramCtx, one: Delivery) => receive(url, one)",
  ]),
  plant("D6: a payment is decided by the rules of the moment", "domain/rules.ts", [
    "return firstSince(time, past)?.rules ?? current;",
    "return past.length > 1_000 ? (firstSince(time, past)?.rules ?? current) : current;",
  ]),
  plant("settle: a flow asks for the slug of the day", "domain/payment.ts", [
    "chosenRule(rules, partner.id,",
    "chosenRule({ ...rules, ofPartner: (id) => ({ ...rules.ofPartner(id), slug: partner.slug }) }, partner.id,",
  ]),
  {
    name: "settle: a payment is decided by the rules of its unpaid session",
    patches: [
      {
        file: "src/core/ledger/concerned-payments.ts",
        find: "const seen = state.paid\n",
        put: "const seen = state.paid || state.gross_cents >= 0\n",
      },
      {
        file: "src/core/ledger/concerned-payments.ts",
        find: "${heard}, rules_seen)",
        put: "rules_seen, rules_seen)",
      },
      {
        file: "src/core/ledger/plan.ts",
        find: "return paid ? firstSeen(state) : UNPAID_SEEN;",
        put: "return paid ? firstSeen(state) : state.payments[0].rules_seen!;",
      },
    ],
  },
  plant("D7: a judgement goes with the payment, not with its partner", "core/ledger/plan.ts", [
    "state.decisions.filter(({ partner_id }) => partner_id === desired.partner_id)",
    "state.decisions",
  ]),
  plant("D8: a kept count forgets some events", "core/kernel/commit.ts", [
    "      ctx.db.run(countAt(ctx.program.id, created_at, types)),\n",
    "      ...(sent.length > 0 ? [ctx.db.run(countAt(ctx.program.id, created_at, types))] : []),\n",
  ]),
  plant("commit: a lost race is not noticed", "core/kernel/conflict.ts", [
    "refuseIf(sql`changes() <> ${expect}`)",
    "refuseIf(sql`changes() > ${expect}`)",
  ]),
  plant("commit: only the first message of a change is sent", "core/kernel/commit.ts", [
    "const outbound = occurrences.flatMap(",
    "const outbound = occurrences.slice(0, 1).flatMap(",
  ]),
  plant("commit: a repeated request is carried out again", "core/kernel/idempotency.ts", [
    "row.claimed_by === claim.claimed_by) return",
    "row.key === claim.key) return",
  ]),
  plant("settle: of two that read the same facts both write", "core/ledger/plan.ts", [
    ".where(and(eq(payments.id, before.id), eq(payments.facts_revision, before.facts_revision))),",
    ".where(eq(payments.id, before.id)),",
  ]),
  plant("settle: tax is refunded as if it were earned on", "domain/payment-state.ts", [
    "net.push(mulDivHalfUp(fromGross, state.base_cents, state.gross_cents))",
    "net.push(fromGross)",
  ]),
  plant("settle: an older version of an adjustment counts", "domain/payment-state.ts", [
    "compare(b.occurred_at, a.occurred_at) ||\n      b.stage - a.stage",
    "compare(a.occurred_at, b.occurred_at) ||\n      b.stage - a.stage",
  ]),
  plant("settle: what was remembered later counts for an earlier payment", "domain/reference.ts", [
    "> (isImported(fact) ? paidAt : paidAt + ATTRIBUTION_SLACK_MS)",
    "> (isImported(fact) ? paidAt : Number.MAX_VALUE)",
  ]),
  plant("settle: a cleared flag comes back", "domain/commission.ts", [
    "reasons.filter((reason) => !dismissed.includes(reason))",
    "reasons.filter((reason) => !dismissed.includes(`${reason}!`))",
  ]),
  plant("settle: half a unit is rounded down", "domain/money.ts", [
    "(2n * product + divisor) / (2n * divisor)",
    "(2n * product + divisor - 1n) / (2n * divisor)",
  ]),
  plant("payout: a disputed commission is paid", "core/payouts/payable.ts", [
    "(${c}.flagged = 1 and ${c}.review_reason is 'disputed')",
    "(${c}.flagged = 1 and ${c}.review_reason is 'refuted')",
  ]),
  plant("payout: what is being settled is paid", "core/ledger/decisions.ts", [
    "u.settled_revision < u.facts_revision)",
    "u.settled_revision > u.facts_revision)",
  ]),
  plant("payout: exactly the least amount is not paid", "core/payouts/payable.ts", [
    "when ${sum} < ${minimum(ctx, currency)}",
    "when ${sum} <= ${minimum(ctx, currency)}",
  ]),
  plant("payout: two moves at once both happen", "core/payouts/payouts.ts", [
    "          sql`${payouts.status} = ${literal(before.status)}`,\n          eq(payouts.updated_at, before.updated_at),\n",
    "",
  ]),
  plant("payout: each sending has a key of its own", "core/payouts/pay.ts", [
    "`${payout.id}:${payout.attempt}`",
    "`${payout.id}:${ctx.now}`",
  ]),
  plant("payout: it is sent again while a transfer may exist", "core/payouts/pay.ts", [
    'if (found.outcome === "unknown") return { ...found, outcome: isFirst && isHeldBy(found.code) ? "refused" : "open" };',
    "",
  ]),
  plant("delivery: a refused attempt is a success", "domain/delivery.ts", [
    "if (error === null) return",
    'if (error === null || error === "http") return',
  ]),
  plant("delivery: nobody looks for what was never woken", "jobs.ts", [
    "work: ({ outbound }) => wakeDue(outbound)",
    "work: ({ outbound }) => (outbound.now() > 0 ? null : wakeDue(outbound))",
  ]),
  plant("delivery: a claim that has run out is not taken over", "core/kernel/deliveries.ts", [
    "and c.claimed_until <= ${now} limit ${literal(limit)}))",
    "and c.claimed_until <= '' limit ${literal(limit)}))",
  ]),
  plant("delivery: one more attempt after the last", "core/kernel/deliveries.ts", [
    "attempt_count = d.attempt_count + 1,",
    "attempt_count = d.attempt_count,",
  ]),
  plant("clicks: a flush that is repeated counts again", "core/clicks/clicks.ts", [
    "      db.run(refuseUnlessChanged(1)),\n",
    "",
  ]),
  plant("clicks: an object that begins again does not know what it has seen", "clicks/store.ts", [
    "if (row.stored_at < this.#now - SEEN_WINDOW) {",
    "if (row.stored_at <= this.#now) {",
  ]),
  plant("clicks: one is accepted whose commit failed", "clicks/accept.ts", [
    'if (attempt === 2 || !isRetryable(error)) return "refused";',
    'if (attempt === 2 || !isRetryable(error)) return "stored";',
  ]),
  plant(
    "clicks: what is committed a second time has an id of its own",
    "clicks/accept.ts",
    [".commit(batch), name)", ".commit({ ...batch, id: randomToken(12) }), name)"],
    [".take(batch), first)", ".take({ ...batch, id: randomToken(12) }), first)"],
  ),
  plant("clicks: nobody looks for what nobody came for", "clicks/wake-objects.ts", [
    "(cursors.get(epoch) ?? 0) < last",
    "cursors.get(epoch) === null && last > 0",
  ]),
  plant("clicks: what waits counts as flushed with what was", "clicks/store.ts", [
    "const at = Math.min(cursor, this.#last);",
    "const at = Math.max(cursor, this.#last);",
  ]),
  plant("delivery: an endpoint that is off is sent to", "core/kernel/commit.ts", [
    "and e.active = 1 and",
    "and e.active >= 0 and",
  ]),
  plant("import: an imported partner counts before the one that a vendor named", "domain/reference.ts", [
    "among.findLast(({ fact }) => !isImported(fact)) ?? among[0]",
    "among.at(-1)",
  ]),
  // Fewer at once, because a run has few payments.
  plant(
    "apply from: what comes after the first payments is left as it is",
    "core/ledger/apply-from.ts",
    ["const MARKED_AT_ONCE = 50;", "const MARKED_AT_ONCE = 10;"],
    [
      "delete from rule_applications where ${own} and not exists (${nextOf(own)})",
      "delete from rule_applications where ${own}",
    ],
  ),
  plant("apply from: a payment of that very moment is left as it is", "core/ledger/apply-from.ts", [
    "p.created_at >= a.applies_from as is_since",
    "p.created_at > a.applies_from as is_since",
  ]),
  plant("apply from: settling does not know the rule that is applied", "core/ledger/rules.ts", [
    "state.past.filter(({ seq, applies_from }) => applies_from === null || seq <= upTo)",
    "state.past.filter(({ seq, applies_from }) => applies_from === null && seq <= upTo)",
  ]),
  plant("apply from: what a flow of before decided is left as it is", "core/ledger/apply-from.ts", [
    'if (source === "flow") return sql`true`;',
    "if (source === \"flow\") return sql`decision ->> '$.rate.source' = 'flow'`;",
  ]),
  plant("erasure: a rule is chosen again for an erased customer", "domain/payment.ts", [
    "recorded && isErased ? recordedRule(recorded) : chosenRule(",
    "chosenRule(",
  ]),
  plant("payouts: what a commission is worth after all waits for the next period", "core/payouts/payable.ts", [
    "${c}.kind = 'clawback' and ${c}.amount_cents > 0",
    "0 and ${c}.kind = 'clawback' and ${c}.amount_cents > 0",
  ]),
  plant("groups: the group of today decides", "core/ledger/rules.ts", [
    'const group_id = columnAt("group_id", time, own, partner);',
    "const { group_id } = partner;",
  ]),
  plant("groups: their hold is ignored", "domain/payment.ts", ["group: group?.hold_days ?? null", "group: null"]),
  plant("customers: a late payment renumbers no other", "core/ledger/counted-payments.ts", [
    "if (most === 0) return [];",
    "if (most >= 0) return [];",
  ]),
  plant("customers: those who paid before are new", "domain/customer.ts", [
    "new_customer: !first || first.partner_id !== null,",
    "new_customer: true,",
  ]),
  plant("exchange: conversions are cut off", "core/payouts/exchange.ts", [
    '* ${of("raise")} + ${of("lower")} / 2)',
    '* ${of("raise")})',
  ]),
  plant("lines: a credit for an unused period does not count", "domain/lines.ts", [
    "const matching = lines.filter(isMatching);",
    "const matching = lines.filter((line) => line.amount_cents > 0 && isMatching(line));",
  ]),
  plant("flows: a flat amount is paid in any currency", "domain/flow.ts", [
    "return currency && subject.event",
    "return currency && !currency && subject.event",
  ]),
  plant("flows: one that has ended applies", "domain/flow.ts", [
    "if (ends_at && made >= Date.parse(ends_at))",
    "if (ends_at && made < 0)",
  ]),
  plant(
    "files: a payout of a partner with a hold is in one",
    "core/payouts/exports.ts",
    ['(row.held ? "held" : null)', "null"],
    ["failure_message = null,`, unlessHeld: true }", "failure_message = null,` }"],
  ),
  plant("files: money that came back is not returned", "core/payouts/results.ts", [
    'isPaid || payout_status !== "paid" ? unchanged',
    'isPaid || payout_status !== "returned" ? unchanged',
  ]),
  plant("files: a canceled one is paid", "core/payouts/results.ts", [
    '!isLast ? "open" : isAnyPaid ? "paid" : "canceled"',
    '!isLast ? "open" : "paid"',
  ]),
  plant(
    "holds: what is marked as paid does not wait",
    "core/payouts/payouts.ts",
    ['if (move === "mark_paid") refuseHeld(before);\n', ""],
    ['{ unlessHeld: move === "mark_paid" }', "{ unlessHeld: false }"],
  ),
];

/** Mistakes in the reading of vendors' events, which `simulate:stories` must find. */
export const STORY_PLANTS: readonly Plant[] = [
  plant("provider A: what credit paid is earned on again", "providers/provider-a/payment.ts", [
    "const base_cents = mulDivHalfUp(net, gross_cents, total);",
    "const base_cents = net;",
  ]),
  plant("provider A: a session that nobody paid is paid", "providers/provider-a/payment.ts", [
    'paid: event_type === "checkout.session.async_payment_succeeded" || session.payment_status !== "unpaid",',
    "paid: true,",
  ]),
  plant("provider A: of two groups of types in the list only one is read", "providers/provider-a/reads.ts", [
    "return group + 1 < GROUPS.length ? `${group + 1}:` : null;",
    "return null;",
  ]),
  plant("provider A: an intent that is all there is makes no payment", "providers/provider-a/payment.ts", [
    "if (invoice) return linkOf",
    "if (aliases.length > 0) return linkOf",
  ]),
  plant("provider A: what was let go of money that was held is a refund", "domain/payment-state.ts", [
    "return stated.toSorted((a, b) => compareAmounts(b, a))[0]!;",
    "return NOTHING;",
  ]),
  plant("provider A: a session and its intent are two payments", "providers/provider-a/payment.ts", [
    "const aliases = aliasesOf(session.id, session.invoice?.id, session.payment_intent);",
    "const aliases = aliasesOf(session.id, session.invoice?.id);",
  ]),
  plant("codes: of one sale a link and a code are weighed only where one event says both", "domain/reference.ts", [
    "return named.get(one) === named.get(other);",
    "return a.occurred_at === b.occurred_at;",
  ]),
  plant("leads: the customers of other providers are not bound", "providers/api/events.ts", [
    "bound.map((fact) => ({ ...fact, any_provider: true }))",
    "bound",
  ]),
  plant("leads: an address binds nobody", "domain/reference.ts", [
    "customer_email !== null && fact.customer_email === emailKey(customer_email),",
    'customer_email === null && fact.customer_email === emailKey(customer_email ?? ""),',
  ]),
  plant("provider B: a refund that waits for approval counts", "providers/provider-b/events.ts", [
    'effective: data.status === "approved",',
    'effective: data.status !== "rejected",',
  ]),
  plant("provider B: the tax of a refund is given back too", "providers/provider-b/events.ts", [
    "amount_cents: sumWithin([data.totals.total, negate(data.totals.tax)], NOTHING, data.totals.total),",
    "amount_cents: data.totals.total,",
  ]),
  plant("provider B: a credit takes from what was paid", "providers/provider-b/events.ts", [
    "  credit: null,\n",
    '  credit: "deduct",\n',
  ]),
  plant("provider B: what the balance paid is earned on again", "providers/provider-b/events.ts", [
    "return sums.grand_total ?? sumWithin([sums.total, negate(sums.credit ?? NOTHING)]);",
    "return sums.total;",
  ]),
  plant("codes: the payments before go with a code that is moved", "domain/code.ts", [
    "own.filter((one) => one.created_at <= at && (one.ended_at === null || one.ended_at > at));",
    "own.filter((one) => one.ended_at === null);",
  ]),
];

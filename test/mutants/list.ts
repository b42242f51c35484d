/** Mistakes in single expressions, and for each the suite that finds it. */
export interface Mutant {
  /** Below `src`. */
  file: string;
  /** An expression that the file has once. */
  from: string;
  to: string;
  /** Below `test`, without its ending. */
  suite: string;
}

type Row = [from: string, to: string, suite: string];

const mutants = (file: string, ...rows: Row[]): Mutant[] =>
  rows.map(([from, to, suite]) => ({ file, from, to, suite }));

export const MUTANTS: readonly Mutant[] = [
  ...mutants(
    "domain/money.ts",
    ["(2n * product + divisor) / (2n * divisor)", "product / divisor", "unit/money"],
    ["raised > most ? most : raised", "raised", "unit/money"],
  ),
  ...mutants(
    "domain/commission.ts",
    ["rest > 0 ? rate.action_value : NOTHING", "rate.action_value", "unit/commission.property"],
    ["seen_at > created_at ? seen_at : created_at", "created_at", "integration/commissions-approve"],
    ['of("approved") ?? of("pending")', 'of("pending") ?? of("approved")', "unit/commission.property"],
    ['row.kind === "clawback" && row.status === "rejected" && !isLocked(row)', "false", "integration/ledger-decisions"],
    ['kept?.status === "rejected" ? null : target', "target", "integration/unsettleable-decisions"],
  ),
  ...mutants(
    "domain/lines.ts",
    ["smaller(named, whole.adjusted_cents)", "named", "unit/lines"],
    ["sumWithin([base_cents, negate(own)], NOTHING, before)", "base_cents", "integration/product-flows"],
    ['reversal === "never"', "reversal !== undefined", "unit/lines"],
    ["whole <= 0 || whole === base_cents", "true", "unit/lines"],
  ),
  ...mutants(
    "domain/customer.ts",
    ["!first || first.partner_id !== null", "true", "unit/customer"],
    ["emailKey(own) === emailKey(others)", "own === others", "unit/customer"],
    ["addMonths(start, months) > end.getTime() ? months - 1 : months", "months", "unit/customer"],
    ["Math.min(start.getUTCDate(), lastDay)", "start.getUTCDate()", "unit/customer"],
  ),
  ...mutants(
    "domain/payout.ts",
    ["now - created_at < REPEATS_FOR_MS", "true", "integration/payouts-restored"],
    ["period.period_start >= period.period_end", "false", "integration/payouts-generate"],
    ["Math.min(Math.max(wait, MINUTE_MS), HOUR_MS)", "MINUTE_MS", "unit/payout"],
    ["reconcile_at > now && reconcile_at <= now + TRANSFER_LEASE_MS + MINUTE_MS", "false", "integration/payouts-said"],
  ),
  ...mutants(
    "domain/reference.ts",
    [
      'code_precedence === "code" ? [...inTime, ...refs] : [...refs, ...inTime]',
      "[...refs, ...inTime]",
      "integration/codes",
    ],
    ["held === undefined || held.created_at <= occurred_at", "true", "integration/codes"],
    ['known || state.event === "lead_created"', "known", "integration/lead-flows"],
    ["rank(a.place) - rank(b.place)", "0", "integration/references"],
    ["isOfOneSale(other.fact, fact)", "false", "integration/codes-of-one-sale"],
    ["named.get(one) === named.get(other)", "true", "integration/codes-of-one-sale"],
    ["last.get(keeper) === slugKey(ref)", "false", "integration/repeated-references"],
    ["isLate && !granted.includes(led.partner.id)", "isLate", "integration/claims-unsettled"],
    ["seen.size < seen.add(slugKey(ref)).size", "true", "unit/reference"],
    ["isImported(fact) ? paidAt : paidAt + ATTRIBUTION_SLACK_MS", "paidAt + ATTRIBUTION_SLACK_MS", "unit/reference"],
  ),
  ...mutants(
    "domain/payment-state.ts",
    [
      "first((fact) => fact.customer_email) ?? addressAt(facts, customer_id, occurred_at)",
      "first((fact) => fact.customer_email)",
      "integration/customer-addresses",
    ],
    ["Number(a.written_off ?? false) - Number(b.written_off ?? false)", "0", "integration/partial-payments"],
    ["mulDivHalfUp(fromGross, state.base_cents, state.gross_cents)", "fromGross", "integration/ledger"],
    ["all.every((fact) => fact.test)", "all.some((fact) => fact.test)", "unit/payment-state"],
    ["larger(left, standing(charge))", "left", "unit/payment-state"],
    ["larger(stated, done)", "stated", "unit/payment-state"],
    ["amount_cents >= whole", "false", "unit/payment-state"],
  ),
  ...mutants(
    "domain/twin.ts",
    ["byTime(earliest(own), earliest(other)) > 0", "true", "integration/payment-twins"],
    ["apart <= within_ms", "true", "unit/twin"],
  ),
  ...mutants(
    "domain/payment.ts",
    ["(isErased || recorded.decided_on === decided_on)", "recorded.decided_on === decided_on", "integration/erasure"],
    ["partner.group?.commission_pct ?? null", "null", "integration/groups"],
    ["flow?.hold_days ?? null", "null", "integration/hold"],
    ["group?.hold_days ?? null", "null", "integration/hold"],
    ["base_cents !== undefined && base_cents <= 0", "false", "integration/product-flows"],
  ),
  ...mutants(
    "domain/rules.ts",
    ["Date.parse(rule.valid_until) > until", "false", "integration/ledger-rules"],
    ["rule.seq > applied", "true", "integration/apply-from"],
  ),
  ...mutants("domain/code.ts", ["one.ended_at === null || one.ended_at > at", "true", "integration/codes"]),
  ...mutants(
    "domain/condition.ts",
    ['typeof value === "string" ? value.toLowerCase() : value', "value", "unit/flow.property"],
    ["isNegative ? each.every(Boolean) : each.some(Boolean)", "each.some(Boolean)", "integration/product-flows"],
    [
      "wanted.length === 0 || wanted.some((condition) => holdsAmong(condition, products))",
      "wanted.some((condition) => holdsAmong(condition, products))",
      "integration/product-flows",
    ],
  ),
  ...mutants(
    "domain/flow.ts",
    ["failed ? { ...flow, conditions: [failed] } : flow", "flow", "integration/largest-trace"],
    ["currency !== subject.currency", "false", "unit/flow.property"],
    ["made >= Date.parse(ends_at)", "made > Date.parse(ends_at)", "unit/flow.property"],
    ["hasAmount === true ? programCurrency : null", "null", "integration/flows"],
  ),
  ...mutants(
    "domain/erasure.ts",
    ["isApart(text, at - 1, -1) && isApart(text, at + address.length, 1)", "true", "unit/erasure"],
    ['text.includes("%") && isAmongWords(unescapedUrl(text), addresses)', "false", "unit/erasure"],
    ['fact.kind === "customer" ? { ...fact, email: null } : fact', "fact", "integration/erasure-linked"],
  ),
  ...mutants("domain/shard.ts", ["digit === undefined ? 0 : DIGITS.indexOf(digit)", "0", "integration/shards-tenancy"]),
  ...mutants(
    "core/ledger/plan.ts",
    ["isOwn ? decision.review_reasons : []", "decision.review_reasons", "integration/ledger-flags"],
    ["amount_cents > 0 ? disputed : []", "disputed", "integration/ledger-flags"],
    [
      "state.decisions.filter(({ partner_id }) => partner_id === desired.partner_id)",
      "state.decisions",
      "integration/ledger-decisions",
    ],
    ["published(before) !== published(after)", "true", "integration/ledger"],
    ['decision.state.event === "lead_created" ? "lead" : "sale"', '"sale"', "integration/lead-flows"],
  ),
  ...mutants(
    "core/ledger/settle.ts",
    ["isRequested ? new Set() : nobodysIn(state)", "new Set()", "integration/reprocess"],
    ["error instanceof BalanceTooLarge && !isTooLarge", "false", "integration/large-sums"],
  ),
  ...mutants(
    "core/ledger/rules.ts",
    ['columnAt("group_id", time, own, partner)', "partner.group_id", "integration/groups"],
    ['columnAt("commission_pct", time, own, current)', "current.commission_pct", "integration/groups"],
    ["own.toSorted((a, b) => b.seq - a.seq)[0]?.rules", "undefined", "integration/groups"],
    ['columnAt("hold_days", time, withoutBackdated(own), current)', "current.hold_days", "integration/hold"],
  ),
  ...mutants(
    "core/ledger/counted-payments.ts",
    ["standing && isCompared(row, counted, most)", "false", "integration/customer-conditions"],
    ["partner_id !== null", "true", "integration/customer-conditions"],
  ),
  ...mutants("core/ledger/ask-lines.ts", ["!isUnknown || !apart", "!apart", "integration/product-flows"]),
  ...mutants("core/programs/groups.ts", ["group.partner_count > 0", "false", "integration/groups"]),
  ...mutants("core/ledger/facts.ts", ["event.ignored === null ? body : null", "body", "integration/erasure-ignored"]),
  ...mutants(
    "core/kernel/list-page.ts",
    ["isOldest ? texts.toReversed() : texts", "texts", "integration/pages-lists"],
    ["isOldest ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`]", "[sql`desc`, sql`<`]", "integration/pages-lists"],
  ),
  ...mutants("core/payouts/payable.ts", [
    "isOfPeriod(alias, sql`x.period_end`)",
    "sql`1`",
    "integration/payouts-month",
  ]),
  ...mutants("core/payouts/payouts.ts", [
    "partner_id === undefined ? undefined : eq(payouts.partner_id, partner_id)",
    "undefined",
    "integration/payouts",
  ]),
  ...mutants(
    "core/commissions/bulk.ts",
    ["before.flagged && !change.include_flagged", "false", "integration/commissions-bulk"],
    ["matched - eligible", "0", "integration/commissions-matching"],
    ["hasChanged(before, unchanged_since)", "false", "integration/commissions-matching"],
  ),
  ...mutants("core/partners/partners.ts", ["(input[field] ?? null) !== null", "false", "integration/scopes"]),
  ...mutants(
    "providers/signature.ts",
    ["signatures.length < MAX_SIGNATURES", "true", "unit/provider-a-verify"],
    ["Math.abs(Math.floor(now / 1000) - Number(timestamp)) <= TOLERANCE_SECONDS", "true", "unit/provider-b-verify"],
  ),
  ...mutants(
    "providers/provider-a/payment.ts",
    [
      'session.payment_status === "no_payment_required" ? NOTHING : amount_total',
      "amount_total",
      "unit/provider-a-session",
    ],
    ["tax > amount_total", "false", "unit/provider-a-session"],
    ["smaller(settled, asked)", "settled", "unit/provider-a-invoice"],
    ["amount_captured ?? (isHeld ? NOTHING : amount)", "amount", "unit/provider-a-changes"],
    [
      "isByHand && (paid_out_of_band === true || (amount_paid_off_stripe ?? NOTHING) > NOTHING)",
      "false",
      "integration/payment-twins",
    ],
  ),
  ...mutants("providers/provider-a/reads.ts", [
    "(await listedEvent(half, api_key, thin)) ?? readObject(half, api_key, thin)",
    "readObject(half, api_key, thin)",
    "integration/thin-events",
  ]),
  ...mutants("providers/provider-b/events.ts", ['event_id.startsWith("ntfsimevt_")', "false", "integration/test-mode"]),
  ...mutants(
    "http/idempotency.ts",
    ["REPEATABLE.has(c.res.status)", "true", "integration/idempotency"],
    ["isStored && c.res.ok", "false", "integration/round-trips"],
    ["key.length < 1 || key.length > MAX_KEY_LENGTH", "false", "integration/idempotency"],
  ),
  ...mutants("resources/input.ts", ["/\\.\\d{3}\\d*[1-9]/.test(given) ? ms + 1 : ms", "ms", "integration/events"]),
  ...mutants("http/validate.ts", ["bareDate ? ms + DAY : ms", "ms", "integration/payouts"]),
  ...mutants("http/rate-limit.ts", ["keys.site === keys.network", "true", "integration/limits"]),
  ...mutants(
    "clicks/recent-ids.ts",
    ["before !== undefined && now - before < this.#window", "before !== undefined", "unit/click-seen"],
    ["this.#times.size <= this.#limit && now - at < this.#window", "now - at < this.#window", "unit/click-seen"],
  ),
  ...mutants(
    "clicks/active-refs.ts",
    ["this.#failedAt !== null && now - this.#failedAt < PAUSE", "false", "unit/click-known"],
    ["this.#waiting.size >= MAX_WAITING", "false", "unit/click-known"],
  ),
  ...mutants("clicks/region.ts", [
    'typeof location?.colo === "string" ? location.colo : ""',
    '""',
    "unit/click-region",
  ]),
  ...mutants("clicks/accept.ts", ["taken > 0 && length > MAX_BATCH_LENGTH", "false", "integration/click-accept"]),
];

import { and, eq, gte, lt, sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { PageOfTexts, PageRequest } from "../../db/page.ts";
import { selectRows } from "../../db/rows.ts";
import { commissions, payments } from "../../db/schema.ts";
import { emailKey } from "../../domain/email.ts";
import { keeperAt, type AttributionFact, type Fact, type KeptBy } from "../../domain/fact.ts";
import { slugKey } from "../../domain/partner.ts";
import { OUTCOMES, type Outcome } from "../../domain/payment.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { findReference } from "../../domain/reference.ts";
import { notFound } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import { providerNamed } from "../../providers/registry.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import { byAmount, byPartner, byState, isTimed, pagedList, readPage } from "../kernel/list-page.ts";
import type { Commission, Payment, Program } from "../kernel/rows.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { viewPayment, type PaymentView } from "../kernel/views.ts";
import { selectUnsettled } from "./concerned-payments.ts";
import { PAYMENT_KEY, rememberReferences, subjectsOf } from "./facts.ts";
import { paymentsFound } from "./find.ts";
import { laterFlows, selectLater, type LaterFlow } from "./rules.ts";
import { MAX_INLINE, settle, settleEach } from "./settle.ts";
import { FACT_OF_SUBJECT } from "./stages.ts";
import { readState } from "./state.ts";

export interface PaymentFilter extends PageRequest {
  outcome?: Outcome | undefined;
  provider?: ProviderName | undefined;
  partner_id?: string | undefined;
  /** Milliseconds; `to` is exclusive. */
  from?: number | undefined;
  to?: number | undefined;
  search?: string | undefined;
}

export interface PaymentWithRows {
  payment: Payment;
  commissions: Commission[];
  /** Flows that were added or switched on after the payment. */
  later_flows: LaterFlow[];
  program: Program;
}

const LIST = pagedList("payments", "payment", payments, viewPayment);

/** The program's payments with their outcomes, newest first. */
export async function listPayments(ctx: Reader, filter: PaymentFilter): Promise<PageOfTexts<PaymentView>> {
  const conditions = and(
    filter.partner_id !== undefined || filter.search
      ? alsoOfProgram(ctx, payments.program_id)
      : sql`${payments.program_id} = ${ctx.programId}`,
    filter.outcome === undefined ? undefined : eq(payments.outcome, filter.outcome),
    filter.provider === undefined ? undefined : sql`${payments.provider} = ${literal(filter.provider)}`,
    filter.partner_id === undefined ? undefined : eq(payments.partner_id, filter.partner_id),
    filter.from === undefined ? undefined : gte(payments.created_at, iso(filter.from)),
    filter.to === undefined ? undefined : lt(payments.created_at, iso(filter.to)),
    filter.search ? paymentsFound(ctx, filter.search) : undefined,
  );
  const isNarrowed = filter.provider !== undefined || filter.partner_id !== undefined || isTimed(filter);
  const narrowed = isNarrowed || Boolean(filter.search);
  const sorts = {
    customer: { by: sql`lower(coalesce(customer_email, customer_id, provider_transaction_id))` },
    net: byAmount(ctx, payments.txn_amount_cents, payments.currency),
    partner: byPartner(payments.partner_id),
    outcome: byState(payments.outcome, OUTCOMES),
  };
  return readPage(ctx, LIST, filter, { conditions, state: filter.outcome, narrowed, sorts });
}

/** One payment with its trace and its commission rows. */
export async function getPayment(caller: Caller, id: string): Promise<PaymentWithRows> {
  const [{ program }, [payment], rows, current, past] = await prove(
    caller,
    caller.db
      .select()
      .from(payments)
      .where(and(eq(payments.id, id), sql`${payments.program_id} = ${caller.programId}`)),
    caller.db
      .select()
      .from(commissions)
      .where(and(eq(commissions.payment_id, id), alsoOfProgram(caller, commissions.program_id)))
      .orderBy(commissions.id),
    ...selectLater(caller, sql`${id}`),
  );
  if (!payment) throw notFound("payment");
  return { payment, commissions: rows, program, later_flows: laterFlows(payment, current, past) };
}

/**
 * Settles a payment again under the same rules, after a slug or a partner was corrected; settled results do not change,
 * and there is never a second commission (PAY-15). A payment refused as `partner_deactivated` is decided again, because
 * the request is the owner's decision (PART-4). A reference that leads to its partner only now is stored as of its
 * report, for the subscription and the customer of the payment (REF-3).
 */
export async function reprocessPayment(caller: Caller, id: string): Promise<PaymentWithRows> {
  const { payment } = await getPayment(caller, id);
  const [ctx] = await prove(caller);
  await settle(ctx, payment, { isRequested: true });
  const { state } = await readState(ctx, payment);
  const decided = state?.payments.find((row) => row.id === id);
  const facts = decided ? ownReferences(decided, state!.facts) : [];
  if (decided && facts.length > 0 && !(await isRemembered(ctx, decided, facts))) {
    await commit(ctx, { writes: await rememberReferences(ctx, payment, facts), occurrences: [] });
    await settleServed(ctx, payment.provider, facts);
  }
  return answered(ctx, id);
}

/** The current payment. Its reply is stored only if no erasure happened since; a later one finds it (JOB-1). */
function answered(ctx: ProgramCtx, id: string): Promise<PaymentWithRows> {
  return untilWon(async () => {
    const result = await getPayment(ctx, id);
    const isChanged = sql`exists (select 1 from payments
      where id = ${id} and facts_revision <> ${result.payment.facts_revision})`;
    if (ctx.alongside) await commit(ctx, { writes: [refuseWhere(ctx, isChanged)], occurrences: [], result });
    return result;
  });
}

/** Settles the payments to which new references apply; the sweep settles those beyond the limit of one request. */
export async function settleServed(
  ctx: ProgramCtx,
  provider: ProviderName,
  facts: readonly AttributionFact[],
): Promise<void> {
  if (facts.length === 0) return;
  const served = await selectRows(
    ctx.db,
    PAYMENT_KEY,
    sql`${selectUnsettled(ctx.program.id, provider, facts)}
    limit ${literal(MAX_INLINE)}`,
  );
  await settleEach(ctx, served);
}

/**
 * The references to store from a payment that names its partner itself: at each of its events' times, the earliest
 * first, and with the keeper if a subscription or a customer stores it. Empty if there is neither.
 */
function ownReferences(
  { ref, partner_id, decision, event, ...row }: Payment,
  facts: readonly Fact[],
): AttributionFact[] {
  const { provider, subscription_id, customer_id, customer_email, erased_at } = row;
  if (ref === null || partner_id === null || decision?.ref_source !== "payment") return [];
  // A reference inserted by an erasure was stored for the address alone, and is deleted with it.
  const led = decision.candidates.find((candidate) => candidate.partner_id !== null);
  if (erased_at !== null && led?.source === "payment") return [];
  const whose = { subscription_id, customer_id };
  const payment = [row.provider_transaction_id];
  const kept: KeptBy = providerNamed(provider)?.kept_by ?? new Map();
  return findReference(facts, ref).flatMap(({ place, occurred_at }): AttributionFact[] => {
    const said = { kind: "attribution" as const, occurred_at, ref, payment, ...whose, ...keeperAt(place, whose, kept) };
    const byId = subscription_id === null && customer_id === null ? [] : [said];
    if (event !== "lead_created") return byId;
    // Binds the customer as a report does: by the id and by the address separately, for the payments of every provider.
    const ofNobody = { ...said, customer_id: null };
    const byEmail = customer_email === null ? [] : [{ ...ofNobody, customer_email: emailKey(customer_email) }];
    return [...byId, ...byEmail].map((fact) => ({ ...fact, any_provider: true }));
  });
}

/** Whether the payment's own events stored its reference for its subscription, customer and address. */
async function isRemembered(
  ctx: ProgramCtx,
  { provider }: Payment,
  facts: readonly AttributionFact[],
): Promise<boolean> {
  const times = facts.map(({ occurred_at }) => occurred_at);
  const about = facts.flatMap((fact) =>
    subjectsOf(fact).map((subject) => ({ ...subject, key: slugKey(fact.ref), any_provider: fact.any_provider })),
  );
  const [missing] = await ctx.read(
    ctx.db.all(sql`select 1 from json_each(${JSON.stringify(about)}) a where not exists (
      select 1 from fact_subjects s
      ${FACT_OF_SUBJECT}
      where s.program_id = ${ctx.programId} and s.provider = ${provider}
        and s.scope = a.value ->> 'scope' and s.subject = a.value ->> 'subject' and f.ref_key = a.value ->> 'key'
        and f.occurred_at in (select value from json_each(${JSON.stringify(times)}))
        and f.data ->> 'any_provider' is a.value ->> 'any_provider'
        and coalesce(f.data ->> 'imported', f.data ->> 'granted') is null)
      limit 1`),
  );
  return missing.length === 0;
}

/** What a payment's ledger is made from, and how it is read. */
import { getTableColumns, sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { jsonFields, jsonObject } from "../../db/json-object.ts";
import { shaped } from "../../db/rows.ts";
import { commissions, flows, payments } from "../../db/schema.ts";
import type { Codes } from "../../domain/code.ts";
import type { Decided } from "../../domain/decision.ts";
import type { Fact } from "../../domain/fact.ts";
import type { Flow } from "../../domain/flow.ts";
import type { LedgerPartner } from "../../domain/payment.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { PartnerRules, PastRule, ProgramRules } from "../../domain/rules.ts";
import { OWNER_PROVIDER } from "../../providers/registry.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Commission, Payment } from "../kernel/rows.ts";
import type { Closing } from "./closing.ts";
import { HELD, NAMED_CODE, withCodes, type StatedCode } from "./codes.ts";
import { PART, paymentsNamed, reachable, type Part, type PaymentKey } from "./facts.ts";
import { leads } from "./served.ts";

interface SaleDecision extends Decided {
  id: string;
  partner_id: string;
}

/** Everything a payment's ledger is made from, as one consistent read. */
export interface LedgerState {
  /** All rows of this one payment; more than one only where a late event joined two. */
  payments: [Payment, ...Payment[]];
  facts: Fact[];
  commissions: Commission[];
  /** Decisions about what the payment earned itself, in the order taken. */
  decisions: SaleDecision[];
  flows: Flow[];
  /** What rules were, of the program and the partners that are named, as far back as the payment needs. */
  past: PastRow[];
  /** Those of the program as they are, in the same read. */
  settings: ProgramRules;
  partners: NamedPartner[];
  /** What the facts carry of promotion codes, and whose these can be. */
  codes: Codes;
}

/** A partner by a slug that the facts name, or, without one, by a code. */
type NamedPartner = LedgerPartner & PartnerRules & { slug_key: string | null };

export interface PastRow extends PastRule<string> {
  partner_id: string;
  applies_from: string | null;
}

/**
 * Reads everything that the ledger of a payment is made from, null where there is no such payment; and whether the event
 * that is to be closed with it is closed by now. One statement.
 */
export async function readState(
  ctx: ProgramCtx,
  { provider, provider_transaction_id }: PaymentKey,
  closing?: Closing,
): Promise<{ state: LedgerState | null; isClosed: boolean }> {
  const program_id = ctx.program.id;
  const state = selectState(program_id, provider, sql`select ${provider_transaction_id}`);
  const closed = sql`select 'closed' as what, audit_event_id as data from provider_events where program_id = ${program_id}
    and provider = ${closing?.provider} and event_id = ${closing?.event.event_id} and audit_event_id is not null`;
  const [parts] = await ctx.read(
    shaped(ctx.db, PART, closing ? sql`${closed} union all select what, data from (${state})` : state),
  );
  return { state: stateOf(parts), isClosed: parts.some(({ what }) => what === "closed") };
}

/** The state that rows of `selectState` are, among others or alone; null where there is no such payment. */
export function stateOf(parts: readonly Part[]): LedgerState | null {
  const of = Map.groupBy(parts, ({ what }) => what);
  const all = <T>(what: string) => (of.get(what) ?? []).map(({ data }) => JSON.parse(data) as T);
  // The parts of a union come in no promised order.
  const [first, ...more] = sorted(all<Payment>("payment"), (row) => row.provider_transaction_id);
  if (!first) return null;
  return {
    payments: [first, ...more],
    facts: all("fact"),
    commissions: sorted(all<Commission>("commission"), ({ id }) => id),
    decisions: sorted(all<SaleDecision>("decision"), ({ id }) => id),
    flows: all("flow"),
    past: all("past"),
    settings: all<ProgramRules>("settings")[0]!,
    partners: all("partner"),
    codes: {
      named: all<StatedCode>("code").map(({ at, fact: { code_id, name, parents } }) => ({
        at,
        code_id,
        name,
        parents,
      })),
      held: all("held_code"),
    },
  };
}

function sorted<T>(rows: T[], by: (row: T) => string): T[] {
  return rows.toSorted((a, b) => (by(a) < by(b) ? -1 : 1));
}

const PAYMENT = jsonObject<Payment>(getTableColumns(payments));
const COMMISSION = jsonObject<Commission>(getTableColumns(commissions));
const FLOW = jsonObject<Flow>(getTableColumns(flows));
const DECISION = jsonFields<SaleDecision>({
  ...{ id: sql`id`, partner_id: sql`partner_id`, kind: sql`kind`, detail: sql`detail`, created_at: sql`created_at` },
});
const PARTNER = jsonFields<NamedPartner>({
  ...{ id: sql`p.id`, slug: sql`p.slug`, email: sql`p.email`, payout_email: sql`p.payout_email` },
  ...{ status: sql`p.status`, commission_pct: sql`p.commission_pct`, slug_key: sql`s.slug_key` },
});
const PAST = jsonFields<PastRow>({
  ...{ seq: sql`seq`, partner_id: sql`partner_id`, valid_until: sql`valid_until`, rules: sql`rules` },
  applies_from: sql`applies_from`,
});
const SETTINGS = jsonFields<ProgramRules>({
  default_commission_pct: sql`default_commission_pct`,
  attribution: sql`attribution`,
  code_precedence: sql`code_precedence`,
});

/** The slugs that facts (`stated`) name. */
const NAMED = sql.raw(`select ref_key as slug_key from stated
  union select lower(r.value ->> 'ref') from stated cross join json_each(stated.data, '$.refs') r`);

/**
 * SQL for the rows of `stateOf`, of the payment that the vendor's ids `seeds` name (a one-column select): its rows, their
 * facts and commissions, decisions about them, the active flows, the partners that the facts can name; and the
 * program's settings as they are, and the rules that were changed since the payment was made or heard of, those of the
 * program and of the partners that the facts name. Almost always there are none. The database takes five parts to a union.
 *
 * A table of the statement is compiled again for each place that names it, with all that it is made of: a webhook's time
 * is mostly that. So what is made of others is named in as few places as can be.
 */
export function selectState(program_id: string, provider: ProviderName, seeds: SQL): SQL {
  const changed = (since: SQL) => sql`select a.seq from past_rules a
    where a.program_id = ${program_id} and a.partner_id = w.id and ${since}`;
  return sql`${withStated(program_id, provider, reachable(program_id, provider, seeds))},
    time as materialized (select min(ifnull(p.rules_seen, 0)) as seen,
        (select min(data ->> 'occurred_at') from stated where data ->> 'kind' in ('payment', 'lead')) as occurred_at
      from own cross join payments p on p.id = own.id),
    ${withCodes(program_id, provider)},
    named as materialized (select s.partner_id, s.slug_key from (${NAMED}) n
        cross join partner_slugs s on s.program_id = ${program_id} and s.slug_key = n.slug_key
      union select partner_id, null from held_codes),
    whose as materialized (select '' as id union select partner_id from named)
    select 'payment' as what, ${PAYMENT} as data from payments where id in (select id from own)
    union all
    select 'fact', data from stated
    union all
    select 'commission', ${COMMISSION} from commissions where payment_id in (select id from own)
    union all
    select what, data from (
      select 'decision' as what, ${DECISION} as data from decisions
      where program_id = ${program_id} and subject in (select id from own) and commission_kind in ('sale', 'lead')
      union all
      select 'flow', ${FLOW} from flows where program_id = ${program_id} and active = 1
      union all
      select 'partner', ${PARTNER} from named s cross join partners p on p.id = s.partner_id
      union all
      select 'settings', ${SETTINGS} from programs where id = ${program_id}
      union all
      select 'past', ${PAST}
      from (select whose.id, time.occurred_at, time.seen from time cross join whose) w cross join past_rules r
        on r.seq in (${changed(sql`a.valid_until > w.occurred_at`)} union ${changed(sql`a.seq > w.seen`)}))
    union all
    select what, data from (
      select 'code' as what, ${NAMED_CODE} as data from named_codes where data is not null
      union all
      select 'held_code', ${HELD} from held_codes)`;
}

/**
 * The beginning of a statement: `stated`, the facts about a payment, each once, and `own`, its rows. These are its
 * own facts (`ids` as of `reachable`), the cancellations of its subscription, the addresses of its customer and, only
 * where it carries no partner's reference itself, those that are remembered for its subscription, its customer and the
 * customer's addresses, by its provider or by a lead. Each step is a table of its own: written out where it is used, it would be compiled ten times.
 */
function withStated(program_id: string, provider: ProviderName, ids: SQL): SQL {
  const own = literal(provider);
  const joined = (subjects: SQL) => sql`(${subjects}) about
    cross join fact_subjects s on s.program_id = ${program_id} and s.provider = about.provider
      and s.scope = about.scope and s.subject = about.subject
    cross join facts f on f.program_id = s.program_id and f.provider = s.provider and f.fact_id = s.fact_id`;
  const named = sql`select ${own} as provider, 'payment' as scope, subject from ids`;
  const addressed = sql`select ${own} as provider, 'address' as scope, customer_id as subject from payments
    where id in (select id from own)`;
  const isOwnRef = sql`(select is_own from own_ref)`;
  return sql`with ids (subject) as materialized (${ids}),
    own (id) as materialized (${paymentsNamed(program_id, provider, sql`select subject from ids`)}),
    said as materialized (select f.kind, f.ref_key, f.data from ${joined(named)}),
    own_ref (is_own) as materialized (select exists (select 1 from said f where f.kind in ('payment', 'lead')
      and (${leads(program_id, sql`f.ref_key`)}
        or exists (select 1 from json_each(f.data, '$.refs') r where ${leads(program_id, sql`lower(r.value ->> 'ref')`)})))),
    stated as materialized (select f.fact_id, f.ref_key, f.data from ${joined(sql`${named}
        union ${addressed}
        union select ${own}, 'subscription', subscription_id from payments where id in (select id from own)
        union select speaker.provider, scope, subject from (
          select 'customer' as scope, customer_id as subject from payments where id in (select id from own)
          union select 'email', lower(f.data ->> 'customer_email') from said f
          union select 'email', lower(f.data ->> 'email') from ${joined(addressed)}) remembered
          cross join (select ${own} as provider union select ${literal(OWNER_PROVIDER.name)}) speaker where not ${isOwnRef}`)}
      where (f.kind not in ('attribution', 'code_use') or not ${isOwnRef})
        and (f.provider = ${own} or f.data ->> 'any_provider')
      group by f.provider, f.fact_id)`;
}

/** The input of a payment's ledger, and its reading. */
import { getTableColumns, sql, type SQL } from "drizzle-orm";
import { literal, literals } from "../../db/client.ts";
import { jsonFields, jsonObject } from "../../db/json-object.ts";
import { reusablePart } from "../../db/reusable-part.ts";
import { selectRows } from "../../db/rows.ts";
import { commissions, flows, payments } from "../../db/schema.ts";
import type { Codes } from "../../domain/code.ts";
import type { CountedPayment } from "../../domain/customer.ts";
import type { Decided } from "../../domain/decision.ts";
import type { Fact, PaymentFact } from "../../domain/fact.ts";
import type { Flow } from "../../domain/flow.ts";
import type { LedgerPartner } from "../../domain/payment.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { GroupRules, PartnerRules, PastRule, ProgramRules } from "../../domain/rules.ts";
import type { TwinFact } from "../../domain/twin.ts";
import { OWNER_PROVIDER } from "../../providers/registry.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Commission, Payment } from "../kernel/rows.ts";
import { joinComparedSums, leadsToPartner, NEWEST_CHANGE, linkedIds, selectAliases } from "./concerned-payments.ts";
import { codesKnown, codeStages, HELD, type StatedCode } from "./code-stages.ts";
import { selectCounted } from "./counted-payments.ts";
import { flowsVersion, keepFlows, knownFlows, type KnownFlows } from "./known-flows.ts";
import { FACT_OF_SUBJECT, factsOf, listOf, listOfAll, programOf, stage } from "./stages.ts";
import { PART, sameCustomersAt, type Part, type PaymentKey } from "./facts.ts";

interface SaleDecision extends Decided {
  id: string;
  partner_id: string;
}

/** Everything a payment's ledger is made from, as one consistent read. */
export interface LedgerState {
  /** All rows of this one payment; more than one only if a late event joined two. */
  payments: [Payment, ...Payment[]];
  facts: Fact[];
  /** Facts of other payments that may be this one (PAY-25). */
  twins: TwinFact[];
  commissions: Commission[];
  /** Decisions about the payment's own commissions, in order. */
  decisions: SaleDecision[];
  /** The partners that the owner granted the payment to (CLAIM-5). */
  granted: string[];
  flows: readonly Flow[];
  /** Past rules of the program and the named partners, as far back as the payment needs. */
  past: PastRow[];
  /** The newest change of a rule by now. */
  newest: number;
  /** The current settings of the program, from the same read. */
  settings: ProgramRules;
  partners: NamedPartner[];
  /** The groups that the partners belong to, or belonged to by `past`, as they are now. */
  groups: GroupRules[];
  /** The promotion codes that the facts carry, and their possible holders. */
  codes: Codes;
  /** The first counted payments of the customer without this one, and how many of each customer were read. */
  counted: CountedPayment[];
  payments_compared: number;
}

/** A partner by a slug that the facts name, or, without one, by a code. */
type NamedPartner = LedgerPartner & PartnerRules & { slug_key: string | null };

export interface PastRow extends PastRule<string> {
  partner_id: string;
  applies_from: string | null;
}

/** A row of a partner and its group, null if the group is deleted. */
type Grouped<Row> = Row & { group: GroupRules | null };

/**
 * Reads the complete input of a payment's ledger, null if there is no such payment; and whether the event that is to be
 * closed with it is closed by now. Reads as many counted payments of the customer as the flows compare, and `atLeast` so
 * many. One statement.
 */
export async function readState(
  ctx: ProgramCtx,
  { provider, provider_transaction_id }: PaymentKey,
  closing?: { provider: ProviderName; event: { event_id: string } },
  atLeast = 0,
): Promise<{ state: LedgerState | null; isClosed: boolean }> {
  const program_id = ctx.program.id;
  const known = knownFlows(program_id);
  const state = selectState(program_id, provider, { provider_transaction_id }, known, atLeast);
  const closed = sql`select 'closed' as what, audit_event_id as data from provider_events where program_id = ${program_id}
    and provider = ${closing?.provider} and event_id = ${closing?.event.event_id} and audit_event_id is not null`;
  const [parts] = await ctx.read(
    selectRows(ctx.db, PART, closing ? sql`${closed} union all select what, data from (${state})` : state),
  );
  return { state: stateOf(parts, known), isClosed: parts.some(({ what }) => what === "closed") };
}

/**
 * Builds the state from rows of `selectState`, which may be among others, and the flows that it was given; null if there
 * is no such payment.
 */
export function stateOf(parts: readonly Part[], known: KnownFlows | null): LedgerState | null {
  const of = Map.groupBy(parts, ({ what }) => what);
  const all = <T>(what: string) => (of.get(what) ?? []).map(({ data }) => JSON.parse(data) as T);
  const facts = all<Fact>("fact");
  // The parts of a union have no guaranteed order. An intent's id has the lowest precedence as the payment's name.
  const byIntent = new Set(facts.flatMap((fact) => (isOfIntent(fact) ? [fact.key] : [])));
  const [first, ...more] = sorted(
    all<Payment>("payment"),
    ({ provider_transaction_id: key }) => `${byIntent.has(key) ? 1 : 0}${key}`,
  );
  if (!first) return null;
  const { newest, payments_compared, flows_version: version, ...settings } = all<Settings>("settings")[0]!;
  const partners = all<Grouped<NamedPartner>>("partner");
  const past = all<Grouped<PastRow>>("past");
  const groups = new Map([...partners, ...past].flatMap(({ group }) => (group ? [[group.id, group]] : [])));
  return {
    payments: [first, ...more],
    facts,
    twins: all("twin"),
    commissions: sorted(all<Commission>("commission"), ({ id }) => id),
    decisions: sorted(all<SaleDecision>("decision"), ({ created_at, id }) => created_at + id),
    granted: all("granted"),
    flows: known?.version === version ? known.flows : keepFlows(first.program_id, { version, flows: all("flow") }),
    past,
    newest,
    settings,
    partners,
    groups: [...groups.values()],
    codes: codesKnown(all("code"), all("held_code")),
    counted: all("counted"),
    payments_compared,
  };
}

function isOfIntent(fact: Fact): fact is PaymentFact {
  return fact.kind === "payment" && fact.source === "intent";
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
/** The rules of the group with the id `of`; null without one. */
const groupObject = (of: SQL) =>
  sql`json((select ${jsonFields<GroupRules>({
    ...{ id: sql`g.id`, slug: sql`g.slug`, commission_pct: sql`g.commission_pct`, hold_days: sql`g.hold_days` },
  })} from groups g where g.id = ${of}))`;
const PARTNER = jsonFields<Grouped<NamedPartner>>({
  ...{ id: sql`id`, slug: sql`slug`, email: sql`email`, payout_email: sql`payout_email` },
  ...{ status: sql`status`, commission_pct: sql`commission_pct`, slug_key: sql`e.value ->> 2` },
  ...{ group_id: sql`group_id`, group: groupObject(sql`group_id`) },
});
const PAST = jsonFields<Grouped<PastRow>>({
  ...{ seq: sql`seq`, partner_id: sql`partner_id`, valid_until: sql`valid_until`, rules: sql`rules` },
  ...{ applies_from: sql`applies_from`, group: groupObject(sql`rules ->> '$.group_id'`) },
});
const TWIN = jsonFields<TwinFact>({ payment: sql`e.value ->> 3`, fact: sql`json(data)` });
const CODE = jsonFields<StatedCode>({ at: sql`e.value ->> 2`, fact: sql`json(data)` });
interface Settings extends ProgramRules {
  newest: number;
  payments_compared: number;
  flows_version: string;
}
const SETTINGS = jsonFields<Settings>({
  default_commission_pct: sql`default_commission_pct`,
  attribution: sql`attribution`,
  code_precedence: sql`code_precedence`,
  auto_approve_days: sql`auto_approve_days`,
  newest: NEWEST_CHANGE,
  payments_compared: sql`payments_compared`,
  flows_version: flowsVersion(sql`id`),
});
export const COUNTED_PAYMENT = jsonFields<CountedPayment>({
  ...{ id: sql`id`, provider_transaction_id: sql`provider_transaction_id`, created_at: sql`created_at` },
  ...{ partner_id: sql`partner_id`, customer_id: sql`customer_id`, customer_email: sql`customer_email` },
});

/** The name of a payment: a stored fact of it, or its id at the provider. */
type Named = { fact_id: string } | Pick<PaymentKey, "provider_transaction_id">;

const PLACES = ["program_id", "id", "least", "version"] as const;
/** Parts by the sort of the payment's name, and by provider. */
const STATES = new Map<string, ReturnType<typeof reusablePart<(typeof PLACES)[number]>>>();

/**
 * SQL for the rows of `stateOf`, of the payment that a stored fact or a vendor's id (`of`) names: its rows, their
 * facts and commissions, decisions about them, the active flows, the partners that the facts can name; and the
 * program's settings as they are, and the rules that were changed since the payment was made or heard of, those of the
 * program and of the partners that the facts name. Payments are rarely that late. The flows are left out if they are
 * still the `known` ones.
 *
 * The database compiles a table again for each place that names it, with all that it is made of. So the statement goes in
 * stages of one row, each named once, and reads the rows they found at the end.
 */
export function selectState(
  program_id: string,
  provider: ProviderName,
  of: Named,
  known: KnownFlows | null,
  atLeast = 0,
): SQL {
  const [by, id] = "fact_id" in of ? ["fact", of.fact_id] : ["payment", of.provider_transaction_id];
  const seeds = (at: Places) => (by === "fact" ? selectAliases(at.program_id, provider, at.id) : sql`select ${at.id}`);
  const key = `${by} ${provider}`;
  const part = STATES.get(key) ?? reusablePart(PLACES, (at) => stateBy(at, provider, seeds(at)));
  STATES.set(key, part);
  return part({ program_id, id, least: atLeast, version: known?.version ?? null });
}

type Places = Record<(typeof PLACES)[number], SQL>;

function stateBy({ program_id, least, version }: Places, provider: ProviderName, seeds: SQL): SQL {
  return sql`with ${statedStages(program_id, provider, seeds)}, ${twinStages(provider)}, ${codeStages(provider, "twinned")},
    ${namedStages(sql`max((select payments_compared from programs where id = ${program_id}), ${least})`, provider)},
    ${stage("found", "due", { parts: listOfAll(sql`part`, partsOf(provider, version)) })}
    ${partsFound()}`;
}

/** The rows that `found.parts` names, by kind and key. */
export function partsFound(): SQL {
  return sql`select e.value ->> 0 as what, case e.value ->> 0
    when 'payment' then (select ${PAYMENT} from payments where id = e.value ->> 1)
    when 'fact' then (select data from facts
      where program_id = found.program_id and provider = e.value ->> 1 and fact_id = e.value ->> 2)
    when 'commission' then (select ${COMMISSION} from commissions where id = e.value ->> 1)
    when 'decision' then (select ${DECISION} from decisions
      where program_id = found.program_id and subject = e.value ->> 1 and id = e.value ->> 2)
    when 'twin' then (select ${TWIN} from facts
      where program_id = found.program_id and provider = e.value ->> 1 and fact_id = e.value ->> 2)
    when 'granted' then json_quote(e.value ->> 1)
    when 'flow' then (select ${FLOW} from flows where id = e.value ->> 1)
    when 'partner' then (select ${PARTNER} from partners where id = e.value ->> 1)
    when 'settings' then (select ${SETTINGS} from programs where id = found.program_id)
    when 'counted' then (select ${COUNTED_PAYMENT} from payments where id = e.value ->> 1)
    when 'past' then (select ${PAST} from past_rules where seq = e.value ->> 1)
    when 'code' then (select ${CODE} from facts
      where program_id = found.program_id and provider = e.value ->> 3 and fact_id = e.value ->> 4)
    else (select ${HELD} from partner_codes where id = e.value ->> 1) end as data
    from found cross join json_each(found.parts) e`;
}

/**
 * `ids`, the vendor's ids of the payment; `own`, its rows; and `stated`, the facts about it, each once. These are its
 * own facts, the cancellations of its subscription, and the addresses of its customer. If it carries no partner's
 * reference itself, or one that led to no partner when it was decided, they include those stored for its subscription,
 * its customer and the customer's addresses, by its provider or by a lead; if it carries codes, those that its
 * subscription used.
 */
function statedStages(program_id: SQL, provider: ProviderName, seeds: SQL): SQL {
  const own = literal(provider);
  const subjectsTo = (at: string, of: SQL, scope: SQL, subject: SQL) => sql`fact_subjects s
    on s.program_id = ${programOf(at)} and s.provider = ${of} and s.scope = ${scope} and s.subject = ${subject}
    ${FACT_OF_SUBJECT}`;
  const ofPayments = (column: string) => sql`select distinct p.${sql.raw(column)} as id from json_each(held.own) o
    cross join payments p on p.id = o.value where p.${sql.raw(column)} is not null`;
  const isLed = sql`${leadsToPartner(programOf("said"), sql`f.ref_key`)}
    or exists (select 1 from json_each(f.data, '$.refs') r where ${leadsToPartner(programOf("said"), sql`lower(r.value ->> 'ref')`)})`;
  const speakers = sql`select ${own} as provider union select ${literal(OWNER_PROVIDER.name)}`;
  return sql`reached as materialized (select ${program_id} as program_id, ${listOfAll(sql`subject`, linkedIds(program_id, provider, seeds))} as ids),
    ${stage("held", "reached", {
      own: listOf(
        sql`p.id`,
        sql`json_each(reached.ids) n cross join payments p on p.program_id = ${programOf("reached")}
          and p.provider = ${own} and p.provider_transaction_id = n.value`,
      ),
    })},
    ${stage("said", "held", {
      said: listOf(
        sql`distinct json_array(f.provider, f.fact_id)`,
        sql`json_each(held.ids) n cross join ${subjectsTo("held", own, sql`'payment'`, sql`n.value`)}`,
      ),
      customers: listOfAll(sql`id`, ofPayments("customer_id")),
      subscriptions: listOfAll(sql`id`, ofPayments("subscription_id")),
    })},
    ${stage("led", "said", {
      emails: listOfAll(
        sql`email`,
        sql`select lower(f.data ->> 'customer_email') as email from ${factsOf("said", "said")}
          union select lower(f.data ->> 'email') from json_each(said.customers) c
            cross join ${subjectsTo("said", own, sql`'address'`, sql`c.value`)}`,
      ),
      is_own_ref: sql`exists (select 1 from ${factsOf("said", "said")}
        where f.kind in ('payment', 'lead') and (${isLed}))
        and not exists (select 1 from json_each(said.own) o cross join payments p on p.id = o.value
          cross join json_each(p.decision, '$.candidates') c
          where c.value ->> 'partner_id' is null)`,
      has_codes: sql`exists (select 1 from ${factsOf("said", "said")} where f.data ->> '$.codes' is not null)`,
    })},
    ${stage("about", "led", {
      subjects: listOfAll(
        sql`json_array(provider, scope, subject)`,
        sql`select ${own} as provider, 'payment' as scope, value as subject from json_each(led.ids)
          union all select ${own}, 'address', value from json_each(led.customers)
          union all select ${own}, 'subscription', value from json_each(led.subscriptions)
          union all select speaker.provider, scope, subject from (
            select 'customer' as scope, value as subject from json_each(led.customers)
            union all select 'email', value from json_each(led.emails)) cross join (${speakers}) speaker
            where not led.is_own_ref`,
      ),
    })},
    ${stage("stated", "about", {
      stated: listOf(
        sql`distinct json_array(f.provider, f.fact_id)`,
        sql`json_each(about.subjects) a
          cross join ${subjectsTo("about", sql`a.value ->> 0`, sql`a.value ->> 1`, sql`a.value ->> 2`)}
          where (f.kind not in ('attribution', 'code_use') or not about.is_own_ref
              or (f.kind = 'code_use' and about.has_codes and a.value ->> 1 = 'subscription'))
            and (f.provider = ${own} or f.data ->> 'any_provider')`,
      ),
    })}`;
}

/**
 * `named`, the partners that facts or codes can name, with the slug of the fact; `seen`, `occurred_at` bound the rules.
 * `counted`: the customer's first counted payments.
 */
function namedStages(most: SQL, provider: ProviderName): SQL {
  return sql`${stage("named", "coded", {
    slugs: listOfAll(
      sql`distinct slug_key`,
      sql`select f.ref_key as slug_key from ${factsOf("coded", "stated")}
        union all select lower(r.value ->> 'ref') from ${factsOf("coded", "stated")}
          cross join json_each(f.data, '$.refs') r`,
    ),
    seen: sql`(select min(p.rules_seen) from json_each(coded.own) o cross join payments p on p.id = o.value)`,
    occurred_at: sql`(select min(f.data ->> 'occurred_at') from ${factsOf("coded", "stated")}
      where f.data ->> 'kind' in ('payment', 'lead'))`,
  })},
  ${stage("due", "named", {
    named: listOfAll(
      sql`json_array(partner_id, slug_key)`,
      sql`select s.partner_id, s.slug_key from json_each(named.slugs) n
          cross join partner_slugs s on s.program_id = ${programOf("named")} and s.slug_key = n.value
        union select h.partner_id, null from json_each(named.held) k cross join partner_codes h on h.id = k.value`,
    ),
    counted: listOfAll(
      sql`id`,
      selectCounted({
        ...{ program_id: programOf("named"), ids: sql`named.customers`, emails: sql`named.emails` },
        isSameProvider: sql`+p.provider in ${literals(sameCustomersAt(provider))}`,
        without: sql`named.own`,
        most,
      }),
    ),
  })}`;
}

/** The rows that the stages found, by kind and key. The database allows five parts in a union. */
function partsOf(provider: ProviderName, version: SQL): SQL {
  const changed = (since: SQL) => sql`select json_array('past', a.seq) as part
    from (select '' as id union select value ->> 0 from json_each(due.named)) w
      cross join past_rules a on a.program_id = ${programOf("due")} and a.partner_id = w.id and ${since}`;
  return sql`select json_array('payment', value) as part from json_each(due.own)
    union all
    select json_array('fact', value ->> 0, value ->> 1) from json_each(due.stated)
    union all
    select json_array('commission', c.id) from json_each(due.own) o cross join commissions c on c.payment_id = o.value
    union all
    select part from (
      select json_array('decision', d.subject, d.id) as part from json_each(due.own) o
        cross join decisions d on d.program_id = ${programOf("due")} and d.subject = o.value
      where d.commission_kind in ('sale', 'lead')
      union all
      select json_array('flow', id) from flows where program_id = ${programOf("due")} and active = 1
        and ${flowsVersion(programOf("due"))} is not ${version}
      union all
      select json_array('partner', value ->> 0, value ->> 1) from json_each(due.named)
      union all
      select json_array('settings') from programs where id = ${programOf("due")}
      union all
      select part from (${changed(sql`a.valid_until > due.occurred_at`)} union ${changed(sql`a.seq > due.seen`)}))
    union all
    select part from (
      select json_array('code', value ->> 0, value ->> 1, value ->> 2, value ->> 3) as part from json_each(due.codes)
      where value ->> 3 is not null
      union all
      select json_array('held_code', value) from json_each(due.held)
      union all
      select json_array('counted', value) from json_each(due.counted)
      union all
      select json_array('twin', ${literal(provider)}, value ->> 0, value ->> 1) from json_each(due.twins)
      union all
      select json_array('granted', c.partner_id) from json_each(due.own) o
        cross join claims c indexed by claims_payment on c.payment_id = o.value where +c.status = 'granted')`;
}

/** After `stated`: `twins`, the facts of the other payments that may be this one, each with the least of the ids of its payment. */
export function twinStages(provider: ProviderName): SQL {
  const own = literal(provider);
  const names = linkedIds(
    programOf("stated"),
    provider,
    sql`select n.subject from fact_subjects n where n.program_id = ${programOf("stated")} and n.provider = ${own}
      and n.fact_id = near.fact_id and +n.scope = 'payment'`,
  );
  return sql`${stage("paired", "stated", {
    near: listOfAll(
      sql`distinct names`,
      sql`select ${listOfAll(sql`subject`, sql`select subject from (${names}) order by subject`)} as names from (
          select distinct t.fact_id from ${factsOf("stated", "stated")}
            cross join ${joinComparedSums(sql`f.program_id`, provider, sql`f.fact_id`)}
          where f.kind = 'payment' and t.fact_id not in (select value ->> 1 from json_each(stated.stated))) near`,
    ),
  })},
  ${stage("twinned", "paired", {
    twins: listOfAll(
      sql`distinct json_array(fact_id, payment)`,
      sql`select s.fact_id, e.value ->> 0 as payment from json_each(paired.near) e
          cross join json_each(e.value) n
          cross join fact_subjects s on s.program_id = ${programOf("paired")} and s.provider = ${own}
            and s.scope = 'payment' and s.subject = n.value`,
    ),
  })}`;
}

/** The partners of customers, according to the ledger. */
import { sql } from "drizzle-orm";
import { isTooLarge } from "../../db/bounded-database.ts";
import { literal } from "../../db/client.ts";
import { selectRows } from "../../db/rows.ts";
import type { HeldCode } from "../../domain/code.ts";
import type { AttributionFact, CodeUseFact } from "../../domain/fact.ts";
import { slugKey } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { chooseReference, type Leads } from "../../domain/reference.ts";
import type { ProgramRules } from "../../domain/rules.ts";
import { iso } from "../../lib/time.ts";
import { OWNER_PROVIDER } from "../../providers/registry.ts";
import type { Reader } from "../kernel/context.ts";
import { codesKnown, codeStages, type StatedCode } from "../ledger/code-stages.ts";
import { partsFound } from "../ledger/state.ts";
import { FACT_OF_SUBJECT, factsOf, listOf, listOfAll, programOf, stage } from "../ledger/stages.ts";
import { PART, type Part } from "../ledger/facts.ts";
import { identityKey, type CustomerIdentity } from "./customer-lines.ts";

type Said = AttributionFact | CodeUseFact;

/**
 * Returns, by `identityKey`, the partners of each name with stored facts: first the partner of a payment made now
 * without a reference of its own, then every other partner that a reference names.
 */
export async function readHolders(ctx: Reader, names: readonly CustomerIdentity[]): Promise<Map<string, string[]>> {
  const groups = [...Map.groupBy(names, ({ provider }) => provider)];
  const said = groups.map(([provider, own]) => selectRows(ctx.db, PART, selectSaid(ctx, provider, own)));
  const read = await ctx.read(...said).catch((error: unknown) => {
    if (names.length > 1 && isTooLarge(error)) return null;
    throw error;
  });
  if (read) return new Map(groups.flatMap(([, own], i) => holdersAmong(own, read[i]!, iso(ctx.now))));
  // The facts about these customers exceed the size of a database row; those about half of them may fit.
  const half = Math.ceil(names.length / 2);
  const first = await readHolders(ctx, names.slice(0, half));
  return new Map([...first, ...(await readHolders(ctx, names.slice(half)))]);
}

function holdersAmong(names: readonly CustomerIdentity[], parts: readonly Part[], now: string): [string, string[]][] {
  const of = Map.groupBy(parts, ({ what }) => what);
  const all = <T>(what: string) => (of.get(what) ?? []).map(({ data }) => JSON.parse(data) as T);
  const facts = all<Said>("fact");
  const byCustomer = Map.groupBy(facts, ({ customer_id }) => customer_id);
  const byEmail = Map.groupBy(facts, (fact) => (fact.kind === "attribution" && fact.customer_email) || null);
  const bySlug = new Map(
    all<{ id: string; slug_key: string }>("partner").map(({ id, slug_key }) => [slug_key, { id }]),
  );
  const byRef = (ref: string) => bySlug.get(slugKey(ref)) ?? null;
  const codesAt = Map.groupBy(all<StatedCode>("code"), ({ at }) => at);
  const held = all<HeldCode>("held_code");
  const [settings] = all<ProgramRules>("settings");
  return names.flatMap((name): [string, string[]][] => {
    const { scope, subject } = name;
    const said = (scope === "customer" ? byCustomer : byEmail).get(subject) ?? [];
    if (said.length === 0) return [];
    // An import that another server just made counts, even if that server's clock is ahead.
    const occurred_at = said.reduce((latest, fact) => (fact.occurred_at > latest ? fact.occurred_at : latest), now);
    const times = new Set(said.map(({ occurred_at }) => occurred_at));
    const codes = codesKnown(
      [...times].flatMap((at) => codesAt.get(at) ?? []),
      held,
    );
    const leads: Leads<{ id: string }> = { byRef, byOwnRef: byRef, byId: (id) => ({ id }), codes };
    const payment = { event: "transaction_completed" as const, occurred_at, subscription_id: null };
    const [customer_id, customer_email] = scope === "customer" ? [subject, null] : [null, subject];
    const { partner } = chooseReference(said, { ...payment, customer_id, customer_email }, settings!, leads, [], false);
    const others = said.flatMap((fact) => (fact.kind === "attribution" ? (byRef(fact.ref)?.id ?? []) : []));
    return [[identityKey(name), [...new Set([...(partner ? [partner.id] : []), ...others])]]];
  });
}

/** Selects the current facts about names of one provider: rows of `holdersAmong`. */
function selectSaid(ctx: Reader, provider: ProviderName, names: readonly CustomerIdentity[]) {
  const own = literal(provider);
  const subjects = JSON.stringify(names.map(({ scope, subject }) => [scope, subject]));
  const ofProgram = sql`h.program_id = ${programOf("named")} and h.provider = ${own}`;
  const said = sql`(select distinct value from json_each(${subjects})) j
    cross join (select ${own} as provider union select ${literal(OWNER_PROVIDER.name)}) speaker
    cross join fact_subjects s on s.program_id = ${programOf("named")} and s.provider = speaker.provider
      and s.scope = j.value ->> 0 and s.subject = j.value ->> 1
    ${FACT_OF_SUBJECT}
    where (f.occurred_at <= ${iso(ctx.now)} or f.data ->> 'imported')
      and (f.provider = ${own} or f.data ->> 'any_provider')
      and (f.kind = 'attribution'
        or (f.kind = 'code_use' and exists (select 1 from partner_codes h where ${ofProgram})))`;
  const parts = sql`select json_array('fact', value ->> 0, value ->> 1) as part from json_each(coded.stated)
    union all select json_array('code', value ->> 0, value ->> 1, value ->> 2, value ->> 3) from json_each(coded.codes)
      where value ->> 3 is not null
    union all select json_array('held_code', value) from json_each(coded.held)
    union all select json_array('partner', s.partner_id, s.slug_key)
      from (select distinct f.ref_key from ${factsOf("coded", "stated")}) n
      cross join partner_slugs s on s.program_id = ${programOf("coded")} and s.slug_key = n.ref_key
    union all select json_array('settings')`;
  return sql`with named as materialized (select ${ctx.programId} as program_id),
    ${stage("stated", "named", { stated: listOf(sql`distinct json_array(f.provider, f.fact_id)`, said) })},
    ${codeStages(provider, "stated")},
    ${stage("found", "coded", { parts: listOfAll(sql`part`, parts) })}
    ${partsFound()}`;
}

/**
 * Questions to a vendor that events leave open: the payment of a refund (IN-19), the further lines of an invoice
 * (IN-22), the name of a code (CODE-8). A question waits in `waiting_events` from the transaction that stores its event
 * until `ask-questions.ts` has sent it; the answer is stored as an event.
 */
import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import { joinParts } from "../../db/parts.ts";
import { nullable, selectRows, text } from "../../db/rows.ts";
import type { Fact, PaymentFact } from "../../domain/fact.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { iso } from "../../lib/time.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import type { ReadFailure, VendorReads } from "../../providers/reads.ts";
import { claimsPrograms } from "../../providers/registry.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";
import { HAS_LINES_APART, IS_PRODUCT_UNKNOWN, LINES_PREFIX } from "../ledger/ask-lines.ts";
import { storedEvent } from "../ledger/facts.ts";
import { paymentsNamed, linkedIds } from "../ledger/concerned-payments.ts";
import { FACT_OF_SUBJECT } from "../ledger/stages.ts";

/** The context of a question to a vendor. */
export interface Asking {
  ctx: ProgramCtx;
  provider: VendorName;
  reads: VendorReads;
  api_key: string;
}

type Answer = { outcome: "read"; facts: Fact[] } | ReadFailure;

export interface QuestionKind {
  /** The type of the event that stores an answer. Its id is this, a colon and the id in question. */
  type: "link" | "lines" | "code";
  /** The vendor's function that answers: a vendor without it gets no such question. */
  reader: "readLinks" | "readLines" | "readCode";
  /** Precedes the id in `waiting_events`. */
  prefix: string;
  /** Precedes the id instead if the question is repeated with another key. */
  prefix_again: string;
  /** SQL that is true for a `subject` of `waiting_events` with one of the prefixes. */
  isWaiting: SQL;
  /** Whether an answer can open the next question about the same id. */
  isChained: boolean;
  /** Why the event of an answer without facts is ignored; null if it is not stored. `failed`: the vendor refuses the id. */
  ignored: Record<Answer["outcome"], string | null>;
  /** SQL that is true for the stored events `e` that can leave the question open for another key. */
  among: SQL;
  /** Selects the ids that facts leave open, as `id`, before they are stored. */
  openedBy(program_id: string, provider: VendorName, facts: readonly Fact[]): SQL[];
  /** Selects the ids that stored events (`within`: SQL about `e`) leave open for another key, as `id`. */
  reopenedBy(program_id: string, provider: VendorName, within: SQL): SQL;
  /** Sends a question about an id or its origin. Null if it is not open any more. */
  ask(asking: Asking, id: string): Promise<{ id: string; answer: Answer } | null>;
}

/** Refunds and disputes name their payment by other ids than the payment's events do. */
const LINKS: QuestionKind = {
  type: "link",
  reader: "readLinks",
  prefix: "",
  // It sorts after every id: questions that no key was used for come first.
  prefix_again: "~",
  isWaiting: sql`not (subject >= 'code' and subject < 'codf') and not (subject >= 'lines:' and subject < 'lines;')`,
  isChained: false,
  // The event that opens the question comes once, so an answer without facts need not be stored to close it.
  ignored: { read: null, failed: null },
  among: sql`true`,
  openedBy(program_id, provider, facts) {
    // The payment of a refund may be in another program: `take-event.ts` finds it there.
    if (claimsPrograms(provider)) return [];
    return facts.flatMap((fact) => {
      if (fact.kind !== "adjustment") return [];
      const named = linkedIds(program_id, provider, sql`select value from json_each(${JSON.stringify(fact.aliases)})`);
      // The last id is the nearest to those of the payment's events.
      const id = fact.aliases.at(-1);
      return [sql`select ${id} as id where not exists (${paymentsNamed(program_id, provider, named)})`];
    });
  },
  reopenedBy(program_id, provider, within) {
    const id = sql`f.data ->> '$.aliases[#-1]'`;
    const named = linkedIds(program_id, provider, sql`select value from json_each(f.data, '$.aliases')`);
    return sql`select ${id} as id from ${factsIn("adjustment", within)}
      and not exists (${paymentsNamed(program_id, provider, named)})
      and not exists (select 1 from waiting_events where provider = ${literal(provider)} and subject = ${id}
        and program_id = ${program_id})`;
  },
  async ask({ ctx, provider, reads, api_key }, id) {
    const named = linkedIds(ctx.program.id, provider, sql`select ${id}`);
    const payments = await selectRows(ctx.db, { id: text }, paymentsNamed(ctx.program.id, provider, named));
    if (payments.length > 0) return null;
    const answer = await reads.readLinks!(api_key, id);
    if (answer.outcome === "failed") return { id, answer };
    const { outcome, aliases } = answer;
    const link: Fact = { kind: "link", occurred_at: iso(ctx.now), aliases };
    return { id, answer: { outcome, facts: aliases.length > 1 ? [link] : [] } };
  },
};

/** An event has some of the lines of its invoice, or omits those of a session, which a decision may need (`askLines`). */
const LINES: QuestionKind = {
  type: "lines",
  reader: "readLines",
  prefix: LINES_PREFIX,
  prefix_again: LINES_PREFIX,
  isWaiting: sql`subject >= 'lines:' and subject < 'lines;'`,
  isChained: false,
  // Lines without a reference are read to their end. A key that cannot read the invoice has not read them.
  ignored: { read: "no_ref", failed: null },
  among: sql`true`,
  openedBy: (program_id, provider, facts) =>
    facts.flatMap((fact) => {
      if (fact.kind !== "payment" || !fact.more_lines) return [];
      const answer = storedEvent(program_id, provider, `lines:${fact.key}`);
      return [sql`select ${fact.key} as id where not exists (${answer})`];
    }),
  reopenedBy(program_id, provider, within) {
    const answer = storedEvent(program_id, provider, sql`'lines:' || (f.data ->> 'key')`);
    const isAsked = sql`${HAS_LINES_APART} and exists (select 1 from payments p where p.program_id = ${program_id}
      and p.provider = ${literal(provider)} and p.provider_transaction_id = f.data ->> 'key' and ${IS_PRODUCT_UNKNOWN})`;
    return sql`select f.data ->> 'key' as id from ${factsIn("payment", within)}
      and (f.data ->> 'more_lines' or (${isAsked})) and not exists (${answer})`;
  },
  async ask({ ctx: { db, program }, provider, reads, api_key }, id) {
    const stated = sql`fact_subjects s
      ${FACT_OF_SUBJECT}
      where s.program_id = ${program.id} and s.provider = ${provider} and s.scope = 'payment' and s.subject = ${id}`;
    const [paid] = await selectRows(
      db,
      { data: text },
      sql`select f.data from ${stated} and ${HAS_LINES_APART}
          and not exists (select 1 from ${stated} and f.kind = 'payment' and f.data ->> 'lines' is not null)
        order by f.data ->> 'source' = 'invoice' desc, f.occurred_at desc limit 1`,
    );
    return paid ? { id, answer: await reads.readLines!(api_key, JSON.parse(paid.data) as PaymentFact) } : null;
  },
};

/** Payments carry a code by an id that no event names. */
const CODES: QuestionKind = {
  type: "code",
  reader: "readCode",
  prefix: "code:",
  prefix_again: "code:",
  isWaiting: sql`subject >= 'code:' and subject < 'code;'`,
  // A discount was made from a promotion code, and that from a coupon: each has a name.
  isChained: true,
  // Each sale with the code asks again: so "no name" is stored too, for the lifetime of the key.
  ignored: { read: "no_code", failed: "no_code" },
  among: sql`e.event_id >= 'code:' and e.event_id < 'code;'`,
  openedBy(program_id, provider, facts) {
    const carried = codesCarried(facts);
    if (carried.length === 0) return [];
    const said = facts.filter((fact) => fact.kind === "code");
    const named = new Set(said.map(({ code_id }) => code_id));
    const ids = [...carried, ...said.flatMap(({ parents }) => parents)].filter((id) => !named.has(id));
    if (ids.length === 0) return [];
    const seeds = sql`select value from json_each(${JSON.stringify([...new Set(ids)])})`;
    return [unnamedAmong(program_id, provider, seeds)];
  },
  reopenedBy: (_program_id, _provider, within) =>
    sql`select substr(e.event_id, 6) as id from provider_events e where ${within} and e.ignored = 'no_code'`,
  async ask({ ctx, provider, reads, api_key }, code_id) {
    const [open] = await selectRows(
      ctx.db,
      { id: text },
      unnamedAmong(ctx.program.id, provider, sql`select ${code_id}`),
    );
    if (!open) return null;
    const carriers = await carriersOf(ctx, provider, open.id);
    const answer = await reads.readCode!(api_key, { id: open.id, occurred_at: iso(ctx.now), carriers });
    return { id: open.id, answer };
  },
};

/** The order of the questions. */
const KINDS = [LINKS, LINES, CODES];

/** The kinds of questions that a vendor answers. */
export function answeredBy(reads: VendorReads): QuestionKind[] {
  return KINDS.filter(({ reader }) => reads[reader]);
}

/** Adds the questions that an event leaves open, before it is stored; an event without effect adds no question. */
export function addQuestions(
  { db, program }: Pick<ProgramCtx, "db" | "program">,
  provider: VendorName,
  { facts, test }: ProviderEvent,
): Statement[] {
  if (test && program.live_only) return [];
  return KINDS.flatMap((kind) =>
    kind.openedBy(program.id, provider, facts).map((ids) => addWaiting({ db, program }, provider, kind.prefix, ids)),
  );
}

function addWaiting(
  { db, program }: Pick<ProgramCtx, "db" | "program">,
  provider: VendorName,
  prefix: string,
  ids: SQL,
): Statement {
  return db.run(sql`insert into waiting_events (provider, subject, program_id)
    select ${literal(provider)}, ${prefix} || id, ${program.id} from (${ids}) where true on conflict do nothing`);
}

/** How many stored events are looked through at a time. */
const PART = 500;

/**
 * Adds the questions that stored events after `after` leave open for another key: an answer without facts holds for one
 * key, which may be of another account or of test mode. Returns the last event that was read; null at the end.
 */
export async function reopenQuestions(
  ctx: ProgramCtx,
  provider: VendorName,
  reads: VendorReads,
  after: string,
): Promise<string | null> {
  const kinds = answeredBy(reads);
  if (kinds.length === 0) return null;
  const among = joinParts(
    kinds.map((kind) => kind.among),
    sql` or `,
    "different",
  );
  const events = sql`e.program_id = ${ctx.program.id} and e.provider = ${provider} and e.event_id > ${after} and (${among})`;
  const [part] = await selectRows(
    ctx.db,
    { last: nullable(text) },
    sql`select max(event_id) as last from (
      select e.event_id from provider_events e where ${events} order by e.event_id limit ${literal(PART)})`,
  );
  const last = part?.last ?? null;
  if (last === null) return null;
  const statements = kinds.flatMap((kind) => {
    const within = sql`${events} and e.event_id <= ${last} and ${kind.among}`;
    const ids = kind.reopenedBy(ctx.program.id, provider, within);
    const { failed } = kind.ignored;
    const forget = sql`delete from provider_events as e where ${within} and e.ignored = ${failed}`;
    return [addWaiting(ctx, provider, kind.prefix_again, ids), ...(failed === null ? [] : [ctx.db.run(forget)])];
  });
  await runBatch(ctx.db, statements);
  return last;
}

/** The facts `f` of a kind in stored events `e`, but for ignored ones: the ids of a test event are no vendor's. */
function factsIn(kind: "adjustment" | "payment", within: SQL): SQL {
  return sql`provider_events e cross join facts f on f.program_id = e.program_id and f.provider = e.provider
      and f.fact_id >= e.event_id || '#' and f.fact_id < e.event_id || '$' and f.kind = ${literal(kind)}
    where ${within} and e.ignored is null`;
}

/** The ids of the codes that facts carry, each once. */
export function codesCarried(facts: readonly Fact[]): string[] {
  return [...new Set(facts.flatMap((fact) => ("codes" in fact ? (fact.codes ?? []) : [])))];
}

/** Selects, as `id`, those of `seeds` and their ancestors that no event names and no question was sent about. */
function unnamedAmong(program_id: string, provider: VendorName, seeds: SQL): SQL {
  const ofProgram = sql`program_id = ${program_id} and provider = ${literal(provider)}`;
  // One row, even if several events name it.
  const named = sql`(select data from facts where ${ofProgram}
    and kind = 'code' and ref_key = made.id order by occurred_at desc limit 1)`;
  return sql`with recursive made (id) as (
      ${seeds} union select p.value from made cross join json_each(${named}, '$.parents') p
    ) select id from made
    where not exists (select 1 from facts indexed by facts_of_code where ${ofProgram} and kind = 'code' and ref_key = made.id)
      and not exists (select 1 from provider_events where ${ofProgram} and event_id = 'code:' || made.id)`;
}

/** The most payments and subscriptions with a code that a question lists. */
const MAX_CARRIERS = 20;

/** The vendor's ids of the first payments and subscriptions that carry a code. */
async function carriersOf({ db, program }: ProgramCtx, provider: VendorName, code_id: string): Promise<string[]> {
  const ofVendor = (table: SQL) => sql`${table}.program_id = ${program.id} and ${table}.provider = ${provider}`;
  const rows = await selectRows(
    db,
    { id: text },
    sql`select n.subject as id from (select fact_id from fact_subjects s
        where ${ofVendor(sql`s`)} and scope = 'coded' and subject = ${code_id}
        order by fact_id limit ${literal(MAX_CARRIERS)}) c
      cross join fact_subjects n on ${ofVendor(sql`n`)} and n.fact_id = c.fact_id
        and +n.scope in ('payment', 'subscription')`,
  );
  return rows.map(({ id }) => id);
}

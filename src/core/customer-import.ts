import { sql } from "drizzle-orm";
import type { AttributionFact } from "../domain/fact.ts";
import { slugKey } from "../domain/partner.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import { AppError } from "../lib/errors.ts";
import { firstIdAt } from "../lib/id.ts";
import { DAY, iso } from "../lib/time.ts";
import { commit, CommitConflict } from "./commit.ts";
import type { ProgramCtx } from "./context.ts";
import { insertStoredFacts, type PaymentKey, type StoredFact } from "./facts.ts";
import { MAX_INLINE, settle } from "./ledger.ts";
import { IMPORT_CHUNK, MAX_IMPORT_LINES } from "./partner-import.ts";

/** By what the ledger knows a customer: the provider's id, or else the `emailKey` of the address. */
export interface CustomerIdentity {
  provider: ProviderName;
  scope: "customer" | "email";
  subject: string;
}

export interface CustomerLine {
  /** Its number in the file, for people. */
  line: number;
  customer: CustomerIdentity;
  /** The partner, by a code or by the e-mail address; where both are given they must not name two. */
  codes: readonly string[];
  partner_email: string | null;
}

/**
 * What becomes of a line: a customer bound to a partner; nothing, for it is that partner's already; or left, because
 * the ledger knows another partner for it; or why it cannot be.
 */
export type CustomerVerdict = { line: number } & (
  | { verdict: "new" | "known" }
  | { verdict: "kept" | "refused"; field: "customer_id" | "customer_email" | "code" | "partner_email"; message: string }
);

interface Binding {
  line: CustomerLine;
  slug: string;
  partner_id: string;
}

/** What an import of these lines would do, in their order. Writes nothing. */
export async function judgeCustomers(ctx: ProgramCtx, lines: readonly CustomerLine[]): Promise<CustomerVerdict[]> {
  return (await judge(ctx, lines)).verdicts;
}

/**
 * Binds customers to the partners who referred them, so that payments made from now on are theirs where the payment
 * itself and what the providers said name nobody (contract §5, the reference remembered for the customer). Payments
 * made before earn nothing, and no attribution that exists is changed. A customer is bound once: the first import
 * stands. Ended in the middle, a rerun does the rest. Returns how many customers were bound.
 */
export async function importCustomers(ctx: ProgramCtx, lines: readonly CustomerLine[]): Promise<{ added: number }> {
  if (lines.length > MAX_IMPORT_LINES) {
    throw new AppError("validation_failed", `An import has at most ${MAX_IMPORT_LINES} lines.`);
  }
  const { bindings } = await judge(ctx, lines);
  let added = 0;
  for (let at = 0; at < bindings.length; at += IMPORT_CHUNK) {
    added += await store(ctx, bindings.slice(at, at + IMPORT_CHUNK));
  }
  await settleUnsettled(ctx, bindings);
  return { added };
}

async function judge(
  ctx: ProgramCtx,
  lines: readonly CustomerLine[],
): Promise<{ verdicts: CustomerVerdict[]; bindings: Binding[] }> {
  const codes = JSON.stringify(lines.flatMap((line) => line.codes.map(slugKey)));
  const emails = JSON.stringify(lines.flatMap(({ partner_email }) => partner_email?.toLowerCase() ?? []));
  const identities = JSON.stringify(lines.map(({ customer }) => customer));
  const [byCode, byEmail, remembered] = await ctx.read(
    ctx.db.all<{ id: string; slug: string; key: string }>(sql`select distinct p.id, p.slug, s.slug_key as key
      from json_each(${codes}) j
      cross join partner_slugs s on s.program_id = ${ctx.programId} and s.slug_key = j.value
      join partners p on p.id = s.partner_id`),
    ctx.db.all<{ id: string; slug: string; key: string }>(sql`select distinct p.id, p.slug, lower(p.email) as key
      from json_each(${emails}) j
      cross join partners p on p.program_id = ${ctx.programId} and lower(p.email) = j.value`),
    // Of several references the newest, which is what the bare columns beside a max() are of.
    ctx.db.all<CustomerIdentity & { partner_id: string | null; at: string }>(sql`select s.provider, s.scope, s.subject,
        held.partner_id, max(f.occurred_at) as at
      from json_each(${identities}) j
      cross join fact_subjects s on s.program_id = ${ctx.programId} and s.provider = j.value ->> 'provider'
        and s.scope = j.value ->> 'scope' and s.subject = j.value ->> 'subject'
      join facts f on f.program_id = s.program_id and f.provider = s.provider and f.fact_id = s.fact_id
        and f.kind = 'attribution' and f.occurred_at <= ${iso(ctx.now)}
      left join partner_slugs held on held.program_id = s.program_id and held.slug_key = f.ref_key
      group by s.provider, s.scope, s.subject`),
  );
  const partners = {
    code: new Map(byCode.map((row) => [row.key, row])),
    email: new Map(byEmail.map((row) => [row.key, row])),
  };
  const holderOf = new Map(remembered.map((row) => [identityKey(row), row.partner_id]));
  const lineOf = new Map<string, number>();
  const bindings: Binding[] = [];
  const verdicts = lines.map((line): CustomerVerdict => {
    const named = partnerOf(line, partners);
    if ("message" in named) return { line: line.line, verdict: "refused", ...named };
    const key = identityKey(line.customer);
    const field = line.customer.scope === "customer" ? "customer_id" : "customer_email";
    const before = lineOf.get(key);
    if (before !== undefined) {
      return { line: line.line, verdict: "refused", field, message: `This customer stands on line ${before}.` };
    }
    lineOf.set(key, line.line);
    const holder = holderOf.get(key);
    if (holder === named.id) return { line: line.line, verdict: "known" };
    if (holder !== undefined) {
      return { line: line.line, verdict: "kept", field, message: "This customer is another partner's already." };
    }
    bindings.push({ line, slug: named.slug, partner_id: named.id });
    return { line: line.line, verdict: "new" };
  });
  return { verdicts, bindings };
}

type Partners = Record<"code" | "email", ReadonlyMap<string, { id: string; slug: string }>>;

function partnerOf(
  { codes, partner_email }: CustomerLine,
  partners: Partners,
): { id: string; slug: string } | { field: "code" | "partner_email"; message: string } {
  const found = new Map<string, { id: string; slug: string }>();
  const named = [
    ...codes.map((code) => partners.code.get(slugKey(code))),
    partner_email === null ? undefined : partners.email.get(partner_email.toLowerCase()),
  ];
  for (const partner of named) if (partner) found.set(partner.id, partner);
  const field = codes.length > 0 ? "code" : "partner_email";
  const [partner, ...others] = found.values();
  if (others.length > 0) return { field, message: "This line names two partners." };
  return partner ?? { field, message: "There is no such partner. Import the partners first." };
}

async function store(ctx: ProgramCtx, chunk: readonly Binding[]): Promise<number> {
  const occurred_at = iso(ctx.now);
  let bindings = chunk;
  for (let races = 0; bindings.length > 0; races++) {
    const [facts, subjects] = insertStoredFacts(
      ctx,
      bindings.map((binding) => storedFact(binding, occurred_at)),
    );
    const customers = new Map<string, number>();
    for (const { partner_id } of bindings) customers.set(partner_id, (customers.get(partner_id) ?? 0) + 1);
    try {
      await commit(ctx, {
        writes: [
          { statement: facts, expect: bindings.length },
          { statement: subjects },
          {
            statement: ctx.db
              .run(sql`update payments set facts_revision = facts_revision + 1, updated_at = ${occurred_at}
              where ${concernedBy(ctx, bindings)}`),
          },
        ],
        // Nobody is named who may have to be forgotten.
        occurrences: [
          {
            type: "customers.imported",
            payload: {
              customers: bindings.length,
              partners: [...customers].map(([partner_id, count]) => ({ partner_id, customers: count })),
            },
          },
        ],
      });
      return bindings.length;
    } catch (error) {
      // Another import bound one of them meanwhile: judged again, that line is known or kept.
      if (!(error instanceof CommitConflict) || races >= MAX_RACES) throw error;
      ({ bindings } = await judge(
        ctx,
        chunk.map(({ line }) => line),
      ));
    }
  }
  return 0;
}

const MAX_RACES = 10;

/** The fact's id is the customer's, so that of two imports only one can bind it. */
function storedFact({ line: { customer }, slug }: Binding, occurred_at: string): StoredFact {
  const { provider, scope, subject } = customer;
  const fact: AttributionFact = {
    kind: "attribution",
    occurred_at,
    ref: slug,
    subscription_id: null,
    customer_id: scope === "customer" ? subject : null,
    ...(scope === "email" ? { customer_email: subject } : {}),
    imported: true,
  };
  return { provider, fact_id: `import:${scope}:${subject}`, fact };
}

/**
 * A condition on `payments`: those that a binding made now can change. They are dated later than it, so they came while
 * it was made; ids carry the time of the payment's first fact, which a slow method of payment leaves weeks behind.
 */
function concernedBy(ctx: ProgramCtx, bindings: readonly Binding[]) {
  const subjects = JSON.stringify(bindings.map(({ line }) => line.customer));
  return sql`program_id = ${ctx.program.id} and id >= ${firstIdAt("payment", ctx.now - 31 * DAY)}
    and created_at >= ${iso(ctx.now)} and (outcome is null or coalesce(decision ->> 'ref_source', '') <> 'payment')
    and exists (select 1 from json_each(${subjects}) j where j.value ->> 'provider' = provider
      and ((j.value ->> 'scope' = 'customer' and j.value ->> 'subject' = customer_id)
        or (j.value ->> 'scope' = 'email' and j.value ->> 'subject' = lower(customer_email))))`;
}

/** What is too much for one request the sweep takes. */
async function settleUnsettled(ctx: ProgramCtx, bindings: readonly Binding[]): Promise<void> {
  if (bindings.length === 0) return;
  const unsettled = await ctx.db.all<PaymentKey>(sql`select id, provider, provider_transaction_id from payments
    where ${concernedBy(ctx, bindings)} and settled_revision < facts_revision order by id limit ${MAX_INLINE}`);
  for (const key of unsettled) await settle(ctx, key);
}

function identityKey({ provider, scope, subject }: CustomerIdentity): string {
  return `${provider} ${scope} ${subject}`;
}

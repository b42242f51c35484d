import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { nullable, selectRows, text, textOf, type Columns } from "../../db/rows.ts";
import type { AttributionFact } from "../../domain/fact.ts";
import { slugKey } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { AppError } from "../../lib/errors.ts";
import { firstIdAt } from "../../lib/id.ts";
import { runInSlices, partsOf } from "../../lib/slices.ts";
import { DAY, iso } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { insertStoredFacts, PAYMENT_KEY, type StoredFact } from "../ledger/facts.ts";
import { MAX_INLINE, settleEach } from "../ledger/settle.ts";
import { matchesOrUnsettled, restartSettling, unsettle } from "../ledger/concerned-payments.ts";
import { FACT_OF_SUBJECT } from "../ledger/stages.ts";
import {
  addressesOf,
  identityKey,
  decideCustomerLines,
  type Binding,
  type CustomerIdentity,
  type CustomerLine,
  type CustomerVerdict,
  type NamedPartner,
} from "./customer-lines.ts";
import { readHolders } from "./holders.ts";
import { IMPORT_CHUNK, LOOK_UP_LINES, MAX_IMPORT_LINES, MAX_IMPORT_RACES } from "./partners.ts";

/** Previews an import of these lines (`decideCustomerLines`). Read-only. */
export async function previewCustomers(ctx: Reader, lines: readonly CustomerLine[]): Promise<CustomerVerdict[]> {
  return (await decideLines(ctx, lines)).verdicts;
}

/**
 * Binds customers to the partners who referred them. A later payment then belongs to that partner if neither the
 * payment nor the providers' data names one (REF-3, IMP-4). Earlier payments earn no commission, and existing
 * attributions stay. A customer is bound once, by the first import. If the import ends early, a rerun does the rest.
 * Returns the actual result of each line, which differs from the preview if another import bound the same customers
 * meanwhile.
 */
export async function importCustomers(caller: Caller, lines: readonly CustomerLine[]): Promise<CustomerVerdict[]> {
  if (lines.length > MAX_IMPORT_LINES) {
    throw new AppError("validation_failed", `An import has at most ${MAX_IMPORT_LINES} lines.`);
  }
  const { verdicts, bindings } = await decideLines(caller, lines);
  const [ctx] = await prove(caller);
  const became = new Map(verdicts.map((verdict) => [verdict.line, verdict]));
  let settled = 0;
  for (const chunk of partsOf(bindings, IMPORT_CHUNK)) {
    for (const verdict of await store(ctx, chunk)) became.set(verdict.line, verdict);
    settled += await settleUnsettled(ctx, chunk, MAX_INLINE - settled);
  }
  return [...became.values()];
}

/** The number of names whose facts are read at once. */
const HOLDERS_AT_ONCE = 250;

async function decideLines(
  ctx: Reader,
  lines: readonly CustomerLine[],
): Promise<{ verdicts: CustomerVerdict[]; bindings: Binding[] }> {
  const known = {
    byCode: new Map<string, NamedPartner>(),
    byEmail: new Map<string, NamedPartner>(),
    holders: new Map<string, string[]>(),
    addresses: new Map<string, string>(),
  };
  for (const part of partsOf(lines, LOOK_UP_LINES)) {
    const [byCode, byEmail, paid, said] = await ctx.read(...lookUp(ctx, part));
    for (const { key, ...partner } of byCode) known.byCode.set(key, partner);
    for (const { key, ...partner } of byEmail) known.byEmail.set(key, partner);
    // The address from the provider's customer data replaces the address of a payment.
    for (const row of [...paid, ...said]) if (row.email !== null) known.addresses.set(identityKey(row), row.email);
    const names = part.flatMap((line) => [line.customer, ...addressesOf(line, known.addresses)]);
    const distinct = new Map(names.map((name) => [identityKey(name), name]));
    for (const some of partsOf([...distinct.values()], HOLDERS_AT_ONCE)) {
      for (const [key, holders] of await readHolders(ctx, some)) known.holders.set(key, holders);
    }
  }
  return runInSlices(decideCustomerLines(lines, known));
}

const IDENTITY: Columns<CustomerIdentity> = {
  provider: textOf<ProviderName>(),
  scope: textOf<CustomerIdentity["scope"]>(),
  subject: text,
};

const NAMED_PARTNER: Columns<NamedPartner & { key: string }> = {
  id: text,
  slug: text,
  email: text,
  payout_email: nullable(text),
  key: text,
};

/** Selects the partners that lines name, and the addresses of their customers, current or as of the last payment. */
function lookUp(ctx: Reader, lines: readonly CustomerLine[]) {
  const codes = JSON.stringify(lines.flatMap((line) => line.codes.map(slugKey)));
  const emails = JSON.stringify(lines.flatMap(({ partner_email }) => partner_email ?? []));
  const identities = JSON.stringify(lines.map(({ customer }) => customer));
  const named = sql`p.id, p.slug, p.email, p.payout_email`;
  return [
    selectRows(
      ctx.db,
      NAMED_PARTNER,
      sql`select distinct ${named}, s.slug_key as key
      from json_each(${codes}) j
      cross join partner_slugs s on s.program_id = ${ctx.programId} and s.slug_key = j.value
      join partners p on p.id = s.partner_id`,
    ),
    selectRows(
      ctx.db,
      NAMED_PARTNER,
      sql`select distinct ${named}, lower(p.email) as key
      from json_each(${emails}) j
      cross join partners p on p.program_id = ${ctx.programId} and lower(p.email) = lower(j.value)`,
    ),
    selectRows(
      ctx.db,
      { ...IDENTITY, email: nullable(text) },
      sql`select j.value ->> 'provider' as provider,
        j.value ->> 'scope' as scope, j.value ->> 'subject' as subject,
        (select customer_email from payments where program_id = ${ctx.programId}
          and customer_id = j.value ->> 'subject' and +provider = j.value ->> 'provider'
          and customer_email is not null order by created_at desc limit 1) as email
      from json_each(${identities}) j where j.value ->> 'scope' = 'customer'`,
    ),
    selectRows(
      ctx.db,
      { ...IDENTITY, email: nullable(text), at: text },
      sql`select s.provider, 'customer' as scope,
        s.subject, f.data ->> 'email' as email, max(f.occurred_at) as at
      from json_each(${identities}) j
      cross join fact_subjects s on s.program_id = ${ctx.programId} and s.provider = j.value ->> 'provider'
        and s.scope = 'address' and s.subject = j.value ->> 'subject' and j.value ->> 'scope' = 'customer'
      ${FACT_OF_SUBJECT}
      group by s.provider, s.subject`,
    ),
  ] as const;
}

/** Binds a chunk. Returns the new verdicts of its lines if they had to be decided again. */
async function store(ctx: ProgramCtx, chunk: readonly Binding[]): Promise<CustomerVerdict[]> {
  const occurred_at = iso(ctx.now);
  let bindings = chunk;
  let verdicts: CustomerVerdict[] = [];
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
          unsettle(ctx, concernedBy(ctx, bindings)),
          // A running settling may be the first to find a payment's address: it reads again.
          { statement: restartSettling(ctx) },
        ],
        // Names no customers, because a customer may have to be erased.
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
      break;
    } catch (error) {
      // Another import bound one of them meanwhile: decided again, that line is known or kept.
      if (!(error instanceof CommitConflict) || races >= MAX_IMPORT_RACES) throw error;
      ({ verdicts, bindings } = await decideLines(
        ctx,
        chunk.map(({ line }) => line),
      ));
    }
  }
  return verdicts;
}

/** The fact's id is the customer's, so that only one of two imports can bind it. */
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
 * A condition on `payments`: the payments that a binding made now can change. Their date is after the binding, so they
 * arrived while it was made. Ids carry the time of the payment's first fact, which can be weeks earlier for a slow
 * payment method.
 */
function concernedBy(ctx: ProgramCtx, bindings: readonly Binding[]) {
  const subjects = JSON.stringify(bindings.map(({ line }) => line.customer));
  const changes = sql`created_at >= ${iso(ctx.now)}
    and (partner_id is null or coalesce(decision ->> 'ref_source', '') <> 'payment')`;
  return sql`program_id = ${ctx.program.id} and id >= ${firstIdAt("payment", ctx.now - 31 * DAY)}
    and ${matchesOrUnsettled("payments", changes)}
    and exists (select 1 from json_each(${subjects}) j where j.value ->> 'provider' = provider
      and ((j.value ->> 'scope' = 'customer' and j.value ->> 'subject' = customer_id)
        or (j.value ->> 'scope' = 'email' and j.value ->> 'subject' = lower(customer_email))))`;
}

/** Settles some of the payments that bindings concern, and returns their number; the sweep settles the rest. */
async function settleUnsettled(ctx: ProgramCtx, bindings: readonly Binding[], most: number): Promise<number> {
  const unsettled = await selectRows(
    ctx.db,
    PAYMENT_KEY,
    sql`select id, provider, provider_transaction_id from payments
    where ${concernedBy(ctx, bindings)} and settled_revision < facts_revision order by id limit ${literal(most)}`,
  );
  await settleEach(ctx, unsettled);
  return unsettled.length;
}

/** The ledger is a function of the set of facts (LAW-1). */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { and, eq, ne, sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { commissions, payments } from "../../src/db/schema.ts";
import { deliver, deliverInDisorder, disorder } from "../support/disorder.ts";
import { eventsOf, makeWorldProgram, world } from "../support/ledger-world.ts";
import { ledgerOf } from "../support/ledger.ts";
import { testContext, type TestProgram } from "../support/program.ts";

const RUNS = Number(env.PROPERTY_RUNS ?? 100);
const SEED = Number(env.PROPERTY_SEED ?? Date.now() % 2 ** 31);

/** Ends a long shrinking, but not a successful run: it is far above the usual duration. */
const TIME_LIMIT = 60_000 + RUNS * 2_000;

/** The data that does not depend on the order: everything except ids, revisions and times of writing. */
async function projection(program: TestProgram) {
  const { payments: paymentRows, commissions: commissionRows } = await ledgerOf(program);
  const keyOf = new Map(paymentRows.map((row) => [row.id, row.provider_transaction_id]));
  const slugOf = await slugs(program);
  const flowIndex = await flowNames(program);
  return {
    payments: paymentRows.map((row) => ({
      key: row.provider_transaction_id,
      outcome: row.outcome,
      partner: slugOf.get(row.partner_id ?? "") ?? null,
      ref: row.ref,
      currency: row.currency,
      base: row.txn_amount_cents,
      gross: row.gross_cents,
      adjusted: row.adjusted_cents,
      email: row.customer_email,
      subscription: row.subscription_id,
      created_at: row.created_at,
      amount: row.decision?.amount_cents ?? null,
      arithmetic: row.decision?.arithmetic ?? null,
      tried: row.decision?.flows.map(({ flow_id: _, ...flow }) => flow) ?? [],
    })),
    commissions: commissionRows
      .map((row) => ({
        key: keyOf.get(row.payment_id ?? "") ?? null,
        partner: slugOf.get(row.partner_id) ?? null,
        kind: row.kind,
        status: row.status,
        amount: row.amount_cents,
        base: row.txn_amount_cents,
        currency: row.currency,
        flagged: row.flagged,
        reason: row.review_reason,
        rate: row.rate,
        flow: flowIndex.get(row.flow_id ?? "") ?? null,
        email: row.customer_email,
        subscription: row.subscription_id,
        created_at: row.created_at,
      }))
      .toSorted((a, b) => `${a.key}${a.partner}${a.kind}`.localeCompare(`${b.key}${b.partner}${b.kind}`)),
  };
}

async function slugs(program: TestProgram): Promise<Map<string, string>> {
  const rows = await env.DB.prepare("select id, slug from partners where program_id = ?")
    .bind(program.id)
    .all<{ id: string; slug: string }>();
  return new Map(rows.results.map(({ id, slug }) => [id, slug]));
}

async function flowNames(program: TestProgram): Promise<Map<string, string>> {
  const rows = await env.DB.prepare("select id, name from flows where program_id = ?")
    .bind(program.id)
    .all<{ id: string; name: string }>();
  return new Map(rows.results.map(({ id, name }) => [id, name]));
}

describe("the ledger is a function of the set of facts (LAW-1)", () => {
  it(`ends the same in any order, with repetitions, races and crashes (seed ${SEED}, ${RUNS} runs)`, async () => {
    await fc.assert(
      fc.asyncProperty(world, disorder, async ({ stories, flows }, chaos) => {
        const events = eventsOf(stories);
        const [calm, wild] = await Promise.all([makeWorldProgram(flows), makeWorldProgram(flows)]);
        for (const each of events) await deliver(calm, each);
        await deliverInDisorder(wild, events, chaos);
        expect(await projection(wild)).toEqual(await projection(calm));
      }),
      { seed: SEED, numRuns: RUNS, interruptAfterTimeLimit: TIME_LIMIT },
    );
  });

  it(`keeps the sum per payment at the rule's result when commissions are paid in between (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(
        world,
        disorder,
        fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
        async ({ stories, flows }, chaos, payNow) => {
          const events = eventsOf(stories);
          const [calm, wild] = await Promise.all([makeWorldProgram(flows), makeWorldProgram(flows)]);
          for (const each of events) await deliver(calm, each);
          let step = 0;
          const { db } = testContext();
          await deliverInDisorder(wild, events, chaos, async () => {
            if (!payNow[step++ % payNow.length]) return;
            await db
              .update(commissions)
              .set({ status: "paid", paid_at: new Date().toISOString() })
              .where(and(eq(commissions.program_id, wild.id), sql`abs(random()) % 2 = 0`, sql`status <> 'rejected'`));
          });
          expect(await sums(wild)).toEqual(await sums(calm));
        },
      ),
      { seed: SEED, numRuns: Math.ceil(RUNS / 2), interruptAfterTimeLimit: TIME_LIMIT },
    );
  });
});

/** Each partner's earnings by payment, over all valid rows; rows paid before two payments were joined count for the result. */
async function sums(program: TestProgram): Promise<Record<string, number>> {
  const { db } = testContext();
  const rows = await db
    .select({
      key: payments.provider_transaction_id,
      outcome: payments.outcome,
      partner: commissions.partner_id,
      amount: commissions.amount_cents,
    })
    .from(commissions)
    .innerJoin(payments, eq(payments.id, commissions.payment_id))
    .where(and(eq(commissions.program_id, program.id), ne(commissions.status, "rejected")));
  const slugOf = await slugs(program);
  const sum = new Map<string, number>();
  for (const { key, outcome, partner, amount } of rows) {
    const name = `${outcome === "merged" ? key.replace(/^in_/, "cs_") : key} ${slugOf.get(partner)}`;
    sum.set(name, (sum.get(name) ?? 0) + amount);
  }
  return Object.fromEntries([...sum].filter(([, amount]) => amount !== 0).toSorted());
}

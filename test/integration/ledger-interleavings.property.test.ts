/** Two concurrent changes of one payment: wherever the second interrupts the first, the result is that of one order. */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import type { Bindings } from "../../src/env.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { payoutsOf } from "../support/payouts.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, disputeClosed, disputeEvent } from "../support/provider-a-changes.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";
import { SEED } from "../support/seed.ts";

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS) / 5);

const AMOUNT = 10_000;
const BUYER = "buyer@example.com";

interface World {
  program: TestProgram;
  partner_id: string;
  ids: { payment_intent: string; charge: string };
}

type Change = (world: World, bindings?: Partial<Bindings>) => Promise<unknown>;

function call({ program }: World, bindings: Partial<Bindings> = {}, method: string, path: string, body: object = {}) {
  const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
  const init = { method, headers, ...(method === "DELETE" ? {} : { body: JSON.stringify(body) }) };
  return callWith(bindings, `/api/v1/${path}`, init);
}

function decide(status: string): Change {
  return async (world, bindings) => {
    const sale = (await ledgerOf(world.program)).commissions.find(({ kind }) => kind === "sale");
    return sale && call(world, bindings, "PATCH", `commissions/${sale.id}`, { status });
  };
}

function movePayout(action: string): Change {
  return async (world, bindings) => {
    const last = (await payoutsOf(world.program)).at(-1);
    return last && call(world, bindings, "POST", `payouts/${last.id}/${action}`);
  };
}

function refund(refunded: number, created: number): Change {
  return ({ program, ids }, bindings) =>
    sendA(program, chargeRefunded({ ...ids, amount: AMOUNT, refunded, created }), bindings);
}

/** Unix times in seconds. The vendor's own order of its events is independent of their arrival. */
const SOLD_AT = 1_780_000_000;

const CHANGES: Record<string, Change> = {
  sell: ({ program, ids: { payment_intent } }, bindings) => {
    const bought = { id: `cs_${payment_intent}`, event_id: `evt_${payment_intent}`, customer: `cus_${payment_intent}` };
    const sold = { ref: "jane", amount: AMOUNT, payment_intent, email: BUYER, created: SOLD_AT };
    return sendA(program, sessionCompleted({ ...bought, ...sold }), bindings);
  },
  "refund a quarter": refund(AMOUNT / 4, SOLD_AT + 10),
  "refund all": refund(AMOUNT, SOLD_AT + 20),
  dispute: ({ program, ids }, bindings) =>
    sendA(
      program,
      disputeEvent("charge.dispute.created", { id: "dp_1", ...ids, amount: AMOUNT, created: SOLD_AT + 30 }),
      bindings,
    ),
  "lose the dispute": ({ program, ids }, bindings) =>
    sendA(program, disputeClosed({ id: "dp_1", ...ids, amount: AMOUNT, created: SOLD_AT + 40 }), bindings),
  approve: decide("approved"),
  reject: decide("rejected"),
  reopen: decide("pending"),
  generate: (world, bindings) => call(world, bindings, "POST", "payouts/generate"),
  cancel: movePayout("cancel"),
  "mark paid": movePayout("mark-paid"),
  activate: (world, bindings) => call(world, bindings, "PATCH", `partners/${world.partner_id}`, { status: "active" }),
  deactivate: (world, bindings) => call(world, bindings, "DELETE", `partners/${world.partner_id}`),
  erase: (world, bindings) => call(world, bindings, "POST", "customers/erase", { email: BUYER }),
};

/** The changes before the race, which prepare the state. */
const BEFORE = {
  nothing: [],
  pending: ["sell"],
  approved: ["sell", "approve"],
  held: ["sell", "approve", "generate"],
  "held and refunded": ["sell", "approve", "generate", "refund a quarter"],
  paid: ["sell", "approve", "generate", "mark paid"],
  "paid and refunded": ["sell", "approve", "generate", "mark paid", "refund a quarter"],
};

let made = 0;

async function worldAfter(steps: readonly string[], isInvited: boolean): Promise<World> {
  const program = await makeProgram();
  const { id: partner_id } = await makePartner(program, { slug: "jane" }, isInvited ? "invited" : "active");
  const world = { program, partner_id, ids: { payment_intent: `pi_${made}`, charge: `ch_${made}` } };
  made += 1;
  for (const step of steps) await CHANGES[step]!(world);
  return world;
}

/** The ledger without the differences between two worlds, after the sweep has settled the remaining work. */
async function shown({ program }: World) {
  await serveAll(settleUnsettled(testContext(Date.now() + 120_000)));
  const [{ payments, commissions }, payouts] = await Promise.all([ledgerOf(program), payoutsOf(program)]);
  const statusOf = new Map(payouts.map(({ id, status }) => [id, status]));
  return {
    payments: payments.map(({ outcome, adjusted_cents, customer_email }) => [outcome, adjusted_cents, customer_email]),
    commissions: commissions
      .map((row) => [row.kind, row.amount_cents, row.status, row.review_reasons, row.customer_email].join())
      .map((text, i) => `${text} ${statusOf.get(commissions[i]!.payout_id ?? "") ?? "free"}`)
      .toSorted(),
    payouts: payouts.map(({ status, amount_cents }) => `${status} ${amount_cents}`).toSorted(),
  };
}

const name = fc.constantFrom(...Object.keys(CHANGES));
const plan = fc.record({
  before: fc.constantFrom(...(Object.keys(BEFORE) as (keyof typeof BEFORE)[])),
  isInvited: fc.boolean(),
  one: name,
  other: name,
  /** The number of the write that the other change precedes. */
  at: fc.integer({ min: 1, max: 3 }),
});

const WRITE = /^\s*(?:insert|update|delete)/i;

it(`two changes at once end as one after the other (seed ${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ before, isInvited, one, other, at }) => {
      const make = () => worldAfter(BEFORE[before], isInvited && before === "nothing");
      const serially = async (...names: string[]) => {
        const world = await make();
        for (const step of names) await CHANGES[step]!(world);
        return shown(world);
      };
      const world = await make();
      let writes = 0;
      const watched = watchDatabase(env.DB, {
        before: async (statements) => {
          if (writes >= at || !statements.some((text) => WRITE.test(text))) return;
          writes += 1;
          if (writes === at) await CHANGES[other]!(world);
        },
      });
      await CHANGES[one]!(world, { DB: watched.binding });
      if (writes < at) return;
      const ends = [await serially(one, other), await serially(other, one)];
      // Commissions that are being settled wait for the next generation (OUT-1).
      if (other === "generate") ends.push(await serially(one));
      expect(ends).toContainEqual(await shown(world));
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});

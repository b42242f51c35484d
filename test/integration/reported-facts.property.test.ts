/**
 * A story from the owner's server ends in the same sums as the same story from provider A, in whatever order its reports
 * come (FACT-1).
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lead, refund, report, sale } from "../support/api.ts";
import { makeWorldProgram } from "../support/ledger-world.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import type { TestProgram } from "../support/program.ts";
import { chargeRefunded, customerEvent, sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS ?? 100) / 4);
const SEED = Number(env.PROPERTY_SEED ?? Date.now() % 2 ** 31);
const T0 = 1_780_000_000;
const DAY = 86_400;

const slug = fc.constantFrom("ann", "Bob", "dan", "nobody", null);

const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant("lead" as const), ref: slug, customer: fc.nat(2) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ do: fc.constant("sale" as const), ref: slug, customer: fc.nat(2) },
      amount: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 100, max: 5_000_000 })),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("refund" as const),
      pick: fc.nat(9),
      share: fc.integer({ min: 1, max: 70 }),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Digits at the end of each sale's id. */
const NUMBER = 2;

/** The steps as each of the two reports them; each a day after the step before. */
function reportsOf(steps: readonly Step[], mark: string) {
  const sold: { n: string; amount: number; refunded: number }[] = [];
  const ofApi: ((program: TestProgram) => Promise<{ status: number }>)[] = [];
  const ofA: ((program: TestProgram) => Promise<{ status: number }>)[] = [];
  for (const [at, each] of steps.entries()) {
    const n = String(at).padStart(NUMBER, "0");
    const created = T0 + at * DAY;
    const occurred_at = new Date(created * 1_000).toISOString();
    if (each.do === "lead") {
      const { ref, customer } = each;
      if (ref === null) continue;
      const body = lead({ external_id: `l${n}`, ref, customer: { id: `u${customer}` }, occurred_at });
      ofApi.push((program) => report(program, "lead", body));
      const event = customerEvent({ id: `cus_${mark}${customer}`, ref, created });
      ofA.push((program) => sendA(program, event));
    } else if (each.do === "sale") {
      const { ref, customer, amount } = each;
      sold.push({ n, amount, refunded: 0 });
      const own = { external_id: `s${n}`, amount_cents: amount, customer: { id: `u${customer}` } };
      const body = sale({ ...own, ...(ref === null ? {} : { ref }), occurred_at });
      ofApi.push((program) => report(program, "sale", body));
      const ids = { id: `cs_${mark}${n}`, payment_intent: `pi_${mark}${n}`, customer: `cus_${mark}${customer}` };
      const event = sessionCompleted({ ...ids, ref, amount, tax: 0, created, email: null });
      ofA.push((program) => sendA(program, event));
    } else {
      const of = sold[each.pick % Math.max(sold.length, 1)];
      const amount_cents = of ? Math.floor((of.amount * each.share) / 100) : 0;
      if (!of || amount_cents === 0) continue;
      of.refunded += amount_cents;
      const body = refund({ external_id: `r${n}`, sale_external_id: `s${of.n}`, amount_cents, occurred_at });
      ofApi.push((program) => report(program, "refund", body));
      const ids = { charge: `ch_${mark}${of.n}`, payment_intent: `pi_${mark}${of.n}` };
      const event = chargeRefunded({ ...ids, amount: of.amount, refunded: Math.min(of.refunded, of.amount), created });
      ofA.push((program) => sendA(program, event));
    }
  }
  return { ofApi, ofA };
}

/** The outcome and the earned amount, by the number of the sale. */
async function sums(program: TestProgram) {
  const { payments, commissions } = await ledgerOf(program);
  return payments
    .filter(({ event }) => event === "transaction_completed")
    .map((row) => ({
      n: row.provider_transaction_id.slice(-NUMBER),
      outcome: row.outcome,
      partner: row.decision?.partner_slug ?? null,
      earned: commissions
        .filter(({ payment_id }) => payment_id === row.id)
        .map((one) => [one.amount_cents, one.status]),
    }))
    .toSorted((a, b) => (a.n < b.n ? -1 : 1));
}

describe(`a story that the owner's server reports (seed ${SEED}, ${RUNS} runs)`, () => {
  it("ends in the sums of the same story of provider A, in any order (FACT-1, LAW-1)", async () => {
    const story = fc.array(step, { minLength: 1, maxLength: 9 });
    const attribution = fc.constantFrom("first" as const, "last" as const);
    await fc.assert(
      fc.asyncProperty(story, attribution, fc.infiniteStream(fc.nat()), async (steps, by, keys) => {
        const { ofApi, ofA } = reportsOf(steps, uniqueId("m"));
        const [one, other] = await Promise.all([1, 2].map(() => makeWorldProgram([], { attribution: by })));
        for (const send of ofA) expect((await send(other!)).status).toBe(200);
        const shuffled = ofApi
          .map((send) => ({ send, at: keys.next().value ?? 0 }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ send }) => send);
        for (let i = 0; i < shuffled.length; i += 2) {
          const replies = await Promise.all(shuffled.slice(i, i + 2).map((send) => send(one!)));
          for (const { status } of replies) expect(status).toBe(200);
        }
        expect(await sums(one!)).toEqual(await sums(other!));
      }),
      { seed: SEED, numRuns: RUNS, interruptAfterTimeLimit: 60_000 + RUNS * 2_000 },
    );
  });
});

/**
 * The ledger is a function of the set of facts, including people's decisions (LAW-1). Decisions between the vendors' events,
 * in order for each payment, produce the same rows, journal and balances as decisions after all events. Decisions about
 * another partner's temporary commission have no effect (LAW-6).
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { updateCommission } from "../../src/core/commissions/commissions.ts";
import { reviewSettled, settle } from "../../src/core/ledger/settle.ts";
import { generatePayouts } from "../../src/core/payouts/generate.ts";
import type { CommissionChange } from "../../src/domain/commission-change.ts";
import { canBecome } from "../../src/domain/commission.ts";
import { deliver, deliverInDisorder, disorder, IN_ORDER, type Disorder } from "../support/disorder.ts";
import { makeWorldProgram, type WorldEvent } from "../support/ledger-world.ts";
import { ledgerOf } from "../support/ledger.ts";
import { keyOf } from "../support/money-model.ts";
import { programOf, seen, slugsOf } from "../support/money-seen.ts";
import { liveAll, moneyWorld } from "../support/money-world.ts";
import { programContext, type TestProgram } from "../support/program.ts";
import { rememberedWorld, reportedOf } from "../support/remembered-world.ts";
import { SEED } from "../support/seed.ts";

const RUNS = Number(env.PROPERTY_RUNS);

/** Ends a long shrinking, but not a successful run: it is far above the usual duration. */
const TIME_LIMIT = 60_000 + RUNS * 2_000;

type Status = "pending" | "approved" | "rejected";

/** The statuses that are set for a commission, in this order. */
const PATHS: readonly Status[][] = [
  ["approved"],
  ["rejected"],
  ["approved", "rejected"],
  ["rejected", "pending"],
  ["rejected", "pending", "approved"],
  ["approved", "rejected", "pending"],
];

const judgements = fc.array(
  fc.record({ path: fc.constantFrom(...PATHS), looks: fc.nat(2), looksFirst: fc.boolean() }),
  {
    minLength: 8,
    maxLength: 8,
  },
);
type Judgement = typeof judgements extends fc.Arbitrary<(infer J)[]> ? J : never;

/** A change of the commission. A change of the flag waits until the commission is flagged for exactly these reasons. */
type Ask = Pick<CommissionChange, "status" | "flagged"> & { reasons?: string };

/** The decisions about the commission that a payment finally earns. */
interface Judged {
  partner: string;
  asks: Ask[];
}

/** If the facts flag the commission, the decisions only clear that flag; otherwise they flag it and clear the flag. */
function asksOf({ path, looks, looksFirst }: Judgement, reasons: string): Ask[] {
  const moves = path.map((status): Ask => ({ status }));
  const flag: Ask = { flagged: true, reasons: "" };
  const looked = reasons === "" ? [flag, { flagged: false, reasons: "manual" }] : [{ flagged: false, reasons }];
  return looksFirst ? [...looked.slice(0, looks), ...moves] : [...moves, ...looked.slice(0, looks)];
}

/** The vendors' events in the order in which they happened, and the payments that finally result. */
interface Story {
  events: readonly WorldEvent[];
  keys: readonly string[];
  /** The key of the payment that an identity belongs to. */
  own: (key: string) => string;
}

/** The reviewed fields of a program's commissions, each by the payment that it finally belongs to. */
async function rowsOf(program: TestProgram, { own }: Story) {
  const { payments, commissions } = await ledgerOf(program);
  const slugs = await slugsOf(program);
  const keys = new Map(payments.map((row) => [row.id, own(row.provider_transaction_id)]));
  return commissions.map((row) => ({ ...row, key: keys.get(row.payment_id!)!, partner: slugs.get(row.partner_id)! }));
}

/** Takes each payment's decisions in their order, each as soon as it is possible. */
function decider(program: TestProgram, story: Story, judged: ReadonlyMap<string, Judged>) {
  const left = new Map([...judged].map(([key, { asks }]) => [key, [...asks]]));
  const ask = (id: string, { status, flagged }: Ask) =>
    updateCommission(programContext(program), id, { status, flagged });

  /** Takes one decision about each payment that `isNow` chooses. Returns the number of decisions. */
  const decideNext = async (isNow: () => boolean): Promise<number> => {
    const rows = await rowsOf(program, story);
    let taken = 0;
    for (const [key, asks] of left) {
      const [next] = asks;
      const [row, another] = rows.filter((one) => one.key === key && one.partner === judged.get(key)!.partner);
      if (!next || !row || another || !isNow()) continue;
      const isPossible =
        next.status === undefined ? row.review_reasons === next.reasons : canBecome(row.status, next.status);
      if (!isPossible) continue;
      await ask(row.id, next);
      asks.shift();
      taken += 1;
    }
    return taken;
  };

  return {
    /** The same, and a decision about a commission that finally belongs to another partner or does not remain. */
    async decide(isNow: () => boolean): Promise<void> {
      await decideNext(isNow);
      const passing = (await rowsOf(program, story)).filter(
        ({ key, partner, status }) =>
          story.keys.includes(key) && judged.get(key)?.partner !== partner && status === "pending",
      );
      for (const { id } of passing) if (isNow()) await ask(id, { status: isNow() ? "approved" : "rejected" });
    },
    /** Takes all remaining decisions. */
    async finish(): Promise<void> {
      while ((await decideNext(() => true)) > 0);
      expect([...left].filter(([, asks]) => asks.length > 0)).toEqual([]);
    },
  };
}

/** All written data, without times, and without the way of a reference if several ways lead to the same partner. */
async function written(program: TestProgram) {
  const { payments, commissions } = await ledgerOf(program);
  return {
    payments: payments.map(({ facts_revision: _f, settled_revision: _s, updated_at: _u, decision, ...row }) => ({
      ...row,
      ...{
        rate: decision?.rate,
        flow: decision?.flow_id,
        amount: decision?.amount_cents,
        partner: decision?.partner_id,
      },
    })),
    commissions,
    balances: (await seen(program)).balances,
  };
}

/** Settling all payments again changes no row, and the reconciler reports no difference before it. */
async function checkSettled(program: TestProgram): Promise<void> {
  const ctx = programContext(program);
  const before = await written(program);
  const { payments } = await ledgerOf(program);
  for (const payment of payments) expect(await reviewSettled(ctx, payment)).toBe(null);
  await env.DB.prepare("update payments set facts_revision = facts_revision + 1 where program_id = ?")
    .bind(program.id)
    .run();
  for (const payment of payments) await settle(ctx, payment);
  expect(await written(program)).toEqual(before);
}

/** The disorder of the events, and the decisions between them. */
interface Wild {
  chaos: Disorder;
  says: readonly Judgement[];
  isNow: () => boolean;
  order?: readonly WorldEvent[];
}

/** Decides after all events in one program, and between disordered events in the other; pays out both. */
async function playBoth(
  story: Story,
  [calm, wild]: readonly [TestProgram, TestProgram],
  { chaos, says, isNow, order = story.events }: Wild,
): Promise<void> {
  for (const each of story.events) await deliver(calm, each);
  const earned = (await rowsOf(calm, story)).toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const judged = new Map(
    earned.map(({ key, partner, review_reasons }, i) => [
      key,
      { partner, asks: asksOf(says[i % says.length]!, review_reasons) },
    ]),
  );
  await decider(calm, story, judged).finish();

  const people = decider(wild, story, judged);
  await deliverInDisorder(wild, order, chaos, () => people.decide(isNow));
  await people.finish();
  expect(await seen(wild)).toEqual(await seen(calm));
  await checkSettled(wild);

  for (const program of [calm, wild]) {
    const ctx = programContext(program);
    await generatePayouts(ctx, { period_start: null, period_end: ctx.now, dry_run: false });
  }
  expect((await seen(wild)).balances).toEqual((await seen(calm)).balances);
}

const turns = fc.infiniteStream(fc.boolean());
const isNowBy = (stream: Iterator<boolean, unknown>) => () => stream.next().value === true;
const options = (runs: number) => ({ numRuns: Math.ceil(runs), interruptAfterTimeLimit: TIME_LIMIT });

describe(`decisions among the events (seed ${SEED}, ${RUNS} runs) (LAW-1, LAW-6)`, () => {
  it("end the same wherever they come, with repetitions and crashes, and are paid the same", async () => {
    await fc.assert(
      fc.asyncProperty(moneyWorld, disorder, judgements, turns, async (world, chaos, says, stream) => {
        const { events, truths } = liveAll(world);
        const story = { events, keys: truths.map(({ key }) => key), own: keyOf(truths) };
        const programs = await Promise.all([programOf(world), programOf(world)]);
        await playBoth(story, programs, { chaos, says, isNow: isNowBy(stream) });
      }),
      options(RUNS / 6),
    );
  });

  it("also where the payment goes from partner to partner meanwhile, and back", async () => {
    await fc.assert(
      fc.asyncProperty(
        rememberedWorld,
        fc.option(disorder, { freq: 1 }),
        judgements,
        turns,
        async (world, chaos, says, stream) => {
          const { moving, ...reported } = reportedOf(world);
          const story = { ...reported, own: (key: string) => key };
          const make = () => makeWorldProgram([], { attribution: world.attribution });
          const wild = { chaos: chaos ?? IN_ORDER, says, isNow: isNowBy(stream), order: moving };
          await playBoth(story, await Promise.all([make(), make()]), wild);
        },
      ),
      options(RUNS / 2),
    );
  });
});

/**
 * A payout never has two transfers (LAW-8), whatever is lost, refused, repeated or killed, and whichever account's API
 * key the owner stores meanwhile (OUT-7).
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { eq } from "drizzle-orm";
import { cents } from "../../src/domain/money.ts";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { reconcileTransfers } from "../../src/core/payouts/open-transfers.ts";
import { cancelPayout } from "../../src/core/payouts/payouts.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import { selectPrograms } from "../../src/core/kernel/program-rows.ts";
import { openDatabase } from "../../src/db/client.ts";
import { payouts, programs } from "../../src/db/schema.ts";
import { AppError } from "../../src/lib/errors.ts";
import { newId } from "../../src/lib/id.ts";
import { iso } from "../../src/lib/time.ts";
import type { Transfers } from "../../src/providers/connect.ts";
import { serveAll } from "../support/jobs.ts";
import { setSecrets, testContext } from "../support/program.ts";
import {
  API_KEY_A,
  clientOf,
  commissionsOf,
  db,
  makeCommissions,
  makePayingProgram,
  payoutById,
  sealedFor,
  type PaidProgram,
} from "../support/payouts.ts";
import {
  FAULTS,
  openVendor,
  takeBack,
  type AccountState,
  type Fault,
  type VendorApi,
} from "../support/provider-a-api.ts";

const RUNS = Number(env.PROPERTY_RUNS);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The events of a payout's life. `die`: the process is killed at that step, before or after the step took effect. */
type Op =
  | { op: "click" | "cron" | "both"; faults: (Fault | null)[]; asked: BalanceFault; die: number | null }
  | { op: "wait"; ms: number }
  | { op: "account"; state: AccountState }
  | { op: "balance"; enough: boolean }
  | { op: "key"; accepted: boolean }
  /** The owner stores another API key. */
  | { op: "store"; key: StoredKey }
  /** The owner reverses the transfer. */
  | { op: "take_back" }
  | { op: "cancel" };

/** Two keys of the vendor account that payouts begin in (the second as it is after rolling), one of another account. */
const STORED_KEYS = { first: API_KEY_A, rolled: "rk_test_rolled_of_the_same", other: "sk_test_of_another_account" };
type StoredKey = keyof typeof STORED_KEYS;

/** Lost answers and failed look-ups could cause a second transfer, so they are more frequent. */
const fault = fc.constantFrom<Fault | null>(null, "drop_reply", "drop_reply", "gateway", "gateway", ...FAULTS);

/** The fault of the question about the balance. */
const balanceFault = fc.constantFrom(null, null, "forbidden" as const, "drop_reply" as const, "gateway" as const);
type BalanceFault = VendorApi["balanceFaults"][number];

const attempt = fc.record({
  op: fc.constantFrom("click" as const, "cron" as const, "cron" as const, "both" as const),
  faults: fc.array(fault, { maxLength: 3 }),
  asked: balanceFault,
  die: fc.option(fc.integer({ min: 0, max: 12 }), { nil: null, freq: 2 }),
});

const ops: fc.Arbitrary<Op[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: attempt },
    {
      weight: 4,
      arbitrary: fc.record({
        op: fc.constant("wait" as const),
        ms: fc.constantFrom(MINUTE, 4 * MINUTE, HOUR, 25 * HOUR),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        op: fc.constant("account" as const),
        state: fc.constantFrom<AccountState>("active", "restricted", "rejected"),
      }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant("balance" as const), enough: fc.boolean() }) },
    { weight: 3, arbitrary: fc.record({ op: fc.constant("key" as const), accepted: fc.boolean() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        op: fc.constant("store" as const),
        key: fc.constantFrom<StoredKey>("first", "rolled", "other", "other"),
      }),
    },
    { weight: 2, arbitrary: fc.constant({ op: "take_back" as const }) },
    { weight: 1, arbitrary: fc.constant({ op: "cancel" as const }) },
  ),
  { minLength: 2, maxLength: 9 },
);

/** A process that is killed at its n-th step: the promise it awaits then never settles. */
class Mortal {
  readonly died = Promise.withResolvers<void>();
  #left: number | null;

  constructor(die: number | null) {
    this.#left = die;
  }

  async step(): Promise<void> {
    if (this.#left === null) return;
    if (this.#left-- > 0) return;
    this.#left = 0;
    this.died.resolve();
    await new Promise(() => {});
  }

  database() {
    const batch = async (statements: D1PreparedStatement[]) => {
      await this.step();
      const results = await env.DB.batch(statements);
      await this.step();
      return results;
    };
    return openDatabase({ prepare: (sql: string) => env.DB.prepare(sql), batch } as unknown as D1Database);
  }

  transfers(vendor: VendorApi): Transfers {
    const fetch: VendorApi["fetch"] = async (url, init) => {
      await this.step();
      const answer = await vendor.fetch(url, init);
      await this.step();
      return answer;
    };
    // Only a hanging answer is awaited to the time-out.
    return clientOf({ ...vendor, fetch }, vendor.faults.includes("hang") ? 15 : 20_000);
  }

  async live(work: Promise<unknown>): Promise<void> {
    const tolerant = work.catch((error: unknown) => {
      if (!(error instanceof AppError && error.code === "invalid_transition")) throw error;
    });
    await Promise.race([tolerant, this.died.promise]);
  }
}

/** A pending payout of 3,000 in two commissions. */
async function newPayout(world: PaidProgram, now: number): Promise<string> {
  const id = newId("payout", now);
  await db.insert(payouts).values({
    id,
    recipient_sealed: await sealedFor(id, world.account_id),
    program_id: world.program.id,
    partner_id: world.partner_id,
    amount_cents: cents(3_000),
    currency: "USD",
    status: "pending",
    method: "provider_a",
    period_end: iso(now),
    due_at: iso(now),
    commission_count: 2,
    created_at: iso(now),
    updated_at: iso(now),
  });
  await makeCommissions(world.program, world.partner_id, [
    { amount_cents: 1_000, payout_id: id },
    { amount_cents: 2_000, payout_id: id },
  ]);
  return id;
}

interface Run {
  world: PaidProgram;
  /** Both accounts of the vendor, by the key of the request. */
  vendor: VendorApi;
  /** The other account, which also has the connected account. */
  other: VendorApi;
  id: string;
  now: number;
  /** Transfers that were taken back before the payout was paid by them. */
  lost: Set<string>;
}

async function programOf(run: Run) {
  const [program] = await selectPrograms(db).where(eq(programs.id, run.world.program.id));
  return program!;
}

/** One vendor with two accounts: a request with the other account's key reaches the other account. */
function withOther(vendor: VendorApi, other: VendorApi): VendorApi {
  const fetch = vendor.fetch;
  vendor.fetch = (url, init) => {
    const isOther = new Request(url, init).headers.get("authorization") === `Bearer ${STORED_KEYS.other}`;
    if (!isOther) return fetch(url, init);
    other.now = vendor.now;
    other.faults = vendor.faults;
    other.balanceFaults = vendor.balanceFaults;
    return other.fetch(url, init);
  };
  return vendor;
}

async function click(run: Run, mortal: Mortal): Promise<void> {
  const ctx = forProgram({ ...testContext(run.now), db: mortal.database() }, await programOf(run));
  await mortal.live(payPayout(ctx, run.id, mortal.transfers(run.vendor)));
}

async function cron(run: Run, mortal: Mortal): Promise<void> {
  const ctx = { ...testContext(run.now), db: mortal.database() };
  await mortal.live(serveAll(reconcileTransfers(ctx, mortal.transfers(run.vendor))));
}

async function perform(run: Run, op: Op): Promise<void> {
  const { vendor, world } = run;
  run.now += 1;
  vendor.now = run.now;
  switch (op.op) {
    case "wait":
      run.now += op.ms;
      return;
    case "account":
      vendor.accounts.get(world.account_id)!.state = op.state;
      return;
    case "balance":
      if (op.enough) vendor.balance.delete("usd");
      else vendor.balance.set("usd", 2_999);
      return;
    case "key":
      for (const key of [STORED_KEYS.first, STORED_KEYS.rolled]) {
        if (op.accepted) vendor.keys.add(key);
        else vendor.keys.delete(key);
      }
      return;
    case "store":
      await setSecrets(world.program.id, { provider_a_api_key: STORED_KEYS[op.key] });
      return;
    case "take_back": {
      const { reference } = await payoutById(run.id);
      for (const transfer of [...vendor.transfers, ...run.other.transfers].filter(({ reversed }) => !reversed)) {
        takeBack(transfer);
        if (transfer.id !== reference) run.lost.add(transfer.id);
      }
      return;
    }
    case "cancel":
      await new Mortal(null).live(cancelPayout(forProgram(testContext(run.now), world.program.program), run.id));
      return;
    case "click":
    case "cron":
    case "both": {
      vendor.faults = [...op.faults];
      vendor.balanceFaults = [op.asked];
      const work = [];
      if (op.op !== "cron") work.push(click(run, new Mortal(op.die)));
      if (op.op !== "click")
        work.push(cron(run, new Mortal(op.op === "both" ? null : op.die)), cron(run, new Mortal(null)));
      await Promise.all(work);
      vendor.faults = [];
      vendor.balanceFaults = [];
    }
  }
}

/** The invariants of every step. */
async function check(run: Run): Promise<void> {
  const payout = await payoutById(run.id);
  const made = [...run.vendor.transfers, ...run.other.transfers];
  const transfers = made.filter(({ id }) => !run.lost.has(id));
  expect(transfers.length).toBeLessThanOrEqual(1);
  for (const transfer of made) expect([transfer.amount, transfer.currency]).toEqual([3_000, "usd"]);
  const held = (await commissionsOf(run.world.program)).map((row) => [row.status, row.payout_id]);
  if (payout.status === "paid") {
    expect(transfers.map(({ id }) => id)).toEqual([payout.reference]);
    expect(held).toEqual([
      ["paid", run.id],
      ["paid", run.id],
    ]);
  } else if (payout.status === "canceled") {
    expect(transfers).toEqual([]);
    expect(held).toEqual([
      ["approved", null],
      ["approved", null],
    ]);
  } else {
    expect(held).toEqual([
      ["approved", run.id],
      ["approved", run.id],
    ]);
  }
  if (payout.status === "pending" || payout.status === "failed") expect(transfers).toEqual([]);
  if (payout.status === "failed") expect(payout.failure_code).toBeTruthy();
  // Never stuck: an open payout has a time of its next look-up.
  expect(payout.reconcile_at !== null).toBe(payout.status === "processing");
  if (payout.status === "processing") expect(Date.parse(payout.reconcile_at!)).toBeLessThanOrEqual(run.now + HOUR + 2);
}

it("at most one transfer that is not taken back exists at every step, and in the end the payout is paid or failed (LAW-8, OUT-6, OUT-7)", async () => {
  await fc.assert(
    fc.asyncProperty(ops, async (schedule) => {
      // A transfer that an earlier run left open is unknown to this vendor.
      await db.update(payouts).set({ status: "canceled", reconcile_at: null }).where(eq(payouts.status, "processing"));
      const latency = () => new Promise<void>((done) => setTimeout(done, 0));
      const keys = [STORED_KEYS.first, STORED_KEYS.rolled];
      const world = await makePayingProgram({ latency, keys, remembersByKey: true });
      const other = openVendor({ latency, keys: [STORED_KEYS.other], accounts: { [world.account_id]: "active" } });
      const now = Date.now();
      const vendor = withOther(world.vendor, other);
      const run: Run = { world, vendor, other, id: await newPayout(world, now), now, lost: new Set() };
      for (const op of schedule) {
        await perform(run, op);
        await check(run);
      }
      // The vendor is well again: within two days of cron runs the payout leaves `processing`.
      await perform(run, { op: "account", state: "active" });
      await perform(run, { op: "key", accepted: true });
      // A transfer that waits for its first key resumes when that key is stored again.
      for (const key of ["other", "rolled", "first"] as const) {
        await perform(run, { op: "store", key });
        for (let hours = 0; hours < 60 && (await payoutById(run.id)).status === "processing"; hours++) {
          await perform(run, { op: "wait", ms: HOUR });
          await perform(run, { op: "cron", faults: [], asked: null, die: null });
          await check(run);
        }
      }
      const ended = await payoutById(run.id);
      expect(["paid", "failed", "pending", "canceled"]).toContain(ended.status);
      if (ended.status === "pending" || ended.status === "failed") {
        await perform(run, { op: "balance", enough: true });
        await perform(run, { op: "click", faults: [], asked: null, die: null });
        await check(run);
        expect((await payoutById(run.id)).status).toBe("paid");
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});

/** A decision, or a payout that is canceled, whose payment cannot be settled by a defect: an error, and the change holds (COM-8). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded } from "../support/provider-a-changes.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { callWith } from "../support/watched-database.ts";

interface Body {
  data?: { ok: boolean; status: string }[];
  error?: { code: string; message: string };
}

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => {}));

afterEach(async () => {
  vi.restoreAllMocks();
  await env.DB.prepare("drop trigger if exists held").run();
});

/** Commissions of a sale that no payout holds. */
async function freeOf(program: TestProgram, session: string): Promise<string[]> {
  return (await ledgerOf(program)).commissions
    .filter((row) => row.provider_transaction_id === session && row.payout_id === null)
    .map(({ kind, status, amount_cents }) => `${kind} ${status} ${amount_cents}`)
    .toSorted();
}

/** Two sales of 10,000 that earn 2,000 each, in a payout since before a quarter of each was refunded. */
async function heldSales() {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  const sell = async (amount: number) => {
    const ids = { id: uniqueId("cs_"), payment_intent: uniqueId("pi_") };
    await sendA(program, sessionCompleted({ ...ids, ref: "jane", amount }));
    const row = (await ledgerOf(program)).commissions.find((one) => one.provider_transaction_id === ids.id)!;
    await program.api("PATCH", `/api/v1/commissions/${row.id}`, { status: "approved" });
    return { ...ids, row: row.id };
  };
  const generate = async () =>
    (await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {})).body.payouts[0]!.id;
  const [bad, good] = [await sell(10_000), await sell(10_000)];
  const payout = await generate();
  for (const { payment_intent } of [bad, good]) {
    await sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 2_500 }));
  }
  return { program, bad, good, payout, sell, generate };
}

/** The same, but now free; another payout took the differences. */
async function freedSales() {
  const held = await heldSales();
  await held.sell(20_000);
  await held.generate();
  await held.program.api("POST", `/api/v1/payouts/${held.payout}/cancel`);
  return held;
}

type Scene = Awaited<ReturnType<typeof heldSales>>;

const REJECTED = {
  scene: freedSales,
  left: ["sale rejected 2000"],
  done: ["clawback approved 500", "sale rejected 1500"],
};

const DEFECTS: [name: string, raised: string, status: number, code: string][] = [
  ["a defect", "no text of an answer", 500, "internal_error"],
  ["a race that is lost every time", "CHECK constraint failed: lost_race", 503, "storage_unavailable"],
];

const CHANGES: Record<
  string,
  {
    scene: () => Promise<Scene>;
    ask: (scene: Scene) => [method: string, path: string, body: object];
    /** Whether the other sale is part of it. */
    isOfBoth: boolean;
    /** Whether the decision itself is retried if it loses a race. */
    isRaced?: true;
    /** The commissions of a sale that is not settled, and of one that is. */
    left: string[];
    done: string[];
    /** The reply of the same key, if the change stores its reply. */
    kept?: object;
  }
> = {
  "a commission": {
    ...REJECTED,
    ask: ({ bad }) => ["PATCH", `/api/v1/commissions/${bad.row}`, { status: "rejected" }],
    isOfBoth: false,
    isRaced: true,
  },
  "commissions in bulk": {
    ...REJECTED,
    ask: ({ bad, good }) => ["POST", "/api/v1/commissions/bulk", { ids: [bad.row, good.row], status: "rejected" }],
    isOfBoth: true,
    isRaced: true,
    kept: { data: [1, 2].map(() => ({ ok: true, status: "rejected" })) },
  },
  "all commissions that match": {
    ...REJECTED,
    ask: () => ["POST", "/api/v1/commissions/bulk", { filter: {}, status: "rejected" }],
    isOfBoth: true,
  },
  "a payout that is canceled": {
    scene: heldSales,
    ask: ({ payout }) => ["POST", `/api/v1/payouts/${payout}/cancel`, {}],
    isOfBoth: true,
    left: ["clawback approved -500", "sale approved 2000"],
    done: ["sale approved 1500"],
    kept: { status: "canceled" },
  },
};

describe.each(Object.entries(CHANGES))("%s", (_, { scene, ask, isOfBoth, isRaced, left, done, kept }) => {
  it.each(isRaced ? DEFECTS : DEFECTS.slice(0, 1))(
    "is answered as an error where %s keeps one payment from being settled, and the other is",
    async (...defect) => {
      const [, raised, status, code] = defect;
      const made = await scene();
      const { program, bad, good } = made;
      await env.DB.prepare(
        `create trigger held before update of settled_revision on payments when new.program_id = '${program.id}'
        and new.provider_transaction_id = '${bad.id}' begin select raise(abort, '${raised}'); end`,
      ).run();
      const [method, path, body] = ask(made);
      const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
      const call = () =>
        callWith<Body>({}, path, {
          method,
          headers: { ...headers, ...(method === "POST" ? { "idempotency-key": "once" } : {}) },
          body: JSON.stringify(body),
        });
      const reply = await call();
      expect([reply.status, reply.body.error?.code]).toEqual([status, code]);
      expect(JSON.stringify(reply.body)).not.toContain(raised);
      expect(await freeOf(program, bad.id)).toEqual(left);
      if (isOfBoth) expect(await freeOf(program, good.id)).toEqual(done);
      if (kept) {
        const again = await call();
        expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
        expect(again.body).toMatchObject(kept);
      }
      await env.DB.prepare("drop trigger held").run();
      await serveAll(settleUnsettled(testContext(Date.now() + 2 * MINUTE)));
      expect(await freeOf(program, bad.id)).toEqual(done);
    },
  );
});

/**
 * Programs of one vendor account, each with its own address and secret, so that each receives every event. An event that
 * claims a program is decided only there if that program has stored the event itself, in any order of arrival (IN-1, IN-13).
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { finishVendorEvents, settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { MAX_CLAIM_PAYMENTS } from "../../src/domain/claim.ts";
import { ANSWER_TEXTS } from "../../src/http/pages/parts/claim-words.tsx";
import { makeClaim } from "../support/claims.ts";
import { LIST_KEYS, openEventLists } from "../support/event-lists.ts";
import { serveAll } from "../support/jobs.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makePartner, makeProgram, setSecrets, SECRET_B, testContext, type TestProgram } from "../support/program.ts";
import * as b from "../support/provider-b.ts";
import { ledgerSeen, sendAlone, sendTo, storyOf } from "../support/vendor-account.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner, textOf } from "../support/visitor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const MINUTE = 60_000;
const OTHER = "pdl_ntfset_of_the_second_destination";

afterEach(() => vi.restoreAllMocks());

interface Own {
  program: TestProgram;
  secret: string;
}

/** Two programs of one account, each with the partner jane; the second also has bob. */
async function twoPrograms(): Promise<{ p: Own; q: Own }> {
  const own = async (secret: string) => ({
    program: await makeProgram({ provider_b_webhook_secret: secret }),
    secret,
  });
  const [p, q] = [await own(SECRET_B), await own(OTHER)];
  for (const { program } of [p, q]) await makePartner(program, { slug: "jane" });
  await makePartner(q.program, { slug: "bob" });
  return { p, q };
}

const send = ({ program, secret }: Own, event: b.EventB, bindings = {}) => sendTo(program, event, { secret, bindings });

/** The amounts of a program's commissions that are not rejected, with clawbacks. */
async function earned({ program }: Own): Promise<number[]> {
  return (await ledgerSeen(program)).commissions
    .map(({ amount_cents }) => Number(amount_cents))
    .toSorted((a, z) => a - z);
}

const outcomes = async ({ program }: Own) => (await ledgerSeen(program)).payments.map(({ outcome }) => outcome);

async function sweep(now = Date.now() + 2 * MINUTE): Promise<void> {
  await serveAll(finishVendorEvents(testContext(now)));
  await serveAll(settleUnsettled(testContext(now)));
}

describe("an event that comes to two programs of one account with a secret each", () => {
  it.each([true, false])("is decided by the one that it claims alone, where that had it first: %s", async (isFirst) => {
    const { p, q } = await twoPrograms();
    const event = b.transactionCompleted({ ref: "jane", program: p.program.id });
    for (const at of isFirst ? [p, q] : [q, p]) expect((await send(at, event)).status).toBe(200);
    expect([await earned(p), await earned(q)]).toEqual([[2_000], []]);
    expect([await outcomes(p), await outcomes(q)]).toEqual([["commission"], ["claimed_elsewhere"]]);
    for (const at of [p, q, q, p]) expect((await send(at, event)).status, "again").toBe(200);
    expect([await earned(p), await earned(q)]).toEqual([[2_000], []]);
  });

  it("is listed by the other with its reason, which the trace and the page say", async () => {
    const { p, q } = await twoPrograms();
    const event = b.transactionCompleted({ ref: "jane", program: p.program.id });
    await send(p, event);
    expect((await send(q, event)).body).toMatchObject({ received: true, outcome: "claimed_elsewhere" });
    const list = await q.program.api<{ data: { id: string }[]; total: number }>(
      "GET",
      "/api/v1/payments?outcome=claimed_elsewhere",
    );
    expect(list.body.total).toBe(1);
    const { id } = list.body.data[0]!;
    const one = await q.program.api<{ trace: object }>("GET", `/api/v1/payments/${id}`);
    expect(one.body.trace).toMatchObject({ outcome: "claimed_elsewhere", ref: null, partner_id: null });
    const again = await q.program.api<{ outcome: string }>("POST", `/api/v1/payments/${id}/reprocess`);
    expect(again.body.outcome).toBe("claimed_elsewhere");
    const owner = await signInOwner(q.program);
    const page = textOf((await owner.get(`/dashboard/payments/${id}`)).body);
    expect(page).toContain("It belongs to another program");
    expect(page).not.toContain("Recalculate");
    expect(await earned(q)).toEqual([]);
    await send(q, b.transactionCompleted({ customer: "ctm_own", amount: 7_700 }));
    const customers = textOf((await owner.get("/dashboard/customers")).body);
    expect([customers.includes("77.00"), customers.includes("100.00")]).toEqual([true, false]);
  });

  it("takes back what the other has paid for it, once", async () => {
    const { p, q } = await twoPrograms();
    const event = b.transactionCompleted({ ref: "jane", program: p.program.id });
    await send(q, event);
    const [sale] = (await q.program.api<{ data: { id: string }[] }>("GET", "/api/v1/commissions")).body.data;
    await q.program.api("PATCH", `/api/v1/commissions/${sale!.id}`, { status: "approved" });
    const { body } = await q.program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {});
    await q.program.api("POST", `/api/v1/payouts/${body.payouts[0]!.id}/mark-paid`, {});
    for (let i = 0; i < 2; i++) await send(p, event);
    expect([await earned(p), await earned(q)]).toEqual([[2_000], [-2_000, 2_000]]);
  });

  it("is remembered by neither's customer or subscription for the other's partners", async () => {
    for (const isFirst of [true, false]) {
      const { p, q } = await twoPrograms();
      const ids = { customer: uniqueId("ctm_"), subscription: uniqueId("sub_") };
      const at = (minute: number) => new Date(Date.now() - (30 - minute) * MINUTE).toISOString();
      const claimed = [
        b.transactionCompleted({ ref: "jane", program: p.program.id, ...ids, occurred_at: at(0) }),
        b.subscriptionEventB("subscription.created", {
          ...{ id: ids.subscription, ref: "jane", program: p.program.id, customer: ids.customer, occurred_at: at(1) },
        }),
      ];
      // The customer also buys from the other program, and that payment is unattributed without a reference.
      const own = b.transactionCompleted({ program: q.program.id, customer: ids.customer, occurred_at: at(2) });
      const sends = [p, q].flatMap((to) => claimed.map((event) => [to, event] as const));
      for (const [to, event] of isFirst ? sends : sends.toReversed()) await send(to, event);
      await send(q, own);
      expect(await earned(q), `the claimed first: ${isFirst}`).toEqual([]);
      expect((await outcomes(q)).toSorted()).toEqual(["claimed_elsewhere", "no_ref"]);
    }
  });

  it("comes to the claimed one while the other is about to store it: that remembers nothing of it either", async () => {
    const { p, q } = await twoPrograms();
    const customer = uniqueId("ctm_");
    const event = b.transactionCompleted({ ref: "jane", program: p.program.id, customer });
    let meanwhile: (() => Promise<unknown>) | null = () => send(p, event);
    const { binding } = watchDatabase(env.DB, {
      before: async (statements) => {
        if (!statements.some((text) => text.startsWith("insert into provider_events"))) return;
        const act = meanwhile;
        meanwhile = null;
        await act?.();
      },
    });
    expect((await send(q, event, { DB: binding })).body.outcome).toBe("claimed_elsewhere");
    expect(meanwhile).toBeNull();
    await send(q, b.transactionCompleted({ program: q.program.id, customer }));
    expect([await earned(p), await earned(q)]).toEqual([[2_000], []]);
    expect((await outcomes(q)).toSorted()).toEqual(["claimed_elsewhere", "no_ref"]);
  });

  it("gives up what a remembered reference had earned by then", async () => {
    const { p, q } = await twoPrograms();
    const customer = uniqueId("ctm_");
    const at = (minute: number) => new Date(Date.now() - (30 - minute) * MINUTE).toISOString();
    const claimed = b.transactionCompleted({ ref: "jane", program: p.program.id, customer, occurred_at: at(0) });
    await send(q, claimed);
    await send(q, b.transactionCompleted({ program: q.program.id, customer, amount: 5_000, occurred_at: at(1) }));
    expect(await earned(q)).toEqual([1_000, 2_000]);
    await send(p, claimed);
    await sweep();
    expect([await earned(p), await earned(q)]).toEqual([[2_000], []]);
  });

  it("is the claimed one's through its subscription too, where a renewal claims nothing", async () => {
    for (const isFirst of [true, false]) {
      const { p, q } = await twoPrograms();
      const ids = { customer: uniqueId("ctm_"), subscription: uniqueId("sub_") };
      await send(q, b.transactionCompleted({ ref: "bob", program: q.program.id, customer: ids.customer }));
      const first = b.transactionCompleted({ ref: "jane", program: p.program.id, ...ids });
      for (const to of [p, q]) await send(to, first);
      const renewal = b.transactionCompleted({ ...ids, amount: 5_000 });
      for (const to of isFirst ? [p, q] : [q, p]) await send(to, renewal);
      expect([await earned(p), await earned(q)]).toEqual([[1_000, 2_000], [2_000]]);
    }
  });

  it("that never comes to the one that it claims is decided by the URL's: neither a stranger's program nor a like event takes it", async () => {
    const { p, q } = await twoPrograms();
    const id = uniqueId("txn_");
    await send(p, b.transactionCompleted({ id, ref: "jane", program: p.program.id }));
    const claimed = { id, ref: "jane", program: p.program.id };
    expect((await send(q, b.transactionCompleted(claimed))).body.outcome).toBe("commission");
    await send(p, b.transactionCompleted(claimed));
    // A stranger with a program and an event's id cannot take another payment with it.
    const known = b.transactionCompleted({ ref: "jane", program: p.program.id });
    const aimed = b.transactionCompleted({ ref: "jane", program: q.program.id });
    for (const event of [aimed, known]) await send(q, event);
    await send(p, { ...known, data: { ...known.data, id: aimed.data.id } });
    expect(await earned(q)).toEqual([2_000, 2_000, 2_000]);
    // An event with the same id but another claim, or without one, does not count for the claimed program.
    const event = b.transactionCompleted({ ref: "jane" });
    await send(q, event);
    await send(p, { ...event, data: { ...event.data, id: uniqueId("txn_") } });
    expect(await earned(q)).toEqual([2_000, 2_000, 2_000, 2_000]);
  });

  it("earns once where the providers' lists bring it, in either order (IN-15)", async () => {
    for (const isFirst of [true, false]) {
      const { p, q } = await twoPrograms();
      const lists = openEventLists();
      const event = b.transactionCompleted({
        ...{ ref: "jane", program: p.program.id },
        occurred_at: new Date(Date.now() - 10 * MINUTE).toISOString(),
      });
      lists.b.push(event);
      for (const { program } of isFirst ? [p, q] : [q, p]) {
        await testContext().db.run("update provider_connections set api_key = null where api_key is not null");
        await setSecrets(program.id, { provider_b_api_key: LIST_KEYS.provider_b });
        await serveAll(readEventLists(testContext(Date.now()), lists.readsOf));
      }
      expect([await earned(p), await earned(q)]).toEqual([[2_000], []]);
    }
  });

  it("leaves refunds with the claimed one, also once both programs share one address and its secret", async () => {
    const { p, q } = await twoPrograms();
    const event = b.transactionCompleted({ ref: "jane", program: p.program.id, amount: 10_000 });
    for (const to of [q, p]) await send(to, event);
    const refund = (amount: number) => b.adjustmentUpdated({ transaction: event.data.id, amount });
    const first = refund(2_500);
    for (const to of [q, p]) expect((await send(to, first)).status).toBe(200);
    expect([await earned(p), await earned(q)]).toEqual([[1_500], []]);
    await setSecrets(p.program.id, { provider_b_webhook_secret: OTHER });
    expect((await send(q, refund(5_000))).body.outcome).toBe("adjusted");
    // The other program's stored refunds move along with the payment; its marker that the payment is elsewhere does not.
    expect((await sendTo(p.program, event, { secret: OTHER })).status).toBe(200);
    expect([await earned(p), await earned(q)]).toEqual([[500], []]);
    expect(await outcomes(p)).toEqual(["commission"]);
  });
});

/** Makes a claim of the first program's only partner. Returns it as the partner sees it. */
async function claimAt({ program }: Own, input: Parameters<typeof makeClaim>[2]) {
  const { body } = await program.api<{ data: { id: string; email: string }[] }>("GET", "/api/v1/partners");
  const jane = body.data[0]!;
  const id = await makeClaim(program, jane.id, input);
  const portal = await signInPartner(jane.email);
  const call = (method: string, what = "", sent?: object) =>
    program.api<{ payments: { outcome: string }[] }>(method, `/api/v1/claims/${id}${what}`, sent);
  return { id, jane, call, answer: async () => textOf((await portal.get("/portal/claims")).body) };
}

describe("a claim of a sale that another program decides on", () => {
  it("is about the program's own sales alone, however many of the other's are newer (CLAIM-5)", async () => {
    const { p, q } = await twoPrograms();
    const began = Date.now() - 60 * MINUTE;
    const sell = async (to: Own[], minute: number, of?: Own) => {
      const customer = uniqueId("ctm_");
      const occurred_at = new Date(began + minute * MINUTE).toISOString();
      const event = b.transactionCompleted({ customer, occurred_at, ...(of ? { program: of.program.id } : {}) });
      const named = b.customerEventB({ id: customer, email: `${customer}@mail.example`, occurred_at });
      await send(p, named);
      for (const at of to) await send(at, event);
      return event.data.id;
    };
    const own = [await sell([p], 0), await sell([p], 1)];
    for (let i = 0; i < MAX_CLAIM_PAYMENTS - 1; i++) await sell([q, p], 2 + i, q);
    const claim = await claimAt(p, { day: new Date(began).toISOString().slice(0, 10), email_domain: "mail.example" });
    const { body } = await p.program.api<{ payments: { provider_transaction_id: string }[] }>(
      "GET",
      `/api/v1/claims/${claim.id}`,
    );
    expect(body.payments.map((row) => row.provider_transaction_id).toSorted()).toEqual(own.toSorted());
    expect((await claim.call("POST", "/grant", {})).status).toBe(422);
    expect(await earned(p)).toEqual([]);
  });

  it("says so once it is declined, to the partner in the portal and by e-mail (CLAIM-3)", async () => {
    const { p, q } = await twoPrograms();
    const event = b.transactionCompleted({ program: q.program.id });
    for (const to of [q, p]) await send(to, event);
    const claim = await claimAt(p, { order_id: event.data.id });
    expect((await claim.call("GET")).body.payments).toEqual([]);
    expect((await claim.call("POST", "/grant", {})).status).toBe(422);
    expect(await claim.answer()).not.toContain(ANSWER_TEXTS.claimed_elsewhere);
    const mailbox = openMailbox();
    const headers = { authorization: `Bearer ${p.program.api_key}` };
    await callWith(mailbox.bindings, `/api/v1/claims/${claim.id}/decline`, { method: "POST", headers });
    expect(await claim.answer()).toContain(ANSWER_TEXTS.claimed_elsewhere);
    const mails = (await mailbox.deliver(p.program.id)).filter(({ to }) => to === claim.jane.email);
    expect(mails.map(({ text }) => text)).toEqual([expect.stringContaining(ANSWER_TEXTS.claimed_elsewhere)]);
    expect((await claim.call("GET")).body.payments).toMatchObject([{ outcome: "claimed_elsewhere" }]);
  });

  it("says so where it was granted before the sale was given up (CLAIM-3)", async () => {
    const { p, q } = await twoPrograms();
    const event = b.transactionCompleted({ program: q.program.id });
    await send(p, event);
    const claim = await claimAt(p, { order_id: event.data.id });
    expect((await claim.call("POST", "/grant", {})).status).toBe(200);
    expect(await claim.answer()).toContain(ANSWER_TEXTS.commission);
    await send(q, event);
    await sweep();
    expect(await earned(p)).toEqual([]);
    expect(await claim.answer()).toContain(ANSWER_TEXTS.claimed_elsewhere);
    expect((await claim.call("GET")).body.payments).toMatchObject([{ outcome: "claimed_elsewhere" }]);
  });
});

describe("a process that dies between two steps of it", () => {
  /** Sends an event and ends the process before round trip `step`. Returns whether that round trip happened. */
  async function dieAt(to: Own, event: b.EventB, step: number): Promise<boolean> {
    let left = step;
    const { binding } = watchDatabase(env.DB, {
      before: () => {
        if (left-- <= 0) throw new Error("the process died");
      },
    });
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { status } = await send(to, event, { DB: binding });
    vi.restoreAllMocks();
    return status === 200;
  }

  it.each(["sent again", "left to the sweep"])("ends in one commission: %s", async (how) => {
    for (const isFirst of [true, false]) {
      for (let step = 0, isDone = false; !isDone; step++) {
        const { p, q } = await twoPrograms();
        const event = b.transactionCompleted({ ref: "jane", program: p.program.id });
        const [first, second] = isFirst ? [p, q] : [q, p];
        await send(first, event);
        isDone = await dieAt(second, event, step);
        if (how === "sent again") await send(second, event);
        await sweep();
        const isStored = (await outcomes(second)).length > 0;
        if (how === "sent again") expect(isStored).toBe(true);
        const expected = second === p && !isStored ? [[], [2_000]] : [[2_000], []];
        expect([await earned(p), await earned(q)], `${how}, step ${step}, claimed first: ${isFirst}`).toEqual(expected);
      }
    }
  });
});

describe("a customer's story that comes to both programs", () => {
  it("in any order, at once and however often, ends in one program's ledger as if that were alone", async () => {
    const STORY = 6;
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray([...Array(2 * STORY).keys()], { minLength: 2 * STORY }),
        fc.array(fc.nat(2 * STORY - 1), { maxLength: 6 }),
        fc.boolean(),
        async (order, extra, together) => {
          const { p, q } = await twoPrograms();
          const lone = await makeProgram({ provider_b_webhook_secret: OTHER });
          await makePartner(lone, { slug: "jane" });
          const story = storyOf(p.program, "jane");
          const sends = [...order, ...extra].map((i) => [i < STORY ? p : q, story[i % STORY]!] as const);
          if (together) await Promise.all(sends.map(([to, event]) => send(to, event)));
          // The vendor repeats refused events.
          for (const [to, event] of sends) expect((await send(to, event)).status).toBe(200);
          await sweep();
          await sendAlone(lone, story, "jane", OTHER);
          expect(await ledgerSeen(p.program)).toEqual(await ledgerSeen(lone));
          const { payments, commissions } = await ledgerSeen(q.program);
          expect(commissions).toEqual([]);
          expect(payments.map(({ outcome }) => outcome)).toEqual(["claimed_elsewhere", "claimed_elsewhere"]);
        },
      ),
      { numRuns: Math.ceil(Number(env.PROPERTY_RUNS) / 3) },
    );
  });
});

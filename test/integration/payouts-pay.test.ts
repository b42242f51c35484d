/** Paying through provider A's connected accounts (OUT-6), against the vendor's API played in memory. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { viewPayout } from "../../src/core/kernel/views.ts";
import { checkTransfers } from "../../src/core/reconcile/transfers.ts";
import { payouts } from "../../src/db/schema.ts";
import { maskAccount } from "../../src/domain/mask.ts";
import { PAYOUT_STATUSES } from "../../src/domain/payout.ts";
import { API_VERSION } from "../../src/providers/provider-a/api.ts";
import { eventsOf } from "../support/commissions.ts";
import { newKey } from "../support/keys.ts";
import { loseSecrets, programContext, setSecrets, type TestProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInMember, signInOwner, signInPartner, textOf } from "../support/visitor.ts";
import {
  API_KEY_A,
  clientOf,
  commissionsOf,
  db,
  makePayingProgram,
  makePayout,
  payoutById,
  sealedFor,
  playOutside,
  reconcileAt,
} from "../support/payouts.ts";

const MINUTE = 60_000;

interface PayoutBody {
  id: string;
  status: string;
  reference: string | null;
  failure_code: string | null;
  failure_message: string | null;
  paid_at: string | null;
  error?: { code: string; message: string };
}

afterEach(() => {
  vi.restoreAllMocks();
});

const pay = (program: TestProgram, id: string) => program.api<PayoutBody>("POST", `/api/v1/payouts/${id}/pay`);

describe("paying a payout", () => {
  it("makes one transfer in the vendor's own format and turns payout and commissions paid, with their events (OUT-6, OUT-14, EVT-3)", async () => {
    const world = await makePayingProgram();
    const { program, vendor } = world;
    await program.api("POST", "/api/v1/webhooks", { url: "https://receiver.example.com/hook", events: ["*"] });
    const payout = await makePayout(world);
    playOutside(vendor);
    const { status, body } = await pay(program, payout.id);
    expect([status, body.status, body.failure_code]).toEqual([200, "paid", null]);
    const [transfer] = vendor.transfers;
    expect(vendor.transfers).toHaveLength(1);
    expect(transfer).toMatchObject({
      amount: 3_000,
      currency: "usd",
      destination: world.account_id,
      transfer_group: payout.id,
      metadata: { payout_id: payout.id, partner_id: world.partner_id, program_id: program.id },
    });
    expect(body.reference).toBe(transfer!.id);
    const [call] = vendor.calls;
    expect(vendor.calls).toHaveLength(1);
    expect(call!.headers.get("authorization")).toBe(`Bearer ${API_KEY_A}`);
    expect(call!.headers.get("idempotency-key")).toBe(`${payout.id}:1`);
    expect(call!.headers.get("stripe-version")).toBe(API_VERSION);
    expect(call!.headers.get("content-type")).toBe("application/x-www-form-urlencoded");

    const rows = await commissionsOf(program);
    expect(rows.map((row) => [row.status, row.paid_at !== null, row.payout_id])).toEqual([
      ["paid", true, payout.id],
      ["paid", true, payout.id],
    ]);
    const single = await program.api<PayoutBody & { commissions: { id: string }[] }>(
      "GET",
      `/api/v1/payouts/${payout.id}`,
    );
    const { commissions, ...asReturned } = single.body;
    expect(commissions.map(({ id }) => id).toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
    expect(asReturned).toEqual(body);

    const [paid] = await eventsOf(program, "payout.paid");
    expect(paid!.payload).toMatchObject({
      payout_id: payout.id,
      partner_id: world.partner_id,
      amount_cents: 3_000,
      reference: transfer!.id,
    });
    const sent = await env.DB.prepare("select body from messages where event_id = ?")
      .bind(paid!.id)
      .first<{ body: string }>();
    expect(JSON.parse(sent!.body)).toMatchObject({ event: "payout.paid", data: asReturned });
    expect((await eventsOf(program, "payout.updated")).map(({ payload }) => payload.status)).toEqual(["processing"]);
    const reported = await eventsOf(program, "commission.updated");
    expect(reported.map(({ payload }) => [payload.commission_id, payload.status, payload.flagged]).toSorted()).toEqual(
      rows.map((row) => [row.id, "paid", false]).toSorted(),
    );
    // `commission.updated` is sent when a commission is approved, rejected or recalculated (HOOK-15), not when it is
    // paid.
    const messages = await env.DB.prepare("select event from messages where program_id = ? order by event")
      .bind(program.id)
      .all<{ event: string }>();
    expect(messages.results.map(({ event }) => event).filter((event) => event.startsWith("commission"))).toEqual([]);
  });

  it.each([
    ["JPY", 5_000, "jpy"],
    ["KWD", 1_230, "kwd"],
    ["EUR", 1, "eur"],
  ])("sends smallest units of %s as they are", async (currency, amount, sent) => {
    const world = await makePayingProgram();
    const payout = await makePayout(world, [amount], currency);
    playOutside(world.vendor);
    expect((await pay(world.program, payout.id)).body.status).toBe("paid");
    expect(world.vendor.transfers).toMatchObject([{ amount, currency: sent }]);
  });

  it.each([
    ["ISK", 1_234_550, 1_234_600],
    ["UGX", 1_234_549, 1_234_500],
    ["KWD", 1_234, 1_230],
    ["BHD", 1_235, 1_240],
    ["JOD", 4, 10],
    ["HUF", 12_345, 12_345],
  ])(
    "of an amount in %s that the vendor does not take it transfers the nearest (OUT-14)",
    async (currency, of, sent) => {
      const world = await makePayingProgram();
      const payout = await makePayout(world, [of - 1, 1], currency);
      playOutside(world.vendor);
      const { body } = await pay(world.program, payout.id);
      expect(body).toMatchObject({ status: "paid", amount_cents: of, reference: world.vendor.transfers[0]!.id });
      expect(world.vendor.transfers).toMatchObject([{ amount: sent, currency: currency.toLowerCase() }]);
      const checked = [await payoutById(payout.id)];
      expect(await checkTransfers(programContext(world.program), checked, clientOf(world.vendor))).toEqual({
        checked: [payout.id],
        found: [],
        reversed: [],
      });
    },
  );

  it("says before it is paid what is transferred of an amount that the vendor does not take (OUT-14)", async () => {
    const world = await makePayingProgram();
    const owner = await signInOwner(world.program);
    const texts = async (ids: string[]) => {
      const chosen = await owner.get(`/dashboard/payouts/matching?move=pay&ids=${ids.join()}`);
      return [textOf((await owner.get(`/dashboard/payouts/${ids[0]}/pay`)).body), textOf(chosen.body)];
    };
    const fraction = await makePayout(world, [1_234_550], "ISK");
    for (const text of await texts([fraction.id])) {
      expect(text).toContain("12,345.50 ISK");
      expect(text).toContain("Stripe transfers 12,346.00 ISK, the nearest amount that it can.");
    }
    const whole = await makePayout(world, [1_234_500], "ISK");
    for (const text of await texts([whole.id])) {
      expect(text).toContain("12,345.00 ISK");
      expect(text).not.toContain("nearest");
    }
  });

  it.each([
    ["the account cannot take transfers yet", "insufficient_capabilities_for_transfer"],
    ["the account was rejected", "account_invalid"],
    ["the account is unknown", "resource_missing"],
    ["the key is not accepted", "api_key_refused"],
  ])(
    "%s: failed with the vendor's code %s, no transfer, and a new attempt under a new key (OUT-6)",
    async (_, code) => {
      const world = await makePayingProgram();
      const { program, vendor, account_id } = world;
      const account = vendor.accounts.get(account_id)!;
      if (code === "insufficient_capabilities_for_transfer") account.state = "restricted";
      if (code === "account_invalid") account.state = "rejected";
      if (code === "resource_missing") vendor.accounts.delete(account_id);
      if (code === "api_key_refused") vendor.keys.clear();
      const payout = await makePayout(world);
      playOutside(vendor);
      const refused = await pay(program, payout.id);
      expect([refused.status, refused.body.status, refused.body.failure_code]).toEqual([200, "failed", code]);
      expect(refused.body.failure_message).toBeTruthy();
      expect(JSON.stringify(refused.body)).not.toContain("sk_test");
      expect(
        (await eventsOf(program, "payout.updated")).map(({ payload }) => [payload.status, payload.failure_code]),
      ).toEqual([
        ["failed", code],
        ["processing", null],
      ]);
      expect(await eventsOf(program, "payout.paid")).toEqual([]);
      expect((await commissionsOf(program)).map((row) => row.status)).toEqual(["approved", "approved"]);

      account.state = "active";
      vendor.accounts.set(account_id, account);
      vendor.keys.add(API_KEY_A);
      const again = await pay(program, payout.id);
      expect(again.body).toMatchObject({ status: "paid", failure_code: null, failure_message: null });
      expect(
        vendor.calls.filter(({ method }) => method === "POST").map(({ headers }) => headers.get("idempotency-key")),
      ).toEqual([`${payout.id}:1`, `${payout.id}:2`]);
      expect(vendor.transfers).toHaveLength(1);
    },
  );

  it("keeps of an account that the vendor's refusal names only the masked id (ACCESS-12, EVT-2, TEAM-1)", async () => {
    const world = await makePayingProgram();
    const { program, vendor, account_id } = world;
    const account = vendor.accounts.get(account_id)!;
    vendor.accounts.delete(account_id);
    const payout = await makePayout(world);
    playOutside(vendor);
    await program.api("POST", "/api/v1/webhooks", { url: "https://receiver.example.com/hook", events: ["*"] });
    const refused = await pay(program, payout.id);
    expect(refused.body.failure_message).toBe(`No such destination: '${maskAccount(account_id)}'`);
    vendor.accounts.set(account_id, account);
    await pay(program, payout.id);

    const email = `${uniqueId("viewer")}@shop.example`.toLowerCase();
    await program.api("POST", "/api/v1/members", { email, role: "viewer" });
    const viewer = await signInMember(program, email);
    const reader = await newKey(program, ["read"]);
    const shown = [
      ...["/api/v1/events", "/api/v1/payouts", `/api/v1/payouts/${payout.id}`].map(async (path) =>
        JSON.stringify((await reader.api("GET", path)).body),
      ),
      ...["/dashboard/events", "/dashboard/events/list.csv", `/dashboard/payouts/${payout.id}`].map(
        async (path) => (await viewer.get(path)).body,
      ),
    ];
    const kept = await env.DB.prepare("select json_group_array(changes || payload) from events where program_id = ?")
      .bind(program.id)
      .first<string>("json_group_array(changes || payload)");
    for (const text of [...(await Promise.all(shown)), kept]) expect(text).not.toContain(account_id);
    expect(kept).toContain(maskAccount(account_id));
  });

  it("refuses what cannot be paid that way, before anything is written or called", async () => {
    const world = await makePayingProgram();
    const { program, vendor } = world;
    const payout = await makePayout(world);
    playOutside(vendor);
    const before = await payoutById(payout.id);
    const refuses = async (status: number, code: string) => {
      const reply = await pay(program, payout.id);
      expect([reply.status, reply.body.error?.code]).toEqual([status, code]);
      const { method, recipient_sealed } = await payoutById(payout.id);
      expect(await payoutById(payout.id)).toEqual({ ...before, method, recipient_sealed });
      expect(vendor.calls).toEqual([]);
    };
    await db.update(payouts).set({ method: "wallet" }).where(eq(payouts.id, payout.id));
    await refuses(409, "invalid_transition");
    // The partner's present details do not affect these payouts.
    await db.update(payouts).set({ method: null }).where(eq(payouts.id, payout.id));
    await refuses(409, "invalid_transition");
    await db
      .update(payouts)
      .set({ method: "provider_a", recipient_sealed: await sealedFor(payout.id, null) })
      .where(eq(payouts.id, payout.id));
    await refuses(409, "invalid_transition");
    await db.update(payouts).set({ recipient_sealed: before.recipient_sealed }).where(eq(payouts.id, payout.id));
    await loseSecrets(program.id);
    await refuses(409, "provider_not_configured");
    const owner = await signInOwner(program);
    for (const path of [`/dashboard/payouts/${payout.id}/pay`, "/dashboard/payouts/matching?move=pay"]) {
      const said = textOf((await owner.post(path, { ids: payout.id, seen_at: new Date().toISOString() })).body);
      expect(said).toContain("can no longer be used. Store it in the settings again.");
    }
    await setSecrets(program.id, { provider_a_api_key: null });
    await refuses(409, "provider_not_configured");
    const unknown = await pay(program, "pay_00000000000000000000000000");
    expect(unknown.status).toBe(404);
    expect(await eventsOf(program, "payout.updated")).toEqual([]);
  });

  it("with a key of test mode pays nothing of a program that takes live payments alone (OUT-6)", async () => {
    const world = await makePayingProgram();
    const { program, vendor } = world;
    const payout = await makePayout(world);
    playOutside(vendor);
    await program.api("PATCH", "/api/v1/programs/me", { live_only: true });
    const owner = await signInOwner(program);
    const { body } = await program.api<{ email: string }>("GET", `/api/v1/partners/${world.partner_id}`);
    const partner = await signInPartner(body.email);
    const refuses = async () => {
      const reply = await pay(program, payout.id);
      expect([reply.status, reply.body.error?.code]).toEqual([409, "provider_not_configured"]);
      expect(reply.body.error?.message).toContain("test-mode key, which moves no money");
      for (const path of [`/dashboard/payouts/${payout.id}/pay`, "/dashboard/payouts/matching?move=pay"]) {
        expect(textOf((await owner.post(path, { ids: payout.id, seen_at: new Date().toISOString() })).body)).toContain(
          "moves no money",
        );
      }
      const account = await program.api<PayoutBody>("POST", `/api/v1/partners/${world.partner_id}/provider-a-account`);
      expect([account.status, account.body.error?.code]).toEqual([409, "provider_not_configured"]);
      const asked = await partner.post("/portal/details/provider-a-account", { country: "DE" });
      expect(textOf(asked.body)).toContain("does not offer payouts through Stripe yet");
      expect([vendor.calls, (await payoutById(payout.id)).status]).toEqual([[], "pending"]);
    };
    await refuses();
    await setSecrets(program.id, { provider_a_api_key: "rk_test_restricted" });
    await refuses();
    await setSecrets(program.id, { provider_a_api_key: "rk_live_restricted" });
    vendor.keys = new Set(["rk_live_restricted"]);
    expect((await pay(program, payout.id)).body.status).toBe("paid");
  });

  it("two clicks, two crons and a click with an Idempotency-Key replayed: one transfer", async () => {
    const world = await makePayingProgram({ latency: () => new Promise((done) => setTimeout(done, 5)) });
    const { vendor, program } = world;
    const payout = await makePayout(world);
    playOutside(vendor);
    const clicks = await Promise.all([pay(program, payout.id), pay(program, payout.id), pay(program, payout.id)]);
    expect(clicks.map((reply) => reply.status).toSorted()).toEqual([200, 409, 409]);
    expect(vendor.transfers).toHaveLength(1);

    const second = await makePayout(world);
    const headers = { "Idempotency-Key": "pay once" };
    const path = `/api/v1/payouts/${second.id}/pay`;
    const keyed = await program.api<PayoutBody>("POST", path, undefined, headers);
    const replayed = await program.api<PayoutBody>("POST", path, undefined, headers);
    expect([keyed.body.status, replayed.headers.get("Idempotent-Replayed")]).toEqual(["paid", "true"]);
    expect(replayed.body).toEqual(keyed.body);
    expect(viewPayout(await payoutById(second.id))).toEqual(keyed.body);

    const third = await makePayout(world);
    vendor.faults.push("drop_reply");
    await pay(program, third.id);
    const now = Date.now() + 10 * MINUTE;
    const asked = vendor.calls.length;
    await Promise.all([reconcileAt(vendor, now), reconcileAt(vendor, now), reconcileAt(vendor, now)]);
    // One of the three processes the payout, and finds the existing transfer.
    const about = vendor.calls.slice(asked).filter(({ path, body }) => `${path} ${body}`.includes(third.id));
    expect(about.map(({ method }) => method)).toEqual(["GET"]);
    expect(vendor.transfers).toHaveLength(3);
    expect((await payoutById(third.id)).status).toBe("paid");
  });

  it.each(PAYOUT_STATUSES)("a payout that is %s: only pending and failed ones can be paid", async (status) => {
    const world = await makePayingProgram();
    const payout = await makePayout(world);
    await db.update(payouts).set({ status }).where(eq(payouts.id, payout.id));
    const before = await payoutById(payout.id);
    playOutside(world.vendor);
    const reply = await pay(world.program, payout.id);
    if (status === "pending" || status === "failed") {
      expect([reply.status, reply.body.status]).toEqual([200, "paid"]);
    } else {
      expect([reply.status, reply.body.error?.code]).toEqual([409, "invalid_transition"]);
      expect(await payoutById(payout.id)).toEqual(before);
      expect([world.vendor.calls, await eventsOf(world.program, "payout.updated")]).toEqual([[], []]);
    }
  });

  it("pay, cancel and mark-paid at once: one wins, the others are 409, and no canceled payout has a transfer (OUT-13)", async () => {
    const world = await makePayingProgram({ latency: () => new Promise((done) => setTimeout(done, 2)) });
    playOutside(world.vendor);
    for (let round = 0; round < 6; round++) {
      const payout = await makePayout(world);
      const path = `/api/v1/payouts/${payout.id}`;
      const calls = ["pay", "cancel", "mark-paid"].map(
        (action) => () => world.program.api<PayoutBody>("POST", `${path}/${action}`),
      );
      const turned = [...calls.slice(round % 3), ...calls.slice(0, round % 3)];
      const replies = await Promise.all(turned.map((call) => call()));
      expect(replies.map((reply) => reply.status).toSorted()).toEqual([200, 409, 409]);
      const after = await payoutById(payout.id);
      const transfers = world.vendor.transfers.filter((transfer) => transfer.transfer_group === payout.id);
      expect([after.status, transfers.length]).toEqual(
        after.attempt === 1 ? ["paid", 1] : [replies.find((reply) => reply.status === 200)!.body.status, 0],
      );
    }
  });
});

/** The hold of payouts after a change of their destination, and its release (OUT-24, OUT-26). */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ProgramCtx } from "../../src/core/kernel/context.ts";
import { createExport } from "../../src/core/payouts/exports.ts";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { markPayoutPaid } from "../../src/core/payouts/payouts.ts";
import { AppError } from "../../src/lib/errors.ts";
import { DAY, iso, MINUTE } from "../../src/lib/time.ts";
import { eventsOf } from "../support/commissions.ts";
import { readCsv } from "../support/csv.ts";
import { sendImport } from "../support/imports.ts";
import { newKey } from "../support/keys.ts";
import { openMailbox } from "../support/mailbox.ts";
import {
  API_KEY_A,
  clientOf,
  makeCommissions,
  makePayingProgram,
  makePayout,
  payoutById,
  payoutsOf,
  playOutside,
  reconcileAt,
} from "../support/payouts.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { openVendor } from "../support/provider-a-api.ts";
import { signInOwner, textOf } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const WALLET = { payout_method: "wallet", payout_email: "wanda@wallet.example" };
const CRYPTO = { method: "crypto", network: "bitcoin", address: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4" };
const IBAN = "DE89370400440532013000";
const BANK = { method: "bank_transfer", account_holder: "Wanda", country: "DE", currency: "EUR", iban: IBAN };
const EXPORT = { format: "wallet", currency: "USD" };

/** A program with a pending payout of 10.00 USD to a wallet. */
async function withPayout(fields: Parameters<typeof makeProgram>[0] = {}, details: Record<string, unknown> = WALLET) {
  const program = await makeProgram(fields);
  const partner = await makePartner(program, details);
  await makeCommissions(program, partner.id, [{ amount_cents: 1_000 }]);
  await program.api("POST", "/api/v1/payouts/generate", {});
  const [payout] = await payoutsOf(program);
  return { program, partner, payout_id: payout!.id, at: `/api/v1/partners/${partner.id}` };
}

async function heldUntil(partner_id: string): Promise<string | null> {
  const select = env.DB.prepare("select payouts_held_until from partners where id = ?");
  return select.bind(partner_id).first<string>("payouts_held_until");
}

async function holdUntil(partner_id: string, until: string | null): Promise<void> {
  await env.DB.prepare("update partners set payouts_held_until = ? where id = ?").bind(until, partner_id).run();
}

const change = (program: TestProgram, at: string, payout_email = "new@wallet.example") =>
  program.api<{ payouts_held_until: string | null }>("PATCH", at, { payout_email });

describe("a change of where a partner's money goes (OUT-24)", () => {
  it("counts at once, and holds every payout of the partner until three days later", async () => {
    const { program, partner, payout_id, at } = await withPayout();
    const other = await makePartner(program, WALLET);
    await makeCommissions(program, other.id, [{ amount_cents: 200 }]);
    await program.api("POST", "/api/v1/payouts/generate", {});
    const before = Date.now();
    const { status, body } = await change(program, at);
    const until = body.payouts_held_until!;
    expect([status, Math.abs(Date.parse(until) - before - 3 * DAY) < MINUTE]).toEqual([200, true]);
    for (const path of ["pay", "mark-paid"]) {
      const refused = await program.api("POST", `/api/v1/payouts/${payout_id}/${path}`);
      expect(refused).toMatchObject({
        status: 409,
        body: { error: { code: "payout_held", message: expect.stringContaining(until) as unknown } },
      });
    }
    const one = await program.api("GET", `/api/v1/payouts/${payout_id}`);
    const list = await program.api<{ data: { id: string; held_until: string | null }[] }>("GET", "/api/v1/payouts");
    const listed = list.body.data.find(({ id }) => id === payout_id);
    expect([one.body, listed]).toMatchObject([{ held_until: until }, { held_until: until }]);
    expect(list.body.data.filter(({ held_until }) => held_until === null)).toHaveLength(1);

    // A file leaves it out, and names it.
    const made = await program.api("POST", "/api/v1/payouts/exports", EXPORT);
    expect(made.body).toMatchObject({ count: 1, amount_cents: 200, left_out: [{ payout_id, reason: "held" }] });
    expect((await program.api("POST", "/api/v1/payouts/exports", EXPORT)).status).toBe(409);
    for (const query of ["format=wallet", "format=wallet&currency=USD"]) {
      const file = await program.api<string>("GET", `/api/v1/payouts/export.csv?${query}`);
      expect(file.body).not.toContain(payout_id);
    }
    const everything = await program.api<string>("GET", "/api/v1/payouts/export.csv?format=generic");
    const [names = [], ...rows] = readCsv(everything.body);
    const cells = rows.find((cells_of) => cells_of[0] === payout_id) ?? [];
    const row = Object.fromEntries(names.map((name, i) => [name, cells[i]]));
    expect(row).toMatchObject({ status: "pending", held_until: until });

    // The end of the hold needs no job.
    await holdUntil(partner.id, iso(Date.now() - 1));
    expect((await program.api("GET", `/api/v1/payouts/${payout_id}`)).body).toMatchObject({ held_until: null });
    expect((await program.api("POST", `/api/v1/payouts/${payout_id}/mark-paid`)).status).toBe(200);
  });

  it("is every way to change it, and no other change", async () => {
    const vendor = openVendor({ keys: [API_KEY_A] });
    playOutside(vendor);
    const program = await makeProgram({ provider_a_api_key: API_KEY_A, live_only: false });
    const bare = { payout_method: null, payout_email: null };
    const account = (at: string) => program.api("POST", `${at}/provider-a-account`, {});
    const changes: Record<string, [before: Record<string, unknown>, act: (at: string, email: string) => unknown]> = {
      "its method": [WALLET, (at) => program.api("PATCH", at, { payout_method: "crypto" })],
      "its removal": [WALLET, (at) => program.api("PATCH", at, { payout_method: null, payout_email: null })],
      "its address": [WALLET, (at) => change(program, at)],
      "its first address": [bare, (at) => program.api("PATCH", at, WALLET)],
      "its bank account": [WALLET, (at) => program.api("PUT", `${at}/payout-details`, BANK)],
      "its crypto address": [WALLET, (at) => program.api("PUT", `${at}/payout-details`, CRYPTO)],
      "an import": [
        bare,
        (_, email) =>
          sendImport(
            program,
            { kind: "partners", product: "rewardful" },
            `email,token,paypal_email\n${email},t${Date.now()},${email}\n`,
          ),
      ],
      "its account at the vendor": [WALLET, (at) => account(at)],
    };
    for (const [name, [before, act]] of Object.entries(changes)) {
      const partner = await makePartner(program, before);
      const own = `/api/v1/partners/${partner.id}`;
      expect(await heldUntil(partner.id), `${name}: created with details`).toBeNull();
      await program.api("PATCH", own, { first_name: "Wanda", slug: `${partner.slug}-x`, ...before });
      expect(await heldUntil(partner.id), `${name}: the same again`).toBeNull();
      await act(own, partner.email);
      expect(await heldUntil(partner.id), name).not.toBeNull();
      if (name !== "its account at the vendor") continue;
      // A link into an account that is there, and its removal, which no payout detail shows.
      for (const again of [account, forget]) {
        await holdUntil(partner.id, null);
        expect(await again(own)).toMatchObject({ status: 200 });
        expect(await heldUntil(partner.id), name).not.toBeNull();
      }
    }
    async function forget(at: string) {
      const [account_id] = [...vendor.accounts.keys()].slice(-1);
      return program.api("POST", `${at}/provider-a-account/forget`, { account_id });
    }
  });

  it("does not shorten a hold, and starts none if the program has none", async () => {
    const { program, partner, at } = await withPayout();
    const later = iso(Date.now() + 20 * DAY);
    await holdUntil(partner.id, later);
    await change(program, at);
    expect(await heldUntil(partner.id)).toBe(later);
    expect((await program.api("PATCH", "/api/v1/programs/me", { payout_change_hold_days: 30 })).status).toBe(200);
    await change(program, at, "next@wallet.example");
    expect((await heldUntil(partner.id))! > later).toBe(true);
    const none = await withPayout({ payout_change_hold_days: 0 });
    await change(none.program, none.at);
    expect(await heldUntil(none.partner.id)).toBeNull();
    expect((await none.program.api("POST", `/api/v1/payouts/${none.payout_id}/mark-paid`)).status).toBe(200);
  });

  it("stays through canceling and generating, and holds a payout that had no recipient (OUT-18)", async () => {
    const { program, at, payout_id } = await withPayout();
    await change(program, at);
    await program.api("POST", `/api/v1/payouts/${payout_id}/cancel`);
    await program.api("POST", "/api/v1/payouts/generate", {});
    const again = (await payoutsOf(program)).find(({ status }) => status === "pending")!;
    expect([again.recipient, again.held_until !== null]).toEqual([
      "n****@wallet.example".replace("****", "****"),
      true,
    ]);
    expect((await program.api("POST", `/api/v1/payouts/${again.id}/mark-paid`)).status).toBe(409);

    const empty = await withPayout({}, { payout_method: null, payout_email: null });
    await empty.program.api("PATCH", empty.at, WALLET);
    const taken = await payoutById(empty.payout_id);
    expect([taken.recipient !== null, taken.held_until !== null]).toEqual([true, true]);
    expect((await empty.program.api("POST", "/api/v1/payouts/exports", EXPORT)).status).toBe(409);
  });

  it("does not keep a file that was made before from being marked as paid", async () => {
    const { program, at, payout_id } = await withPayout();
    const made = await program.api<{ id: string }>("POST", "/api/v1/payouts/exports", EXPORT);
    await change(program, at);
    const file = await program.api<string>("GET", `/api/v1/payouts/exports/${made.body.id}/file`);
    expect(file.body).toContain("wanda@wallet.example");
    expect((await program.api("POST", `/api/v1/payouts/exports/${made.body.id}/paid`, {})).status).toBe(200);
    expect(await payoutById(payout_id)).toMatchObject({ status: "paid", held_until: null });
  });

  it("does not keep a payout from being canceled", async () => {
    const { program, at, payout_id } = await withPayout();
    await change(program, at);
    expect((await program.api("POST", `/api/v1/payouts/${payout_id}/cancel`)).body).toMatchObject({
      ...{ status: "canceled", held_until: null },
    });
  });

  it("has an open transfer looked up alone until it ends", async () => {
    const world = await makePayingProgram();
    const payout = await makePayout(world);
    world.vendor.faults.push("drop_request");
    await payPayout(programContext(world.program), payout.id, clientOf(world.vendor));
    expect((await payoutById(payout.id)).status).toBe("processing");
    await holdUntil(world.partner_id, iso(Date.now() + 3 * DAY));
    await reconcileAt(world.vendor, Date.now() + 5 * MINUTE);
    expect(world.vendor.transfers).toEqual([]);
    expect(await payoutById(payout.id)).toMatchObject({ status: "processing", failure_code: "payout_held" });
    await holdUntil(world.partner_id, null);
    await reconcileAt(world.vendor, Date.now() + 90 * MINUTE);
    expect(world.vendor.transfers).toHaveLength(1);
    expect((await payoutById(payout.id)).status).toBe("paid");
  });

  it("is in the pages of the payout, the partner and the portal", async () => {
    const { program, partner, payout_id, at } = await withPayout();
    await change(program, at);
    const owner = await signInOwner(program);
    expect(textOf((await owner.get(`/dashboard/partners/${partner.id}`)).body)).toMatch(
      /held until .* Release the hold/,
    );
    expect(textOf((await owner.get("/dashboard/payouts")).body)).toContain("held until");
    const { body } = await owner.get(`/dashboard/payouts/${payout_id}`);
    expect(textOf(body)).toContain("Held until");
    expect(body).not.toContain(`/dashboard/payouts/${payout_id}/mark-paid`);
    const chosen = (ids: string[]) => `/dashboard/payouts/matching?move=mark_paid&ids=${ids.join("&ids=")}`;
    expect(textOf((await owner.get(chosen([payout_id]))).body)).toContain("The partner's payouts are held");
    const other = await makePartner(program, WALLET);
    for (const { id } of [partner, other]) await makeCommissions(program, id, [{ amount_cents: 200 }]);
    const planned = await program.api<{ payouts: unknown }>("POST", "/api/v1/payouts/generate", { dry_run: true });
    expect(planned.body.payouts).toMatchObject([
      { partner_id: partner.id, held_until: expect.any(String) as unknown },
      { partner_id: other.id, held_until: null },
    ]);
    expect(textOf((await owner.get("/dashboard/payouts/new")).body)).toContain("1 payout is on hold once prepared");
    await program.api("POST", "/api/v1/payouts/generate", {});
    const ids = (await payoutsOf(program)).map(({ id }) => id);
    expect(textOf((await owner.get(chosen(ids))).body)).toContain("Left out 2 chosen payouts");
    expect(textOf((await owner.get("/dashboard/payouts/pay")).body)).toContain("2 payouts on hold");
  });
});

describe("a hold that begins while a payout is being paid", () => {
  /** The context of a call that is overtaken by `act` after its first read. */
  function overtaken(program: TestProgram, act: () => Promise<unknown>): ProgramCtx {
    const ctx = programContext(program);
    let isFirst = true;
    const read: ProgramCtx["read"] = async (...statements) => {
      const rows = await ctx.read(...statements);
      if (isFirst && statements.length > 0) {
        isFirst = false;
        await act();
      }
      return rows;
    };
    return { ...ctx, read };
  }

  it.each(["pay", "mark-paid", "export"] as const)("wins against %s", async (way) => {
    const world = await makePayingProgram();
    const isTransfer = way === "pay";
    if (!isTransfer) await world.program.api("PATCH", `/api/v1/partners/${world.partner_id}`, WALLET);
    await holdUntil(world.partner_id, null);
    const payout = await makePayout(world);
    const acts = {
      pay: (ctx: ProgramCtx) => payPayout(ctx, payout.id, clientOf(world.vendor)),
      "mark-paid": (ctx: ProgramCtx) => markPayoutPaid(ctx, payout.id, null),
      export: (ctx: ProgramCtx) => createExport(ctx, { format: "wallet", currency: "USD" }),
    };
    const ctx = overtaken(world.program, () => change(world.program, `/api/v1/partners/${world.partner_id}`));
    const refused: unknown = await acts[way](ctx).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(AppError);
    expect((refused as AppError).code).toBe(way === "export" ? "invalid_transition" : "payout_held");
    expect([world.vendor.transfers, (await payoutById(payout.id)).status]).toEqual([[], "pending"]);
  });

  it("holds or comes too late, whatever the order of a change and a payment at once", async () => {
    for (let round = 0; round < 8; round++) {
      const { program, payout_id, at } = await withPayout();
      const calls = [
        () => change(program, at),
        () => program.api("POST", `/api/v1/payouts/${payout_id}/mark-paid`),
        () => program.api("POST", "/api/v1/payouts/exports", EXPORT),
      ];
      const [changed, paid, made] = await Promise.all(
        round % 2 === 0 ? calls.map((one) => one()) : calls.toReversed().map((one) => one()),
      ).then((all) => (round % 2 === 0 ? all : all.toReversed()));
      expect(changed!.status).toBe(200);
      const payout = await payoutById(payout_id);
      const won = [paid!.status === 200, made!.status === 201].filter(Boolean).length;
      expect([won, payout.status === "pending"]).toEqual([payout.status === "pending" ? 0 : 1, won === 0]);
      expect(payout.held_until === null).toBe(won === 1);
    }
  });
});

describe("the release of a hold (OUT-26)", () => {
  it("lets payouts be paid at once, names who did it, and notifies every owner", async () => {
    const mailbox = openMailbox();
    const { program, partner, payout_id, at } = await withPayout({ payout_change_hold_days: 10 });
    await program.api("POST", "/api/v1/members", { email: "second@shop.example", role: "owner" });
    const { body } = await change(program, at);
    const headers = { authorization: `Bearer ${program.api_key}` };
    const release = () => callWith(mailbox.bindings, `${at}/release-hold`, { method: "POST", headers });
    expect(await release()).toMatchObject({ status: 200, body: { payouts_held_until: null } });
    expect(await release()).toMatchObject({ status: 409, body: { error: { code: "invalid_transition" } } });
    const [event] = await eventsOf(program, "partner.hold_released");
    expect(event).toMatchObject({
      payload: { partner_id: partner.id, slug: partner.slug, held_until: body.payouts_held_until },
      changes: { payouts_held_until: [body.payouts_held_until, null] },
      actor: { type: "api_key" },
    });
    await mailbox.deliver(program.id);
    const notified = mailbox.mails.filter(({ text }) =>
      text.includes(`payouts to the partner ${partner.slug} was released`),
    );
    expect(notified.map(({ to }) => to).toSorted()).toEqual(
      [program.program.owner_email, "second@shop.example"].toSorted(),
    );
    expect((await program.api("POST", `/api/v1/payouts/${payout_id}/mark-paid`)).status).toBe(200);
  });

  it("needs the scope payouts, and in the dashboard a fresh proof of an owner", async () => {
    const { program, partner, at } = await withPayout();
    await change(program, at);
    const key = await newKey(program, ["read", "write", "keys"]);
    expect((await key.api("POST", `${at}/release-hold`)).status).toBe(403);
    expect((await key.api("PATCH", "/api/v1/programs/me", { payout_change_hold_days: 0 })).status).toBe(403);
    const owner = await signInOwner(program);
    await env.DB.prepare("update sessions set created_at = ? where program_id = ?")
      .bind(iso(Date.now() - 16 * MINUTE), program.id)
      .run();
    const page = `/dashboard/partners/${partner.id}`;
    expect((await owner.get(page)).body).not.toContain(`${page}/release-hold`);
    const released = await owner.post(`${page}/release-hold`);
    expect(released.headers.get("location")).toContain("/sign-in/again");
    const set = await owner.post("/dashboard/settings/payout-hold", { payout_change_hold_days: "0" });
    expect(set.headers.get("location")).toContain("/sign-in/again");
    expect(await heldUntil(partner.id)).not.toBeNull();
    const fresh = await signInOwner(program);
    await fresh.get(page);
    expect((await fresh.post(`${page}/release-hold`)).headers.get("location")).toBe(`${page}?done=released`);
    expect(await heldUntil(partner.id)).toBeNull();
  });

  it("at the same moment as a payment leaves one whole result", async () => {
    for (let round = 0; round < 6; round++) {
      const { program, partner, payout_id, at } = await withPayout();
      await change(program, at);
      const [released, paid] = await Promise.all([
        program.api("POST", `${at}/release-hold`),
        program.api("POST", `/api/v1/payouts/${payout_id}/mark-paid`),
      ]);
      expect(released.status).toBe(200);
      expect([200, 409]).toContain(paid.status);
      expect((await payoutById(payout_id)).status).toBe(paid.status === 200 ? "paid" : "pending");
      expect(await heldUntil(partner.id)).toBeNull();
    }
  });
});

describe("the setting of the hold (OUT-24, PROOF-4)", () => {
  it("is 3 days, takes 0 to 30, and e-mails each owner about a change", async () => {
    const mailbox = openMailbox();
    const program = await makeProgram();
    expect((await program.api("GET", "/api/v1/programs/me")).body).toMatchObject({ payout_change_hold_days: 3 });
    for (const days of [-1, 31, 1.5, null, "3"]) {
      const refused = await program.api("PATCH", "/api/v1/programs/me", { payout_change_hold_days: days });
      expect(refused).toMatchObject({
        status: 422,
        body: { error: { details: [{ path: "payout_change_hold_days" }] } },
      });
    }
    const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
    const body = JSON.stringify({ payout_change_hold_days: 0 });
    await callWith(mailbox.bindings, "/api/v1/programs/me", { method: "PATCH", headers, body });
    await mailbox.deliver(program.id);
    expect(mailbox.mails.map(({ to }) => to)).toEqual([program.program.owner_email]);
    expect(mailbox.mails[0]!.text).toContain("Days: 3 → 0.");
    const owner = await signInOwner(program);
    await owner.get("/dashboard/settings/payouts");
    const wrong = await owner.post("/dashboard/settings/payout-hold", { payout_change_hold_days: "40" });
    expect(wrong.status).toBe(422);
    const saved = await owner.post("/dashboard/settings/payout-hold", { payout_change_hold_days: "7" });
    expect(saved.headers.get("location")).toBe("/dashboard/settings/payouts?done=saved#payout-hold");
    expect((await program.api("GET", "/api/v1/programs/me")).body).toMatchObject({ payout_change_hold_days: 7 });
  });
});

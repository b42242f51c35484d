/** The recipient is frozen when a payout is generated (OUT-5); files for payout services use it. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { eq } from "drizzle-orm";
import { exportPayouts } from "../../src/core/payouts/export.ts";
import { generatePayouts } from "../../src/core/payouts/generate.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import { openDatabase } from "../../src/db/client.ts";
import { partners, payouts } from "../../src/db/schema.ts";
import { PAYOUT_METHODS } from "../../src/domain/partner.ts";
import { PAYOUT_STATUSES } from "../../src/domain/payout.ts";
import type { Sealed } from "../../src/lib/seal.ts";
import { eventsOf } from "../support/commissions.ts";
import { readCsv } from "../support/csv.ts";
import { changeOwnDetails } from "../support/own-change.ts";
import { makeCommissions, db, makePayingProgram, payoutsOf, playOutside, type PayoutRow } from "../support/payouts.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";
import { watchDatabase } from "../support/watched-database.ts";

afterEach(() => vi.restoreAllMocks());

interface PayoutBody {
  id: string;
  status: string;
  method: string | null;
  recipient: string | null;
  error?: { code: string; details?: { path: string }[] };
}

const EXPORT = "/api/v1/payouts/export.csv";

async function fileOf(program: Pick<TestProgram, "api">, query = ""): Promise<Record<string, string>[]> {
  const { status, body } = await program.api<string>("GET", `${EXPORT}${query}`);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  const [header, ...records] = readCsv(body);
  return records.map((record) => Object.fromEntries(header!.map((name, i) => [name, record[i]!])));
}

/** A partner with one approved commission, not yet in a payout. */
async function earner(program: TestProgram, fields: Record<string, unknown> = {}) {
  const partner = await makePartner(program, fields);
  await makeCommissions(program, partner.id, [{}]);
  return partner;
}

async function generate(program: TestProgram): Promise<PayoutBody[]> {
  const { status, body } = await program.api<{ payouts: PayoutBody[] }>("POST", "/api/v1/payouts/generate");
  expect(status).toBe(200);
  return body.payouts;
}

const WALLET = { payout_method: "wallet", payout_email: "wanda@wallet.example" };

describe("the file for a payout service (OUT-8)", () => {
  it("never holds a payout that is paid, canceled, processing or failed, nor one of another method or without details", async () => {
    const program = await makeProgram();
    const statusOf = new Map<string, (typeof PAYOUT_STATUSES)[number]>();
    for (const payout_method of [...PAYOUT_METHODS, null]) {
      for (const payout_email of [null, "wanda@wallet.example"]) {
        for (const status of PAYOUT_STATUSES) {
          const { id } = await earner(program, { payout_method, payout_email });
          statusOf.set(id, status);
        }
      }
    }
    await generate(program);
    for (const [partner_id, status] of statusOf) {
      await db.update(payouts).set({ status }).where(eq(payouts.partner_id, partner_id));
    }
    const after = await payoutsOf(program);
    expect(after).toHaveLength(statusOf.size);
    const wanted = after.filter((row) => row.status === "pending" && row.method === "wallet" && row.recipient !== null);
    for (const query of ["?format=wallet", "?format=wallet&status=pending"]) {
      const rows = await fileOf(program, query);
      expect(rows.map((row) => row["reference"])).toEqual(wanted.map(({ id }) => id));
      expect(new Set(rows.map((row) => row["recipient_email"]))).toEqual(new Set(["wanda@wallet.example"]));
    }
    expect(wanted).toHaveLength(1);
    const generic = await fileOf(program);
    expect(generic.map((row) => row["status"])).toEqual(after.map(({ status }) => status));
  });

  it("the service gets the address as it is, and of HUF and TWD whole units (OUT-5, OUT-16)", async () => {
    const program = await makeProgram();
    for (const [payout_email, currency, amount_cents] of [
      ["-wanda@wallet.example", "USD", 12_050],
      ["+kim@wallet.example", "HUF", 1_234_567],
      ["pat@wallet.example", "TWD", 1_234_550],
      ["sam@wallet.example", "HUF", 20],
      ["ann@wallet.example", "JPY", 500],
    ] as const) {
      const partner = await makePartner(program, { ...WALLET, payout_email });
      await makeCommissions(program, partner.id, [{ amount_cents, currency }]);
    }
    await program.api("PATCH", "/api/v1/programs/me", { min_payout_cents: 0 });
    await generate(program);
    const file = await fileOf(program, "?format=wallet");
    const sums = file.map((row) => [row["recipient_email"], row["amount"], row["currency"], row["amount_cents"]]);
    expect(sums.toSorted((a, b) => (a[0]! < b[0]! ? -1 : 1))).toEqual([
      ["+kim@wallet.example", "12346", "HUF", "1234567"],
      ["-wanda@wallet.example", "120.50", "USD", "12050"],
      ["ann@wallet.example", "500", "JPY", "500"],
      ["pat@wallet.example", "12346", "TWD", "1234550"],
      ["sam@wallet.example", "1", "HUF", "20"],
    ]);
  });

  it("a status that contradicts the format is refused, by the API and on the page", async () => {
    const program = await makeProgram();
    const owner = await signInOwner(program);
    for (const status of PAYOUT_STATUSES.filter((one) => one !== "pending")) {
      const query = `?format=wallet&status=${status}`;
      const { status: code, body } = await program.api<PayoutBody>("GET", `${EXPORT}${query}`);
      expect([code, body.error?.code, body.error?.details?.[0]?.path]).toEqual([422, "validation_failed", "status"]);
      expect((await owner.get(`/dashboard/payouts/export.csv${query}`)).status).toBe(422);
      expect(await fileOf(program, `?status=${status}`)).toEqual([]);
    }
    expect(await eventsOf(program, "payout.exported")).toHaveLength(PAYOUT_STATUSES.length - 1);
    // The page never links to such a file, even if the list is filtered.
    await earner(program, WALLET);
    const [payout] = await generate(program);
    await program.api("POST", `/api/v1/payouts/${payout!.id}/mark-paid`);
    const linked = () =>
      [...owner.html.matchAll(/href="(\/dashboard\/payouts\/export\.csv[^"]*)"/g)].map(([, href]) =>
        href!.replaceAll("&amp;", "&"),
      );
    await owner.get("/dashboard/payouts?status=paid");
    const [file] = linked();
    expect((await owner.get(file!)).body).toContain(payout!.id);
    await owner.get("/dashboard/payouts/pay");
    expect([textOf(owner.html).includes("Nothing to pay"), linked()]).toEqual([true, []]);
  });

  it("what is paid while the file is being read is not in the rest of it", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const sealed = `${await testContext().sealer.mark()}x`;
    await db.run(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500)
      insert into payouts (id, program_id, partner_id, amount_cents, currency, status, method, recipient, recipient_sealed, period_end,
        due_at, commission_count, attempt, created_at, updated_at)
      select 'pay_' || printf('%026d', i) || '${program.id}', '${program.id}', '${partner.id}', i, 'USD', 'pending',
        'wallet', 'w****a@wallet.example', '${sealed}', '2026-11-01', '2026-11-16', 1, 0, '2026-11-01', '2026-11-01' from n`);
    const file = (await exportPayouts(programContext(program), { format: "wallet" }))[Symbol.asyncIterator]();
    const pieces = [(await file.next()).value as string, (await file.next()).value as string];
    await db.update(payouts).set({ status: "paid" }).where(eq(payouts.program_id, program.id));
    for (let next = await file.next(); next.done !== true; next = await file.next()) pieces.push(next.value);
    expect(readCsv(pieces.join(""))).toHaveLength(1 + 1_000);
  });

  it("holds no payout whose recipient no key opens, nor counts it (ACCESS-7)", async () => {
    const program = await makeProgram();
    const [lost, kept] = [
      await earner(program, { ...WALLET, first_name: "Wanda" }),
      await earner(program, { ...WALLET, payout_email: "kim@wallet.example", first_name: "Kim" }),
    ];
    await generate(program);
    const [{ recipient_sealed }] = (await payoutsOf(program)).filter((row) => row.partner_id === lost.id) as [
      PayoutRow,
    ];
    const [form, key, ...rest] = recipient_sealed.split(".");
    const ofLostKey = [form, key!.replace(/^./, (digit) => (digit === "0" ? "1" : "0")), ...rest].join(".") as Sealed;
    await db.update(payouts).set({ recipient_sealed: ofLostKey }).where(eq(payouts.partner_id, lost.id));
    await db.update(partners).set({ first_name: "Mallory" }).where(eq(partners.program_id, program.id));
    const file = await fileOf(program, "?format=wallet");
    expect(file.map((row) => row["recipient_email"])).toEqual(["kim@wallet.example"]);
    const { body } = await program.api<{ data: { payload: unknown }[] }>("GET", "/api/v1/events?type=payout.exported");
    expect(body.data.map(({ payload }) => payload)).toEqual([
      { format: "wallet", status: null, currency: null, count: 1 },
    ]);
    // The name was frozen as well (OUT-5): that of today is another's.
    const names = new Map((await fileOf(program)).map((row) => [row["partner_id"], row["partner_name"]]));
    expect([names.get(lost.id), names.get(kept.id)]).toEqual(["", "Kim"]);
  });

  it("each export is an event with its format, status and count, and who made it", async () => {
    const program = await makeProgram();
    await earner(program, WALLET);
    await earner(program, { payout_method: "bank_transfer" });
    await generate(program);
    await fileOf(program);
    await fileOf(program, "?format=wallet");
    const owner = await signInOwner(program);
    await owner.get("/dashboard/payouts/export.csv?status=pending");
    const { body } = await program.api<{ data: { payload: unknown; actor: { type: string } }[] }>(
      "GET",
      "/api/v1/events?type=payout.exported",
    );
    expect(body.data.map(({ payload, actor }) => [actor.type, payload])).toEqual([
      ["member", { format: "generic", status: "pending", currency: null, count: 2 }],
      ["api_key", { format: "wallet", status: null, currency: null, count: 1 }],
      ["api_key", { format: "generic", status: null, currency: null, count: 2 }],
    ]);
  });
});

describe("the recipient of a payout (OUT-5)", () => {
  /** The changes a thief can make, one for each route. */
  const CHANGES: [string, (program: TestProgram, partner: { id: string; email: string }) => Promise<unknown>][] = [
    [
      "by the API",
      (program, { id }) =>
        program.api("PATCH", `/api/v1/partners/${id}`, { payout_email: "thief@evil.example", first_name: "Mallory" }),
    ],
    [
      "in the portal",
      (program, { email }) =>
        changeOwnDetails(program, email, { payout_method: "wallet", payout_email: "thief@evil.example" }),
    ],
    [
      "in the dashboard",
      async (program, { id, email }) =>
        form(await signInOwner(program), `/dashboard/partners/${id}/edit`, {
          email,
          slug: `s${Date.now()}`,
          status: "active",
          payout_method: "wallet",
          payout_email: "thief@evil.example",
          first_name: "Mallory",
        }),
    ],
  ];

  async function form(visitor: Visitor, page: string, fields: Record<string, string>): Promise<void> {
    await visitor.get(page);
    const reply = await visitor.post(page, fields);
    if (reply.status !== 303) throw new Error(`${page}: ${reply.status} ${textOf(reply.body)}`);
  }

  it.each(CHANGES)("changed %s, it stays what it was on every payout that exists", async (_way, change) => {
    // A hold keeps all of them: `payout-holds.test.ts`.
    const program = await makeProgram({ payout_change_hold_days: 0 });
    const partner = await earner(program, { ...WALLET, first_name: "Wanda" });
    const [payout] = await generate(program);
    expect(payout).toMatchObject({ method: "wallet", recipient: "w****a@wallet.example" });
    await change(program, partner);
    const { body: now } = await program.api<{ payout_email: string }>("GET", `/api/v1/partners/${partner.id}`);
    expect(now.payout_email).toBe("thief@evil.example");

    const old = { recipient_email: "wanda@wallet.example", recipient_name: "Wanda" };
    expect(await fileOf(program, "?format=wallet")).toMatchObject([old]);
    expect(await fileOf(program)).toMatchObject([{ payout_email: "wanda@wallet.example", partner_name: "Wanda" }]);
    const shown = await program.api<PayoutBody>("GET", `/api/v1/payouts/${payout!.id}`);
    expect(shown.body).toMatchObject({ method: "wallet", recipient: "w****a@wallet.example" });
    const owner = await signInOwner(program);
    for (const page of [
      "/dashboard/payouts",
      `/dashboard/payouts/${payout!.id}`,
      `/dashboard/payouts/${payout!.id}/mark-paid`,
    ]) {
      await owner.get(page);
      expect([page, textOf(owner.html)]).toEqual([page, expect.stringContaining("w****a@wallet.example")]);
      expect(owner.html).not.toContain("evil.example");
    }
    const { body: self } = await program.api<{ email: string }>("GET", `/api/v1/partners/${partner.id}`);
    const reader = await signInPartner(self.email);
    await reader.get(`/portal/payouts/${payout!.id}`);
    expect(textOf(reader.html)).toMatch(/Payee\s+Wanda\s+Amount/);
    // "canceling and generating again does."
    await program.api("POST", `/api/v1/payouts/${payout!.id}/cancel`);
    const [again] = await generate(program);
    expect(again).toMatchObject({ method: "wallet", recipient: "t****f@evil.example" });
    expect(await fileOf(program, "?format=wallet")).toMatchObject([{ recipient_email: "thief@evil.example" }]);
  });

  it("the portal promises a change to later payouts only", async () => {
    const program = await makeProgram();
    const partner = await earner(program, WALLET);
    await generate(program);
    const fields = { payout_method: "wallet", payout_email: "new@wallet.example" };
    const { portal: visitor } = await changeOwnDetails(program, partner.email, fields);
    await visitor.get("/portal/details?done=saved");
    expect(textOf(visitor.html)).toContain("Saved. New payouts go there.");
    await visitor.get("/portal/payouts");
    expect(textOf(visitor.html)).toContain("w****a@wallet.example");
  });

  it("provider A pays the account that the payout was generated for, also at a second try", async () => {
    const world = await makePayingProgram();
    const { program, vendor, partner_id, account_id } = world;
    await makeCommissions(program, partner_id, [{}]);
    const [payout] = await generate(program);
    expect(payout!.recipient).toMatch(/^acct_\*{4}/);
    const changed = {
      payout_method: "wallet",
      payout_email: "thief@evil.example",
      provider_a_account_id: "acct_thief",
    } as const;
    await db.update(partners).set(changed).where(eq(partners.id, partner_id));
    vendor.accounts.set("acct_thief", { ...vendor.accounts.get(account_id)! });
    playOutside(vendor);
    vendor.accounts.get(account_id)!.state = "restricted";
    const refused = await program.api<PayoutBody>("POST", `/api/v1/payouts/${payout!.id}/pay`);
    expect(refused.body.status).toBe("failed");
    vendor.accounts.get(account_id)!.state = "active";
    const paid = await program.api<PayoutBody>("POST", `/api/v1/payouts/${payout!.id}/pay`);
    expect(paid.body).toMatchObject({ status: "paid", recipient: payout!.recipient });
    expect(vendor.transfers.map(({ destination }) => destination)).toEqual([account_id]);
  });

  it("details that change while payouts are generated are the new ones on them", async () => {
    const program = await makeProgram({ payout_change_hold_days: 0 });
    const partner = await earner(program, WALLET);
    let changes = 0;
    const { binding } = watchDatabase(env.DB, {
      before: async (statements) => {
        if (!statements.some((sql) => sql.startsWith("insert into payouts")) || changes++ > 2) return;
        await program.api("PATCH", `/api/v1/partners/${partner.id}`, { payout_email: `next${changes}@wallet.example` });
      },
    });
    const ctx = forProgram({ ...testContext(), db: openDatabase(binding) }, program.program);
    await generatePayouts(ctx, { period_start: null, period_end: ctx.now, dry_run: false });
    expect(changes).toBe(4);
    expect(await fileOf(program, "?format=wallet")).toMatchObject([{ recipient_email: "next3@wallet.example" }]);
  });

  it("it is sealed in the database and masked everywhere else", async () => {
    const program = await makeProgram();
    await program.api("POST", "/api/v1/webhooks", {
      url: "https://receiver.example.com/hook",
      events: ["payout.generated"],
    });
    await earner(program, { ...WALLET, first_name: "Wanda" });
    const [payout] = await generate(program);
    const [row] = await payoutsOf(program);
    expect(row!.recipient_sealed).toMatch(/^v2\./);
    const reported = await env.DB.prepare(
      "select payload, changes, actor from events where program_id = ? and type like 'payout.%'",
    )
      .bind(program.id)
      .raw();
    const sent = await env.DB.prepare("select body from messages where program_id = ?").bind(program.id).raw();
    expect(sent).toHaveLength(1);
    expect(JSON.stringify(sent)).toContain("w****a@wallet.example");
    expect(JSON.stringify([row, reported, sent, payout])).not.toMatch(/wanda@|Wanda/);
  });
});

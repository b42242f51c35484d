import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { sendA, sendB } from "../support/ledger.ts";
import { meterRowsRead } from "../support/metered-database.ts";
import { makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { makeVisitor, signInOwner, signInPartner, textOf, type Visitor, programOfOwner } from "../support/visitor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

interface Commission {
  id: string;
  status: string;
  payment_id: string;
  rejected_reason: string | null;
  flagged: boolean;
}

let program: TestProgram;
let owner: Visitor;
let partner: Awaited<ReturnType<typeof makePartner>>;

afterEach(() => vi.restoreAllMocks());

beforeAll(async () => {
  program = await makeProgram();
  owner = await signInOwner(program);
  partner = await makePartner(program, { first_name: "Ada", last_name: "Lovelace" });
});

async function newest(of: TestProgram = program): Promise<Commission> {
  const { data } = (await of.api<{ data: Commission[] }>("GET", "/api/v1/commissions?per_page=1")).body;
  const [commission] = data;
  if (!commission) throw new Error("there is no commission");
  return commission;
}

async function commissionOf(id: string): Promise<Commission> {
  return (await program.api<Commission>("GET", `/api/v1/commissions/${id}`)).body;
}

/** The commission that a payment of provider A makes. */
async function sale(fields: Parameters<typeof sessionCompleted>[0] = {}): Promise<Commission> {
  const list = async () =>
    (await program.api<{ data: Commission[] }>("GET", "/api/v1/commissions?per_page=100")).body.data;
  const before = new Set((await list()).map(({ id }) => id));
  await sendA(program, sessionCompleted({ ref: partner.slug, ...fields }));
  const made = (await list()).find(({ id }) => !before.has(id));
  if (!made) throw new Error("the payment made no commission");
  return made;
}

describe("the trace of a payment", () => {
  it("answers why the commission is what it is: the rate, the flows tried with what they saw, the refund, the sum (PAY-14, PAGE-7)", async () => {
    const [traced, visitor] = await programOfOwner();
    const ada = await makePartner(traced, { first_name: "Ada" });
    const flow = { action_type: "percentage", action_value: 20 };
    const large = [{ field: "txn_amount_cents", op: "gt", value: 20_000 }];
    await traced.api("POST", "/api/v1/flows", { ...flow, name: "Large", priority: 5, conditions: large });
    await traced.api("POST", "/api/v1/flows", { ...flow, name: "All", priority: 1 });
    await sendA(traced, sessionCompleted({ ref: ada.slug, amount: 11_100, tax: 1_100, payment_intent: "pi_trace" }));
    await sendA(traced, chargeRefunded({ payment_intent: "pi_trace", amount: 11_100, refunded: 833 }));
    const commission = await newest(traced);
    const shown = textOf((await visitor.get(`/dashboard/commissions/${commission.id}`)).body);
    expect(shown).toContain("Commission of 18.50 USD pending");
    expect(shown).toContain(
      "18.50 USD is 20 % (the flow that matched) of 100.00 USD net of tax less 7.50 USD refunded.",
    );
    expect(shown).toContain("The customer paid 100.00 USD net of tax");
    expect(shown).toContain("With tax it was 111.00 USD");
    expect(shown).toContain(`Referral code ${ada.slug} · Ada`);
    expect(shown).toContain("no: Flow “Large” did not match");
    expect(shown).toContain("Amount is more than 200.00 USD; it was 100.00 USD");
    expect(shown).toContain("yes: Flow “All” matched (it has no conditions)");
    expect(shown).toContain("20 % of (100.00 USD − 7.50 USD refunded) = 18.50 USD");
  });

  it("says of a commission that was paid what it was, not a sum that is not so", async () => {
    const [traced, visitor] = await programOfOwner();
    const ada = await makePartner(traced);
    await sendA(traced, sessionCompleted({ ref: ada.slug, amount: 10_000, payment_intent: "pi_paid" }));
    const { id } = await newest(traced);
    await traced.api("PATCH", `/api/v1/commissions/${id}`, { status: "approved" });
    await traced.api("POST", "/api/v1/payouts/generate", {});
    await sendA(traced, chargeRefunded({ payment_intent: "pi_paid", amount: 10_000, refunded: 5_000 }));
    const shown = textOf((await visitor.get(`/dashboard/commissions/${id}`)).body);
    expect(shown).toContain("Commission of 20.00 USD approved");
    expect(shown).not.toContain("of 100.00 USD net of tax less 50.00 USD refunded.");
    expect(shown).toContain(
      "20.00 USD, by the program's rate, the amount in its payout. Later changes are in another commission of this payment.",
    );
    expect(shown).toContain("So the payment earns 10.00 USD");
    // A correction does not belong to an empty payout.
    expect(textOf((await visitor.get("/dashboard/commissions?columns=amount,status,payment")).body)).toMatch(
      /−10\.00 USD approved –/,
    );
  });

  it("uses the currency's own decimals", async () => {
    const yen = await sale({ amount: 5_000, currency: "jpy" });
    expect(textOf((await owner.get(`/dashboard/commissions/${yen.id}`)).body)).toContain("1,000 JPY is 20 %");
    await sendB(program, transactionCompleted({ ref: partner.slug, amount: 12_345, currency: "KWD" }));
    const dinar = await newest();
    expect(textOf((await owner.get(`/dashboard/commissions/${dinar.id}`)).body)).toContain("2.469 KWD is 20 %");
  });

  it("says why there is none, and recalculates a payment after the slug was corrected", async () => {
    const [lost, visitor] = await programOfOwner();
    await sendA(lost, sessionCompleted({ ref: "typo", amount: 5_000 }));
    const { data } = (await lost.api<{ data: { id: string }[] }>("GET", "/api/v1/payments")).body;
    const path = `/dashboard/payments/${data[0]?.id}`;
    expect(textOf((await visitor.get(path)).body)).toContain("No reference of the payment belongs to a partner.");
    await makePartner(lost, { slug: "typo" });
    await visitor.post(`${path}/reprocess`);
    const shown = textOf((await visitor.get(path)).body);
    expect(shown).toContain("The program's rate applies: 20 %");
    expect(shown).toContain("So the commission is 10.00 USD");
    expect((await newest(lost)).status).toBe("pending");
  });
});

describe("commissions", () => {
  it("are approved and rejected, and a rejection is undone", async () => {
    const { id } = await sale();
    const path = `/dashboard/commissions/${id}`;
    await owner.get(path);
    await owner.post(path, { status: "rejected", reason: "  A return  " });
    expect(await commissionOf(id)).toMatchObject({ status: "rejected", rejected_reason: "A return" });
    const done = await owner.get(`${path}?done=rejected`);
    expect(textOf(done.body)).toContain("Undo: review again");
    await owner.post(path, { status: "pending" });
    await owner.post(path, { status: "approved" });
    expect(await commissionOf(id)).toMatchObject({ status: "approved" });
  });

  it("show an illegal move on their own page", async () => {
    const { id } = await sale();
    const path = `/dashboard/commissions/${id}`;
    await owner.get(path);
    await owner.post(path, { status: "rejected" });
    const reply = await owner.post(path, { status: "approved" });
    expect(reply.status).toBe(422);
    expect(textOf(reply.body)).toContain("This commission is rejected. Its status cannot change to approved.");
    expect((await owner.post(path, { status: "paid" })).status).toBe(422);
    expect((await owner.post(path, { status: "nonsense" })).status).toBe(422);
    expect((await owner.post(path, { status: "pending", reason: "x" })).status).toBe(422);
    expect(await commissionOf(id)).toMatchObject({ status: "rejected" });
  });

  it("are moved together, and those that cannot are named", async () => {
    const [a, b, c] = [await sale(), await sale(), await sale()];
    await owner.get("/dashboard/commissions");
    const reply = await owner.post("/dashboard/commissions/bulk", {
      ids: [a.id, b.id],
      status: "approved",
      back: "status=pending",
    });
    expect(reply.headers.get("location")).toBe("/dashboard/commissions?status=pending&bulk=approved&count=2");
    expect(textOf((await owner.get(reply.headers.get("location") ?? "")).body)).toContain("2 commissions approved.");
    const mixed = await owner.post("/dashboard/commissions/bulk", { ids: [a.id, c.id], status: "approved" });
    expect(mixed.status).toBe(422);
    expect(textOf(mixed.body)).toContain(`1 commission approved; not these: ${a.id}`);
    expect(await commissionOf(c.id)).toMatchObject({ status: "approved" });
    await owner.get("/dashboard/commissions");
    const none = await owner.post("/dashboard/commissions/bulk", { status: "approved" });
    expect(textOf(none.body)).toContain("Tick at least one commission first.");
  });

  it("that need a look say why, and are unflagged by hand", async () => {
    const { id } = await sale({ email: partner.email });
    const path = `/dashboard/commissions/${id}`;
    expect(textOf((await owner.get(path)).body)).toContain("The customer's e-mail address is the partner's own.");
    expect(textOf((await owner.get("/dashboard/commissions?flagged=true")).body)).toContain("1–1 of 1");
    await owner.get(path);
    await owner.post(path, { flagged: "false" });
    expect(await commissionOf(id)).toMatchObject({ flagged: false });
    await owner.post(path, { flagged: "true" });
    expect(await commissionOf(id)).toMatchObject({ flagged: true });
  });

  it("are added by hand with the amount in the program's currency", async () => {
    await owner.get("/dashboard/commissions/new");
    for (const amount of ["", "abc", "0", "1.234"]) {
      const reply = await owner.post("/dashboard/commissions/new", { partner_id: partner.id, amount, note: "bonus" });
      expect(reply.status).toBe(422);
      expect(reply.body).toMatch(/id="f-amount"[^>]*aria-invalid="true"/);
    }
    const reply = await owner.post("/dashboard/commissions/new", {
      partner_id: partner.id,
      amount: "-12.34",
      note: "fix",
    });
    const { body } = await owner.get(reply.headers.get("location") ?? "");
    expect(textOf(body)).toContain("Commission of −12.34 USD");
  });
});

describe("month end (PAGE-7)", () => {
  it("says of what rolls over how many there are, and never that nothing is approved", async () => {
    const [month, boss] = await programOfOwner({ min_payout_cents: 1_000 });
    const jane = await makePartner(month);
    const preview = async () => textOf((await boss.get("/dashboard/payouts/new")).body);
    expect(await preview()).toContain("Nothing to pay out Nothing is ready to pay");
    const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
    const currencies = letters.flatMap((letter) => [`XA${letter}`, `XB${letter}`]);
    await makeCommissions(
      month,
      jane.id,
      currencies.map((currency) => ({ currency, amount_cents: 5 })),
    );
    const shown = await preview();
    expect(shown).toContain("Nothing to pay out Every amount is below the minimum");
    expect(shown).not.toContain("Nothing is ready to pay");
    expect(shown).toContain("The first 50 of 52.");
  });

  it("previews, prepares once, pays by hand after a page that says so, and cancels", async () => {
    const [month, boss] = await programOfOwner({ min_payout_cents: 1_000 });
    const [ada, bob, eve] = [await makePartner(month), await makePartner(month), await makePartner(month)];
    for (const [who, amount_cents] of [
      [ada, 5_000],
      [bob, 2_500],
      [eve, 500],
    ] as const) {
      const made = await month.api<{ id: string }>("POST", "/api/v1/commissions", {
        partner_id: who.id,
        amount_cents,
        note: "x",
      });
      await month.api("PATCH", `/api/v1/commissions/${made.body.id}`, { status: "approved" });
    }
    const preview = await boss.get("/dashboard/payouts/new");
    expect(textOf(preview.body)).toContain("2 payouts: 75.00 USD");
    expect(textOf(preview.body)).toContain("below the minimum payout of 10.00 USD");
    expect((await month.api<{ total: number }>("GET", "/api/v1/payouts")).body.total).toBe(0);
    const period_end = /name="period_end" value="([^"]+)"/.exec(preview.body)?.[1] ?? "";
    const done = await boss.post("/dashboard/payouts/new", { period_end });
    const prepared = await boss.get(done.headers.get("location") ?? "");
    expect(textOf(prepared.body)).toContain("2 payouts prepared: 75.00 USD, to ");
    await boss.get("/dashboard/payouts/new");
    const again = await boss.post("/dashboard/payouts/new", { period_end });
    const { body: none } = await boss.get(again.headers.get("location") ?? "");
    expect(textOf(none)).toContain("There was nothing left to prepare.");

    const { data } = (await month.api<{ data: { id: string; partner_id: string }[] }>("GET", "/api/v1/payouts")).body;
    const of = (who: { id: string }) => data.find(({ partner_id }) => partner_id === who.id)?.id ?? "";
    const status = async (id: string) => (await month.api<{ status: string }>("GET", `/api/v1/payouts/${id}`)).body;
    const path = `/dashboard/payouts/${of(ada)}`;
    const asked = await boss.get(`${path}/mark-paid`);
    expect(textOf(asked.body)).toContain("This is final");
    expect(await status(of(ada))).toMatchObject({ status: "pending" });
    await boss.post(`${path}/mark-paid`, { reference: "SEPA 1" });
    expect(await status(of(ada))).toMatchObject({ status: "paid", reference: "SEPA 1" });
    const late = await boss.post(`${path}/cancel`);
    expect(late.status).toBe(422);
    expect(await status(of(ada))).toMatchObject({ status: "paid" });

    await boss.get(`/dashboard/payouts/${of(bob)}/cancel`);
    await boss.post(`/dashboard/payouts/${of(bob)}/cancel`);
    expect(await status(of(bob))).toMatchObject({ status: "canceled" });
    expect(textOf((await boss.get("/dashboard/payouts/new")).body)).toContain("1 payout: 25.00 USD");
  });

  it("pays several at once only after a page that names them and their sum", async () => {
    const [many, boss] = await programOfOwner();
    for (const amount_cents of [1_000, 2_000, 3_000]) {
      const { id: partner_id } = await makePartner(many);
      const made = await many.api<{ id: string }>("POST", "/api/v1/commissions", {
        partner_id,
        amount_cents,
        note: "x",
      });
      await many.api("PATCH", `/api/v1/commissions/${made.body.id}`, { status: "approved" });
    }
    await many.api("POST", "/api/v1/payouts/generate", {});
    const list = async () =>
      (await many.api<{ data: { id: string; status: string; amount_cents: number }[] }>("GET", "/api/v1/payouts")).body
        .data;
    const ids = (await list()).filter(({ amount_cents }) => amount_cents > 1_000).map(({ id }) => id);
    const path = "/dashboard/payouts/matching?move=mark_paid";
    const asked = await boss.get(`${path}&ids=${ids.join()}`);
    expect(textOf(asked.body)).toContain("Mark as paid: 50.00 USD");
    expect((await list()).every(({ status }) => status === "pending")).toBe(true);
    const done = await boss.post(path, { ids, seen_at: new Date().toISOString(), reference: "batch" });
    const { body } = await boss.get(done.headers.get("location") ?? "");
    expect(textOf(body)).toContain("2 payouts marked as paid: 50.00 USD");
    expect((await list()).map(({ status }) => status).toSorted()).toEqual(["paid", "paid", "pending"]);
    const again = await boss.get(`${path}&ids=${ids.join()}`);
    expect(textOf(again.body)).toContain("There is no payout to mark as paid");
  });

  it("asks about several without reading what is in them", async () => {
    const many = await makeProgram();
    const commissions = Array.from({ length: 300 }, () => ({}));
    await makeCommissions(many, (await makePartner(many)).id, commissions);
    await many.api("POST", "/api/v1/payouts/generate", {});
    const meter = meterRowsRead(env.DB);
    const boss = await signInOwner(
      many,
      makeVisitor((path, init) => callWith<string>({ DB: meter.binding }, path, init)),
    );
    await boss.get("/dashboard/payouts");
    const [, ids = ""] = /name="ids" value="([^"]+)"/.exec(boss.html) ?? [];
    meter.taken();
    const asked = await boss.get(`/dashboard/payouts/matching?move=mark_paid&ids=${ids}`);
    expect(textOf(asked.body)).toContain("Mark as paid: 3,000.00 USD");
    expect(meter.taken().rows).toBeLessThan(100);
  });

  it("says which of several were canceled, whatever ends it in the middle", async () => {
    const many = await makeProgram();
    for (const amount_cents of [1_000, 2_000, 3_000]) {
      await makeCommissions(many, (await makePartner(many)).id, [{ amount_cents }]);
    }
    await many.api("POST", "/api/v1/payouts/generate", {});
    const { body } = await many.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts");
    const ids = body.data.map(({ id }) => id);
    let canceled = 0;
    const faulty = watchDatabase(env.DB, {
      before: (statements) => {
        if (statements.some((sql) => sql.startsWith("update commissions set payout_id = null")) && ++canceled === 2) {
          throw new Error("too many statements");
        }
      },
    });
    const boss = await signInOwner(
      many,
      makeVisitor((path, init) => callWith<string>({ DB: faulty.binding }, path, init)),
    );
    vi.spyOn(console, "error").mockImplementation(() => {});
    await boss.get("/dashboard/payouts");
    const seen_at = new Date().toISOString();
    const { headers } = await boss.post("/dashboard/payouts/matching?move=cancel", { ids, seen_at });
    const done = textOf((await boss.get(headers.get("location") ?? "")).body);
    expect(done).toMatch(/1 payout canceled: [\d.,]+ USD/);
    expect(done).toMatch(/2 payouts not canceled Partner Why Amount .* It was not started. Choose it again./);
    const { body: after } = await many.api<{ data: { status: string }[] }>("GET", "/api/v1/payouts");
    expect(after.data.map(({ status }) => status)).toEqual(["pending", "pending", "canceled"]);
  });

  it("without a key of provider A says where to paste it, and sends nothing", async () => {
    const made = await program.api<{ id: string }>("POST", "/api/v1/commissions", {
      partner_id: partner.id,
      amount_cents: 9_900,
      note: "x",
    });
    await program.api("PATCH", `/api/v1/commissions/${made.body.id}`, { status: "approved" });
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { payout_method: "provider_a" });
    await program.api("POST", `/api/v1/partners/${partner.id}/release-hold`);
    await env.DB.prepare("update partners set provider_a_account_id = 'acct_1' where id = ?").bind(partner.id).run();
    await program.api("POST", "/api/v1/payouts/generate", {});
    const { data } = (await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts")).body;
    const path = `/dashboard/payouts/${data[0]?.id}/pay`;
    await owner.get(path);
    const reply = await owner.post(path);
    expect(reply.status).toBe(422);
    expect(textOf(reply.body)).toContain("Paste it in the settings");
  });

  it("exports what the API exports", async () => {
    const page = await owner.get("/dashboard/payouts/export.csv?status=pending");
    expect(page.headers.get("content-type")).toContain("text/csv");
    expect(page.headers.get("content-disposition")).toContain("payouts.csv");
    expect(page.body).toBe((await program.api<string>("GET", "/api/v1/payouts/export.csv?status=pending")).body);
  });

  it("shows the partner what was earned, rejected and paid (PAGE-8)", async () => {
    const { id } = await sale({ amount: 7_000 });
    await program.api("PATCH", `/api/v1/commissions/${id}`, { status: "rejected", reason: "The order was returned" });
    const member = await signInPartner(partner.email);
    const shown = textOf((await member.get("/portal/commissions")).body);
    expect(shown).toContain("20 % of a sale of 70.00 USD, the program's rate");
    expect(shown).toContain("The order was returned");
    expect(textOf((await member.get("/portal/payouts")).body)).toContain("commission");
  });
});

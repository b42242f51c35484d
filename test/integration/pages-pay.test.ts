/** The pay page, its files, and changes of many payouts at once (PAGE-36, PAGE-37, OUT-11). */
import { afterEach, describe, expect, it, vi } from "vitest";
import { eq } from "drizzle-orm";
import { partners } from "../../src/db/schema.ts";
import { API_KEY_A, commissionsOf, db, makeCommissions, payoutsOf, playOutside } from "../support/payouts.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { openVendor } from "../support/provider-a-api.ts";
import { signInOwner, textOf, type Visitor } from "../support/visitor.ts";

const PAY = "/dashboard/payouts/pay";

afterEach(() => vi.restoreAllMocks());

interface Payee {
  method?: "wallet" | "provider_a" | "crypto" | null;
  currency?: string;
  amount_cents?: number;
  name?: string;
}

/** A program with one pending payout for each partner, its owner, and provider A. */
async function withPayouts(...payees: Payee[]) {
  const program = await makeProgram({ provider_a_api_key: API_KEY_A, live_only: false, payout_change_hold_days: 0 });
  const vendor = openVendor({ keys: [API_KEY_A] });
  for (const { method = "wallet", currency = "USD", amount_cents = 1_000, name = "Ada" } of payees) {
    const partner = await makePartner(program, { first_name: name, payout_method: method });
    const account = `acct_of_${partner.id.slice(4)}`;
    const details = {
      wallet: { payout_email: `${partner.id}@wallet.example` },
      provider_a: { provider_a_account_id: account },
    };
    if (method === "crypto") {
      const body = { method, network: "bitcoin", address: `bc1q${partner.id.slice(4)}` };
      await program.api("PUT", `/api/v1/partners/${partner.id}/payout-details`, body);
    } else if (method !== null) await db.update(partners).set(details[method]).where(eq(partners.id, partner.id));
    vendor.accounts.set(account, { state: "active", email: "", body: {} });
    await makeCommissions(program, partner.id, [{ amount_cents, currency }]);
  }
  await program.api("POST", "/api/v1/payouts/generate");
  playOutside(vendor);
  return { program, vendor, owner: await signInOwner(program) };
}

/** Follows a form to the page that it leads to. */
async function send(visitor: Visitor, path: string, fields: Record<string, string | string[]> = {}) {
  const reply = await visitor.post(path, fields);
  const to = reply.headers.get("location") ?? "";
  return { status: reply.status, to, text: textOf(to === "" ? reply.body : (await visitor.get(to)).body) };
}

/** How many payouts there are in each status. */
async function statuses(program: TestProgram): Promise<Record<string, number>> {
  const groups = Map.groupBy(await payoutsOf(program), ({ status }) => status);
  return Object.fromEntries([...groups].map(([status, rows]) => [status, rows.length]));
}

/** The payout of the partner with this name. */
async function payoutTo(program: TestProgram, name: string): Promise<string> {
  const named = await db.select().from(partners).where(eq(partners.first_name, name));
  const found = (await payoutsOf(program)).find(({ partner_id }) => named.some(({ id }) => id === partner_id));
  return found!.id;
}

const seen = (html: string) => /name="seen_at" value="([^"]+)"/.exec(html)?.[1] ?? "";
const fileIn = (html: string) => /\/dashboard\/payouts\/exports\/(exp_\w+)\/paid/.exec(html)?.[1] ?? "";

describe("the pay page (PAGE-36)", () => {
  it("has a row for each method and currency, with the way to pay it", async () => {
    const { owner } = await withPayouts(
      { amount_cents: 1_250 },
      { amount_cents: 2_000 },
      { currency: "EUR" },
      { method: "provider_a" },
      { method: "crypto", currency: "JPY" },
      { method: null, name: "Grace" },
    );
    const text = textOf((await owner.get(PAY)).body);
    expect(text).toContain("PayPal 2 32.50 USD Download PayPal, USD PayPal 1 10.00 EUR Download PayPal, EUR");
    expect(text).toContain("Stripe account 1 10.00 USD Pay this one… Stripe account, USD");
    expect(text).toMatch(/Crypto 1 1,000 JPY CSV of all pending payouts in JPY Mark this one as paid…/);
    expect(text).toMatch(/1 partner has no payout details: 1 payout, 10.00 USD\. .* Grace Ask by e-mail/);
  });

  it("makes a file, whose download starts automatically, and marks its payouts as paid", async () => {
    const { program, owner } = await withPayouts({ name: "Ada" }, { name: "Grace", amount_cents: 2_000 });
    await owner.get(PAY);
    const made = await send(owner, PAY, { format: "wallet", currency: "USD" });
    expect(made.status).toBe(303);
    const page = await owner.get(made.to);
    const file = fileIn(page.body);
    expect(page.headers.get("refresh")).toBe(`0; url=/dashboard/payouts/exports/${file}/file`);
    const { body } = await owner.get(`/dashboard/payouts/exports/${file}/file`);
    expect(body.trim().split("\r\n")).toHaveLength(2);
    expect(made.text).toContain("Mark these 2 as paid · 30.00 USD");
    await owner.get(PAY);
    const paid = await send(owner, `/dashboard/payouts/exports/${file}/paid`, { via: "pay", reference: "Batch 1" });
    expect(paid.to).toContain(PAY);
    expect(paid.text).toContain(
      "2 payouts marked as paid: 30.00 USD, to Grace and Ada. Reference: Batch 1. The file's page lists them. " +
        "If one was not paid, or its money comes back, mark it as returned on its own page: its commissions go into the next payout, and the partner gets an e-mail.",
    );
    expect(owner.html).toContain(`<a href="/dashboard/payouts/exports/${file}">The file&#39;s page</a>`);
    expect(await statuses(program)).toEqual({ paid: 2 });
    // A page that does not show the file has no download.
    expect((await owner.get(made.to)).headers.get("refresh")).toBeNull();
  });

  it("puts no payout into two files, and marks a file as paid once, in two tabs or by two members", async () => {
    const { program, owner } = await withPayouts({}, {});
    const [one, two] = [owner, await signInOwner(program)];
    await Promise.all([one.get(PAY), two.get(PAY)]);
    const made = await Promise.all([one, two].map((tab) => send(tab, PAY, { format: "wallet", currency: "USD" })));
    expect(made.map(({ status }) => status).toSorted()).toEqual([303, 422]);
    expect(made.find(({ status }) => status === 422)!.text).toMatch(
      /not waiting any more: see the open files below.*Mark these 2 as paid/,
    );
    const file = fileIn((await one.get(PAY)).body);
    await two.get(PAY);
    const paid = await Promise.all(
      [one, two].map((tab) => send(tab, `/dashboard/payouts/exports/${file}/paid`, { via: "pay" })),
    );
    expect(paid.map(({ status, text }) => [status, text.includes("2 payouts marked as paid: 20.00 USD")])).toEqual([
      [303, true],
      [303, true],
    ]);
    const { body } = await program.api<{ total: number }>("GET", "/api/v1/events?type=payout.paid");
    expect(body.total).toBe(2);
    expect((await commissionsOf(program)).map(({ status }) => status)).toEqual(["paid", "paid"]);
    const late = await send(one, `/dashboard/payouts/exports/${file}/cancel`);
    expect([late.status, late.text.includes("This file is paid already.")]).toEqual([422, true]);
  });

  it("shows a file with its payouts and events, marks it with exceptions, and cancels it", async () => {
    const { program, owner } = await withPayouts({ name: "Ada" }, { name: "Grace" });
    await owner.get(PAY);
    await send(owner, PAY, { format: "wallet", currency: "USD" });
    const file = fileIn(owner.html);
    const at = `/dashboard/payouts/exports/${file}`;
    await owner.get(`${at}/file`);
    const ada = await payoutTo(program, "Ada");
    const page = textOf((await owner.get(at)).body);
    expect(page).toMatch(/Downloaded .* Created /);
    const wrong = await send(owner, `${at}/paid`, {
      except: (await payoutsOf(program)).map(({ id }) => id),
      reference: "R",
    });
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining("Cancel the file instead")]);
    expect(owner.html).toContain('value="R"');
    const paid = await send(owner, `${at}/paid`, { except: ada, reference: "R" });
    expect(paid.text).toMatch(/1 payout marked as paid: 10.00 USD, to Grace\./);
    expect(paid.text).toMatch(/Ada \S+ put back /);
    expect(paid.text).toMatch(/Marked as paid Member/);
    expect(await statuses(program)).toEqual({ pending: 1, paid: 1 });
    await owner.get(PAY);
    await send(owner, PAY, { format: "wallet", currency: "USD" });
    const second = fileIn(owner.html);
    await owner.get(`/dashboard/payouts/exports/${second}/cancel`);
    await send(owner, `/dashboard/payouts/exports/${second}/cancel`);
    expect(await statuses(program)).toEqual({ pending: 1, paid: 1 });
    expect(textOf((await owner.get("/dashboard/payouts/exports")).body)).toMatch(
      /PayPal, USD 10.00 USD 1 canceled .* PayPal, USD 20.00 USD 2 paid /,
    );
  });
});

describe("changes of all payouts that match (PAGE-37)", () => {
  const url = (move: string, query = "") => `/dashboard/payouts/matching?move=${move}${query}`;

  it("marks them as paid after a page with their number and sum, without those that lack details", async () => {
    const { program, owner } = await withPayouts(
      { method: "crypto", name: "Ada" },
      { method: "crypto", name: "Grace", amount_cents: 2_500 },
      { method: "crypto", currency: "EUR" },
      { method: null },
      {},
    );
    const path = url("mark_paid", "&status=pending&method=crypto&currency=USD&via=pay");
    const asked = await owner.get(path);
    expect(textOf(asked.body)).toMatch(/Paid by Crypto Currency USD Payouts 2 Together 35.00 USD/);
    const fields = { seen_at: seen(asked.body), reference: "R 1" };
    const done = await send(owner, path, fields);
    expect(done.to).toContain(PAY);
    expect(done.text).toContain("2 payouts marked as paid: 35.00 USD, to Grace and Ada.");
    expect(await statuses(program)).toEqual({ paid: 2, pending: 3 });
    expect((await payoutsOf(program)).filter(({ reference }) => reference === "R 1")).toHaveLength(2);
    const mails = await program.api<{ total: number }>("GET", "/api/v1/events?type=payout.paid");
    expect(mails.body.total).toBe(2);
    // A second tab that showed the same.
    const again = await send(owner, path, fields);
    expect(again.text).toContain("No payout was left to be marked as paid.");
    const rest = await owner.get(url("mark_paid"));
    expect(textOf(rest.body)).toMatch(/Payouts 2 Together 10.00 USD 10.00 EUR Crypto 1 payout PayPal 1 payout/);
  });

  it("skips payouts that were made or changed after the page was shown", async () => {
    const { program, owner } = await withPayouts({ method: "crypto" });
    const asked = await owner.get(url("mark_paid"));
    const partner = await makePartner(program, { payout_method: "wallet", payout_email: "w@wallet.example" });
    await makeCommissions(program, partner.id, [{}]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await program.api("POST", "/api/v1/payouts/generate");
    await send(owner, url("mark_paid"), { seen_at: seen(asked.body) });
    expect(await statuses(program)).toEqual({ paid: 1, pending: 1 });
    const without = await send(owner, url("mark_paid"), { seen_at: "" });
    expect(without.status).toBe(422);
  });

  it("pays them by transfers, lists only what failed with the reason, and sends none twice", async () => {
    const { program, vendor, owner } = await withPayouts(
      { method: "provider_a", name: "Ada" },
      { method: "provider_a", name: "Grace", amount_cents: 2_000 },
      { method: "provider_a", name: "Kay" },
    );
    const [first] = vendor.accounts.keys();
    vendor.accounts.set(first!, { state: "rejected", email: "", body: {} });
    const path = url("pay", "&status=pending&method=provider_a&currency=USD&via=pay");
    const asked = await owner.get(path);
    expect(textOf(asked.body)).toContain("Send 40.00 USD");
    const two = await signInOwner(program);
    await two.get(path);
    const fields = { seen_at: seen(asked.body) };
    const both = await Promise.all([send(owner, path, fields), send(two, path, fields)]);
    expect(vendor.transfers).toHaveLength(2);
    expect(await statuses(program)).toEqual({ paid: 2, failed: 1 });
    // Either of the two may find that the other pays them.
    expect(both.map(({ text }) => text).join("\n")).toMatch(/payouts? paid: |not paid/);
    const page = textOf((await owner.get(PAY)).body);
    expect(page).toContain("1 payout failed: 10.00 USD. See why, and try again");
    const alone = await owner.get(url("pay", "&status=failed"));
    const failed = await send(owner, url("pay", "&status=failed"), { seen_at: seen(alone.body) });
    expect(failed.text).toMatch(/1 payout not paid Partner Why Amount Ada .* The account was rejected\. 10.00 USD/);
    vendor.accounts.set(first!, { state: "active", email: "", body: {} });
    const again = await owner.get(url("pay", "&status=failed"));
    const retried = await send(owner, url("pay", "&status=failed"), { seen_at: seen(again.body) });
    expect(retried.text).toContain("1 payout paid: 10.00 USD, to Ada.");
    expect(vendor.transfers).toHaveLength(3);
  });

  it("cancels the chosen ones and leads back to the list", async () => {
    const { program, owner } = await withPayouts({ name: "Ada" }, { name: "Grace" }, { currency: "EUR", name: "Kay" });
    const [ada, other] = [await payoutTo(program, "Ada"), await payoutTo(program, "Kay")];
    await program.api("POST", `/api/v1/payouts/${other}/mark-paid`);
    const asked = await owner.get(url("cancel", `&status=pending&ids=${ada}&ids=${other}`));
    expect(textOf(asked.body)).toMatch(/Payouts 1 Together 10.00 USD Left out 1 chosen payout/);
    const done = await send(owner, url("cancel", "&status=pending"), { ids: ada, seen_at: seen(asked.body) });
    expect(done.to).toMatch(/^\/dashboard\/payouts\?status=pending&moved=cancel/);
    expect(done.text).toContain("1 payout canceled: 10.00 USD, to Ada.");
    expect(await statuses(program)).toEqual({ pending: 1, paid: 1, canceled: 1 });
  });

  it("names those that somebody else changed in the meantime", async () => {
    const { program, owner } = await withPayouts({ name: "Ada" }, { name: "Grace" });
    const ids = [await payoutTo(program, "Ada"), await payoutTo(program, "Grace")];
    const asked = await owner.get(url("mark_paid", `&ids=${ids.join()}`));
    await program.api("POST", `/api/v1/payouts/${ids[0]}/cancel`);
    const done = await send(owner, url("mark_paid"), { ids, seen_at: seen(asked.body) });
    expect(done.text).toMatch(/1 payout marked as paid: 10.00 USD, to Grace\./);
    expect(done.text).toMatch(/1 payout not marked as paid Partner Why Amount Ada .* already canceled/);
  });

  it("needs the filter that the page showed", async () => {
    const { program, owner } = await withPayouts({});
    await owner.get(url("mark_paid"));
    const reply = await owner.post(url("mark_paid", "&method=cash"), { seen_at: seen(owner.html) });
    expect([reply.status, await statuses(program)]).toEqual([422, { pending: 1 }]);
  });
});

describe("GET /payouts (OUT-11)", () => {
  it("filters by method and currency", async () => {
    const { program, owner } = await withPayouts(
      {},
      { currency: "EUR" },
      { method: "crypto", currency: "EUR" },
      { method: null },
    );
    const totals = async (query: string) =>
      (await program.api<{ total: number }>("GET", `/api/v1/payouts?${query}`)).body.total;
    expect(await totals("method=wallet")).toBe(2);
    expect(await totals("currency=EUR")).toBe(2);
    expect(await totals("method=wallet&currency=EUR&status=pending")).toBe(1);
    expect((await program.api("GET", "/api/v1/payouts?method=cash")).status).toBe(422);
    expect((await program.api("GET", "/api/v1/payouts?currency=eur")).status).toBe(422);
    const { body } = await owner.get("/dashboard/payouts?method=wallet&currency=eur");
    expect(textOf(body)).toContain("1–1 of 1");
    expect(body).toContain('name="currency" value="EUR"');
  });
});

/** 215 payouts by three methods in two currencies, from prepared to paid: the clicks, and one payment for each (PAGE-36). */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Download, Locator, Page } from "playwright-core";
import { openVendor, VENDOR_URL } from "../support/provider-a-api.ts";
import { signInOwner, startPagesWorld, type OwnedProgram, type PagesWorld } from "./pages-world.ts";

const KEY = "sk_test_key_of_the_browser_tests";
const vendor = openVendor({ keys: [KEY] });

/** Payouts by method and currency. */
const GROUPS = [
  { method: "wallet", currency: "USD", count: 110, title: "PayPal" },
  { method: "provider_a", currency: "USD", count: 20, title: "Stripe account" },
  { method: "bank_transfer", currency: "EUR", count: 85, title: "Bank transfer" },
] as const;
type Group = (typeof GROUPS)[number];
const TOTAL = GROUPS.reduce((sum, { count }) => sum + count, 0);

let world: PagesWorld;
let made = 0;

before(async () => {
  world = await startPagesWorld({
    url: VENDOR_URL,
    fetch: async (request) => {
      const body = request.method === "GET" ? null : await request.arrayBuffer();
      return vendor.fetch(request.url, { method: request.method, headers: new Headers([...request.headers]), body });
    },
  });
});
after(() => world.close());

interface WithId {
  id: string;
}

/** Runs `act` for each, ten at a time. */
async function inTens<T>(all: readonly T[], act: (one: T, i: number) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += 10) {
    await Promise.all(all.slice(at, at + 10).map((one, i) => act(one, at + i)));
  }
}

/** A partner's line in the file: method, address at the wallet, and bank account. */
const LINES: Record<Group["method"], (name: string) => string[]> = {
  wallet: (name) => ["wallet", `${name}@wallet.example`, "", "", "", ""],
  // The account is not a column: it is set after the import.
  provider_a: () => ["", "", "", "", "", ""],
  bank_transfer: (name) => ["bank_transfer", "", name, "DE", "EUR", "DE89370400440532013000"],
};
const COLUMNS = "email,code,payout method,payout email,account_holder,country,currency,iban";

/** A program with an approved commission of each partner, `share` of the usual number. */
async function withEarnings(share = 1): Promise<OwnedProgram> {
  const owner_email = `payouts-${++made}@shop.example`;
  const program = await world.createProgram({ name: "Payouts", owner_email, domain: "shop.example" });
  const settings = { live_only: false, provider_a_api_key: KEY, payout_change_hold_days: 0 };
  await program.api("PATCH", "/programs/me", settings);
  const groups = GROUPS.flatMap((group) => Array.from({ length: Math.ceil(group.count * share) }, () => group));
  const names = groups.map((_, i) => `p${made}-${i}`);
  const lines = groups.map(({ method }, i) =>
    [`${names[i]}@partners.example`, names[i], ...LINES[method](names[i]!)].join(),
  );
  await program.importPartners([COLUMNS, ...lines, ""].join("\n"));
  const partners = new Map((await allOf<PartnerBody>(program, "/partners")).map(({ slug, id }) => [slug, id]));
  await inTens(groups, async ({ method, currency }, i) => {
    const partner_id = partners.get(names[i]!);
    if (method === "provider_a") {
      const account = `acct_${made}x${i}`;
      vendor.accounts.set(account, { state: "active", email: "", body: {} });
      await program.api("PUT", `/partners/${partner_id}/payout-details`, { method, account });
    }
    await program.api("POST", "/commissions", { partner_id, amount_cents: 1_000 + i, currency, note: "x" });
  });
  await program.api("POST", "/commissions/bulk", { filter: { status: "pending" }, status: "approved" });
  return program;
}

interface PartnerBody extends WithId {
  slug: string;
}

/** A member of the team on the pay page. Each click is counted. */
class Payer {
  readonly page: Page;
  clicks = 0;

  constructor(page: Page) {
    this.page = page;
  }

  static async of(program: OwnedProgram, scripts = true): Promise<Payer> {
    const page = await world.visitor({ scripts, isApart: true });
    await signInOwner(world, page, program.owner_email);
    return new Payer(page);
  }

  async prepare(): Promise<void> {
    await this.page.goto(`${world.url}/dashboard/payouts/new`);
    await this.page.getByRole("button", { name: /^Prepare \d+ payouts$/ }).click();
    await this.page.waitForURL(/\/dashboard\/payouts\/pay(?:\?|$)/);
  }

  row({ title, currency }: Group) {
    return this.page.getByRole("row").filter({ hasText: title }).filter({ hasText: currency });
  }

  /**
   * Clicks until it is answered: Chromium drops a click that meets the beginning of a download, and the local proxy may
   * lose a reply. If the button is gone without an answer, the click was taken and its reply, with the note, was lost.
   */
  async press(button: Locator, answer: Locator): Promise<void> {
    for (let tries = 0; tries < 4; tries++) {
      await button.click({ noWaitAfter: true });
      const isAnswered = await answer.waitFor({ timeout: 20_000 }).then(
        () => true,
        () => false,
      );
      if (isAnswered) return;
      await this.page.reload();
      if ((await button.count()) === 0) return;
    }
    await answer.waitFor();
  }

  /**
   * The file, which the page begins to download when it is loaded. If the local proxy loses a reply the page is never
   * loaded: then it is opened again, as a person would.
   */
  async #download(group: Group, button: Locator): Promise<Download> {
    const begun = this.page.waitForEvent("download", { timeout: 20_000 }).catch(() => null);
    await button.click({ noWaitAfter: true });
    const file = await begun;
    if (file) return file;
    await this.page.goto(`${world.url}/dashboard/payouts/pay`);
    const again = this.row(group).getByRole("button", { name: /^Download/ });
    if ((await again.count()) > 0) return this.#download(group, again);
    const link = this.page.getByRole("link", { name: "Download again" }).first();
    const [repeated] = await Promise.all([this.page.waitForEvent("download"), link.click()]);
    return repeated;
  }

  /** Pays one row of the page: by its file if its method has one, by transfers, or by hand. */
  async pay(group: Group): Promise<Download | null> {
    const row = this.row(group);
    const download = row.getByRole("button", { name: /^Download/ });
    if ((await download.count()) === 0) {
      await row.getByRole("link", { name: /^(?:Pay|Mark) these/ }).click();
      const confirm = this.page.getByRole("button", { name: /^(?:Send|Mark as paid:)/ });
      await this.press(confirm, this.page.getByRole("status").first());
      this.clicks += 2;
      return null;
    }
    const format = row.locator("select");
    if ((await format.count()) > 0) await format.selectOption({ label: "CSV" });
    const file = await this.#download(group, download);
    await this.page.getByRole("button", { name: /^Mark these \d+ as paid · / }).click();
    this.clicks += 2;
    await this.page.getByText(/^\d+ payouts marked as paid/).waitFor();
    return file;
  }
}

interface PayoutBody extends WithId {
  status: string;
  method: string;
  currency: string;
  partner_id: string;
}

async function allOf<T>(program: OwnedProgram, path: string): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; ; page++) {
    const { data, total } = await program.api<{ data: T[]; total: number }>(
      "GET",
      `${path}${path.includes("?") ? "&" : "?"}per_page=100&page=${page}`,
    );
    all.push(...data);
    if (all.length >= total) return all;
  }
}

/** Each payout is paid, by one event and at most one transfer, and so is each commission. */
async function assertPaidOnce(program: OwnedProgram, count: number): Promise<void> {
  const payouts = await allOf<PayoutBody>(program, "/payouts");
  assert.equal(payouts.length, count);
  assert.deepEqual([...new Set(payouts.map(({ status }) => status))], ["paid"]);
  const events = await allOf<{ payload: { payout_id: string } }>(program, "/events?type=payout.paid");
  assert.equal(events.length, count);
  assert.equal(new Set(events.map(({ payload }) => payload.payout_id)).size, count);
  const sent = vendor.transfers.filter(({ transfer_group }) => payouts.some(({ id }) => id === transfer_group));
  const byTransfer = payouts.filter(({ method }) => method === "provider_a");
  assert.equal(sent.length, byTransfer.length);
  assert.equal(new Set(sent.map(({ destination }) => destination)).size, byTransfer.length);
  const commissions = await allOf<{ status: string }>(program, "/commissions");
  assert.deepEqual([...new Set(commissions.map(({ status }) => status))], ["paid"]);
}

for (const scripts of [true, false]) {
  describe(`${TOTAL} payouts by three methods in two currencies, ${scripts ? "with" : "without"} scripts`, () => {
    it("are paid in at most 6 clicks", async () => {
      const program = await withEarnings();
      const payer = await Payer.of(program, scripts);
      await payer.prepare();
      await payer.page.getByText(`${TOTAL} payouts prepared`).waitFor();
      const files = new Map<string, string>();
      for (const group of GROUPS) {
        const file = await payer.pay(group);
        if (file) files.set(group.method, await textOf(file));
      }
      assert.ok(payer.clicks <= 6, `${payer.clicks} clicks`);
      assert.equal(files.get("wallet")?.trim().split("\r\n").length, GROUPS[0].count);
      await payer.page.getByText("Nothing to pay").waitFor();
      await assertPaidOnce(program, TOTAL);
      await payer.page.context().close();
    });
  });
}

describe("no payout is paid twice (PAGE-36, PAGE-37)", () => {
  const few = GROUPS.reduce((sum, { count }) => sum + Math.ceil(count / 10), 0);

  it("by double clicks, and by Back and a second click", async () => {
    const program = await withEarnings(0.1);
    const payer = await Payer.of(program);
    await payer.prepare();
    const { page } = payer;
    const [wallet, transfers, bank] = GROUPS;
    await payer
      .row(wallet)
      .getByRole("button", { name: /^Download/ })
      .dblclick();
    await page.getByRole("button", { name: /^Mark these/ }).waitFor();
    await page.getByRole("button", { name: /^Mark these/ }).dblclick();
    await page.getByText(/payouts marked as paid/).waitFor();
    await page.goBack();
    const again = page.getByRole("button", { name: /^Mark these/ });
    if ((await again.count()) > 0) await again.click();
    await page.goto(`${world.url}/dashboard/payouts/pay`);
    for (const group of [transfers, bank]) {
      if ((await payer.row(group).getByRole("link", { name: /these/ }).count()) === 0) {
        await payer.pay(group);
        continue;
      }
      await payer.row(group).getByRole("link", { name: /these/ }).click();
      const confirm = page.getByRole("button", { name: /^(?:Send|Mark as paid:)/ });
      await confirm.dblclick();
      await page.waitForURL(/\/dashboard\/payouts\/pay(?:\?|$)/);
      await page.goBack();
      if ((await confirm.count()) > 0) await confirm.click();
      await page.goto(`${world.url}/dashboard/payouts/pay`);
    }
    await assertPaidOnce(program, few);
    await page.context().close();
  });

  it("in two tabs, and by two members at once", async () => {
    const program = await withEarnings(0.1);
    const one = await Payer.of(program);
    await one.prepare();
    const tab = new Payer(await one.page.context().newPage());
    const other = await Payer.of(program);
    const payers = [one, tab, other];
    for (const group of GROUPS) {
      await Promise.all(payers.map(({ page }) => page.goto(`${world.url}/dashboard/payouts/pay`)));
      const button = (payer: Payer) => payer.row(group).locator("button, a:has-text('these')").first();
      await Promise.all(payers.map((payer) => button(payer).click()));
      const confirm = ({ page }: Payer) =>
        page.getByRole("button", { name: /^(?:Send|Mark as paid:|Mark these)/ }).first();
      await Promise.all(payers.map((payer) => confirm(payer).waitFor()));
      await Promise.all(payers.map((payer) => payer.press(confirm(payer), payer.page.locator(".notice").first())));
    }
    await assertPaidOnce(program, few);
    await Promise.all([one, other].map(({ page }) => page.context().close()));
  });
});

async function textOf(file: Download): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

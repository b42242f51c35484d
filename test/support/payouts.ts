/** Makers for the month end: approved commissions, payouts, and a program whose vendor is played. */
import { env } from "cloudflare:workers";
import { openDatabase } from "../../src/db/client.ts";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { generatePayouts } from "../../src/core/payouts/generate.ts";
import { selectPayouts } from "../../src/core/payouts/hold.ts";
import type { Payout } from "../../src/core/kernel/rows.ts";
import { sealRecipient } from "../../src/core/payouts/recipient.ts";
import { reconcileTransfers } from "../../src/core/payouts/open-transfers.ts";
import { commissions, partners, payouts } from "../../src/db/schema.ts";
import { providerAConnect } from "../../src/providers/provider-a/connect.ts";
import { isCurrency } from "../../src/domain/currency.ts";
import { newId } from "../../src/lib/id.ts";
import { iso } from "../../src/lib/time.ts";
import type { Sealed } from "../../src/lib/seal.ts";
import { eq, sql } from "drizzle-orm";
import { vi } from "vitest";
import { serveAll } from "./jobs.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "./program.ts";
import { unplain, type Plain } from "./plain.ts";
import { openVendor, VENDOR_URL, type VendorApi, type VendorOptions } from "./provider-a-api.ts";

export type CommissionRow = typeof commissions.$inferSelect;
export type PayoutRow = Payout;

export const db = openDatabase(env.DB);

/** Commissions as they are in the database, approved yesterday by default. */
export async function makeCommissions(
  program: Pick<TestProgram, "id">,
  partner_id: string,
  rows: Partial<Plain<CommissionRow>>[],
): Promise<CommissionRow[]> {
  const yesterday = iso(Date.now() - 86_400_000);
  const made = rows.map((fields) => {
    const created_at = fields.created_at ?? yesterday;
    return unplain<CommissionRow>({
      id: newId("commission", Date.parse(created_at)),
      program_id: program.id,
      partner_id,
      payment_id: null,
      flow_id: null,
      payout_id: null,
      kind: "sale",
      source_commission_id: null,
      status: "approved",
      flagged: false,
      review_reason: null,
      review_reasons: "",
      dismissed_reasons: "",
      rejected_reason: null,
      amount_cents: 1_000,
      txn_amount_cents: 5_000,
      base_cents: null,
      currency: "USD",
      provider: "provider_a",
      provider_transaction_id: null,
      subscription_id: null,
      customer_email: null,
      rate: { source: "program", action_type: "percentage", action_value: 20 },
      note: null,
      event_id: null,
      created_at,
      seen_at: "",
      hold_until: null,
      approved_at: created_at,
      paid_at: null,
      updated_at: created_at,
      ...fields,
    });
  });
  await Promise.all(made.map((row) => db.insert(commissions).values(row)));
  return made;
}

export const API_KEY_A = "sk_test_key_of_provider_a";

/** The result of a payout, of the API's reply. */
export interface PayoutBody {
  status: string;
  failure_code: string | null;
  failure_message: string | null;
}

export interface PaidProgram {
  program: TestProgram;
  vendor: VendorApi;
  partner_id: string;
  account_id: string;
}

/** A program with provider A's key, a partner with an active connected account, and the vendor behind both. */
export async function makePayingProgram(options: VendorOptions = {}): Promise<PaidProgram> {
  const program = await makeProgram({ provider_a_api_key: API_KEY_A, live_only: false });
  const partner = await makePartner(program, { payout_method: "provider_a" });
  const account_id = `acct_of_${partner.id.slice(4)}`;
  await db.update(partners).set({ provider_a_account_id: account_id }).where(eq(partners.id, partner.id));
  const vendor = openVendor({ keys: [API_KEY_A], accounts: { [account_id]: "active" }, ...options });
  return { program, vendor, partner_id: partner.id, account_id };
}

/** The real client, calling the simulated vendor and on its clock. */
export function clientOf(vendor: VendorApi, timeoutMs = vendor.faults.includes("hang") ? 50 : 20_000) {
  return providerAConnect({
    fetch: (url, init) => vendor.fetch(url, init),
    baseUrl: VENDOR_URL,
    now: () => vendor.now,
    timeoutMs,
  });
}

export async function payoutsOf(program: Pick<TestProgram, "id">): Promise<PayoutRow[]> {
  return selectPayouts({ db, now: Date.now() }).where(eq(payouts.program_id, program.id)).orderBy(payouts.id);
}

export async function commissionsOf(program: Pick<TestProgram, "id">): Promise<CommissionRow[]> {
  return db.select().from(commissions).where(eq(commissions.program_id, program.id)).orderBy(commissions.id);
}

/** `recipient_sealed` of a payout to a connected account. */
export function sealedFor(payout_id: string, provider_a_account_id: string | null): Promise<Sealed> {
  return sealRecipient(testContext(), payout_id, { name: "", payout_email: null, provider_a_account_id });
}

export function sealedForWallet(payout_id: string): Promise<Sealed> {
  const payout_email = "wanda@pay.example";
  return sealRecipient(testContext(), payout_id, { name: "", payout_email, provider_a_account_id: null });
}

export async function payoutById(id: string): Promise<PayoutRow> {
  const [row] = await selectPayouts({ db, now: Date.now() }).where(eq(payouts.id, id));
  if (!row) throw new Error(`no payout ${id}`);
  return row;
}

/** The Worker's own `fetch`: the vendor is the whole outside world. Undo it with `vi.restoreAllMocks()`. */
export function playOutside(vendor: VendorApi): void {
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    const { url } = new Request(input, init);
    if (!url.startsWith(`${VENDOR_URL}/`)) throw new Error(`nobody is at ${url}`);
    return vendor.fetch(input, init);
  });
}

/** A payout of 3,000 in two commissions to the program's connected partner, by default. */
export async function makePayout(world: PaidProgram, amounts = [1_000, 2_000], currency = "USD"): Promise<PayoutRow> {
  await makeCommissions(
    world.program,
    world.partner_id,
    amounts.map((amount_cents) => ({ amount_cents, currency })),
  );
  const ctx = programContext(world.program);
  await generatePayouts(ctx, { period_start: null, period_end: ctx.now, dry_run: false });
  const pending = (await payoutsOf(world.program)).filter((payout) => payout.status === "pending");
  return pending.at(-1)!;
}

/** An open file of one payout. */
export async function makeExport({ program }: PaidProgram): Promise<{ id: string }> {
  const partner = await makePartner(program, { payout_method: "wallet", payout_email: "wanda@pay.example" });
  await makeCommissions(program, partner.id, [{}]);
  await program.api("POST", "/api/v1/payouts/generate", {});
  const body = { format: "wallet", currency: "USD" };
  return (await program.api<{ id: string }>("POST", "/api/v1/payouts/exports", body)).body;
}

/** A payout with an open transfer that cannot be looked up for another hour: the vendor refuses every key. */
export async function makeOpenPayout(world: PaidProgram): Promise<PayoutRow> {
  const { id } = await makePayout(world);
  world.vendor.faults.push("drop_reply");
  await payPayout(programContext(world.program), id, clientOf(world.vendor));
  world.vendor.keys.clear();
  await reconcileAt(world.vendor, Date.now() + 3_600_000);
  return payoutById(id);
}

/** Payouts of 3,000 to the program's connected partner, each in a currency of its own and paid by a transfer. */
export async function makePaidPayouts(world: PaidProgram, count: number): Promise<void> {
  const rows = Intl.supportedValuesOf("currency")
    .filter(isCurrency)
    .slice(0, count)
    .map((currency) => ({ amount_cents: 3_000, currency }));
  await makeCommissions(world.program, world.partner_id, rows);
  const ctx = programContext(world.program);
  await generatePayouts(ctx, { period_start: null, period_end: ctx.now, dry_run: false });
  const made = await payoutsOf(world.program);
  const paid = await Promise.all(made.map(({ id }) => payPayout(ctx, id, clientOf(world.vendor))));
  if (paid.filter(({ status }) => status === "paid").length !== count) throw new Error("not all were paid");
}

/** The cron's run at an instant, everywhere. */
export async function reconcileAt(vendor: VendorApi, now: number): Promise<number> {
  vendor.now = now;
  return serveAll(reconcileTransfers(testContext(now), clientOf(vendor)));
}

/** Puts so many further payouts of 0.01, copies of the program's, into an open file. */
export async function fillExport(program_id: string, export_id: string, count: number): Promise<void> {
  await db.run(sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    insert into payouts (id, program_id, partner_id, amount_cents, currency, status, method, recipient, recipient_sealed,
      period_end, due_at, commission_count, attempt, created_at, updated_at)
    select 'pay_' || substr(id, 5, 20) || printf('%06d', i), program_id, partner_id, 1, currency, status, method, recipient,
      recipient_sealed, period_end, due_at, 0, 0, created_at, updated_at
    from n, payouts where program_id = ${program_id}`);
  await db.run(sql`insert into export_items (export_id, payout_id, status)
    select ${export_id}, id, 'open' from payouts where program_id = ${program_id} and commission_count = 0`);
}

/** Payouts by bank transfer, and calls of the routes for their files. */
import { sql } from "drizzle-orm";
import { payouts } from "../../src/db/schema.ts";
import { db, makeCommissions } from "./payouts.ts";
import { makePartner, makeProgram, type ProgramFields, type TestProgram } from "./program.ts";

export const EXPORTS = "/api/v1/payouts/exports";

export const DEBTOR = {
  debtor_name: "Example Shop GmbH",
  debtor_iban: "DE89370400440532013000",
  debtor_bic: "COBADEFF",
};

export const IBAN_ACCOUNT = {
  ...{ account_holder: "Ana Silva", country: "PT", currency: "EUR" },
  iban: "PT50000201231234567890154",
};
export const UK_ACCOUNT = {
  ...{ account_holder: "Jo Smith", country: "GB", currency: "GBP" },
  ...{ account_number: "31926819", sort_code: "601613" },
};

export interface Payee {
  /** The partner's bank details, if it has any. */
  account?: object;
  amount_cents?: number;
  currency?: string;
}

/** A program with one pending payout by bank transfer for each payee. */
export async function withBankPayouts(payees: readonly Payee[], fields: ProgramFields = {}): Promise<TestProgram> {
  const program = await makeProgram({ payout_change_hold_days: 0, ...fields });
  for (const { account, amount_cents = 1_000, currency = "EUR" } of payees) {
    const partner = await makePartner(program, { payout_method: "bank_transfer" });
    if (account) {
      const set = await program.api("PUT", `/api/v1/partners/${partner.id}/payout-details`, {
        method: "bank_transfer",
        ...account,
      });
      if (set.status !== 200) throw new Error(JSON.stringify(set.body));
    }
    await makeCommissions(program, partner.id, [
      { amount_cents: amount_cents - 1, currency },
      { amount_cents: 1, currency },
    ]);
  }
  await program.api("POST", "/api/v1/payouts/generate");
  return program;
}

export interface MadeFile {
  id: string;
  count: number;
  amount_cents: number;
  status: string;
  left_out: { payout_id: string; reason: string }[];
}

export const makeFile = (program: TestProgram, format = "bank", currency = "EUR", more: object = {}) =>
  program.api<MadeFile>("POST", EXPORTS, { format, currency, ...more });

export const downloadFile = (program: TestProgram, id: string) => program.api<string>("GET", `${EXPORTS}/${id}/file`);

/** The payouts in the order of their payees. */
export const rowsOf = (program: TestProgram) =>
  db
    .select()
    .from(payouts)
    .where(sql`program_id = ${program.id}`)
    .orderBy(sql`(select p.rowid from partners p where p.id = partner_id)`);

/** How many payouts there are in each status. */
export async function statusesOf(program: TestProgram): Promise<Record<string, number>> {
  const groups = Map.groupBy(await rowsOf(program), ({ status }) => status);
  return Object.fromEntries([...groups].map(([status, rows]) => [status, rows.length]));
}

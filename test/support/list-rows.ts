/** Rows of the four lists that are put into the database as they are, and how the lists and their views show them. */
import { desc, eq } from "drizzle-orm";
import { selectPayouts } from "../../src/core/payouts/hold.ts";
import { viewCommission, viewPartner, viewPayment, viewPayout } from "../../src/core/kernel/views.ts";
import { runBatch } from "../../src/db/client.ts";
import { commissions, partners, payments, payouts } from "../../src/db/schema.ts";
import { newId, type IdKind } from "../../src/lib/id.ts";
import { iso } from "../../src/lib/time.ts";
import { db } from "./payouts.ts";
import type { Sealed } from "../../src/lib/seal.ts";
import { unplain, type Plain } from "./plain.ts";
import type { Reply, TestProgram } from "./program.ts";

export const LIST_NAMES = ["partners", "payments", "commissions", "payouts"] as const;
export type ListName = (typeof LIST_NAMES)[number];

export interface Listed {
  id: string;
  [field: string]: unknown;
}

export interface ListBody {
  data: Listed[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
}

export function readList(program: TestProgram, name: ListName, query = ""): Promise<Reply<ListBody>> {
  return program.api<ListBody>("GET", `/api/v1/${name}${query}`);
}

/** The program's rows, read by drizzle through their views, newest first. */
export async function viewedRows({ id }: TestProgram, name: ListName): Promise<Listed[]> {
  const { program_id } = { partners, payments, commissions, payouts }[name];
  const own = eq(program_id, id);
  switch (name) {
    case "partners":
      return (await db.select().from(partners).where(own).orderBy(desc(partners.id))).map(viewPartner);
    case "payments":
      return (await db.select().from(payments).where(own).orderBy(desc(payments.id))).map(viewPayment);
    case "commissions":
      return (await db.select().from(commissions).where(own).orderBy(desc(commissions.id))).map(viewCommission);
    case "payouts":
      return (await selectPayouts({ db, now: Date.now() }).where(own).orderBy(desc(payouts.id))).map(viewPayout);
  }
}

export interface ListRows {
  partners: Partial<Plain<typeof partners.$inferInsert>>[];
  payments: Partial<Plain<typeof payments.$inferInsert>>[];
  commissions: Partial<Plain<typeof commissions.$inferInsert>>[];
  payouts: Partial<Plain<typeof payouts.$inferInsert>>[];
}

/** Inserts the rows past the API's checks. All are of one partner, whose id is returned. */
export async function insertRows(program: TestProgram, rows: Partial<ListRows>): Promise<string> {
  const stamp = iso(Date.now());
  const made = (kind: IdKind) => ({
    id: newId(kind, Date.now()),
    program_id: program.id,
    created_at: stamp,
    updated_at: stamp,
  });
  const people = (rows.partners ?? [{}]).map((fields, i) => {
    return { search_text: "", slug: `p${i}`, email: `p${i}@partners.example`, ...made("partner"), ...fields };
  });
  const partner_id = people[0]!.id;
  const money = { currency: "USD", amount_cents: 1, txn_amount_cents: 1, gross_cents: 1 };
  const rate = { source: "manual", action_type: "flat", action_value: 1 } as const;
  const shared = { ...money, partner_id, provider: "provider_a", kind: "manual", status: "pending", rate } as const;
  const month = { period_end: stamp, due_at: stamp, commission_count: 1, recipient_sealed: "v2.none" as Sealed };
  await runBatch(db, [
    ...people.map((row) => db.insert(partners).values(unplain<typeof partners.$inferInsert>(row))),
    ...(rows.payments ?? []).map((fields, i) =>
      db.insert(payments).values(
        unplain<typeof payments.$inferInsert>({
          ...{ ...shared, provider_transaction_id: `t${i}` },
          ...{ ...made("payment"), ...fields },
        }),
      ),
    ),
    ...(rows.payouts ?? []).map((fields) =>
      db
        .insert(payouts)
        .values(unplain<typeof payouts.$inferInsert>({ ...shared, ...month, ...made("payout"), ...fields })),
    ),
    ...(rows.commissions ?? []).map((fields) =>
      db
        .insert(commissions)
        .values(unplain<typeof commissions.$inferInsert>({ ...shared, ...made("commission"), ...fields })),
    ),
  ]);
  return partner_id;
}

/** Sends vendor events as the vendors do and reads back the whole ledger of a program. */
import { env } from "cloudflare:workers";
import { openDatabase } from "../../src/db/client.ts";
import { commissions, payments, programs, eventCounts } from "../../src/db/schema.ts";
import { eq } from "drizzle-orm";
import { call, SECRET_A, SECRET_B, type Reply, type TestProgram } from "./program.ts";
import { bodyOfA, signA, type EventA } from "./provider-a.ts";
import { bodyOfB, signB, type EventB } from "./provider-b.ts";

type Received = { received?: boolean; outcome?: string; error?: { code: string } };

export async function sendA(program: TestProgram, event: EventA): Promise<Reply<Received>> {
  const body = bodyOfA(event);
  return call(`/webhooks/provider_a?program_id=${program.id}`, {
    method: "POST",
    headers: { "content-type": "application/json", "Provider-A-Signature": await signA(body, SECRET_A) },
    body,
  });
}

export async function sendB(program: TestProgram, event: EventB): Promise<Reply<Received>> {
  const body = bodyOfB(event);
  return call(`/webhooks/provider_b?program_id=${program.id}`, {
    method: "POST",
    headers: { "content-type": "application/json", "Provider-B-Signature": await signB(body, SECRET_B) },
    body,
  });
}

/** Everything the ledger of a program holds, in the order of the vendor's ids. */
export async function ledgerOf(program: TestProgram) {
  const db = openDatabase(env.DB);
  const [paymentRows, commissionRows, countRows, programRows] = await Promise.all([
    db.select().from(payments).where(eq(payments.program_id, program.id)).orderBy(payments.provider_transaction_id),
    db.select().from(commissions).where(eq(commissions.program_id, program.id)).orderBy(commissions.id),
    db.select().from(eventCounts).where(eq(eventCounts.program_id, program.id)),
    db.select().from(programs).where(eq(programs.id, program.id)),
  ]);
  const counts: Record<string, number> = {};
  for (const row of countRows) counts[row.type] = (counts[row.type] ?? 0) + row.count;
  return { payments: paymentRows, commissions: commissionRows, eventCounts: counts, program: programRows[0]! };
}

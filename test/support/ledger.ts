/** Sends vendor events as the vendors do and reads back the whole ledger of a program. */
import { env } from "cloudflare:workers";
import { openDatabase } from "../../src/db/client.ts";
import { commissions, payments, programs, eventCounts } from "../../src/db/schema.ts";
import { eq, sql } from "drizzle-orm";
import { settleUnsettled } from "../../src/core/ledger/settle.ts";
import type { Bindings } from "../../src/env.ts";
import type { ListedVendor } from "../../src/providers/registry.ts";
import { REVENUE_DIFFERENCES } from "./by-revenue.ts";
import { call, programContext, TEST_SECRETS, type Reply, type TestProgram } from "./program.ts";
import { bodyOfA, type EventA } from "./provider-a.ts";
import { bodyOfB, type EventB } from "./provider-b.ts";
import { all } from "./rows.ts";
import { signed } from "./signed.ts";
import { callWith } from "./watched-database.ts";

type Received = { received?: boolean; outcome?: string; error?: { code: string } };

/** `bindings`: others than the deployment's. */
export async function sendA(
  program: TestProgram,
  event: EventA,
  bindings?: Partial<Bindings>,
): Promise<Reply<Received>> {
  return sendBody(program, "provider_a", bodyOfA(event), bindings);
}

export async function sendB(
  program: TestProgram,
  event: EventB,
  bindings?: Partial<Bindings>,
): Promise<Reply<Received>> {
  return sendBody(program, "provider_b", bodyOfB(event), bindings);
}

/** Sends an event of any provider, signed. */
export async function sendBody(
  program: TestProgram,
  provider: ListedVendor,
  body: string,
  bindings?: Partial<Bindings>,
): Promise<Reply<Received>> {
  const path = `/webhooks/${provider}?program_id=${program.id}`;
  const signature = await signed(provider, body, TEST_SECRETS[provider]);
  const init = { method: "POST", headers: { "content-type": "application/json", ...signature }, body };
  return bindings ? callWith(bindings, path, init) : call(path, init);
}

/**
 * Everything the ledger of a program holds, in the order of the vendor's ids.
 * @throws if the stored sums of revenue and sales differ from the payments.
 */
export async function ledgerOf(program: TestProgram) {
  const differences = await all<object>(REVENUE_DIFFERENCES, program.id);
  if (differences.length > 0) throw new Error(`the stored revenue is wrong: ${JSON.stringify(differences)}`);
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

/** Settles all marked payments of a program, as the job does. */
export async function settleRest(program: TestProgram): Promise<void> {
  const isLeft = () =>
    env.DB.prepare("select 1 from payments where program_id = ? and settled_revision < facts_revision")
      .bind(program.id)
      .first();
  while (await isLeft()) {
    const failure = await settleUnsettled(
      programContext(program),
      sql`from payments indexed by payments_unsettled where program_id = ${program.id}`,
    );
    if (failure) throw failure.error;
  }
}

/** Asks a provider what the codes are called that payments carry by their ids (CODE-8). */
import { sql } from "drizzle-orm";
import { shaped, text } from "../../db/rows.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import type { VendorTrouble } from "../../domain/read-trouble.ts";
import { iso } from "../../lib/time.ts";
import type { VendorReads } from "../../providers/reads.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { receiveEvent } from "./receive.ts";
import { answerId, forgetUnnamed, isAnswered } from "./unnamed-codes.ts";

/**
 * Asks what a code is called, unless that is known by now, and stores what the provider says; also that it knows no name.
 * Why it did not answer, and is to be asked again; null where it did.
 */
export async function nameCode(
  ctx: ProgramCtx,
  provider: VendorName,
  reads: VendorReads,
  api_key: string,
  code_id: string,
): Promise<VendorTrouble | null> {
  const [known] = await shaped(
    ctx.db,
    { id: text },
    sql`select ${code_id} as id
    where ${isAnswered(ctx.program.id, provider, sql`${code_id}`)}`,
  );
  if (!known && reads.readCode) {
    const occurred_at = iso(ctx.now);
    const answer = await reads.readCode(api_key, code_id, occurred_at);
    if (answer.outcome === "failed" && answer.reason !== "refused") return answer.reason;
    const facts = answer.outcome === "read" ? answer.facts : [];
    const event = { event_id: answerId(code_id), event_type: "code", occurred_at, test: false, listed: true as const };
    await receiveEvent(ctx, provider, { ...event, facts, ignored: facts.length === 0 ? "no_code" : null }, null);
  }
  await forgetUnnamed(ctx, provider, code_id);
  return null;
}

/** Asks a provider what the codes are called that payments carry by their ids (CODE-8). */
import { sql } from "drizzle-orm";
import { shaped, text } from "../../db/rows.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { iso } from "../../lib/time.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import type { ReadFailure, VendorReads } from "../../providers/reads.ts";
import { refuseIf } from "../kernel/conflict.ts";
import { hasSameKey } from "../kernel/connections.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { receiveBeside } from "./receive.ts";
import { answerId, carriersOf, forgetUnnamed, NO_CODE, unnamedAmong } from "./unnamed-codes.ts";

/** So many calls are made for one code: of a discount also its promotion code and its coupon may have to be asked for. */
const MAX_CALLS = 5;

/**
 * Asks what a code is called and what it was made from, as far as that is not known by now, and stores what the provider says;
 * also that it knows no name. Why it did not answer, and is to be asked again; null where it did.
 */
export async function nameCode(
  ctx: ProgramCtx,
  provider: VendorName,
  reads: VendorReads,
  api_key: string,
  code_id: string,
): Promise<ReadFailure | null> {
  for (let calls = 0; reads.readCode && calls < MAX_CALLS; calls++) {
    const [asked] = await shaped(ctx.db, { id: text }, unnamedAmong(ctx.program.id, provider, sql`select ${code_id}`));
    if (!asked) break;
    const occurred_at = iso(ctx.now);
    const carriers = await carriersOf(ctx, provider, asked.id);
    const answer = await reads.readCode(api_key, { id: asked.id, occurred_at, carriers });
    if (answer.outcome === "failed" && answer.reason !== "refused") return answer;
    const facts = answer.outcome === "read" ? answer.facts : [];
    const isEmpty = facts.length === 0;
    const event: ProviderEvent = {
      event_id: answerId(asked.id),
      event_type: "code",
      occurred_at,
      facts,
      ignored: isEmpty ? NO_CODE : null,
      test: false,
      listed: true,
    };
    // That a code has no name holds of one key: where another is stored meanwhile, it is asked with that one.
    const before = isEmpty ? [ctx.db.run(refuseIf(sql`not ${hasSameKey(ctx.program, provider)}`))] : [];
    if (!(await receiveBeside(ctx, provider, event, null, { before, ask: [] }))) return null;
  }
  await forgetUnnamed(ctx, provider, code_id);
  return null;
}

/**
 * What was asked with another API key is asked again (IN-19, CODE-8): that nothing is known is the answer of one key, which
 * may be of another account or of test mode. The stored events of the program are gone through once for each key.
 */
import { sql } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import { orNull, shaped, text } from "../../db/rows.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import type { VendorReads } from "../../providers/reads.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { noteUnreadLinesAgain } from "./lines.ts";
import { noteUnlinkedAgain } from "./links.ts";
import { isAnswer, noteUnnamedAgain } from "./unnamed-codes.ts";

/** So many events at a time. */
const PART = 500;

/** Notes again what those of the events behind `after` leave open; the last that was looked at, null behind all of them. */
export async function noteAgain(
  ctx: ProgramCtx,
  provider: VendorName,
  reads: VendorReads,
  after: string,
): Promise<string | null> {
  const hasLinks = reads.readLinks !== undefined;
  const events = sql`e.program_id = ${ctx.program.id} and e.provider = ${provider} and e.event_id > ${after}
    and ${hasLinks ? sql`true` : isAnswer()}`;
  const [part] = await shaped(
    ctx.db,
    { last: orNull(text) },
    sql`select max(event_id) as last from (
      select e.event_id from provider_events e where ${events} order by e.event_id limit ${literal(PART)})`,
  );
  const last = part?.last ?? null;
  if (last === null) return null;
  const within = sql`${events} and e.event_id <= ${last}`;
  await runBatch(ctx.db, [
    ...(hasLinks ? [noteUnlinkedAgain(ctx, provider, within)] : []),
    ...(reads.readLines ? [noteUnreadLinesAgain(ctx, provider, within)] : []),
    ...(reads.readCode ? noteUnnamedAgain(ctx, provider, within) : []),
  ]);
  return last;
}

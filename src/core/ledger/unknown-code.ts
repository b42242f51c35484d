/** Promotion codes that payments carry and nobody has: the owner is notified of each once (MAIL-11). */
import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { Decision } from "../../domain/payment.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { OwnerMail } from "../kernel/owner-mails.ts";
import { UNKNOWN_AMONG } from "../kernel/seen-codes.ts";
import type { Payment } from "../kernel/rows.ts";

/** What is said of the code of a payment that waits for it from now on: nothing where another payment does already. */
export function unknownCodeMails(ctx: ProgramCtx, before: Payment, decision: Decision | null): OwnerMail[] {
  const ref = decision?.record.ref ?? null;
  if (decision?.outcome !== "unknown_code" || before.outcome === "unknown_code" || ref === null) return [];
  const others = sql`select provider, ref from payments where program_id = ${ctx.program.id}
    and outcome = 'unknown_code' and id <> ${before.id} order by id desc limit ${literal(UNKNOWN_AMONG)}`;
  const isSeen = sql`exists (select 1 from (${others}) where +provider = ${before.provider} and lower(ref) = lower(${ref}))`;
  return [{ kind: "codes_unknown", where: sql`not ${isSeen}` }];
}

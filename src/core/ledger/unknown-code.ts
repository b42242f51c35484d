/** Promotion codes that payments carry and nobody has: the owner is notified of each once (MAIL-11). */
import { sql } from "drizzle-orm";
import { codeKey } from "../../domain/code.ts";
import type { Decision, Outcome, PaymentDecision } from "../../domain/payment.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { OwnerMail } from "../kernel/owner-mails.ts";
import type { Payment } from "../kernel/rows.ts";
import { CODE_SOURCE, OF_UNKNOWN_CODES, unknownCodes } from "../kernel/seen-codes.ts";

/** What is said of the codes that a payment waits for from now on: nothing of one for which it, or another, does already. */
export function unknownCodeMails(ctx: ProgramCtx, before: Payment, decision: Decision | null): OwnerMail[] {
  const known = codesIn(before.outcome, before.decision);
  const codes = codesIn(decision?.outcome, decision?.record);
  // A code whose name is learned is no other one.
  if (codes.length <= known.length) return [];
  const others = sql`select lower(code) from (${unknownCodes(ctx.programId, sql`id <> ${before.id}`)})
    where +provider = ${before.provider}`;
  const fresh = JSON.stringify(codes.filter((code) => !known.includes(code)));
  return [{ kind: "codes_unknown", where: sql`exists (select value from json_each(${fresh}) except ${others})` }];
}

/** The `codeKey`s of those that nobody has. */
function codesIn(outcome: Outcome | null = null, decision: PaymentDecision | null = null): string[] {
  if (outcome === null || !OF_UNKNOWN_CODES.includes(outcome)) return [];
  return (decision?.candidates ?? []).flatMap(({ ref, source }) => (source === CODE_SOURCE ? [codeKey(ref)] : []));
}

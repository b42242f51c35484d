import { sql, type SQL } from "drizzle-orm";
import { isOneOf } from "../../db/client.ts";
import { jsonOf } from "../../db/json-object.ts";
import { payouts } from "../../db/schema.ts";
import type { PayoutMail } from "../../domain/mail.ts";
import { iso } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import { eventIds, type Occurrence, type SelectedOccurrences, type Write } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Changes } from "../../domain/actor.ts";
import type { EventPayloads } from "../../domain/event.ts";
import type { Payout, PayoutRow } from "../kernel/rows.ts";
import type { MailsAbout } from "../kernel/notices.ts";
import { viewPayout } from "../kernel/views.ts";
import { laterStamp, movedCommissions } from "../ledger/commission-rows.ts";
import { payoutJson } from "./hold.ts";

/** A payout's audit event. `payout.updated` reports the other moves, and is not sent (HOOK-15). */
export function payoutMoved(
  type: "payout.updated" | "payout.paid" | "payout.returned",
  before: Payout,
  payout: Payout,
): Occurrence {
  const changes = changesOf("payout", before, payout);
  const payload = movedPayload(payout);
  if (type === "payout.updated") return { type, changes, payload };
  // A union would not compile: the compiler matches each type with its own data.
  const data = viewPayout(payout);
  if (type === "payout.paid") return { type, changes, payload, outbound: { event: type, data } };
  return { type, changes, payload, outbound: { event: type, data } };
}

/** The payload of a payout's events; `reference` and `failure_code` are in those that can set them. */
function payoutPayload(payout: PayoutRow): EventPayloads["payout.generated"] {
  return {
    payout_id: payout.id,
    partner_id: payout.partner_id,
    amount_cents: payout.amount_cents,
    currency: payout.currency,
    status: payout.status,
    method: payout.method,
    commission_count: payout.commission_count,
  };
}

/**
 * The audit event for each of the payouts `p` that `which` selects, which all made the same `changes`; `payout.paid` is
 * sent.
 */
export function movedPayouts(
  ctx: Pick<ProgramCtx, "now">,
  type: "payout.updated" | "payout.paid",
  which: SQL,
  changes: Changes,
  id: SQL,
): SelectedOccurrences {
  const from = sql`from payouts p where ${which}`;
  if (type === "payout.updated") return { type, changes, id, payload: MOVED_PAYLOAD, from };
  return { type, changes, id, payload: MOVED_PAYLOAD, outbound: { event: type, data: payoutJson(ctx, "p") }, from };
}

/** E-mails to the partners of the payouts `p` that `which` selects; for a failed payout one for each attempt. */
export function mailsAboutPayouts(kind: PayoutMail, which: SQL): MailsAbout {
  const subject = kind === "payout_failed" ? sql`p.id || ':' || p.attempt` : sql`p.id`;
  return {
    kind,
    from: sql`select p.partner_id as partner_id, t.email as recipient, ${subject} as subject_id
      from payouts p cross join partners t on t.id = p.partner_id where ${which} and t.status <> 'deactivated'`,
  };
}

function movedPayload(payout: PayoutRow) {
  return { ...payoutPayload(payout), reference: payout.reference, failure_code: payout.failure_code };
}

/** `payout.generated` for each of the payouts `p` that `which` selects, as the API would return them. */
export function generatedOccurrences(ctx: Pick<ProgramCtx, "now">, which: SQL, id: SQL): SelectedOccurrences {
  return {
    type: "payout.generated",
    id,
    payload: PAYLOAD,
    outbound: { event: "payout.generated", data: payoutJson(ctx, "p") },
    from: sql`from payouts p where ${which}`,
  };
}

const PAYLOAD = jsonOf(payouts, payoutPayload);
const MOVED_PAYLOAD = jsonOf(payouts, movedPayload);

/**
 * Paying sets the commissions of the payouts to `paid` in the same transaction (OUT-4): the write, which must find every
 * commission of them, and their audit events. They have no webhook each: the payout's own covers them. A trigger of the
 * table removes their flags (PAY-11).
 */
export function payCommissions(
  ctx: ProgramCtx,
  paid: readonly Pick<Payout, "id" | "commission_count">[],
): { write: Write; selected: SelectedOccurrences } {
  const stamp = iso(ctx.now);
  const ids = paid.map(({ id }) => id);
  return {
    write: {
      statement: ctx.db.run(sql`update commissions set status = 'paid', paid_at = ${stamp},
        updated_at = ${laterStamp(sql`updated_at`, stamp)}, event_id = ${eventIds(ctx.now)(sql`id`)}
        where ${isOneOf(sql`payout_id`, ids)} and +program_id = ${ctx.program.id} and status = 'approved'`),
      expect: paid.reduce((sum, { commission_count }) => sum + commission_count, 0),
    },
    selected: movedCommissions(ctx, isOneOf(sql`c.payout_id`, ids), ["approved", "paid"], false),
  };
}

/**
 * A returned payment makes its commissions `approved` and free again (OUT-20): the write, which must find every
 * commission of the payout, and their audit events. `event_id` is that of a commission `c` in it.
 */
export function returnCommissions(
  ctx: ProgramCtx,
  payout: Pick<Payout, "id" | "partner_id" | "commission_count">,
): { write: Write; selected: SelectedOccurrences; event_id: SQL } {
  const stamp = iso(ctx.now);
  const idsOf = eventIds(ctx.now);
  const event_id = idsOf(sql`c.id`);
  return {
    write: {
      statement: ctx.db.run(sql`update commissions set status = 'approved', payout_id = null, paid_at = null,
        updated_at = ${laterStamp(sql`updated_at`, stamp)}, event_id = ${idsOf(sql`id`)}
        where payout_id = ${payout.id} and program_id = ${ctx.program.id} and status = 'paid'`),
      expect: payout.commission_count,
    },
    // The literals are those of the partial index commissions_payable.
    selected: movedCommissions(
      ctx,
      sql`c.program_id = ${ctx.program.id} and c.partner_id = ${payout.partner_id} and c.status = 'approved'
        and c.payout_id is null and c.event_id = ${event_id}`,
      ["paid", "approved"],
      false,
    ),
    event_id,
  };
}

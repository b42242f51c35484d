import { sql, type SQL } from "drizzle-orm";
import { decisionsBetween } from "../../domain/decision.ts";
import { newId } from "../../lib/id.ts";
import { iso, MINUTE } from "../../lib/time.ts";
import type { Write } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Commission } from "../kernel/rows.ts";
import { unsettle } from "./concerned-payments.ts";

/** Longer than any cron of the platform, and any request that a caller waits for. */
const LONGEST_RUN = 15 * MINUTE;

/** Digits that number the decisions of one statement. */
const SEQUENCE_DIGITS = 6;

/**
 * The decisions behind manual changes of commissions, for the transaction of the changes. Each has the date of its
 * change, which is later than the one before: the request may have begun earlier than that of another decision made
 * meanwhile.
 */
export function recordDecisions(ctx: ProgramCtx, changes: readonly { before: Commission; after: Commission }[]): Write {
  const rows = changes.flatMap(({ before, after }) =>
    decisionsBetween(before, after).map((decided) => ({
      ...decided,
      id: newId("decision", ctx.now),
      at: after.updated_at,
      subject: before.payment_id ?? before.id,
      partner_id: before.partner_id,
      commission_id: before.id,
      commission_kind: before.kind,
    })),
  );
  return {
    statement: ctx.db.run(sql`insert into decisions (program_id, subject, id, partner_id, commission_id,
        commission_kind, kind, detail, actor, created_at)
      select ${ctx.program.id}, d.value ->> 'subject', d.value ->> 'id', d.value ->> 'partner_id',
        d.value ->> 'commission_id', d.value ->> 'commission_kind', d.value ->> 'kind', d.value ->> 'detail',
        ${JSON.stringify(ctx.actor)}, d.value ->> 'at' from json_each(${JSON.stringify(rows)}) d`),
  };
}

/** The decisions for commissions `c` that `which` selects and that were approved together before it. */
export function recordApprovals(ctx: ProgramCtx, which: SQL): Write {
  const stem = newId("decision", ctx.now).slice(0, -SEQUENCE_DIGITS);
  return {
    statement: ctx.db.run(sql`insert into decisions (program_id, subject, id, partner_id, commission_id,
        commission_kind, kind, actor, created_at)
      select c.program_id, coalesce(c.payment_id, c.id),
        ${stem} || printf(${`%0${SEQUENCE_DIGITS}d`}, row_number() over (order by c.id)), c.partner_id, c.id, c.kind,
        'approve', ${JSON.stringify(ctx.actor)}, c.updated_at from commissions c where ${which}`),
  };
}

/**
 * Marks the payments of commissions `c` that `which` selects as unsettled if differences (clawbacks) depend on them: a
 * decision, or canceling a payout, changes the amount of the differences. Part of the transaction of the change; its
 * caller settles them next, and until then no payout takes them (`payouts/payable.ts`).
 */
export function unsettleDifferences(ctx: ProgramCtx, which: SQL): Write {
  return unsettleEarning(ctx, which, hasDifferences(sql`payments.id`));
}

/**
 * Marks payments of commissions that a canceled payout releases, also if the payment was settled since the payout took
 * the commissions: their reasons were held back, though no amount differed. Settling is dated by the start of its
 * request, which may have been before.
 */
export function unsettleReleased(ctx: ProgramCtx, which: SQL, taken_at: string): Write {
  const since = iso(Date.parse(taken_at) - LONGEST_RUN);
  return unsettleEarning(ctx, which, sql`(${hasDifferences(sql`payments.id`)} or payments.updated_at >= ${since})`);
}

/** Marks payments of commissions that a returned payout releases: paying has removed their flags (PAY-11). */
export function unsettleReturned(ctx: ProgramCtx, which: SQL): Write {
  return unsettleEarning(ctx, which, sql`true`);
}

function unsettleEarning(ctx: ProgramCtx, which: SQL, where: SQL): Write {
  return unsettle(ctx, sql`id in (select c.payment_id from commissions c where ${which}) and ${where}`);
}

/** Whether a payment has differences in addition to its commission. */
export function hasDifferences(payment_id: SQL): SQL {
  return sql`exists (select 1 from commissions k where k.payment_id = ${payment_id} and k.kind = 'clawback')`;
}

/** Whether the rows of a payment match its facts and decisions; true for a row without a payment. */
export function isSettled(payment_id: SQL): SQL {
  return sql`not exists (select 1 from payments u where u.id = ${payment_id} and u.settled_revision < u.facts_revision)`;
}

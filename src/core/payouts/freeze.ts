import { sql } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { columnsOf, shaped, type Columns } from "../../db/rows.ts";
import { partners, payouts, programs } from "../../db/schema.ts";
import { recipientOf, shownRecipient, type RecipientSource } from "../../domain/recipient.ts";
import { commit } from "../kernel/commit.ts";
import { forProgram, type Ctx, type ProgramCtx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/job.ts";
import type { PayoutDetail } from "../kernel/payout-details.ts";
import { untilWon } from "../kernel/races.ts";
import type { Partner, Payout, Program } from "../kernel/rows.ts";
import { nextStamp } from "../kernel/updated-at.ts";
import { sealRecipient } from "./recipient.ts";
import { payoutMoved } from "./rows.ts";
import { selectPrograms } from "../kernel/program-rows.ts";

/** Of one program and of all together: what one look takes. */
const PAYOUTS_AT_ONCE = 100;
const PROGRAMS_AT_ONCE = 50;

interface Unfrozen extends Owner {
  program: Program;
}

/**
 * Freezes the recipients of payouts that an earlier version generated and that are still to be paid: with the method and
 * the details that the partner has now, which is what that version would have paid. Until then such a payout is in no
 * file for a payout service, and provider A does not pay it. Harmless when it runs twice at once.
 */
export function freezeRecipients(ctx: Ctx): Work<Unfrozen> {
  return {
    cost: 9,
    async due(after) {
      const rows = await selectPrograms(ctx.db)
        .where(
          sql`${programs.id} in (select distinct program_id from payouts indexed by payouts_unfrozen where ${UNFROZEN}
            and program_id > ${after} order by program_id limit ${literal(PROGRAMS_AT_ONCE)})`,
        )
        .orderBy(programs.id);
      return rows.map((program) => ({ key: program.id, program }));
    },
    serve: async ({ program }) => (await freezeSome(forProgram(ctx, program))) === PAYOUTS_AT_ONCE,
  };
}

/** The literals are those of the partial index. */
const UNFROZEN = sql`recipient_sealed is null and status in ('pending', 'failed')`;

/** Who is paid, and all that says how. */
type Payee = Pick<Partner, "id" | PayoutDetail | keyof RecipientSource>;

const SOURCE: Columns<Payee> = columnsOf(
  partners,
  ...(["id", "payout_method", "first_name", "last_name", "payout_email", "provider_a_account_id"] as const),
);

async function freezeSome(ctx: ProgramCtx): Promise<number> {
  return untilWon(async () => {
    const [rows, sources] = await ctx.read(
      ctx.db
        .select()
        .from(payouts)
        .where(sql`program_id = ${ctx.programId} and ${UNFROZEN}`)
        .orderBy(payouts.id)
        .limit(atMost(PAYOUTS_AT_ONCE)),
      shaped(
        ctx.db,
        SOURCE,
        sql`select ${sql.raw(Object.keys(SOURCE).join(", "))} from partners where id in (select partner_id from payouts where program_id = ${ctx.programId} and ${UNFROZEN}
          order by id limit ${literal(PAYOUTS_AT_ONCE)})`,
      ),
    );
    const partnerOf = new Map(sources.map((partner) => [partner.id, partner]));
    const changed = await Promise.all(
      rows.flatMap((before) => {
        const partner = partnerOf.get(before.partner_id);
        return partner ? [frozen(ctx, before, partner)] : [];
      }),
    );
    if (changed.length === 0) return 0;
    await commit(ctx, {
      writes: [updateRows(ctx, changed)],
      occurrences: changed.map(({ before, after }) => payoutMoved("payout.updated", before, after)),
    });
    return changed.length;
  });
}

interface Frozen {
  before: Payout;
  after: Payout;
}

async function frozen(ctx: ProgramCtx, before: Payout, partner: Payee): Promise<Frozen> {
  const method = before.method ?? partner.payout_method;
  const recipient = recipientOf(partner);
  const changes = {
    method,
    recipient_sealed: await sealRecipient(ctx, before.id, recipient),
    recipient: shownRecipient(method, recipient),
    updated_at: nextStamp(before.updated_at, ctx.now),
  };
  return { before, after: { ...before, ...changes } };
}

function updateRows(ctx: ProgramCtx, changed: readonly Frozen[]) {
  const rows = changed.map(({ before, after }) => [
    ...[after.id, before.updated_at, after.method, after.recipient_sealed, after.recipient, after.updated_at],
  ]);
  return {
    statement: ctx.db.run(sql`update payouts set method = j.value ->> 2, recipient_sealed = j.value ->> 3,
        recipient = j.value ->> 4, updated_at = j.value ->> 5
      from json_each(${JSON.stringify(rows)}) j where payouts.id = j.value ->> 0
        and +payouts.program_id = ${ctx.program.id} and payouts.updated_at = j.value ->> 1
        and +recipient_sealed is null and +status in ('pending', 'failed')`),
    expect: rows.length,
  };
}

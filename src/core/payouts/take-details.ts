/** Pending payouts without payout details, which receive the partner's when they are added (OUT-18). */
import { sql, type SQL } from "drizzle-orm";
import { atMost, isOneOf, literal } from "../../db/client.ts";
import { amount, selectRows, text, whole } from "../../db/rows.ts";
import { partners, payouts } from "../../db/schema.ts";
import type { Cents } from "../../domain/money.ts";
import type { PayoutMethod } from "../../domain/partner.ts";
import { detailOf, shownRecipient, type Recipient } from "../../domain/recipient.ts";
import { nextStamp } from "../../lib/time.ts";
import { commit, type Occurrence, type Write } from "../kernel/commit.ts";
import type { ProgramCtx, Reader } from "../kernel/context.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { Partner, Payout } from "../kernel/rows.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { selectPayouts } from "./hold.ts";
import { currentRecipient, sealRecipient } from "./recipient.ts";
import { payoutMoved } from "./rows.ts";

/** Payouts in one commit: each is an event with its own text. */
const PAYOUTS_AT_ONCE = 500;

/** The literals are those of the partial index. */
const WITHOUT_DETAILS = sql`status = 'pending' and recipient is null`;

/** The same condition for the payouts of a join. */
export function isWithoutDetails(alias: string): SQL {
  const p = sql.raw(alias);
  return sql`(${p}.status = 'pending' and ${p}.recipient is null)`;
}

/** Further writes of a commit that adds payout details. */
export interface DetailsTaken {
  writes: Write[];
  occurrences: Occurrence[];
  /** How many payouts receive the details, by partner. */
  counts: ReadonlyMap<string, number>;
  /** The partners that may have more such payouts than one commit takes: see `takeRest`. */
  rest: readonly string[];
}

/** Also used if details are removed. */
export const NOTHING_TAKEN: DetailsTaken = { writes: [], occurrences: [], counts: new Map(), rest: [] };

/**
 * The writes for the commit that stores the current state of `changed`: these partners' payouts without payout details
 * receive theirs, unless those are incomplete. An existing recipient stays (OUT-5). If a payout is paid, canceled or
 * generated meanwhile, the commit is a lost race.
 */
export async function takeDetails(ctx: ProgramCtx, changed: readonly Partner[]): Promise<DetailsTaken> {
  const recipients = await Promise.all(
    changed.map(async (partner) => ({ partner, recipient: await currentRecipient(ctx, partner.id, partner) })),
  );
  const byId = new Map(
    recipients.flatMap((one) =>
      detailOf(one.partner.payout_method, one.recipient) === null ? [] : [[one.partner.id, one] as const],
    ),
  );
  if (byId.size === 0) return NOTHING_TAKEN;
  const waiting = sql`from payouts indexed by payouts_without_details
    where ${isOneOf(sql`partner_id`, [...byId.keys()])} and ${WITHOUT_DETAILS}`;
  const [rows] = await ctx.read(
    selectPayouts(ctx)
      .where(sql`id in (select id ${waiting} limit ${literal(PAYOUTS_AT_ONCE)}) and +program_id = ${ctx.programId}`)
      .orderBy(payouts.id)
      .limit(atMost(PAYOUTS_AT_ONCE)),
  );
  const filled = await Promise.all(
    rows.flatMap((before) => {
      const own = byId.get(before.partner_id);
      return own ? [withDetails(ctx, before, own.partner.payout_method, own.recipient)] : [];
    }),
  );
  const isPartial = rows.length === PAYOUTS_AT_ONCE;
  const none = isPartial ? [] : [refuseWhere(ctx, sql`exists (select 1 ${waiting})`)];
  return {
    writes: [...(filled.length > 0 ? [fillRows(ctx, filled)] : []), ...none],
    occurrences: filled.map(({ before, after }) => payoutMoved("payout.updated", before, after)),
    counts: new Map([...Map.groupBy(rows, (row) => row.partner_id)].map(([id, own]) => [id, own.length])),
    rest: isPartial ? [...byId.keys()] : [],
  };
}

/** After that commit: the remaining payouts, with the details that the partners have then. */
export async function takeRest(ctx: ProgramCtx, { rest }: Pick<DetailsTaken, "rest">): Promise<void> {
  for (let ids = rest; ids.length > 0;) {
    ids = await untilWon(async () => {
      const isOne = isOneOf(partners.id, ids);
      const [now] = await ctx.read(
        ctx.db
          .select()
          .from(partners)
          .where(sql`${isOne} and ${alsoOfProgram(ctx, partners.program_id)}`),
      );
      const taken = await takeDetails(ctx, now);
      const seen = JSON.stringify(now.map(({ id, updated_at }) => [id, updated_at]));
      const isStale = sql`exists (select 1 from json_each(${seen}) j cross join partners p on p.id = j.value ->> 0
        where p.updated_at <> j.value ->> 1)`;
      await commit(ctx, { writes: [refuseWhere(ctx, isStale), ...taken.writes], occurrences: taken.occurrences });
      return taken.rest;
    });
  }
}

interface Filled {
  before: Payout;
  after: Payout;
}

async function withDetails(
  ctx: ProgramCtx,
  before: Payout,
  method: PayoutMethod | null,
  recipient: Recipient,
): Promise<Filled> {
  const changes = {
    method,
    recipient_sealed: await sealRecipient(ctx, before.id, recipient),
    recipient: shownRecipient(method, recipient),
    updated_at: nextStamp(before.updated_at, ctx.now),
  };
  return { before, after: { ...before, ...changes } };
}

function fillRows(ctx: ProgramCtx, filled: readonly Filled[]): Write {
  const rows = filled.map(({ before, after }) => [
    ...[after.id, before.updated_at, after.method, after.recipient_sealed, after.recipient, after.updated_at],
  ]);
  return {
    statement: ctx.db.run(sql`update payouts set method = j.value ->> 2, recipient_sealed = j.value ->> 3,
        recipient = j.value ->> 4, updated_at = j.value ->> 5
      from json_each(${JSON.stringify(rows)}) j where payouts.id = j.value ->> 0
        and +payouts.program_id = ${ctx.program.id} and payouts.updated_at = j.value ->> 1
        and ${isWithoutDetails("payouts")}`),
    expect: rows.length,
  };
}

/** Payouts that wait for a partner's payout details, by currency. */
export async function readWithoutDetails(
  ctx: Reader,
  partner_id: string,
): Promise<{ currency: string; payouts: number; amount_cents: Cents }[]> {
  const [rows] = await ctx.read(
    selectRows(
      ctx.db,
      { currency: text, payouts: whole, amount_cents: amount },
      sql`select currency, count(*) as payouts, sum(amount_cents) as amount_cents
      from payouts indexed by payouts_without_details where partner_id = ${partner_id} and ${WITHOUT_DETAILS}
        and +program_id = ${ctx.programId} group by currency order by currency`,
    ),
  );
  return rows;
}

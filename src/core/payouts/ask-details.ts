/** E-mails that ask partners for their payout details (OUT-30). */
import { sql, type SQL } from "drizzle-orm";
import { isOneOf, literal } from "../../db/client.ts";
import { nullable, selectRows, text, textOf, whole } from "../../db/rows.ts";
import { AppError, invalidField } from "../../lib/errors.ts";
import { firstIdAt } from "../../lib/id.ts";
import { partsOf } from "../../lib/slices.ts";
import { DAY, iso } from "../../lib/time.ts";
import { commit, eventIds } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { partnerLacksDetails } from "../kernel/payout-details.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import { readPricing, type Pricing } from "./exchange.ts";
import { payableSums } from "./payable.ts";

/** The earliest time for another e-mail to the same partner. */
const ASKED_FOR = 7 * DAY;
/** E-mails in one commit, and partners in one call. */
const STEP = 500;
const MOST = 10_000;

/** These partners, or all whose money waits for payout details: approved before `period_end`, now by default. */
export interface AskInput {
  ids?: readonly string[] | undefined;
  period_end?: number;
}

/** Numbers of partners. */
export interface Asked {
  asked: number;
  /** Not asked, because they were within the last seven days. */
  asked_recently: number;
  /** Not asked: invited or deactivated partners cannot sign in. */
  not_active: number;
  has_details: number;
  /** Not reached in this call: repeat it to continue. */
  remaining: number;
}

type Reason = "not_active" | "has_details" | "asked_recently";

/**
 * E-mails each partner once in seven days, for any number of calls and callers. It runs in steps that are each complete:
 * after an interruption the same call asks the others. @throws `not_configured` if the service sends no e-mail,
 * `validation_failed` for an unknown id.
 */
export async function askPayoutDetails(caller: Caller, input: AskInput): Promise<Asked> {
  const pricing = await readPricing(caller);
  const [ctx, reasons, askable] = await prove(
    caller,
    selectRows(
      caller.db,
      { reason: nullable(textOf<Reason>()), count: whole },
      sql`select reason, count(*) as count from (${candidates(caller, input, pricing)}) group by reason`,
    ),
    selectRows(
      caller.db,
      { id: text },
      sql`select id from (${candidates(caller, input, pricing)}) where reason is null order by id limit ${literal(MOST)}`,
    ),
  );
  if (ctx.mailer === null) throw new AppError("not_configured", "This service sends no e-mail.");
  if (input.ids) await refuseUnknown(ctx, input.ids);
  const countOf = (of: Reason | null) => reasons.find(({ reason }) => reason === of)?.count ?? 0;
  const done: Asked = {
    ...{ asked: 0, asked_recently: countOf("asked_recently"), not_active: countOf("not_active") },
    ...{ has_details: countOf("has_details"), remaining: countOf(null) - askable.length },
  };
  let left = askable.length;
  for (const part of partsOf(askable, STEP)) {
    left -= part.length;
    const ids = part.map(({ id }) => id);
    done.asked += await untilWon(async () =>
      askStep(ctx, ids, pricing, (asked) => left === 0 && { ...done, asked: done.asked + asked }),
    );
  }
  return done;
}

/** One commit: the e-mails and events of the remaining partners. Returns their number. */
async function askStep(
  ctx: ProgramCtx,
  given: readonly string[],
  pricing: Pricing,
  resultOf: (asked: number) => Asked | false,
): Promise<number> {
  const [rows] = await ctx.read(
    selectRows(
      ctx.db,
      { id: text },
      sql`select id from (${candidates(ctx, { ids: given }, pricing)}) where reason is null`,
    ),
  );
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return 0;
  const which = isOneOf(sql`p.id`, ids);
  const result = resultOf(ids.length);
  await commit(ctx, {
    // Before the e-mails are stored: a partner that another call asks meanwhile is a lost race.
    writes: [
      refuseWhere(ctx, sql`exists (select 1 from (${candidates(ctx, { ids }, pricing)}) where reason is not null)`),
    ],
    occurrences: [],
    selected: [
      {
        type: "payout_details.asked",
        id: eventIds(ctx.now)(sql`p.id`),
        payload: sql`json_object('partner_id', p.id)`,
        from: sql`from partners p where ${which}`,
      },
    ],
    mailsAbout: [
      {
        kind: "payout_details_asked",
        from: sql`select p.id as partner_id, p.email as recipient, p.id || ':' || ${iso(ctx.now)} as subject_id
          from partners p where ${which}`,
      },
    ],
    ...(result ? { result } : {}),
  });
  return ids.length;
}

/** The partners of a call, each with the reason against its e-mail, or null. */
function candidates(ctx: Reader, { ids, period_end = ctx.now }: AskInput, pricing: Pricing): SQL {
  const sums = payableSums(ctx, { period_start: null, period_end, dry_run: true }, pricing);
  const waiting = sql`select partner_id from payouts
      where program_id = ${ctx.programId} and status = 'pending' and recipient is null
    union select partner_id from (${sums}) where reason is null and lacks_details`;
  const recent = sql`select 1 from mails m where m.partner_id = p.id and m.kind = 'payout_details_asked'
    and m.id > ${firstIdAt("mail", ctx.now - ASKED_FOR)}`;
  return sql`select p.id as id, case when p.status <> 'active' then 'not_active'
      when not ${partnerLacksDetails("p")} then 'has_details' when exists (${recent}) then 'asked_recently' end as reason
    from partners p where ${ids ? isOneOf(sql`p.id`, ids) : sql`p.id in (${waiting})`} and +p.program_id = ${ctx.programId}`;
}

async function refuseUnknown(ctx: Reader, ids: readonly string[]): Promise<void> {
  const [rows] = await ctx.read(
    selectRows(
      ctx.db,
      { id: text },
      sql`select id from partners where ${isOneOf(sql`id`, ids)} and +program_id = ${ctx.programId}`,
    ),
  );
  const known = new Set(rows.map(({ id }) => id));
  const at = ids.findIndex((id) => !known.has(id));
  if (at >= 0) throw invalidField(`ids.${at}`, "There is no such partner.");
}

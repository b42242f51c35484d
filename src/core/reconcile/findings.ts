/** The reconciler's differences: each is reported once, kept until it is gone, and never repaired automatically. */
import { sql, type InferSelectModel, type SQL } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { nullable, selectRows, text, textOf, whole, type Columns } from "../../db/rows.ts";
import { differences } from "../../db/schema.ts";
import type { Check, Difference } from "../../domain/reconciliation.ts";
import { HOUR, iso } from "../../lib/time.ts";
import type { Occurrence, Write } from "../kernel/commit.ts";
import type { ProgramCtx, Reader } from "../kernel/context.ts";
import type { NoticeOf } from "../kernel/notices.ts";
import type { Figured } from "./transfers.ts";

/** The checked subjects of each check. */
export type Looked = Record<Check, readonly string[]>;

/** How many differences a page or an e-mail lists. */
export const NAMED = 100;

/** The time between the end of a round and the next round, and between two e-mails. */
export const ROUND_AFTER = 20 * HOUR;
/** How long a difference waits for the end of its round, so that one e-mail lists all differences of the round. */
const WAITS_FOR_ROUND = HOUR;

/** The open differences, the latest found first. */
export function openDifferences(ctx: ProgramCtx, most: number) {
  return ctx.db
    .select()
    .from(differences)
    .where(sql`${differences.program_id} = ${ctx.programId}`)
    .orderBy(sql`${differences.found_at} desc`, differences.kind, differences.subject)
    .limit(atMost(most));
}

/** Selects up to `most` open differences of each check at random, so that each is checked again in time. */
export function knownDifferences(ctx: ProgramCtx, most: number) {
  return selectRows(
    ctx.db,
    { kind: textOf<Check>(), subject: text },
    sql`select kind, subject from (
      select kind, subject, row_number() over (partition by kind order by random()) as place
      from differences where program_id = ${ctx.programId})
    where place <= ${literal(most)}`,
  );
}

/** Returns the differences that are not reported yet or whose figures have changed. */
export async function readUnreported(ctx: ProgramCtx, found: readonly Difference[]): Promise<readonly Difference[]> {
  if (found.length === 0) return [];
  const [known] = await ctx.read(
    ctx.db
      .select()
      .from(differences)
      .where(sql`${differences.program_id} = ${ctx.programId} and (kind, subject) in ${pairs(found)}`),
  );
  const text = ({ expected, found: is }: Figured) => JSON.stringify([expected, is]);
  return found.filter((one) => {
    const row = known.find(({ kind, subject }) => kind === one.check && subject === one.subject);
    return !row || text(row) !== text(one);
  });
}

/** The differences that are not in an e-mail yet, the longest known first. */
export function unmailedDifferences(ctx: ProgramCtx) {
  return ctx.db
    .select()
    .from(differences)
    .where(
      sql`${differences.program_id} = ${ctx.programId} and ${differences.found_at} > coalesce(
        (select mailed_at from reconciliations where program_id = ${ctx.programId}), '')`,
    )
    .orderBy(differences.found_at, differences.kind, differences.subject)
    .limit(atMost(NAMED));
}

/** The subjects that a step has checked, and the differences it found. */
interface Seen {
  looked: Looked;
  found: readonly Difference[];
}

/** The same, and the differences that the step reports. */
interface News extends Seen {
  reported: readonly Difference[];
}

/** The checked subjects that no longer differ. */
function goneOf({ looked, found }: Seen): Subject[] {
  const isFound = new Set(found.map(keyOf));
  return Object.entries(looked).flatMap(([check, subjects]) =>
    subjects.map((subject) => ({ check, subject })).filter((one) => !isFound.has(keyOf(one))),
  );
}

interface MailPlan {
  /** The time of the differences that are reported now. */
  found_at: string;
  mailed_at: string | null;
  notices: NoticeOf<"ledger_differs">[];
}

/**
 * Plans the e-mail of a step, if one is due: it lists every difference that is reported now or has waited since the
 * last e-mail. It is sent at the end of the round, or once a difference has waited too long. A difference that is found
 * too soon after an e-mail is in the next one.
 */
export function planMail(
  { now, program }: ProgramCtx,
  before: { mailed_at: string | null; isLastStep: boolean },
  waiting: readonly InferSelectModel<typeof differences>[],
  seen: News,
): MailPlan {
  const { mailed_at } = before;
  // Later than the last e-mail even if a clock is behind: a later difference must not count as listed.
  const found_at = iso(mailed_at === null ? now : Math.max(now, Date.parse(mailed_at) + 1));
  const isOther = new Set([...goneOf(seen), ...seen.reported].map(keyOf));
  const left = waiting.filter(({ kind, subject }) => !isOther.has(keyOf({ check: kind, subject })));
  const differing = [...left.map(({ kind, ...row }): Difference => ({ ...row, check: kind })), ...seen.reported];
  const hasWaited = left.some((row) => row.found_at <= iso(now - WAITS_FOR_ROUND));
  const isTooSoon = mailed_at !== null && mailed_at >= iso(now - ROUND_AFTER);
  if (differing.length === 0 || isTooSoon || !(before.isLastStep || hasWaited)) {
    return { found_at, mailed_at, notices: [] };
  }
  const named = differing.map(({ check, subject, expected, found }) => ({ check, subject, expected, found }));
  return {
    found_at,
    mailed_at: [found_at, ...left.map((row) => row.found_at)].toSorted().at(-1) ?? found_at,
    notices: [{ kind: "ledger_differs", program, differences: named }],
  };
}

/** Plans the rows of the reported differences, the deletion of gone ones, and an event for each. */
export function planFindings(
  ctx: ProgramCtx,
  seen: News,
  found_at: string,
): { writes: Write[]; occurrences: Occurrence[] } {
  const { reported } = seen;
  const writes: Write[] = [
    {
      statement: ctx.db.run(sql`delete from differences
        where program_id = ${ctx.program.id} and (kind, subject) in ${pairs(goneOf(seen))}`),
    },
  ];
  if (reported.length > 0) {
    writes.push({
      statement: ctx.db.run(sql`insert into differences (program_id, kind, subject, expected, found, found_at)
        select ${ctx.program.id}, d.value ->> 'check', d.value ->> 'subject', d.value -> 'expected', d.value -> 'found',
          ${found_at} from json_each(${JSON.stringify(reported)}) d where true
        on conflict (program_id, kind, subject) do update set expected = excluded.expected, found = excluded.found,
          found_at = excluded.found_at`),
    });
  }
  const occurrences = reported.map(({ check, subject, expected, found: is }): Occurrence => {
    return { type: "reconciliation.failed", payload: { check, subject, expected, found: is } };
  });
  return { writes, occurrences };
}

interface Subject {
  check: string;
  subject: string;
}

function keyOf({ check, subject }: Subject): string {
  return `${check} ${subject}`;
}

function pairs(of: readonly Subject[]): SQL {
  const list = of.map(({ check, subject }) => [check, subject]);
  return sql`(select value ->> 0, value ->> 1 from json_each(${JSON.stringify(list)}))`;
}

/** The state of a program's books. */
export interface BooksStatus {
  /** When a round last ended without a difference; null before the first time. */
  reconciled_at: string | null;
  /** The number of open differences, counted up to `NAMED`. */
  differences: number;
  /** The number of deliveries that the last round found more than an hour overdue, counted up to 100. */
  deliveries_left: number;
}

const BOOKS_STATUS: Columns<BooksStatus> = {
  reconciled_at: nullable(text),
  differences: whole,
  deliveries_left: whole,
};

/** The statement of one row that holds the state of the books. */
export function booksStatus(ctx: Reader) {
  return selectRows(
    ctx.db,
    BOOKS_STATUS,
    sql`select
    (select reconciled_at from reconciliations where program_id = ${ctx.programId}) as reconciled_at,
    (select count(*) from (select 1 from differences where program_id = ${ctx.programId}
      limit ${literal(NAMED)})) as differences,
    ifnull((select deliveries_left from reconciliations where program_id = ${ctx.programId}), 0) as deliveries_left`,
  );
}

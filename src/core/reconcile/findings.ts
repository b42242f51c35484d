/** What the reconciler has found: reported once, kept until it is gone, and never repaired automatically. */
import { sql, type SQL } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { orNull, shaped, text, textOf, whole, type Columns } from "../../db/rows.ts";
import { differences } from "../../db/schema.ts";
import type { Check, Difference } from "../../domain/reconciliation.ts";
import { iso } from "../../lib/time.ts";
import type { Occurrence, Write } from "../kernel/commit.ts";
import type { ProgramCtx, Reader } from "../kernel/context.ts";

/** A check and the subjects that it was made for. */
export type Looked = Record<Check, readonly string[]>;

/** So many are named to a person. */
export const NAMED = 100;

/** Those that are still there, the latest found first. */
export function openDifferences(ctx: ProgramCtx, most: number) {
  return ctx.db
    .select()
    .from(differences)
    .where(sql`${differences.program_id} = ${ctx.programId}`)
    .orderBy(sql`${differences.found_at} desc`, differences.kind, differences.subject)
    .limit(atMost(most));
}

/** Some of each check that are still there, by chance, so that each has its turn to be looked at again. */
export function knownDifferences(ctx: ProgramCtx, most: number) {
  return shaped(
    ctx.db,
    { kind: textOf<Check>(), subject: text },
    sql`select kind, subject from (
      select kind, subject, row_number() over (partition by kind order by random()) as place
      from differences where program_id = ${ctx.programId})
    where place <= ${literal(most)}`,
  );
}

/** Of what was found, that which is not reported yet, or has other figures by now. */
export async function unreported(ctx: ProgramCtx, found: readonly Difference[]): Promise<Difference[]> {
  if (found.length === 0) return [];
  const [known] = await ctx.read(
    ctx.db
      .select()
      .from(differences)
      .where(sql`${differences.program_id} = ${ctx.programId} and (kind, subject) in ${pairs(found)}`),
  );
  return found.filter(({ check, subject, ...figures }) => {
    const row = known.find((one) => one.kind === check && one.subject === subject);
    return !row || JSON.stringify([row.expected, row.found]) !== JSON.stringify([figures.expected, figures.found]);
  });
}

/** The rows of what is reported now, the end of what is gone, and the audit event of each difference. */
export function planFindings(
  ctx: ProgramCtx,
  looked: Looked,
  found: readonly Difference[],
  reported: readonly Difference[],
): { writes: Write[]; occurrences: Occurrence[] } {
  const isFound = new Set(found.map(({ check, subject }) => `${check} ${subject}`));
  const gone = Object.entries(looked).flatMap(([check, subjects]) =>
    subjects.filter((subject) => !isFound.has(`${check} ${subject}`)).map((subject) => ({ check, subject })),
  );
  const writes: Write[] = [
    {
      statement: ctx.db.run(sql`delete from differences
        where program_id = ${ctx.program.id} and (kind, subject) in ${pairs(gone)}`),
    },
  ];
  if (reported.length > 0) {
    writes.push({
      statement: ctx.db.run(sql`insert into differences (program_id, kind, subject, expected, found, found_at)
        select ${ctx.program.id}, d.value ->> 'check', d.value ->> 'subject', d.value -> 'expected', d.value -> 'found',
          ${iso(ctx.now)} from json_each(${JSON.stringify(reported)}) d where true
        on conflict (program_id, kind, subject) do update set expected = excluded.expected, found = excluded.found,
          found_at = excluded.found_at`),
    });
  }
  const occurrences = reported.map(({ check, subject, expected, found: is }): Occurrence => {
    return { type: "reconciliation.failed", payload: { check, subject, expected, found: is } };
  });
  return { writes, occurrences };
}

function pairs(of: readonly { check: string; subject: string }[]): SQL {
  const list = of.map(({ check, subject }) => [check, subject]);
  return sql`(select value ->> 0, value ->> 1 from json_each(${JSON.stringify(list)}))`;
}

/** The state of a program's books. */
export interface BooksStatus {
  /** When the reconciler last went through without a difference; null before the first time. */
  reconciled_at: string | null;
  /** How many differences there are now, counted up to `NAMED`. */
  differences: number;
  /** How many deliveries the last round found waiting an hour beyond their time, counted up to 100. */
  deliveries_left: number;
}

const BOOKS_STATUS: Columns<BooksStatus> = {
  reconciled_at: orNull(text),
  differences: whole,
  deliveries_left: whole,
};

/** The statement of one row that holds the state of the books. */
export function booksStatus(ctx: Reader) {
  return shaped(
    ctx.db,
    BOOKS_STATUS,
    sql`select
    (select reconciled_at from reconciliations where program_id = ${ctx.programId}) as reconciled_at,
    (select count(*) from (select 1 from differences where program_id = ${ctx.programId}
      limit ${literal(NAMED)})) as differences,
    ifnull((select deliveries_left from reconciliations where program_id = ${ctx.programId}), 0) as deliveries_left`,
  );
}

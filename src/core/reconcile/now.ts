import { sql } from "drizzle-orm";
import { atMost, countStatements, runBatch } from "../../db/client.ts";
import { selectRows, whole } from "../../db/rows.ts";
import { programs } from "../../db/schema.ts";
import type { Check, Checked, Figures } from "../../domain/reconciliation.ts";
import { shardOfProgram } from "../../domain/shard.ts";
import { forProgram, type Ctx, type ProgramCtx } from "../kernel/context.ts";
import { onShard } from "../kernel/shards.ts";
import { openProgram } from "../programs/programs.ts";
import { NAMED, openDifferences } from "./findings.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import { reconcileStep } from "./reconcile.ts";
import { repairBalances } from "./repair.ts";
import type { Transfers } from "../../providers/connect.ts";

export interface ReconcileInput {
  /** Only this program; if absent, the whole deployment. */
  program_id?: string | undefined;
  /** The program id at which the previous call ended. */
  next?: string | undefined;
  /** Recomputes the balances of the program that are known to differ before it is checked. */
  repair?: "balances" | undefined;
}

/** An open difference, whenever it was found. */
export interface ShownDifference {
  program_id: string;
  check: Check;
  subject: string;
  expected: Figures;
  found: Figures;
  found_at: string;
}

export interface Reconciling {
  /** How many rows of each kind this call checked. */
  checked: Checked;
  /** The differences of the programs that this call checked; at most `NAMED`. */
  differences: ShownDifference[];
  /** Partners whose balances were recomputed. */
  repaired: string[];
  /** The value for the next call; null after the last program. */
  next: string | null;
}

/** A call takes no further step after this many statements; a step is about a hundred. */
const STATEMENTS = 500;

/** Checks one or every program, as far as one call goes; repairs balances only on request. @throws `not_found` */
export async function reconcileNow(ctx: Ctx, input: ReconcileInput, transfers: Transfers): Promise<Reconciling> {
  const reply: Reconciling = {
    checked: { commissions: 0, payments: 0, partners: 0, payouts: 0, transfers: 0 },
    differences: [],
    repaired: [],
    next: null,
  };
  const budget = { left: STATEMENTS };
  const given = input.program_id ?? input.next;
  let program = given === undefined ? await programAfter(ctx, null) : await openProgram(ctx, given);
  if (program && input.repair) reply.repaired = await repairBalances(program);
  let goesOn = input.next !== undefined;
  while (program) {
    const counted = forProgram(
      { ...program, db: countStatements(program.db, (sent) => (budget.left -= sent)) },
      program.program,
    );
    let fromStart = !goesOn || !(await isUnderWay(counted));
    let left = true;
    while (left && budget.left > 0) {
      const { checked, kept, whole } = await reconcileStep(counted, transfers, fromStart);
      for (const kind of Object.keys(checked) as (keyof Checked)[]) reply.checked[kind] += checked[kind];
      left = whole;
      fromStart &&= !kept;
    }
    await addDifferences(counted, reply);
    if (left) return { ...reply, next: program.program.id };
    const following: ProgramCtx | null = input.program_id === undefined ? await programAfter(ctx, program) : null;
    if (following && budget.left <= 0) return { ...reply, next: following.program.id };
    program = following;
    goesOn = false;
  }
  return reply;
}

/** Whether a pass over the whole program has begun and is not over. */
async function isUnderWay(ctx: ProgramCtx): Promise<boolean> {
  const [[row]] = await ctx.read(
    selectRows(
      ctx.db,
      { left: whole },
      sql`select json_array_length(position, '$.left') as "left" from reconciliations
      where program_id = ${ctx.program.id}`,
    ),
  );
  return row !== undefined && row.left > 0;
}

async function addDifferences(ctx: ProgramCtx, reply: Reconciling): Promise<void> {
  const [rows] = await ctx.read(openDifferences(ctx, NAMED));
  const shown = rows.map(({ kind, ...row }) => ({ ...row, check: kind }));
  reply.differences = [...reply.differences, ...shown].slice(0, NAMED);
}

/** The next program of the deployment: by database, then by id. */
async function programAfter(ctx: Ctx, before: ProgramCtx | null): Promise<ProgramCtx | null> {
  const first = before ? shardOfProgram(before.program.id) : 0;
  for (const shard of ctx.databases.shards.filter((one) => one >= first).toSorted((a, b) => a - b)) {
    const on = onShard(ctx, shard);
    if (!on) continue;
    const after = before !== null && shard === first ? before.program.id : "";
    const next = sql`${programs.id} > ${after}`;
    const [[row]] = await runBatch(on.db, [selectPrograms(on.db).where(next).orderBy(programs.id).limit(atMost(1))]);
    if (row) return forProgram(on, row);
  }
  return null;
}

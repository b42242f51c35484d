/** Programs as an isolate knows them: a provider's events come in numbers, and their program changes seldom. */
import { sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { programs } from "../../db/schema.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { shardOfProgram } from "../../domain/shard.ts";
import { remember, type Remembered } from "../../lib/remembered.ts";
import { SECOND } from "../../lib/time.ts";
import { refuseIf } from "../kernel/conflict.ts";
import { connectionOf } from "../kernel/connections.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import { forProgram, type Ctx, type ProgramCtx, type Statement } from "../kernel/context.ts";
import type { Program } from "../kernel/rows.ts";
import { onShard } from "../kernel/shards.ts";

/** So long a program is remembered with its connection to one provider; its secrets only as they are sealed. */
const REMEMBERED_MS = 10 * SECOND;
const MAX_REMEMBERED = 1_000;

const known = new WeakMap<Database, Remembered<string, Program>>();

/** Of `program` the connection to this provider was read, in the database of the context, at its time. */
export function rememberProgram({ db, now }: Pick<Ctx, "db" | "now">, provider: VendorName, program: Program): void {
  const programs = known.get(db) ?? remember(MAX_REMEMBERED);
  known.set(db, programs);
  programs.set(`${program.id} ${provider}`, program, now + REMEMBERED_MS);
}

/** The context of a program that was not read in this request; what is stored for it holds only where `unchanged` does. */
export interface KnownProgramCtx extends ProgramCtx {
  /** Refuses the batch where the program, its settings, its secrets or its refused deliveries are no longer what they were. */
  unchanged: Statement;
}

/** The program as this isolate has read it of late; null where it has not. No round trip. */
export function knownProgram(ctx: Ctx, provider: VendorName, id: string): KnownProgramCtx | null {
  const on = onShard(ctx, shardOfProgram(id));
  const program = on && known.get(on.db)?.get(`${id} ${provider}`, on.now);
  if (!program) return null;
  const connection = connectionOf(program, provider);
  const { webhook_secret, webhook_secret_previous, webhook_secret_previous_until, refusals } = connection;
  const same = sql`select 1 from programs p left join provider_connections c
      on c.program_id = p.id and c.provider = ${provider}
    where p.id = ${id} and p.updated_at = ${program.updated_at} and c.webhook_secret is ${webhook_secret}
      and c.webhook_secret_previous is ${webhook_secret_previous}
      and c.webhook_secret_previous_until is ${webhook_secret_previous_until} and c.refusals is ${refusals}`;
  return { ...forProgram(on, program), unchanged: on.db.run(refuseIf(sql`not exists (${same})`)) };
}

/**
 * The program with this id, bound to its database, in one read; null where there is none. Of its connections it has the one
 * to the provider alone: no event costs more than that row.
 */
export async function openProgramOrNull(ctx: Ctx, provider: VendorName, id: string): Promise<ProgramCtx | null> {
  const on = onShard(ctx, shardOfProgram(id));
  if (!on) return null;
  const [program] = await selectPrograms(on.db, provider).where(sql`${programs.id} = ${id}`);
  if (program) rememberProgram(on, provider, program);
  return program ? forProgram(on, program) : null;
}

/** A known program is to be read, and what it was to decide decided again: nothing was stored. */
export class ProgramChanged extends Error {}

/** The program of an application page, with its offer to new partners (JOIN-1, JOIN-10). */
import { eq, sql, type SQL } from "drizzle-orm";
import { runBatch, type Database } from "../../db/client.ts";
import { groups, programs } from "../../db/schema.ts";
import { actors } from "../../domain/actor.ts";
import type { Flow } from "../../domain/flow.ts";
import { offerOf, type Offer, type OfferGroup } from "../../domain/offer.ts";
import { slugKey } from "../../domain/partner.ts";
import { ageOfProgramId, isProgramId, shardOfProgram } from "../../domain/shard.ts";
import { iso } from "../../lib/time.ts";
import { actingAs, forProgram, type BaseCtx, type ProgramCtx } from "../kernel/context.ts";
import { OFFER_GROUP, selectActiveFlows } from "../kernel/offer-rows.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import type { Program } from "../kernel/rows.ts";
import { askAll, onShard } from "../kernel/shards.ts";

interface Found {
  ctx: BaseCtx;
  program: Program;
  group: OfferGroup;
  flows: Flow[];
}

export interface OpenJoin {
  ctx: ProgramCtx;
  offer: Offer;
}

/**
 * The program of an application page, by slug or id, with the offer to partners of the group of this slug, else of the
 * default group; null if it does not exist or is closed (JOIN-1).
 */
export async function openJoin(base: BaseCtx, at: string, group: string): Promise<OpenJoin | null> {
  const found = isProgramId(at) ? await foundById(base, at, group) : await foundBySlug(base, at, group);
  if (!found || found.program.applications === "off") return null;
  const { ctx, program } = found;
  return {
    ctx: forProgram(actingAs(ctx, actors.visitor()), program),
    offer: offerOf(program, found.group, found.flows, iso(ctx.now)),
  };
}

async function foundById(base: BaseCtx, id: string, group: string): Promise<Found | null> {
  const ctx = onShard(base, shardOfProgram(id));
  return ctx && read(ctx, eq(programs.id, id), group);
}

/** If two databases gave one slug at the same moment, the older program has it. */
async function foundBySlug(base: BaseCtx, slug: string, group: string): Promise<Found | null> {
  const { said, failure } = await askAll(base, (on) => read(on, eq(programs.slug, slug), group));
  const found = said.flatMap(({ answer }) => (answer ? [answer] : []));
  if (found.length === 0 && failure) throw failure.reason;
  const age = ({ program }: Found) => ageOfProgramId(program.id);
  return found.toSorted((a, b) => (age(a) < age(b) ? -1 : 1))[0] ?? null;
}

async function read(ctx: BaseCtx, which: SQL, group: string): Promise<Found | null> {
  const { db } = ctx;
  const [[program], [its], active] = await runBatch(db, [
    selectPrograms(db).where(which),
    selectGroup(db, which, group),
    selectActiveFlows(db, sql`(select id from programs where ${which})`),
  ]);
  return program && its ? { ctx, program, group: its, flows: active } : null;
}

function selectGroup(db: Database, which: SQL, slug: string) {
  const isNamed = sql`lower(${groups.slug}) = ${slugKey(slug)}`;
  return db
    .select(OFFER_GROUP)
    .from(groups)
    .innerJoin(programs, eq(groups.program_id, programs.id))
    .where(sql`${which} and (${isNamed} or ${groups.id} = ${programs.default_group_id})`)
    .orderBy(sql`${isNamed} desc`)
    .limit(1);
}

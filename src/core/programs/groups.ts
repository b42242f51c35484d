import { and, eq, sql, type SQL } from "drizzle-orm";
import { groups, programs } from "../../db/schema.ts";
import type { EventPayloads } from "../../domain/event.ts";
import { MAX_GROUPS } from "../../domain/group.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import type { InputOf, PatchOf } from "../../resources/field.ts";
import type { Group, GROUP } from "../../resources/group.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type CommitPlan, type Write } from "../kernel/commit.ts";
import { selectGroups } from "../kernel/group-rows.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import { requireHold, requireScope } from "../kernel/scopes.ts";
import { pickChanged, type Shown } from "../kernel/stale.ts";
import { appliedFrom, applyFrom, settleApplied, type ApplyFrom } from "../ledger/apply-from.ts";

export type GroupInput = InputOf<Group, typeof GROUP>;

/** `apply_from` applies to `commission_pct`. */
export type GroupPatch = PatchOf<Group, typeof GROUP> & ApplyFrom;

/** Lists all groups of the program by name. */
export async function listGroups(ctx: Reader): Promise<Group[]> {
  const [rows] = await ctx.read(selectGroups(ctx));
  return rows;
}

export async function getGroup(ctx: Reader, id: string): Promise<Group> {
  const [[group]] = await ctx.read(selectGroups(ctx, eq(groups.id, id)));
  if (!group) throw notFound("group");
  return group;
}

/**
 * Adds a group without partners. Days on hold need the scope `payouts`. @throws `already_exists` naming the field if
 * the name or slug is taken, `validation_failed` above the limit of groups.
 */
export async function createGroup(caller: Caller, input: GroupInput): Promise<Group> {
  return untilWon(async () => {
    const [ctx, [held]] = await prove(
      caller,
      caller.db
        .select({ groups: sql<number>`count(*)` })
        .from(groups)
        .where(sql`${groups.program_id} = ${caller.programId}`),
    );
    if ((held?.groups ?? 0) >= MAX_GROUPS) throw tooManyGroups();
    if ((input.hold_days ?? null) !== null) requireScope(ctx, "payouts");
    const stamp = iso(ctx.now);
    const row = {
      id: newId("group", ctx.now),
      program_id: ctx.program.id,
      ...{ name: input.name, slug: input.slug },
      commission_pct: input.commission_pct ?? null,
      hold_days: input.hold_days ?? null,
      ...{ created_at: stamp, updated_at: stamp },
    };
    const group: Group = { ...row, is_default: false, partner_count: 0 };
    await commitGroup(ctx, {
      writes: [
        { statement: ctx.db.insert(groups).values(row) },
        refuseWhere(ctx, sql`(select count(*) from groups where program_id = ${row.program_id}) > ${MAX_GROUPS}`),
      ],
      occurrences: [{ type: "group.created", payload: payloadOf(group) }],
      result: group,
    });
    return group;
  });
}

/**
 * Changes a group, for payments from now on; its rate also since `apply_from`. `is_default: true` makes it the default
 * in place of the one before. Days on hold need the scope `payouts`. @throws `already_exists` if the name is taken.
 * @throws {StaleChange} if the stored values differ from `shown`, the values of the submitted form (PAGE-30).
 */
export async function updateGroup(
  caller: Caller,
  id: string,
  { apply_from, ...all }: GroupPatch,
  shown?: Shown,
): Promise<Group> {
  const { ctx, group } = await untilWon(async () => {
    const [ctx, [before], [program]] = await prove(
      caller,
      selectGroups(caller, eq(groups.id, id)),
      selectDefault(caller),
    );
    if (!before || !program) throw notFound("group");
    const always = apply_from === undefined ? [] : ["commission_pct"];
    const patch: typeof all = pickChanged(before, all, { shown, always });
    const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
    if (patch.hold_days !== undefined) requireScope(ctx, "payouts");
    if (patch.is_default === false && before.is_default) {
      throw invalidField("is_default", "Make another group the default instead.");
    }
    const from = appliedFrom(ctx, apply_from, patch.commission_pct !== undefined);
    if (Object.keys(given).length === 0) return { ctx, group: before };
    const group: Group = { ...before, ...given, updated_at: nextStamp(before.updated_at, ctx.now) };
    const writes: Write[] = [
      {
        statement: ctx.db
          .update(groups)
          .set({
            ...{ name: group.name, commission_pct: group.commission_pct, hold_days: group.hold_days },
            updated_at: group.updated_at,
          })
          .where(and(owned(ctx, id), eq(groups.updated_at, before.updated_at))),
        expect: 1,
      },
    ];
    if (group.is_default && !before.is_default) {
      requireHold(ctx, program, group);
      writes.push({
        statement: ctx.db
          .update(programs)
          .set({ default_group_id: id, updated_at: nextStamp(program.updated_at, ctx.now) })
          .where(and(eq(programs.id, ctx.program.id), eq(programs.updated_at, program.updated_at))),
        expect: 1,
      });
    }
    writes.push(...applyFrom(ctx, { source: "group", rules: group }, from));
    await commitGroup(ctx, {
      writes,
      occurrences: [
        {
          type: "group.updated",
          changes: changesOf("group", before, group),
          payload: { ...payloadOf(group), ...from },
        },
      ],
      result: group,
    });
    return { ctx, group };
  });
  await settleApplied(ctx, { apply_from });
  return group;
}

/** Deletes a group without partners permanently. @throws `invalid_transition` for one with partners, and the default. */
export async function deleteGroup(caller: Caller, id: string): Promise<Group> {
  return untilWon(async () => {
    const [ctx, [group], [program]] = await prove(
      caller,
      selectGroups(caller, eq(groups.id, id)),
      selectDefault(caller),
    );
    if (!group || !program) throw notFound("group");
    if (group.is_default) {
      throw new AppError("invalid_transition", "This is the default group. Make another group the default first.");
    }
    if (group.partner_count > 0) {
      const partners = group.partner_count === 1 ? "1 partner belongs" : `${group.partner_count} partners belong`;
      throw new AppError("invalid_transition", `${partners} to this group. Move them to another group first.`);
    }
    // Applications that name the group come to the default.
    requireHold(ctx, group, program);
    await commit(ctx, {
      writes: [{ statement: ctx.db.delete(groups).where(owned(ctx, id)), expect: 1 }],
      occurrences: [{ type: "group.deleted", payload: payloadOf(group) }],
      result: group,
    });
    return group;
  });
}

/** Selects the days on hold of the default group, and the last change of the program. */
function selectDefault({ db, programId }: Reader) {
  return db
    .select({ updated_at: programs.updated_at, hold_days: groups.hold_days })
    .from(programs)
    .innerJoin(groups, eq(groups.id, programs.default_group_id))
    .where(sql`${programs.id} = ${programId}`);
}

async function commitGroup(ctx: ProgramCtx, plan: CommitPlan): Promise<void> {
  try {
    await commit(ctx, plan);
  } catch (error) {
    if (!(error instanceof CommitConflict) || error.kind !== "unique") throw error;
    const path = error.constraint.includes("slug") ? "slug" : "name";
    throw new AppError("already_exists", `Another group of this program has this ${path}.`, {
      details: [{ path, message: "This value is taken." }],
    });
  }
}

function tooManyGroups() {
  return invalidField("groups", `A program has at most ${MAX_GROUPS} groups.`);
}

function payloadOf({ id: group_id, name, slug, commission_pct, hold_days, is_default }: Group) {
  return { group_id, name, slug, commission_pct, hold_days, is_default } satisfies EventPayloads["group.created"];
}

function owned(ctx: Reader, id: string): SQL | undefined {
  return and(eq(groups.id, id), sql`${groups.program_id} = ${ctx.programId}`);
}

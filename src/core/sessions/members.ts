import { and, asc, eq, sql, type SQL } from "drizzle-orm";
import { programMembers, programs, sessions } from "../../db/schema.ts";
import { MAX_MEMBERS } from "../../domain/member.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { logLine, reasonOf } from "../../lib/log.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type CommitPlan, type Occurrence, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { EventPayloads } from "../../domain/event.ts";
import type { Member, Program } from "../kernel/rows.ts";
import type { InputOf, PatchOf } from "../../resources/field.ts";
import type { MEMBER } from "../../resources/team.ts";
import { requireNoEndBefore } from "../kernel/scopes.ts";
import { pickChanged, type Shown } from "../kernel/stale.ts";
import { endLastPasskeys, endPasskeysWithoutTeam, selectLastPasskeys } from "./passkeys.ts";
import { endInvitationsOf, invite, selectInvitations } from "./sign-in.ts";

export type MemberInput = InputOf<Member, typeof MEMBER>;
export type MemberPatch = PatchOf<Member, typeof MEMBER>;

/** A member is permanent and can create keys, so a key with an end may not add one (ACCESS-12). */
const NO_END = null;

/** The team of the program, the oldest first: at most `MAX_MEMBERS`. */
export async function listMembers(ctx: Reader): Promise<Member[]> {
  const [members] = await ctx.read(selectMembers(ctx));
  return members;
}

/**
 * Adds a member to the team, and e-mails them a link that signs in (TEAM-4).
 * @throws `already_exists` for the address of a member; `validation_failed` past the limit; `rate_limited` if the
 * address was sent too many links; `forbidden` to a key that ends.
 */
export async function addMember(caller: Caller, { email, role }: MemberInput): Promise<Member> {
  return untilWon(async () => {
    const [ctx, members, [recent]] = await prove(
      caller,
      selectMembers(caller),
      selectInvitations(caller, sql`${email.toLowerCase()}`),
    );
    requireNoEndBefore(ctx, NO_END);
    if (members.some((member) => isAddressOf(member, email))) throw memberThere();
    if (members.length >= MAX_MEMBERS) {
      throw invalidField("email", `A program has at most ${MAX_MEMBERS} members.`);
    }
    const stamp = iso(ctx.now);
    const own = { id: newId("member", ctx.now), program_id: ctx.program.id };
    const member: Member = { ...own, email, role, created_at: stamp, updated_at: stamp };
    const invited = await invitation(ctx, member, recent?.links ?? 0);
    await commitMember(ctx, {
      writes: [
        { statement: ctx.db.insert(programMembers).values(member) },
        // The limit also holds for concurrent additions: the loser reads again and is refused.
        refuseWhere(
          ctx,
          sql`(select count(*) from program_members where program_id = ${member.program_id}) > ${MAX_MEMBERS}`,
        ),
        ...invited.writes,
      ],
      occurrences: [{ type: "member.added", payload: payloadOf(member) }],
      notices: invited.notices,
      result: member,
    });
    return member;
  });
}

/**
 * Gives a member another role, which ends their sessions. @throws `invalid_transition` for the last owner (TEAM-2),
 * `forbidden` to a key that ends.
 * @throws {StaleChange} if `shown`, the values in the submitted form, differs from the stored member (PAGE-30).
 */
export async function updateMember(caller: Caller, id: string, patch: MemberPatch, shown?: Shown): Promise<Member> {
  return untilWon(async () => {
    const { ctx, before, program, members } = await readTeam(caller, id);
    const { role } = pickChanged(before, patch, { shown });
    requireNoEndBefore(ctx, NO_END);
    if (role === undefined || role === before.role) return before;
    const member: Member = { ...before, role, updated_at: nextStamp(before.updated_at, ctx.now) };
    const { email, updated_at } = member;
    const change = ctx.db.update(programMembers).set({ role, updated_at }).where(unchanged(before));
    const left = leaveOwners(ctx, { before, program, members });
    await commit(ctx, {
      writes: [...left.writes, { statement: change, expect: 1 }, contactIsOwner(ctx), endSessionsOf(ctx, email)],
      occurrences: [
        { type: "member.changed", changes: changesOf("member", before, member), payload: payloadOf(member) },
        ...left.occurrences,
      ],
      result: member,
    });
    return member;
  });
}

/**
 * Removes a member, and ends their sessions, this program's invitation links, and their passkeys if they belong to no
 * other team. Adding the address again does not restore them. @throws `invalid_transition` for the last owner (TEAM-2).
 */
export async function removeMember(caller: Caller, id: string): Promise<Member> {
  return untilWon(async () => {
    const { ctx, before, program, members, lastPasskeys } = await readTeam(caller, id);
    const left = leaveOwners(ctx, { before, program, members });
    const isWhole = ctx.databases.shards.length === 1;
    const ended = isWhole ? endLastPasskeys(ctx, before.email, lastPasskeys) : { writes: [], occurrences: [] };
    await commit(ctx, {
      writes: [
        ...left.writes,
        { statement: ctx.db.delete(programMembers).where(unchanged(before)), expect: 1 },
        ...ended.writes,
        contactIsOwner(ctx),
        endSessionsOf(ctx, before.email),
        endInvitationsOf(ctx, before.email),
      ],
      occurrences: [{ type: "member.removed", payload: payloadOf(before) }, ...left.occurrences, ...ended.occurrences],
      result: before,
    });
    if (!isWhole) {
      // The member is removed even if the passkeys remain.
      await endPasskeysWithoutTeam(ctx, before.email).catch((error: unknown) =>
        logLine("error", { what: "passkeys of a removed member not ended", reason: reasonOf(error) }),
      );
    }
    return before;
  });
}

/** Ends the sessions that an address has as a member of the program, in the database of the context. */
export function endSessionsOf({ db, program }: ProgramCtx, email: string): Write {
  return {
    statement: db
      .delete(sessions)
      .where(
        and(
          eq(sessions.program_id, program.id),
          eq(sessions.audience, "owner"),
          eq(sessions.email, email.toLowerCase()),
        ),
      ),
  };
}

function selectMembers({ db, programId }: Reader) {
  return db
    .select()
    .from(programMembers)
    .where(sql`${programMembers.program_id} = ${programId}`)
    .orderBy(asc(programMembers.id));
}

interface Team {
  before: Member;
  program: Program;
  members: readonly Member[];
}

async function readTeam(caller: Caller, id: string) {
  const [ctx, members, [program], lastPasskeys] = await prove(
    caller,
    selectMembers(caller),
    selectPrograms(caller.db).where(sql`${programs.id} = ${caller.programId}`),
    selectLastPasskeys(caller, id),
  );
  const before = members.find((member) => member.id === id);
  if (!before || !program) throw notFound("member");
  return { ctx, before, program, members, lastPasskeys };
}

/** If a member stops being an owner, the oldest other owner's address replaces theirs as the program's (TEAM-5). */
function leaveOwners(ctx: ProgramCtx, { before, program, members }: Team): Pick<CommitPlan, "occurrences" | "writes"> {
  if (before.role !== "owner") return { writes: [], occurrences: [] };
  const next = members.find(({ id, role }) => role === "owner" && id !== before.id);
  if (!next) throw new AppError("invalid_transition", "A program needs at least one owner.");
  if (!isAddressOf(before, program.owner_email)) return { writes: [], occurrences: [] };
  const { id: program_id } = program;
  const after: Program = { ...program, owner_email: next.email, updated_at: nextStamp(program.updated_at, ctx.now) };
  const move = ctx.db
    .update(programs)
    .set({ owner_email: after.owner_email, updated_at: after.updated_at })
    .where(and(eq(programs.id, program_id), eq(programs.updated_at, program.updated_at)));
  const moved: Occurrence = {
    type: "program.updated",
    changes: changesOf("program", program, after),
    payload: { program_id, changed: ["owner_email"] },
  };
  return { writes: [{ statement: move, expect: 1 }], occurrences: [moved] };
}

/** The address stays an owner's under concurrent changes: the loser reads again and is refused. */
function contactIsOwner(ctx: ProgramCtx): Write {
  const owner = sql`select 1 from programs p join program_members m on m.program_id = p.id
    where p.id = ${ctx.program.id} and m.role = 'owner' and lower(m.email) = lower(p.owner_email)`;
  return refuseWhere(ctx, sql`not exists (${owner})`);
}

async function invitation(ctx: ProgramCtx, member: Member, links: number) {
  if (ctx.mailer === null) return { writes: [], notices: [] };
  const { link, writes } = await invite(ctx, { email: member.email, partner_id: null }, links);
  return { writes, notices: [{ kind: "member_invited", program: ctx.program, member, link } as const] };
}

function isAddressOf(member: Member, email: string): boolean {
  return member.email.toLowerCase() === email.toLowerCase();
}

function unchanged({ id, updated_at }: Member): SQL | undefined {
  return and(eq(programMembers.id, id), eq(programMembers.updated_at, updated_at));
}

function payloadOf({ id: member_id, email, role }: Member): EventPayloads["member.added"] {
  return { member_id, email, role };
}

async function commitMember(ctx: ProgramCtx, plan: CommitPlan): Promise<void> {
  try {
    await commit(ctx, plan);
  } catch (error) {
    if (error instanceof CommitConflict && error.kind === "unique") throw memberThere();
    throw error;
  }
}

function memberThere(): AppError {
  return new AppError("already_exists", "This address already belongs to a member.", {
    details: [{ path: "email", message: "This value is taken." }],
  });
}

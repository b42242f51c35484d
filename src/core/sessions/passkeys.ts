import { and, desc, eq, sql, type SQL } from "drizzle-orm";
import { atMost, runBatch, type Database } from "../../db/client.ts";
import { nullable, selectRows, text, whole } from "../../db/rows.ts";
import { passkeys } from "../../db/schema.ts";
import { shardOfToken, tokenOn } from "../../domain/shard.ts";
import { randomToken } from "../../lib/crypto.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import {
  PasskeyRefused,
  readAssertion,
  readRegistration,
  type AssertionJson,
  type PasskeyExpected,
  type RegistrationJson,
} from "../../lib/passkey.ts";
import { iso, MINUTE } from "../../lib/time.ts";
import { commit, type CommitPlan, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { actingAs, type BaseCtx, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { untilWon } from "../kernel/races.ts";
import { askAll, onShard } from "../kernel/shards.ts";
import { askIdentities, findIdentity, type Identity } from "./identities.ts";
import { actAs, isFresh, openSession, type Session } from "./sessions.ts";
import type { Confirmation } from "./sign-in.ts";

/** The most passkeys of one address. Two that are added at the same moment in two databases may exceed it by one. */
export const MOST_PASSKEYS = 10;

/** How long a challenge is good for. */
export const CHALLENGE_VALID_FOR = 15 * MINUTE;

const HANDLE_BYTES = 32;

export type Passkey = typeof passkeys.$inferSelect;

/** The browser's answer, the challenge that it had to answer, and the time of the challenge (ms). */
export type Answered<T> = PasskeyExpected & { answer: T; challenged_at: number };

/** Makes the user handle of a passkey that this session adds: random, with the shard that a sign-in looks it up in. */
export function newHandle({ ctx }: Session): string {
  return tokenOn(ctx.shard, randomToken(HANDLE_BYTES));
}

/** Lists an address's passkeys that open a team, newest first; all of them if a database does not answer. */
export async function listPasskeys(base: BaseCtx, { record }: Session): Promise<Passkey[]> {
  const { email } = record;
  const { said, failure } = await askAll(base, ({ db }) =>
    runBatch(db, [selectPasskeys(db, email), firstTeam(db, email)]),
  );
  const found = said.flatMap(({ answer: [rows] }) => rows).toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const teams = said.flatMap(({ answer: [, [first]] }) => first ?? []);
  return failure ? found : found.filter((one) => hasTeam(one, teams));
}

async function ofAddress({ db }: BaseCtx, email: string): Promise<Passkey[]> {
  const [rows] = await runBatch(db, [selectPasskeys(db, email)]);
  return rows;
}

function selectPasskeys(db: Database, email: string) {
  return db
    .select()
    .from(passkeys)
    .where(eq(passkeys.email, email))
    .orderBy(desc(passkeys.id))
    .limit(atMost(MOST_PASSKEYS));
}

/** The start of the address's oldest current membership: a list needs no more for `hasTeam`. */
function firstTeam(db: Database, email: string) {
  return selectRows(
    db,
    { member_since: nullable(text) },
    sql`select min(created_at) as member_since from program_members where lower(email) = ${email}`,
  );
}

/**
 * Adds the passkey that the browser of this session made. `device` is the device it was made with.
 * @throws `forbidden` if the session is not fresh or not a member's, `validation_failed` if the answer is invalid,
 * `invalid_transition` if the address has too many, or this passkey already.
 */
export async function addPasskey(
  base: BaseCtx,
  session: Session,
  { answer, challenged_at, ...expected }: Answered<RegistrationJson>,
  device: string | null,
): Promise<void> {
  if (session.member === null || !isFresh(session)) throw notFresh();
  refuseOld(base, challenged_at);
  const made = await readRegistration(answer, expected).catch(refuse);
  if ((await listPasskeys(base, session)).length >= MOST_PASSKEYS) throw tooMany();
  const { bound } = await actAs(base, session.record);
  const { email } = session.record;
  // A passkey that no longer opens a team does not count, and its device may be added again.
  await endPasskeysWithoutTeam(bound, email);
  // Added only if the session is in force at that moment; a member's session ends with the membership.
  const isSignedIn = sql`exists (select 1 from sessions where token_hash = ${session.record.token_hash})`;
  const id = newId("passkey", base.now);
  const add = bound.db.run(sql`insert into passkeys
      (id, program_id, email, credential_id, public_key, sign_count, challenged_at, device, created_at)
    select ${id}, ${bound.program.id}, ${email}, ${made.credential_id}, ${JSON.stringify(made.public_key)},
      ${made.sign_count}, ${challenged_at}, ${device}, ${iso(base.now)}
    where (select count(*) from passkeys where email = ${email}) < ${MOST_PASSKEYS}
      and not exists (select 1 from passkeys where credential_id = ${made.credential_id}) and ${isSignedIn}`);
  try {
    await commit(bound, {
      writes: [{ statement: add, expect: 1 }],
      occurrences: [{ type: "passkey.added", payload: { passkey_id: id, email, device } }],
    });
  } catch (error) {
    if (!(error instanceof CommitConflict)) throw error;
    const [[left]] = await runBatch(bound.db, [selectRows(bound.db, { is: whole }, sql`select ${isSignedIn} as "is"`)]);
    throw left?.is ? tooMany() : notFresh();
  }
}

function notFresh(): AppError {
  return new AppError("forbidden", "To add a passkey, confirm that it is you: sign in again.");
}

function tooMany(): AppError {
  return new AppError(
    "invalid_transition",
    `An address has at most ${MOST_PASSKEYS} different passkeys. Remove one first.`,
  );
}

/** Removes a passkey of the session's address. @throws `not_found` if the address has no passkey of this id. */
export async function removePasskey(base: BaseCtx, { record }: Session, id: string): Promise<void> {
  const { said, failure } = await askAll(base, (on) => ofAddress(on, record.email));
  const found = said.flatMap(({ answer }) => answer).find((one) => one.id === id);
  if (!found && failure) throw failure.reason;
  if (!found) throw notFound("passkey");
  await endPasskey(base, found);
}

/** Ends a passkey, as an event of the program that it was added in. It is no error if it has already ended. */
async function endPasskey(base: BaseCtx, { id, program_id, email, device }: Passkey, by?: ProgramCtx): Promise<void> {
  const { bound } = await actAs(base, { program_id, partner_id: null, email });
  // A program's events do not reveal who acts in another program.
  const ctx = by?.program.id === program_id ? actingAs(bound, by.actor) : bound;
  try {
    await commit(ctx, {
      writes: [{ statement: bound.db.delete(passkeys).where(eq(passkeys.id, id)), expect: 1 }],
      occurrences: [{ type: "passkey.removed", payload: { passkey_id: id, email, device } }],
    });
  } catch (error) {
    if (!(error instanceof CommitConflict)) throw error;
  }
}

/** Selects the passkeys that end with a member, if there is one database. */
export function selectLastPasskeys({ db, programId }: Reader, member_id: string) {
  const address = sql`select lower(email) from program_members where id = ${member_id} and program_id = ${programId}`;
  return selectRows(
    db,
    { id: text, device: nullable(text) },
    sql`select id, device from passkeys where email = (${address})
      and not exists (${teamOf(sql`(${address})`)} and id <> ${member_id})`,
  );
}

/** The team that a passkey opens: one that its address was in when it was added, and still is (TEAM-3). */
function teamOf(email: SQL): SQL {
  return sql`select 1 from program_members where lower(email) = ${email} and created_at <= passkeys.created_at`;
}

/** The same for a passkey that was read: a team that the address joined later, or joined again, does not count. */
function hasTeam({ created_at }: Passkey, teams: readonly Pick<Identity, "member_since">[]): boolean {
  return teams.some(({ member_since }) => member_since !== null && member_since <= created_at);
}

/** Ends the passkeys `found` by `selectLastPasskeys` in the commit of the removal, which conflicts if they changed. */
export function endLastPasskeys(
  { db }: ProgramCtx,
  address: string,
  found: readonly LastPasskey[],
): Pick<CommitPlan, "writes" | "occurrences"> {
  const email = address.toLowerCase();
  const isLast = and(eq(passkeys.email, email), sql`not exists (${teamOf(sql`${email}`)})`);
  return {
    writes: [{ statement: db.delete(passkeys).where(isLast), expect: found.length }],
    occurrences: found.map(({ id, device }) => ({
      type: "passkey.removed",
      payload: { passkey_id: id, email, device },
    })),
  };
}

/**
 * Ends them elsewhere, after the removal: of two removals the later does. Without an answer they stay, useless. @throws
 * if no database answers
 */
export async function endPasskeysWithoutTeam(ctx: ProgramCtx, address: string): Promise<void> {
  const email = address.toLowerCase();
  const { identities, failure } = await askIdentities(ctx, email);
  if (failure) return;
  await askAll(ctx, async (on) => {
    for (const passkey of await ofAddress(on, email)) {
      if (!hasTeam(passkey, identities)) await endPasskey(on, passkey, ctx);
    }
  });
}

type LastPasskey = Pick<Passkey, "id" | "device">;

/**
 * Opens a session for the holder of a passkey, as `confirmLink` does for a link: `as` chooses among several programs.
 * Each challenge opens one session: a passkey accepts neither the challenge of its last use nor an older one (PASS-3).
 */
export async function confirmPasskey(
  base: BaseCtx,
  { answer, challenged_at, ...expected }: Answered<AssertionJson>,
  as: string | null,
  device: string | null,
): Promise<Confirmation> {
  const ctx = onShard(base, shardOfHandle(answer.response.userHandle));
  if (!ctx || isOld(base, challenged_at)) return { outcome: "link_refused" };
  return untilWon<Confirmation>(async () => {
    const [[passkey]] = await runBatch(ctx.db, [
      ctx.db.select().from(passkeys).where(eq(passkeys.credential_id, answer.id)),
    ]);
    if (!passkey || passkey.challenged_at >= challenged_at) return { outcome: "link_refused" };
    const read = await readAssertion(answer, passkey.public_key, expected).catch((error: unknown) => {
      if (error instanceof PasskeyRefused) return null;
      throw error;
    });
    if (!read) return { outcome: "link_refused" };
    const { identities, failure } = await askIdentities(base, passkey.email);
    const owned = identities.filter(({ audience }) => audience === "owner");
    const [first] = owned;
    if (!first || !hasTeam(passkey, owned)) {
      // The team may be in the database that did not answer.
      if (failure) throw failure.reason;
      await endPasskey(base, passkey);
      return { outcome: first ? "link_refused" : "nobody" };
    }
    if (isCopied(passkey, read.sign_count)) {
      await tellOfCopy(base, first, passkey.email);
      return { outcome: "link_refused" };
    }
    const chosen = as === null && owned.length === 1 ? first : findIdentity(owned, as);
    if (!chosen) return { outcome: "choose", email: passkey.email, identities: owned, is_partial: false };
    const before = [use(ctx, passkey, { ...read, challenged_at })];
    const proof = { email: passkey.email, proven_as: null, proven_at: ctx.now, shard: ctx.shard, before, device };
    return { outcome: "signed_in", session: await openSession(base, chosen, proof) };
  });
}

function use(
  ctx: BaseCtx,
  { id, challenged_at: last }: Passkey,
  used: Pick<Passkey, "sign_count" | "challenged_at">,
): Write {
  return {
    statement: ctx.db
      .update(passkeys)
      .set({ ...used, last_used_at: iso(ctx.now) })
      .where(and(eq(passkeys.id, id), eq(passkeys.challenged_at, last))),
    expect: 1,
  };
}

/** A device that counts its signatures never repeats a number: a repeated one means a copied key. */
function isCopied({ sign_count }: Passkey, now: number): boolean {
  return (sign_count > 0 || now > 0) && now <= sign_count;
}

async function tellOfCopy(base: BaseCtx, identity: Identity, email: string): Promise<void> {
  const { bound } = await actAs(base, { ...identity, email });
  await commit(bound, {
    writes: [],
    occurrences: [{ type: "sign_in.failed", payload: { email, reason: "copied" } }],
  });
}

function shardOfHandle(userHandle: string | undefined): number {
  try {
    return shardOfToken(atob((userHandle ?? "").replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return 0;
  }
}

function isOld({ now }: BaseCtx, challenged_at: number): boolean {
  return challenged_at > now || challenged_at < now - CHALLENGE_VALID_FOR;
}

function refuseOld(base: BaseCtx, challenged_at: number): void {
  if (isOld(base, challenged_at)) throw new AppError("validation_failed", "The page was open for too long. Try again.");
}

function refuse(error: unknown): never {
  if (!(error instanceof PasskeyRefused)) throw error;
  throw new AppError("validation_failed", "Your browser's answer was not accepted. Open the page again and retry.");
}

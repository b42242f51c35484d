import { and, desc, eq, getTableColumns, isNotNull, isNull, ne, sql } from "drizzle-orm";
import { atMost, literal, runBatch } from "../../db/client.ts";
import { selectRows, text } from "../../db/rows.ts";
import { partners, portalLinks, programMembers, programs, sessions } from "../../db/schema.ts";
import type { MemberRole } from "../../domain/member.ts";
import { notFound } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import type { BaseCtx } from "../kernel/context.ts";
import { askAll } from "../kernel/shards.ts";
import { isOfAccount } from "./identities.ts";
import {
  actAs,
  endRecord,
  hasKeyInForce,
  isSessionInForce,
  sessionId,
  type Session,
  type SessionRecord,
} from "./sessions.ts";
import { endLinks } from "./sign-in.ts";

const MOST_LISTED = 50;
const MOST_READ = 500;

/** A session of an address, as its holder sees it. */
export interface ListedSession extends Pick<SessionRecord, "audience" | "created_at" | "last_seen_at" | "device"> {
  id: string;
  program_name: string;
  /** Null for a partner's. */
  role: MemberRole | null;
  /** The session of this request. */
  is_current: boolean;
}

type Found = SessionRecord & { program_name: string; role: MemberRole | null };
type Ending = Pick<SessionRecord, "token_hash" | "email" | "program_id" | "partner_id">;

/** Lists the newest 50 sessions of this account only: not the programs of another account. */
export async function listSessions(base: BaseCtx, { record }: Session): Promise<ListedSession[]> {
  const { found } = await sessionsOf(base, record.email);
  return found
    .filter((one) => isOfAccount(one, record))
    .slice(0, MOST_LISTED)
    .map(({ audience, created_at, last_seen_at, device, program_name, role, token_hash }) => ({
      id: sessionId({ token_hash }),
      ...{ audience, created_at, last_seen_at, device, program_name, role },
      is_current: token_hash === record.token_hash,
    }));
}

/** Ends one of the account's sessions. @throws `not_found` if the account has no session of this id. */
export async function endOwnSession(base: BaseCtx, { record }: Session, id: string): Promise<void> {
  const { found, failure } = await sessionsOf(base, record.email);
  const ended = found.find((session) => isOfAccount(session, record) && sessionId(session) === id);
  if (!ended && failure) throw failure.reason;
  if (!ended) throw notFound("session");
  await endRecord(base, ended);
}

/** Sessions may be opened from one that is about to end: they are read again this many times at most. */
const MOST_ROUNDS = 3;

/**
 * Signs the address out everywhere: all of its sessions end, and the links that could open another. One event for each
 * account. Its own session ends last, so that the request can be repeated if a step fails.
 * @throws the error of a database that did not answer; the sessions in the others have ended then, except this one.
 */
export async function endAllSessions(base: BaseCtx, { record }: Session): Promise<void> {
  const { email } = record;
  const unused = and(eq(portalLinks.email, email), isNull(portalLinks.session_hash));
  const links = await askAll(base, (on) =>
    runBatch(on.db, [endLinks(on, email), on.db.delete(portalLinks).where(unused)]),
  );
  let missed = links.failure;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const { found, opened, failure } = await sessionsOf(base, email);
    missed ??= failure;
    const ending: Ending[] = [...found, ...opened];
    if (ending.length === 0) break;
    const accounts = Map.groupBy(ending, ({ program_id, partner_id }) => partner_id ?? program_id);
    const own = record.partner_id ?? record.program_id;
    const ordered = [...accounts].toSorted(([a], [b]) => Number(a === own) - Number(b === own));
    const spared = missed ? record.token_hash : "";
    for (const [, ofAccount] of ordered) await endAccount(base, ofAccount, spared);
    if (missed) break;
  }
  if (missed) throw missed.reason;
}

async function endAccount(base: BaseCtx, ofAccount: readonly Ending[], spared: string): Promise<void> {
  const found = ofAccount.filter(({ token_hash }) => token_hash !== spared);
  const [one] = found;
  if (!one) return;
  const { email, program_id, partner_id } = one;
  const { bound, partner } = await actAs(base, one);
  const isEnded = and(
    eq(sessions.email, email),
    ne(sessions.token_hash, spared),
    eq(sessions.program_id, program_id),
    partner_id === null ? isNull(sessions.partner_id) : eq(sessions.partner_id, partner_id),
  );
  const isOpened = and(
    eq(portalLinks.email, email),
    eq(portalLinks.partner_id, partner_id ?? ""),
    isNotNull(portalLinks.session_hash),
  );
  const payload = { ...(partner && { partner_id: partner.id }), email, sessions: found.length };
  await commit(bound, {
    writes: [
      { statement: bound.db.delete(sessions).where(isEnded) },
      { statement: bound.db.delete(portalLinks).where(isOpened) },
    ],
    occurrences: [{ type: "session.all_ended", payload }],
  });
}

/** Sessions that `readSession` accepts, newest first; `opened` by portal links are in no list (EMBED-2). */
async function sessionsOf(base: BaseCtx, email: string) {
  const { said, failure } = await askAll(base, async ({ db, now }) => {
    const isOwner = sql`${sessions.audience} = 'owner' and ${programMembers.id} is not null`;
    const isPartner = sql`${sessions.audience} = 'partner' and ${partners.status} <> 'deactivated'
      and lower(${partners.email}) = ${sessions.email}`;
    return runBatch(db, [
      db
        .select({
          ...getTableColumns(sessions),
          program_name: sql<string>`${programs.name}`.as("program_name"),
          role: programMembers.role,
        })
        .from(sessions)
        .innerJoin(programs, eq(programs.id, sessions.program_id))
        .leftJoin(partners, eq(partners.id, sessions.partner_id))
        .leftJoin(
          programMembers,
          and(
            eq(programMembers.program_id, sessions.program_id),
            sql`lower(${programMembers.email}) = lower(${sessions.email})`,
          ),
        )
        .where(and(eq(sessions.email, email), isSessionInForce(now), sql`((${isOwner}) or (${isPartner}))`))
        .orderBy(desc(sessions.created_at))
        .limit(atMost(MOST_READ)),
      selectRows(
        db,
        { token_hash: text, email: text, program_id: text, partner_id: text },
        sql`select session_hash as token_hash, email, program_id, partner_id from portal_links
          where email = ${email} and session_hash is not null and expires_at > ${iso(now)} and ${hasKeyInForce(now)} limit ${literal(MOST_READ)}`,
      ),
    ]);
  });
  const found: Found[] = said.flatMap(({ answer }) => answer[0]);
  const opened: Ending[] = said.flatMap(({ answer }) => answer[1]);
  return { opened, found: found.toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1)), failure };
}

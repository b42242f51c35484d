import { and, eq, sql, type InferSelectModel, type SQL } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { selectRows, whole, type Columns } from "../../db/rows.ts";
import { partners, portalLinks, programMembers, programs, sessions } from "../../db/schema.ts";
import { actors, type Actor } from "../../domain/actor.ts";
import { shardOfProgram, shardOfToken, tokenOn } from "../../domain/shard.ts";
import { randomToken, sha256Hex } from "../../lib/crypto.ts";
import { DAY, HOUR, iso, MINUTE } from "../../lib/time.ts";
import { commit, type Occurrence, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { actingAs, forProgram, type BaseCtx, type ProgramCtx } from "../kernel/context.ts";
import { isKeyInForce } from "../kernel/key-lookup.ts";
import type { Member, Partner, Program } from "../kernel/rows.ts";
import { onShard } from "../kernel/shards.ts";
import { settleWaiting } from "../ledger/settle.ts";
import { changePartnerRow } from "../partners/change-destination.ts";
import { partnerChanged, wakeWaitingPayments } from "../partners/partners.ts";
import { identityKey, type Audience, type Identity } from "./identities.ts";
import { selectPrograms } from "../kernel/program-rows.ts";

/** 14 days for partners, 12 hours for members (PAGE-3), from the moment the address was proven. */
export const SESSION_LIFETIME: Record<Audience, number> = { owner: 12 * HOUR, partner: 14 * DAY };

/** How long a proof of the address, by a requested link or a passkey, counts as fresh (PROOF-3). */
export const FRESH_FOR = 15 * MINUTE;

/** A member's session ends after so long without a request (PAGE-3). */
const OWNER_IDLE = 2 * HOUR;
/** How often the use of a session is recorded: a member's session ends at most that much earlier. */
const NOTED_EVERY = 5 * MINUTE;

const TOKEN_BYTES = 32;

export interface OpenedSession {
  /** Unhashed, for the cookie; only its hash is stored. */
  token: string;
  audience: Audience;
  expires_at: string;
}

export type SessionRecord = InferSelectModel<typeof sessions>;

/** A session in force: its program, and either its member or its partner, as they are now (TEAM-3). */
export interface Session {
  /** The context of the session's database, which is its program's. */
  ctx: BaseCtx;
  record: SessionRecord;
  program: Program;
  partner: Partner | null;
  member: Member | null;
  /** The limits of a portal link's session (EMBED-2); null for a session by a link to the address. */
  limited: "framed" | "own page" | null;
  /** The team's waiting tasks; 0 in a partner's session. */
  waiting: SessionWaiting;
}

/** Numbers beside the places of the navigation, from the stored counts. */
export interface SessionWaiting {
  /** Open claims. */
  claims: number;
  /** Pending applications. */
  applications: number;
  /** Payouts whose transfer failed. */
  failed_payouts: number;
}

const WAITING: Columns<SessionWaiting> = { claims: whole, applications: whole, failed_payouts: whole };

/** Selects one row: three stored counts of the program of a member's session. */
function selectWaiting({ db }: BaseCtx, token_hash: string) {
  const count = (list: string, state: string) => sql`coalesce((select c.count from list_counts c
    where c.program_id = s.program_id and c.list = ${list} and c.state = ${state}), 0)`;
  return selectRows(
    db,
    WAITING,
    sql`select ${count("claims", "open")} as claims, ${count("applications", "pending")} as applications,
      ${count("payouts", "failed")} as failed_payouts
    from sessions s where s.token_hash = ${token_hash} and s.audience = 'owner'`,
  );
}

const NONE_WAITING: SessionWaiting = { claims: 0, applications: 0, failed_payouts: 0 };

export interface SessionProof {
  email: string;
  /** The one account (`identityKey`) that the link was made for; null if the address itself was proven. */
  proven_as: string | null;
  /** When the address was proven (ms): switching does not extend the session's life. */
  proven_at: number;
  /** Writes in `shard` that replace the old session or proof; if they fail, no session opens. */
  before: Write[];
  shard: number;
  /** The device that the person signs in with (`domain/device.ts`). */
  device: string | null;
}

/**
 * Opens a session under a new token, in the database of the identity. The same transaction uses up the proof, turns an
 * `invited` partner `active`, and writes the audit event of the sign-in. If the proof is stored in another database it
 * is used up first: after a failure in between the person needs another link, and no proof works twice.
 * @throws {CommitConflict} if the proof was used up, the partner deactivated or the member removed at the same moment;
 * then it writes no session.
 */
export async function openSession(base: BaseCtx, identity: Identity, proof: SessionProof): Promise<OpenedSession> {
  const { audience, program_id, partner_id } = identity;
  const proven = onShard(base, proof.shard);
  if (!proven) throw new Error("a proof names a database that is not bound");
  const { bound: ctx, partner } = await actAs(base, { ...identity, email: proof.email });
  const { program, actor } = ctx;
  const token = tokenOn(ctx.shard, randomToken(TOKEN_BYTES));
  const expires_at = iso(proof.proven_at + SESSION_LIFETIME[audience]);
  const allowed =
    partner_id === null
      ? sql`program_members where program_id = ${program_id} and lower(email) = ${proof.email}`
      : sql`partners where id = ${partner_id} and status <> 'deactivated' and lower(email) = ${proof.email}`;
  const isHere = proven.shard === ctx.shard;
  const writes: Write[] = [
    ...(isHere ? proof.before : []),
    {
      statement: ctx.db.run(sql`insert into sessions
          (token_hash, audience, email, program_id, partner_id, created_at, expires_at, last_seen_at, device, proven_as)
        select ${await sha256Hex(token)}, ${audience}, ${proof.email}, ${program_id}, ${partner_id},
          ${iso(proof.proven_at)}, ${expires_at}, ${iso(ctx.now)}, ${proof.device}, ${proof.proven_as} from ${allowed}`),
      expect: 1,
    },
  ];
  const isFirst = partner?.status === "invited";
  const first = firstSignIn(ctx, partner);
  const occurrences: Occurrence[] = [signedIn(partner, proof), ...first.occurrences];
  writes.push(...first.writes);
  if (!isHere) await commit(forProgram(actingAs(proven, actor), program), { writes: proof.before, occurrences: [] });
  await commit(ctx, { writes, occurrences });
  if (partner && isFirst) await settleWaiting(ctx, partner.id);
  return { token, audience, expires_at };
}

/** Turns an invited partner active, else empty. The caller settles the waiting payments afterwards. */
export function firstSignIn(ctx: ProgramCtx, partner: Partner | null): { writes: Write[]; occurrences: Occurrence[] } {
  if (partner?.status !== "invited") return { writes: [], occurrences: [] };
  const { write, after } = changePartnerRow(ctx, partner, { status: "active" });
  return {
    writes: [write, { statement: wakeWaitingPayments(ctx, partner.id) }],
    occurrences: [partnerChanged(partner, after, null)],
  };
}

function signedIn(partner: Partner | null, { email, device }: SessionProof): Occurrence {
  if (!partner) return { type: "member.signed_in", payload: { email, device } };
  return {
    type: "partner.signed_in",
    payload: { partner_id: partner.id, email: partner.email, slug: partner.slug, device },
  };
}

/** A context in which an address acts for a program, or as a partner. @throws if one does not exist */
export async function actAs(
  base: BaseCtx,
  { program_id, partner_id, email }: Pick<SessionRecord, "program_id" | "partner_id" | "email">,
): Promise<{ bound: ProgramCtx; partner: Partner | null }> {
  const ctx = onShard(base, shardOfProgram(program_id));
  if (!ctx) throw new Error("an identity names a database that is not bound");
  const [[program], [partner = null]] = await runBatch(ctx.db, [
    selectPrograms(ctx.db).where(eq(programs.id, program_id)),
    ctx.db
      .select()
      .from(partners)
      .where(eq(partners.id, partner_id ?? "")),
  ]);
  if (!program || (partner_id !== null && !partner)) throw new Error("an identity names a row that is not there");
  const actor = partner ? actors.partner(partner) : actors.member(email);
  return { bound: forProgram(actingAs(ctx, actor), program), partner };
}

/** The condition on `sessions` rows: neither their end nor the idle limit has passed. */
export function isSessionInForce(now: number): SQL {
  return sql`${sessions.expires_at} > ${iso(now)} and (${sessions.audience} <> 'owner'
    or coalesce(${sessions.last_seen_at}, ${sessions.created_at}) > ${iso(now - OWNER_IDLE)})`;
}

/** The condition on `portal_links`: their API key is in force. Link and session end with it (ACCESS-12). */
export function hasKeyInForce(now: number): SQL {
  return isKeyInForce(sql`portal_links.program_id`, sql`portal_links.made_by`, now);
}

/**
 * Reads the session of a cookie's token, in one round trip; null if it is unknown, expired, idle for too long or ended.
 * A session also counts as ended if its partner was deactivated, or if its address is no longer a member's or the
 * partner's own, even if its row still exists.
 */
export async function readSession(base: BaseCtx, token: string): Promise<Session | null> {
  const ctx = onShard(base, shardOfToken(token));
  if (!ctx) return null;
  const token_hash = await sha256Hex(token);
  const live = and(eq(sessions.token_hash, token_hash), isSessionInForce(ctx.now));
  // `lower` on both sides: SQLite does not use an index on an expression for a bare column.
  const of = (column: "program_id" | "partner_id" | "email") =>
    sql`(select ${sql.identifier(column)} from sessions where token_hash = ${token_hash}
      union all select ${sql.identifier(column)} from portal_links where session_hash = ${token_hash})`;
  const [[own], [opened], [program], [partner], [member], [waiting = NONE_WAITING]] = await runBatch(ctx.db, [
    ctx.db.select().from(sessions).where(live),
    ctx.db
      .select()
      .from(portalLinks)
      .where(
        and(
          eq(portalLinks.session_hash, token_hash),
          sql`${portalLinks.expires_at} > ${iso(ctx.now)}`,
          hasKeyInForce(ctx.now),
        ),
      ),
    selectPrograms(ctx.db).where(sql`${programs.id} = ${of("program_id")}`),
    ctx.db
      .select()
      .from(partners)
      .where(sql`${partners.id} = ${of("partner_id")}`),
    ctx.db
      .select()
      .from(programMembers)
      .where(
        sql`${programMembers.program_id} = ${of("program_id")} and lower(${programMembers.email}) = lower(${of("email")})`,
      ),
    selectWaiting(ctx, token_hash),
  ]);
  const record = own ?? (opened && recordOf(opened, token_hash));
  if (!record || !program) return null;
  const limited = own || !opened ? null : opened.framed ? "framed" : "own page";
  if (record.audience === "owner") {
    return member ? { ctx, record, program, partner: null, member, limited, waiting } : null;
  }
  if (!partner || partner.status === "deactivated" || partner.email.toLowerCase() !== record.email) return null;
  return { ctx, record, program, partner, member: null, limited, waiting };
}

function recordOf(link: InferSelectModel<typeof portalLinks>, token_hash: string): SessionRecord {
  const { email, program_id, partner_id, created_at, expires_at, used_at, device } = link;
  return {
    ...{ token_hash, audience: "partner", email, program_id, partner_id },
    ...{ created_at: used_at ?? created_at, expires_at, last_seen_at: null, device },
    proven_as: identityKey({ program_id, partner_id }),
  };
}

/** The actor of a session: the partner, or the member by the address that was proven. */
export function actorOf({ record, partner, member }: Session): Actor {
  return partner ? actors.partner(partner) : actors.member(member?.email ?? record.email);
}

/** Records the use of a session, at most once in five minutes; null if no record is due. */
export function recordSessionUse({ ctx, record, limited }: Session): Promise<unknown> | null {
  const { token_hash, last_seen_at } = record;
  if (limited !== null) return null;
  if (last_seen_at !== null && Date.parse(last_seen_at) > ctx.now - NOTED_EVERY) return null;
  const isLater = sql`coalesce(${sessions.last_seen_at}, '') < ${iso(ctx.now)}`;
  return ctx.db
    .update(sessions)
    .set({ last_seen_at: iso(ctx.now) })
    .where(and(eq(sessions.token_hash, token_hash), isLater))
    .run();
}

/** Ends the session of a token, as an event. It is no error if the session does not exist. */
export async function endSession(base: BaseCtx, token: string): Promise<void> {
  const session = await readSession(base, token);
  if (session) return endRecord(base, session.record, session.limited === null ? sessions : portalLinks);
  const ctx = onShard(base, shardOfToken(token));
  if (!ctx) return;
  await runBatch(ctx.db, [ctx.db.delete(sessions).where(eq(sessions.token_hash, await sha256Hex(token)))]);
}

/** The public id of a session: it is unique, and does not reveal the token. */
export function sessionId({ token_hash }: Pick<SessionRecord, "token_hash">): string {
  return `ses_${token_hash.slice(0, ID_CHARACTERS)}`;
}

const ID_CHARACTERS = 16;

/** Ends a session that was read. It is no error if it has already ended. */
export async function endRecord(
  base: BaseCtx,
  record: Pick<SessionRecord, "token_hash" | "email" | "program_id" | "partner_id">,
  of: typeof sessions | typeof portalLinks = sessions,
): Promise<void> {
  const { bound, partner } = await actAs(base, record);
  const end =
    of === sessions
      ? bound.db.delete(sessions).where(eq(sessions.token_hash, record.token_hash))
      : bound.db.delete(portalLinks).where(eq(portalLinks.session_hash, record.token_hash));
  try {
    await commit(bound, {
      writes: [{ statement: end, expect: 1 }],
      occurrences: [
        {
          type: "session.ended",
          payload: { ...(partner && { partner_id: partner.id }), session_id: sessionId(record), email: record.email },
        },
      ],
    });
  } catch (error) {
    if (!(error instanceof CommitConflict)) throw error;
  }
}

/** Whether this session proved the address within `FRESH_FOR`: a thief's cannot (PROOF-3). */
export function isFresh({ record, limited, ctx }: Pick<Session, "record" | "limited" | "ctx">): boolean {
  return limited === null && record.proven_as === null && Date.parse(record.created_at) > ctx.now - FRESH_FOR;
}

/** Whether a session may switch to another identity of its address: to a team only with a fresh proof (PROOF-1). */
function maySwitch(session: Session, identity: Identity): boolean {
  const { proven_as, created_at } = session.record;
  if (proven_as !== null && proven_as !== identityKey(identity)) return false;
  if (identity.audience === "owner") return isFresh(session);
  return Date.parse(created_at) + SESSION_LIFETIME.partner > session.ctx.now;
}

/** Acts as another identity of the address, under a new token. Null if its proof does not suffice for that. */
export async function switchSession(
  base: BaseCtx,
  session: Session,
  identity: Identity,
): Promise<OpenedSession | null> {
  const { ctx, record } = session;
  if (!maySwitch(session, identity)) return null;
  const end = ctx.db.delete(sessions).where(eq(sessions.token_hash, record.token_hash));
  const { email, device, proven_as } = record;
  const proven_at = Date.parse(record.created_at);
  const before = [{ statement: end, expect: 1 }];
  return openSession(base, identity, { email, device, proven_as, proven_at, shard: ctx.shard, before });
}

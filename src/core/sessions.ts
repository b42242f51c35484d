import { and, eq, sql, type InferSelectModel } from "drizzle-orm";
import { runBatch } from "../db/client.ts";
import { partners, programs, sessions } from "../db/schema.ts";
import { actors, type Actor } from "../domain/actor.ts";
import { shardOfProgram, shardOfToken, tokenOn } from "../domain/shard.ts";
import { randomToken, sha256Hex } from "../lib/crypto.ts";
import { DAY, HOUR, iso } from "../lib/time.ts";
import { commit, type Occurrence, type Write } from "./commit.ts";
import { actingAs, forProgram, type BaseCtx, type Program } from "./context.ts";
import { settleWaiting } from "./ledger.ts";
import { partnerChanged, wakeWaitingPayments, type Partner } from "./partners.ts";
import { onShard } from "./shards.ts";
import type { Audience, Identity } from "./sign-in.ts";
import { nextStamp } from "./stamps.ts";

/** "14 days for partners, 12 hours for owners" (contract §11), from the moment the address was proven. */
export const SESSION_LIFETIME: Record<Audience, number> = { owner: 12 * HOUR, partner: 14 * DAY };

const TOKEN_BYTES = 32;

export interface OpenedSession {
  /** In clear, for the cookie; only its hash is kept. */
  token: string;
  audience: Audience;
  expires_at: string;
}

/** A session in force: the program it acts for, and for a partner's session the partner. */
export interface Session {
  /** Over the database of the session, which is that of its program. */
  ctx: BaseCtx;
  record: InferSelectModel<typeof sessions>;
  program: Program;
  partner: Partner | null;
}

export interface SessionProof {
  email: string;
  /** When the address was proven (ms): a session made by switching lives no longer for it. */
  proven_at: number;
  /** What the new session replaces or uses up, in the database `shard`; the session stands or falls with it. */
  before: Write[];
  shard: number;
}

/**
 * Opens a session under a new token, in the database of the identity. In the same transaction: what it uses up, the
 * partner's `invited` turning `active`, and the audit event `partner.signed_in`. Where the proof stands in another
 * database it is used up first: a failure in between costs the person another link, and no proof serves twice.
 * @throws {CommitConflict} when the proof was used up, or the partner deactivated, at the same moment; nothing is written.
 */
export async function openSession(base: BaseCtx, identity: Identity, proof: SessionProof): Promise<OpenedSession> {
  const { audience, program_id, partner_id } = identity;
  const ctx = onShard(base, shardOfProgram(program_id));
  const proven = onShard(base, proof.shard);
  if (!ctx || !proven) throw new Error("an identity names a database that is not bound");
  const [[program], [partner]] = await runBatch(ctx.db, [
    ctx.db.select().from(programs).where(eq(programs.id, program_id)),
    ctx.db
      .select()
      .from(partners)
      .where(eq(partners.id, partner_id ?? "")),
  ]);
  if (!program) throw new Error("an identity names a program that is not there");
  const actor = partner ? actors.partner(partner) : actors.member(program.owner_email);
  const bound = forProgram(actingAs(ctx, actor), program);
  const token = tokenOn(ctx.shard, randomToken(TOKEN_BYTES));
  const expires_at = iso(proof.proven_at + SESSION_LIFETIME[audience]);
  const allowed =
    partner_id === null
      ? sql`programs where id = ${program_id} and lower(owner_email) = ${proof.email}`
      : sql`partners where id = ${partner_id} and status <> 'deactivated' and lower(email) = ${proof.email}`;
  const isHere = proven.shard === ctx.shard;
  const writes: Write[] = [
    ...(isHere ? proof.before : []),
    {
      statement: ctx.db.run(sql`insert into sessions
          (token_hash, audience, email, program_id, partner_id, created_at, expires_at)
        select ${await sha256Hex(token)}, ${audience}, ${proof.email}, ${program_id}, ${partner_id},
          ${iso(proof.proven_at)}, ${expires_at} from ${allowed}`),
      expect: 1,
    },
  ];
  const occurrences: Occurrence[] = [];
  const isFirst = partner?.status === "invited";
  if (partner) {
    const { id, email, slug } = partner;
    occurrences.push({ type: "partner.signed_in", payload: { partner_id: id, email, slug } });
  }
  if (partner && isFirst) {
    const activated: Partner = { ...partner, status: "active", updated_at: nextStamp(partner.updated_at, ctx.now) };
    writes.push(
      {
        statement: ctx.db
          .update(partners)
          .set({ status: "active", updated_at: activated.updated_at })
          .where(and(eq(partners.id, partner.id), eq(partners.updated_at, partner.updated_at))),
        expect: 1,
      },
      { statement: wakeWaitingPayments(bound, partner.id) },
    );
    occurrences.push(partnerChanged(partner, activated));
  }
  if (!isHere) await commit(forProgram(actingAs(proven, actor), program), { writes: proof.before, occurrences: [] });
  await commit(bound, { writes, occurrences });
  if (partner && isFirst) await settleWaiting(bound, partner.id);
  return { token, audience, expires_at };
}

/**
 * The session of a cookie's token, in one round trip; null when it is unknown, expired or ended. A session whose partner
 * was deactivated, or whose address is no longer the owner's or partner's own, is none, even where its row still stands.
 */
export async function readSession(base: BaseCtx, token: string): Promise<Session | null> {
  const ctx = onShard(base, shardOfToken(token));
  if (!ctx) return null;
  const token_hash = await sha256Hex(token);
  const live = and(eq(sessions.token_hash, token_hash), sql`${sessions.expires_at} > ${iso(ctx.now)}`);
  const of = (column: "program_id" | "partner_id") =>
    sql`(select ${sql.identifier(column)} from sessions where token_hash = ${token_hash})`;
  const [[record], [program], [partner]] = await runBatch(ctx.db, [
    ctx.db.select().from(sessions).where(live),
    ctx.db
      .select()
      .from(programs)
      .where(sql`${programs.id} = ${of("program_id")}`),
    ctx.db
      .select()
      .from(partners)
      .where(sql`${partners.id} = ${of("partner_id")}`),
  ]);
  if (!record || !program) return null;
  if (record.audience === "owner") {
    return program.owner_email.toLowerCase() === record.email ? { ctx, record, program, partner: null } : null;
  }
  if (!partner || partner.status === "deactivated" || partner.email.toLowerCase() !== record.email) return null;
  return { ctx, record, program, partner };
}

/** Who acts in a session: the partner, or the owner by the address that was proven. */
export function actorOf({ program, partner }: Session): Actor {
  return partner ? actors.partner(partner) : actors.member(program.owner_email);
}

/** Ends a session; ending one that is not there is no error. */
export async function endSession(base: BaseCtx, token: string): Promise<void> {
  const ctx = onShard(base, shardOfToken(token));
  if (!ctx) return;
  await runBatch(ctx.db, [ctx.db.delete(sessions).where(eq(sessions.token_hash, await sha256Hex(token)))]);
}

/**
 * Acts as another identity of the same address, under a new token; the old session ends. Null when the proof is too old
 * for that identity: then a new link is needed.
 */
export async function switchSession(
  base: BaseCtx,
  session: Session,
  identity: Identity,
): Promise<OpenedSession | null> {
  const { ctx, record } = session;
  const proven_at = Date.parse(record.created_at);
  if (proven_at + SESSION_LIFETIME[identity.audience] <= base.now) return null;
  const end = ctx.db.delete(sessions).where(eq(sessions.token_hash, record.token_hash));
  const { shard } = ctx;
  return openSession(base, identity, {
    email: record.email,
    proven_at,
    shard,
    before: [{ statement: end, expect: 1 }],
  });
}

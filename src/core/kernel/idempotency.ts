import { and, eq, isNull, lt, or, sql, type SQL } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { columnsOf, selectRows, type Row } from "../../db/rows.ts";
import { idempotencyKeys } from "../../db/schema.ts";
import { rowOf, SEALED, type SealedPlace } from "../../db/sealed.ts";
import { NO_SALE } from "../../domain/claim.ts";
import { holdsAddress, withoutAddresses } from "../../domain/erasure.ts";
import { missingScope, SCOPES, type Scope } from "../../domain/scope.ts";
import { AppError } from "../../lib/errors.ts";
import { DAY, iso, MINUTE } from "../../lib/time.ts";
import type { Write } from "./commit.ts";
import { prove, type Caller, type ProgramCtx, type Statement } from "./context.ts";
import { refuseWhere } from "./races.ts";
import { lacksScope, requireNoEndBefore } from "./scopes.ts";

/** Replies are kept this long (HTTP-10). */
const KEPT_FOR = DAY;
/** A request that took the key without answering is considered dead after this long. */
const ABANDONED_AFTER = MINUTE;

export interface StoredReply {
  status_code: number;
  body: string;
}

export interface Claim {
  key: string;
  /** SHA-256 of method, path and exact body. */
  request_hash: string;
  /** The request that takes the key. */
  claimed_by: string;
}

/**
 * Takes an idempotency key for this request, or returns as `stored` the reply that the same request got before. @throws
 * 422 for another request under the same key, 409 while the first one still runs or if its reply is lost, 403 for an
 * API key that lacks a scope of the one that got the reply, or that ends before the API key which the reply shows.
 */
export async function claimKey(caller: Caller, claim: Claim): Promise<{ ctx: ProgramCtx; stored: StoredReply | null }> {
  const { db, now, programId } = caller;
  const free = or(
    lt(idempotencyKeys.created_at, iso(now - KEPT_FOR)),
    and(isNull(idempotencyKeys.status_code), lt(idempotencyKeys.created_at, iso(now - ABANDONED_AFTER))),
  );
  const [ctx, , [row]] = await prove(
    caller,
    db.run(sql`insert into idempotency_keys (program_id, key, request_hash, claimed_by, created_at)
      select id, ${claim.key}, ${claim.request_hash}, ${claim.claimed_by}, ${iso(now)}
      from programs where id = ${programId}
      on conflict (program_id, key) do update set request_hash = excluded.request_hash, status_code = null,
        body = null, names_customer = null, claimed_by = excluded.claimed_by, created_at = excluded.created_at where ${free}`),
    db
      .select()
      .from(idempotencyKeys)
      .where(and(sql`${idempotencyKeys.program_id} = ${programId}`, eq(idempotencyKeys.key, claim.key))),
  );
  if (!row || row.claimed_by === claim.claimed_by) return { ctx, stored: null };
  if (row.request_hash !== claim.request_hash) {
    throw new AppError("validation_failed", "This Idempotency-Key was used for another request.", {
      details: [{ path: "Idempotency-Key", message: "Use a new key for a new request." }],
    });
  }
  if (row.status_code === null) {
    throw new AppError("idempotency_conflict", "The first request with this Idempotency-Key is still running.");
  }
  const missing = missingScope(row.scopes ?? SCOPES, heldBy(ctx));
  if (missing) throw lacksScope(missing);
  const body = row.body && (await ctx.sealer.openOrNull(row.body, replyPlace(row.program_id, row.key)));
  if (body === null) {
    throw new AppError(
      "idempotency_conflict",
      "The first request with this Idempotency-Key was answered, but its answer can no longer be read.",
    );
  }
  const shown = SHOWS_KEY.test(body) ? (JSON.parse(body) as { api_key?: unknown; expires_at: string | null }) : null;
  if (typeof shown?.api_key === "string") requireNoEndBefore(ctx, shown.expires_at);
  return { ctx, stored: { status_code: row.status_code, body } };
}

/**
 * Matches JSON that may contain an API key, which only a key that could make it may see (ACCESS-12). Deeper fields
 * belong to metadata.
 */
const SHOWS_KEY = /"api_key":"/;

/** Stores a sealed reply, which may contain secrets. (In a list: a lone query is a thenable.) */
async function storeReply(ctx: ProgramCtx, claim: Claim, reply: StoredReply): Promise<Statement[]> {
  const body = await ctx.sealer.seal(reply.body, replyPlace(ctx.program.id, claim.key));
  const names_customer = NAMES_CUSTOMER.test(reply.body);
  const held = heldBy(ctx);
  const scopes = missingScope(SCOPES, held) ? held : null;
  const kept = { status_code: reply.status_code, body, names_customer: names_customer || null, scopes };
  return [ctx.db.update(idempotencyKeys).set(kept).where(isHeld(ctx, claim))];
}

/** Matches JSON of `JSON.stringify` with a customer's address, a payment's references, or a claim's sale. */
const NAMES_CUSTOMER = /"(?:customer_email|order_id|email_domain)":"|"trace":\{/;

const KEPT_REPLY = columnsOf(idempotencyKeys, "program_id", "key", "claimed_by", "body");

type KeptReply = Row<typeof KEPT_REPLY>;

/** The program's kept replies that name a customer. */
export function customersReplies(ctx: ProgramCtx) {
  return selectRows(
    ctx.db,
    KEPT_REPLY,
    sql`select program_id, key, claimed_by, body from idempotency_keys where ${namesCustomer(ctx)}`,
  );
}

function namesCustomer({ program }: ProgramCtx): SQL {
  return sql`program_id = ${program.id} and names_customer = 1`;
}

/**
 * The writes that remove these addresses, and the sales of these claims, from stored replies. `replies` are all of
 * them, as read: the commit is valid only if no other was stored since and those to be changed were not sealed again.
 */
export async function redactedReplies(
  ctx: ProgramCtx,
  replies: readonly KeptReply[],
  addresses: ReadonlySet<string>,
  claims: ReadonlySet<string>,
): Promise<Write[]> {
  const redacted = replies.map(async ({ program_id, key, body }) => {
    const place = replyPlace(program_id, key);
    const plain = body && (await ctx.sealer.openOrNull(body, place));
    if (!plain) return [];
    const reply = JSON.parse(plain) as { id?: string };
    const isOfClaim = claims.has(reply.id ?? "");
    if (!isOfClaim && !holdsAddress(plain, addresses)) return [];
    const bare = isOfClaim ? { ...reply, ...NO_SALE } : reply;
    const clean = await ctx.sealer.seal(JSON.stringify(withoutAddresses(bare, addresses)), place);
    const same = and(
      eq(idempotencyKeys.program_id, program_id),
      eq(idempotencyKeys.key, key),
      eq(idempotencyKeys.body, body),
    );
    return [{ statement: ctx.db.update(idempotencyKeys).set({ body: clean }).where(same), expect: 1 }];
  });
  const read = JSON.stringify(replies.map(({ key, claimed_by }) => [key, claimed_by]));
  const isOther = sql`exists (select 1 from idempotency_keys where ${namesCustomer(ctx)}
    and (key, claimed_by) not in (select value ->> 0, value ->> 1 from json_each(${read})))`;
  return [refuseWhere(ctx, isOther), ...(await Promise.all(redacted)).flat()];
}

/**
 * The statements that store the reply in the same transaction as the change it reports. They fail the transaction if
 * the key has been taken over meanwhile: then another request does the same work (`core/kernel/commit.ts` distinguishes
 * it from a lost race).
 */
export async function storeReplyBeside(ctx: ProgramCtx, claim: Claim, reply: StoredReply): Promise<Statement[]> {
  return [
    ...(await storeReply(ctx, claim, reply)),
    ctx.db.run(sql`insert into commit_guards (lost_race) select null where changes() <> 1`),
  ];
}

/** Stores the reply, or releases the key if a second try may succeed. */
export async function endClaim(ctx: ProgramCtx, claim: Claim, reply: StoredReply | null): Promise<void> {
  const statements = reply ? await storeReply(ctx, claim, reply) : [releaseKey(ctx, claim)];
  await runBatch(ctx.db, statements);
}

/** The statement that releases a key after a failure that another try may avoid. */
function releaseKey(ctx: ProgramCtx, claim: Claim): Statement {
  return ctx.db.delete(idempotencyKeys).where(and(isHeld(ctx, claim), isNull(idempotencyKeys.status_code)));
}

/** Rows of `idempotency_keys` that retention deletes. */
export function expiredReplies(now: number): SQL {
  return sql`created_at < ${iso(now - KEPT_FOR)}`;
}

function replyPlace(program_id: string, key: string): SealedPlace {
  return { table: "idempotency_keys", column: "body", row: rowOf(SEALED["idempotency_keys.body"], program_id, key) };
}

function heldBy(ctx: ProgramCtx): Scope[] {
  return SCOPES.filter(ctx.may);
}

function isHeld(ctx: ProgramCtx, claim: Claim) {
  return and(
    eq(idempotencyKeys.program_id, ctx.program.id),
    eq(idempotencyKeys.key, claim.key),
    eq(idempotencyKeys.claimed_by, claim.claimed_by),
  );
}

import { and, eq, getTableColumns, isNull, sql } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { portalLinks } from "../../db/schema.ts";
import { shardOfToken, tokenOn } from "../../domain/shard.ts";
import { randomToken, sha256Hex } from "../../lib/crypto.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import { HOUR, iso, MINUTE } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { act, prove, type BaseCtx, type Caller } from "../kernel/context.ts";
import { selectPartner } from "../kernel/partner-rows.ts";
import { untilWon } from "../kernel/races.ts";
import type { Partner, Program } from "../kernel/rows.ts";
import { onShard } from "../kernel/shards.ts";
import { settleWaiting } from "../ledger/settle.ts";
import { actAs, firstSignIn, hasKeyInForce, type OpenedSession } from "./sessions.ts";

/** How long a link waits, and how long its session lasts (EMBED-1, EMBED-2). */
const LINK_VALID_FOR = 5 * MINUTE;
const SESSION_LASTS = 12 * HOUR;
const TOKEN_BYTES = 32;

export interface PortalLink {
  /** Unhashed, for the link; only its hash is stored. */
  token: string;
  expires_at: string;
}

/** The earlier of two ends (ISO 8601); `key_ends_at` is null for a key that does not expire. */
function earlier(end: string, key_ends_at: string | null): string {
  return key_ends_at !== null && key_ends_at < end ? key_ends_at : end;
}

/**
 * Creates a one-time link that signs one partner in without an e-mail: 256 random bits, stored hashed, valid for 5
 * minutes (EMBED-1), and no longer than the API key that creates it (ACCESS-12).
 * @throws `not_found`; `invalid_transition` if the partner is deactivated.
 */
export async function createPortalLink(caller: Caller, partner_id: string): Promise<PortalLink> {
  const [found, [partner]] = await prove(caller, selectPartner(caller, partner_id));
  if (!partner) throw notFound("partner");
  if (partner.status === "deactivated") throw new AppError("invalid_transition", "The partner is deactivated.");
  return act(found, async (ctx) => {
    const token = tokenOn(ctx.shard, randomToken(TOKEN_BYTES));
    const expires_at = earlier(iso(ctx.now + LINK_VALID_FOR), ctx.key_ends_at);
    const row = { program_id: ctx.program.id, partner_id, email: partner.email.toLowerCase(), expires_at };
    const made = { ...row, token_hash: await sha256Hex(token), created_at: iso(ctx.now), made_by: ctx.actor.id };
    await commit(ctx, {
      writes: [{ statement: ctx.db.insert(portalLinks).values(made) }],
      occurrences: [{ type: "portal_link.created", payload: { partner_id } }],
    });
    return { token, expires_at };
  });
}

/** Reads the partner of a link, used or not; null if there is no such link. Read-only. */
export async function readPortalLink(
  base: BaseCtx,
  token: string,
): Promise<{ program: Program; partner: Partner; isUsable: boolean; key_ends_at: string | null } | null> {
  const ctx = onShard(base, shardOfToken(token));
  if (!ctx) return null;
  const key_ends_at = sql<string | null>`(select k.expires_at from api_keys k where k.id = portal_links.made_by)`;
  const [[link]] = await runBatch(ctx.db, [
    ctx.db
      .select({
        ...getTableColumns(portalLinks),
        has_key: sql<number>`${hasKeyInForce(ctx.now)}`.as("has_key"),
        key_ends_at: key_ends_at.as("key_ends_at"),
      })
      .from(portalLinks)
      .where(eq(portalLinks.token_hash, await sha256Hex(token))),
  ]);
  if (!link) return null;
  const { bound, partner } = await actAs(base, link);
  if (!partner) return null;
  const isUsable =
    link.has_key === 1 &&
    link.used_at === null &&
    link.expires_at > iso(ctx.now) &&
    partner.status !== "deactivated" &&
    partner.email.toLowerCase() === link.email;
  return { program: bound.program, partner, isUsable, key_ends_at: link.key_ends_at };
}

/**
 * Uses a link up, exactly once, and opens a limited session of its partner (EMBED-2), which ends with its API key.
 * `framed`: in a frame of the owner's site. Null if the link is unknown, used or expired, or if its partner is
 * deactivated or has another address.
 */
export async function openPortalLink(
  base: BaseCtx,
  token: string,
  { framed, device }: { framed: boolean; device: string | null },
): Promise<OpenedSession | null> {
  const ctx = onShard(base, shardOfToken(token));
  if (!ctx) return null;
  // The loser of a race against another use finds the link used; the loser against a change of the partner tries again.
  return untilWon(async () => {
    const link = await readPortalLink(base, token);
    if (!link?.isUsable) return null;
    const { partner } = link;
    const { bound } = await actAs(base, { program_id: link.program.id, partner_id: partner.id, email: partner.email });
    const session = tokenOn(ctx.shard, randomToken(TOKEN_BYTES));
    const expires_at = earlier(iso(ctx.now + SESSION_LASTS), link.key_ends_at);
    const first = firstSignIn(bound, partner);
    const use = bound.db
      .update(portalLinks)
      .set({ used_at: iso(ctx.now), session_hash: await sha256Hex(session), expires_at, framed, device })
      .where(
        and(
          eq(portalLinks.token_hash, await sha256Hex(token)),
          isNull(portalLinks.used_at),
          sql`exists (select 1 from partners where id = ${partner.id} and updated_at = ${partner.updated_at})`,
        ),
      );
    const { id: partner_id, email, slug } = partner;
    await commit(bound, {
      writes: [{ statement: use, expect: 1 }, ...first.writes],
      occurrences: [{ type: "partner.signed_in", payload: { partner_id, email, slug, device } }, ...first.occurrences],
    });
    if (first.writes.length > 0) await settleWaiting(bound, partner.id);
    return { token: session, audience: "partner", expires_at };
  });
}

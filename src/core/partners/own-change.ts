/** A partner's own change of the payout destination: it waits until its e-mailed link is opened (OUT-25). */
import { eq, sql, type InferSelectModel } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { selectRows, whole } from "../../db/rows.ts";
import { pendingDestinations } from "../../db/schema.ts";
import type { Changes } from "../../domain/actor.ts";
import { tokenOn } from "../../domain/shard.ts";
import { randomToken, sha256Hex } from "../../lib/crypto.ts";
import { AppError } from "../../lib/errors.ts";
import { firstIdAt } from "../../lib/id.ts";
import { iso, MINUTE } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type CommitPlan, type Write } from "../kernel/commit.ts";
import type { BaseCtx, ProgramCtx } from "../kernel/context.ts";
import { refuseWhere } from "../kernel/races.ts";
import type { Partner } from "../kernel/rows.ts";
import { DESTINATION, type Destination } from "./change-destination.ts";

/** The change: new values of columns, or a link to the vendor's pages of the connected account. */
export type OwnChange =
  | { set: Partial<Destination> }
  /** ISO 3166-1 alpha-2, upper case, of a new account; null if the partner did not give one. */
  | { account: { country: string | null } };

/** The partner when the change was requested: any other change of these columns makes it void. */
type MadeFrom = Destination & Pick<Partner, "email">;

type Content = OwnChange & { from: MadeFrom };
type PendingRow = InferSelectModel<typeof pendingDestinations>;

/** A change that waits for its link. */
export interface PendingChange {
  change: OwnChange;
  /** The columns with their values before and after, masked; empty for the vendor's pages. */
  changes: Changes;
  /** ISO 8601: the link works until then. */
  expires_at: string;
}

/** The lifetime of a link, and the window of `MAX_REQUESTS`. */
const LINK_WINDOW = 15 * MINUTE;
/** Each is an e-mail. */
const MAX_REQUESTS = 5;
const TOKEN_BYTES = 32;

/** Whether the actor's change of a payout destination has to wait for a link. */
export function waitsForLink({ actor }: Pick<ProgramCtx, "actor">, confirmed: Confirmed | undefined): boolean {
  return actor.type === "partner" && confirmed === undefined;
}

/** The use of a link: its statement belongs to the commit of the change. */
export interface Confirmed {
  /** @throws {LinkVoid} if the link is used or replaced, or was not made from the partner's present state */
  spend: (partner: Partner) => Promise<Write>;
}

/** The link has no effect any more. */
export class LinkVoid extends Error {}

/**
 * The part of a commit that stores the change in place of an earlier one, and e-mails its link to the partner's present
 * address. @throws `not_configured` without e-mail; `rate_limited` for the sixth request within 15 minutes (OUT-9).
 */
export async function askForLink(
  ctx: ProgramCtx,
  before: Partner,
  change: OwnChange,
): Promise<Required<Pick<CommitPlan, "writes" | "notices">>> {
  if (ctx.mailer === null) throw new AppError("not_configured", NO_MAIL);
  const limit = await refuseTooMany(ctx, before.id);
  const token = tokenOn(ctx.shard, randomToken(TOKEN_BYTES));
  const content: Content = { ...change, from: madeFrom(before) };
  const row = {
    program_id: ctx.program.id,
    token_hash: await sha256Hex(token),
    content: await ctx.sealer.seal(JSON.stringify(content), placeOf(before.id)),
    created_at: iso(ctx.now),
    expires_at: iso(ctx.now + LINK_WINDOW),
  };
  const store = ctx.db
    .insert(pendingDestinations)
    .values({ partner_id: before.id, ...row })
    .onConflictDoUpdate({ target: pendingDestinations.partner_id, set: row });
  const link = { token, expires_at: row.expires_at };
  const changes = shownChanges(before, change);
  return {
    writes: [limit, { statement: store }],
    notices: [{ kind: "payout_change_link", program: ctx.program, partner: before, link, changes }],
  };
}

/** The text of a page that offers no change, too. */
export const NO_MAIL =
  "This service sends no e-mail, so you cannot confirm a change of your payout details. Ask the program to change them.";

async function refuseTooMany(ctx: ProgramCtx, partner_id: string): Promise<Write> {
  const recent = sql`(select count(*) from mails indexed by mails_partner where partner_id = ${partner_id}
    and id >= ${firstIdAt("mail", ctx.now - LINK_WINDOW)} and kind = 'payout_change_link')`;
  const [[counted]] = await ctx.read(selectRows(ctx.db, { recent: whole }, sql`select ${recent} as recent`));
  if ((counted?.recent ?? 0) >= MAX_REQUESTS) {
    throw new AppError("rate_limited", "Your payout details were changed too often. Please try again in 15 minutes.", {
      retryAfter: LINK_WINDOW / 1000,
    });
  }
  return refuseWhere(ctx, sql`${recent} >= ${literal(MAX_REQUESTS)}`);
}

function madeFrom(partner: Partner): MadeFrom {
  const columns = [...DESTINATION, "email"] as const;
  return Object.fromEntries(columns.map((column) => [column, partner[column]])) as unknown as MadeFrom;
}

/** A new account is stored before its link is made, so a repeated use of the link finds it. */
function isMadeFrom({ from, ...change }: Content, partner: Partner): boolean {
  const account = "account" in change && from.provider_a_account_id === null;
  const now = madeFrom(account ? { ...partner, provider_a_account_id: null } : partner);
  return partner.status !== "deactivated" && JSON.stringify(now) === JSON.stringify(from);
}

function shownChanges(before: Partner, change: OwnChange): Changes {
  return "set" in change ? changesOf("partner", before, { ...before, ...change.set }) : {};
}

/** The partner's change that waits; null without one, and for one that is void. */
export async function readPendingChange(ctx: ProgramCtx, partner: Partner): Promise<PendingChange | null> {
  const [[row]] = await ctx.read(
    ctx.db.select().from(pendingDestinations).where(eq(pendingDestinations.partner_id, partner.id)),
  );
  const opened = row && (await openPending(ctx, row, partner));
  return opened?.pending ?? null;
}

/** The change of a stored row, for this state of the partner. Null if it has expired or is void. */
export async function openPending(
  ctx: Pick<BaseCtx, "sealer" | "now">,
  row: PendingRow,
  partner: Partner,
): Promise<{ pending: PendingChange; isFor: (partner: Partner) => boolean } | null> {
  if (row.expires_at <= iso(ctx.now)) return null;
  const text = await ctx.sealer.openOrNull(row.content, placeOf(row.partner_id));
  if (text === null) return null;
  const content = JSON.parse(text) as Content;
  if (!isMadeFrom(content, partner)) return null;
  const { from: _, ...change } = content;
  const { expires_at } = row;
  const pending = { change, changes: shownChanges(partner, change), expires_at };
  return { pending, isFor: (now) => isMadeFrom(content, now) };
}

/** Discards the partner's change that waits, if there is one. */
export async function discardPendingChange(ctx: ProgramCtx, partner_id: string): Promise<void> {
  const { program_id, partner_id: own } = pendingDestinations;
  const discard = ctx.db
    .delete(pendingDestinations)
    .where(sql`${own} = ${partner_id} and ${program_id} = ${ctx.program.id}`);
  await commit(ctx, { writes: [{ statement: discard }], occurrences: [] });
}

function placeOf(row: string) {
  return { table: "pending_destinations", column: "content", row } as const;
}

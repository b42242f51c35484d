/** The use of the link that confirms a partner's own change of the payout destination (OUT-25). */
import { eq, sql } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { partners, pendingDestinations, programs } from "../../db/schema.ts";
import { actors } from "../../domain/actor.ts";
import { shardOfToken } from "../../domain/shard.ts";
import { sha256Hex } from "../../lib/crypto.ts";
import type { ConnectedAccounts } from "../../providers/connect.ts";
import { actingAs, forProgram, type BaseCtx, type ProgramCtx } from "../kernel/context.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import type { Partner, Program } from "../kernel/rows.ts";
import { onShard } from "../kernel/shards.ts";
import { startOnboarding, type OnboardingInput } from "./onboarding.ts";
import { LinkVoid, openPending, type Confirmed, type PendingChange } from "./own-change.ts";
import { confirmOwnDetails } from "./partners.ts";

/** A usable link, with its request. */
export interface ConfirmableChange extends PendingChange {
  ctx: ProgramCtx;
  partner: Partner;
}

interface Found extends ConfirmableChange {
  confirmed: Confirmed;
}

/** Reads a link, and has no effect. Null if it is unknown, used, expired, replaced or void. */
export async function readChangeLink(base: BaseCtx, token: string): Promise<ConfirmableChange | null> {
  return findLink(base, token);
}

async function findLink(base: BaseCtx, token: string): Promise<Found | null> {
  const on = onShard(base, shardOfToken(token));
  if (!on) return null;
  const token_hash = await sha256Hex(token);
  const own = (column: "program_id" | "partner_id") =>
    sql`(select ${sql.identifier(column)} from pending_destinations where token_hash = ${token_hash})`;
  const [[row], [program], [partner]] = await runBatch(on.db, [
    on.db.select().from(pendingDestinations).where(eq(pendingDestinations.token_hash, token_hash)),
    selectPrograms(on.db).where(sql`${programs.id} = ${own("program_id")}`),
    on.db
      .select()
      .from(partners)
      .where(sql`${partners.id} = ${own("partner_id")}`),
  ]);
  if (!row || !program || !partner) return null;
  const opened = await openPending(on, row, partner);
  if (!opened) return null;
  const ctx = forProgram(actingAs(on, actors.partner(partner)), program);
  const isLink = eq(pendingDestinations.token_hash, token_hash);
  const spend = async (now: Partner) => {
    // Another use of the link may have won, or a newer request has replaced it.
    const [[left]] = await runBatch(on.db, [on.db.select().from(pendingDestinations).where(isLink)]);
    if (!left || !opened.isFor(now)) throw new LinkVoid();
    return { statement: on.db.delete(pendingDestinations).where(isLink), expect: 1 };
  };
  return { ...opened.pending, ctx, partner, confirmed: { spend } };
}

export type ConfirmedChange =
  | { outcome: "changed"; program: Program; partner: Partner }
  /** The vendor's page, for the reader of the link alone. */
  | { outcome: "linked"; url: string }
  | { outcome: "link_refused" };

/**
 * Carries the change out, once, with the hold and the e-mails of any other (OUT-9). A link for the vendor's pages can be
 * tried again if the vendor does not answer. @throws as `startOnboarding`
 */
export async function confirmChange(
  base: BaseCtx,
  token: string,
  { accounts, ...addresses }: Omit<OnboardingInput, "country"> & { accounts: ConnectedAccounts },
): Promise<ConfirmedChange> {
  try {
    const found = await findLink(base, token);
    if (!found) return { outcome: "link_refused" };
    const { ctx, partner, change, confirmed } = found;
    if ("set" in change) {
      const after = await confirmOwnDetails(ctx, partner.id, change.set, confirmed);
      return { outcome: "changed", program: ctx.program, partner: after };
    }
    const input = { ...addresses, country: change.account.country ?? undefined };
    const { url } = await startOnboarding(ctx, partner.id, input, accounts, confirmed);
    return { outcome: "linked", url };
  } catch (error) {
    if (error instanceof LinkVoid) return { outcome: "link_refused" };
    throw error;
  }
}

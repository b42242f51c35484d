import { and, eq, isNull, sql, type SQL } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { nullable, selectRows, text, textOf, whole } from "../../db/rows.ts";
import { signInLinks } from "../../db/schema.ts";
import { shardOfProgram, shardOfToken, tokenOn } from "../../domain/shard.ts";
import { randomToken, sha256Hex } from "../../lib/crypto.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import { DAY, HOUR, iso, MINUTE } from "../../lib/time.ts";
import { commit, type Write } from "../kernel/commit.ts";
import type { BaseCtx, ProgramCtx, Reader } from "../kernel/context.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import { isUsedUp, type HashedNetworks, type SharedBudget } from "../kernel/shared-budget.ts";
import { askAll, askFirst, onShard } from "../kernel/shards.ts";
import { askIdentities, findIdentity, identitiesOf, identityKey, isOfAccount, type Identity } from "./identities.ts";
import { actAs, FRESH_FOR, openSession, type OpenedSession } from "./sessions.ts";

type LinkPurpose = (typeof signInLinks.$inferSelect)["purpose"];
/** `sign_in`: requested by its reader. `invitation`: in an e-mail that a program has sent (PART-13, TEAM-4). */
const VALID_FOR: Record<LinkPurpose, number> = { sign_in: FRESH_FOR, invitation: 7 * DAY };
/** Links of an address within `LINK_WINDOW` requested without a session (PAGE-2). */
const REQUESTED: SharedBudget = { most: 20, network: 5, site: 10 };
/** Links of an address within `LINK_WINDOW` that one program e-mails to it (PART-13, TEAM-4). */
const INVITED = 5;
const LINK_WINDOW = 15 * MINUTE;
const TOKEN_BYTES = 32;

export interface SignInLink {
  /** Unhashed, for the link; only its hash is stored. */
  token: string;
  expires_at: string;
}

export interface LinkRequest {
  email: string;
  /** The shard that stores the link so far. */
  shard: number;
  link: SignInLink;
  /** The path that a sign-in with the link opens, in any browser; null for the first page. */
  return_to: string | null;
}

/** Whether a link opens an identity: one that outlives a fresh proof opens only the one it was made for (PROOF-1). */
function opens(link: Pick<LinkRow, "purpose" | "program_id" | "partner_id">, identity: Identity): boolean {
  return isForOne(link)
    ? link.program_id !== null && isOfAccount({ ...link, program_id: link.program_id }, identity)
    : true;
}

function isForOne({ purpose }: Pick<LinkRow, "purpose">): boolean {
  return VALID_FOR[purpose] > FRESH_FOR;
}

type LinkRow = typeof signInLinks.$inferSelect;

/**
 * Counts a request for a link, in the first database that answers: the same statement for any address, so that neither
 * the answer nor its time reveals which addresses exist. `openRequest` looks up the identities of the address after the
 * reply.
 * @throws `rate_limited` if the network's share of an address's links within 15 minutes (`REQUESTED`) is used up.
 */
export async function countRequest(
  base: BaseCtx,
  address: string,
  return_to: string | null = null,
  networks: HashedNetworks = null,
): Promise<LinkRequest> {
  const email = address.toLowerCase();
  const { request, inserted } = await askFirst(base, async (ctx) => {
    const { link, row } = await newLink(ctx, email, "sign_in", undefined);
    const recent = sql`from sign_in_links where email = ${email} and purpose = ${row.purpose}
      and created_at > ${iso(ctx.now - LINK_WINDOW)}`;
    const [rows] = await runBatch(ctx.db, [
      selectRows(
        ctx.db,
        { email: text },
        sql`insert into sign_in_links (token_hash, audience, email, created_at, expires_at, return_to, purpose, network, site)
        select ${row.token_hash}, ${row.audience}, ${row.email}, ${row.created_at}, ${row.expires_at}, ${return_to}, ${row.purpose},
          ${networks?.network ?? null}, ${networks?.site ?? null}
        where not ${isUsedUp(REQUESTED, recent, networks)} returning email`,
      ),
    ]);
    return { request: { email, shard: ctx.shard, link, return_to }, inserted: rows.length };
  });
  if (inserted === 0) {
    throw tooManyLinks("Too many sign-in links were requested for this address.");
  }
  return request;
}

function tooManyLinks(message: string): AppError {
  return new AppError("rate_limited", message, { retryAfter: LINK_WINDOW / 1000 });
}

/** The number of links that the program e-mailed to an address (SQL, lower case) within `LINK_WINDOW`. */
export function selectInvitations({ db, programId, now }: Reader, address: SQL) {
  return selectRows(db, { links: whole }, sql`select (${invitations(programId, address, now)}) as links`);
}

function invitations(program_id: string | SQL, address: SQL, now: number): SQL {
  return sql`select count(*) from sign_in_links where email = ${address} and purpose = 'invitation'
    and program_id = ${program_id} and created_at > ${iso(now - LINK_WINDOW)}`;
}

/** Makes an `invitationLink`; `links` is the result of `selectInvitations`. @throws `rate_limited` for too many */
export async function invite(
  ctx: ProgramCtx,
  to: { email: string; partner_id: string | null },
  links: number,
): ReturnType<typeof invitationLink> {
  if (links >= INVITED) throw tooManyLinks("Too many links were sent to this address.");
  const { link, writes } = await invitationLink(ctx, to);
  const all = invitations(ctx.program.id, sql`${to.email.toLowerCase()}`, ctx.now);
  // One of several concurrent invitations may be too many: it reads again and is refused.
  return { link, writes: [...writes, refuseWhere(ctx, sql`(${all}) > ${INVITED}`)] };
}

/**
 * Makes the one-time link of a request, for the reader of this mailbox: 256 random bits, stored hashed, valid for 15
 * minutes. Null for an address without an identity. The link is in the database of the newest program that the address
 * owns, else of its newest partner: it is used up in the database of its session.
 */
export async function openRequest(
  base: BaseCtx,
  { email, shard, link: counted, return_to }: LinkRequest,
): Promise<{ link: SignInLink; identities: Identity[] } | null> {
  const { identities } = await askIdentities(base, email);
  const [first] = identities;
  if (!first) return null;
  const home = onShard(base, shardOfProgram(first.program_id));
  if (!home || home.shard === shard) return { link: counted, identities };
  const { link, row } = await newLink(home, email, "sign_in", first);
  await runBatch(home.db, [home.db.insert(signInLinks).values({ ...row, return_to })]);
  return { link, identities };
}

/**
 * Makes a link for the operator to pass on without e-mail (ACCESS-5). A member goes before a partner. @throws
 * `not_found`
 */
export async function createLinkByHand(base: BaseCtx, address: string): Promise<SignInLink> {
  const email = address.toLowerCase();
  const { identities, failure } = await askIdentities(base, email);
  const [first] = identities;
  // The member may be in the database that did not answer.
  if (first?.audience !== "owner" && failure) throw failure.reason;
  const ctx = first && onShard(base, shardOfProgram(first.program_id));
  if (!ctx) throw notFound("member or partner");
  const { link, row } = await newLink(ctx, email, "sign_in", first);
  await runBatch(ctx.db, [ctx.db.insert(signInLinks).values(row)]);
  return link;
}

/**
 * Makes a one-time link for a partner, or for a member if `partner_id` is null, who did not request it: it waits in an
 * e-mail, is valid for 7 days, and opens this account alone. Returns it with the statement that stores it, for the
 * commit of the change that the e-mail is about. (In a list, because a query is a thenable.)
 */
export async function invitationLink(
  ctx: ProgramCtx,
  { email, partner_id }: { email: string; partner_id: string | null },
): Promise<{ link: SignInLink; writes: Write[] }> {
  const audience = partner_id === null ? "owner" : "partner";
  const identity = { audience, program_id: ctx.program.id, partner_id } as const;
  const { link, row } = await newLink(ctx, email.toLowerCase(), "invitation", identity);
  return { link, writes: [{ statement: ctx.db.insert(signInLinks).values(row) }] };
}

/**
 * Reads a link's address and accounts; `is_partial` if there are others. Null if unknown, expired or used. Read-only.
 */
export async function readLink(
  base: BaseCtx,
  token: string,
): Promise<{ email: string; identities: Identity[]; is_partial: boolean } | null> {
  const ctx = onShard(base, shardOfToken(token));
  if (!ctx) return null;
  const [[link]] = await runBatch(ctx.db, [
    ctx.db
      .select()
      .from(signInLinks)
      .where(usable(ctx, await sha256Hex(token))),
  ]);
  if (!link) return null;
  const all = await identitiesOf(base, link.email);
  const identities = all.filter((identity) => opens(link, identity));
  return { email: link.email, identities, is_partial: identities.length < all.length };
}

export type Confirmation =
  | { outcome: "signed_in"; session: OpenedSession; return_to?: string | null }
  /** The address has several identities; the link is not used up until one is chosen. */
  | { outcome: "choose"; email: string; identities: Identity[]; is_partial: boolean }
  /** Unknown, expired or used. */
  | { outcome: "link_refused" }
  /** The link was valid, but no active account that it opens is left. */
  | { outcome: "nobody" };

/**
 * Uses a link up, exactly once, and opens a new session for it (PAGE-2); every other link of its address ends,
 * including those of other accounts. `as` chooses among the identities that it opens by their `identityKey`, `device`
 * is the device that the person signs in with. A partner's first sign-in turns `invited` into `active`. An attempt with
 * a used or expired link is in the audit log.
 */
export async function confirmLink(
  base: BaseCtx,
  token: string,
  as: string | null,
  device: string | null = null,
): Promise<Confirmation> {
  const ctx = onShard(base, shardOfToken(token));
  if (!ctx) return { outcome: "link_refused" };
  const token_hash = await sha256Hex(token);
  const isUsable = usable(ctx, token_hash);
  const spend = () =>
    ctx.db
      .update(signInLinks)
      .set({ used_at: iso(ctx.now) })
      .where(isUsable);
  // A loser against another use finds the link used; against a change of the partner it tries again.
  const confirmed = await untilWon<Confirmation>(async () => {
    const [[link]] = await runBatch(ctx.db, [ctx.db.select().from(signInLinks).where(isUsable)]);
    if (!link) return { outcome: "link_refused" };
    const { email } = link;
    const { identities: all, failure } = await askIdentities(base, email);
    const identities = all.filter((identity) => opens(link, identity));
    if (identities.length === 0) {
      // The identity may be in the database that did not answer: the link remains valid.
      if (failure) throw failure.reason;
      await runBatch(ctx.db, [spend()]);
      return { outcome: "nobody" };
    }
    const chosen = as === null && identities.length === 1 ? identities[0] : findIdentity(identities, as);
    if (!chosen) return { outcome: "choose", email, identities, is_partial: identities.length < all.length };
    await endLinksElsewhere(ctx, email);
    const before = [{ statement: spend(), expect: 1 }, { statement: endLinks(ctx, email) }];
    const proven_as = isForOne(link) ? identityKey(chosen) : null;
    const proof = { email, proven_as, proven_at: ctx.now, shard: ctx.shard, before, device };
    return { outcome: "signed_in", session: await openSession(base, chosen, proof), return_to: link.return_to };
  });
  if (confirmed.outcome === "link_refused") await tellOfFailure(base, ctx, token_hash);
  return confirmed;
}

/** How many accounts of an address are notified of a failed sign-in, and how often. */
const MOST_TOLD = 10;
const TOLD_EVERY = HOUR;

/** Notifies the accounts of a used or expired link that was tried, hourly per address. Guesses do not notify. */
async function tellOfFailure(base: BaseCtx, { db, now }: BaseCtx, token_hash: string): Promise<void> {
  const [[tried]] = await runBatch(db, [
    selectRows(
      db,
      {
        email: text,
        used_at: nullable(text),
        purpose: textOf<LinkPurpose>(),
        program_id: nullable(text),
        partner_id: nullable(text),
      },
      sql`update sign_in_links set failed_at = ${iso(now)}
      where token_hash = ${token_hash} and not exists (select 1 from sign_in_links o
        where o.email = sign_in_links.email and o.failed_at > ${iso(now - TOLD_EVERY)}) returning email, used_at, purpose, program_id, partner_id`,
    ),
  ]);
  if (!tried) return;
  const { email, used_at } = tried;
  const reason = used_at === null ? "expired" : "used";
  const identities = (await identitiesOf(base, email)).filter((identity) => opens(tried, identity));
  for (const identity of identities.slice(0, MOST_TOLD)) {
    const { bound, partner } = await actAs(base, { ...identity, email });
    const payload = { ...(partner && { partner_id: partner.id }), email, reason } as const;
    await commit(bound, { writes: [], occurrences: [{ type: "sign_in.failed", payload }] });
  }
}

function usable({ now }: BaseCtx, token_hash: string): SQL | undefined {
  return and(
    eq(signInLinks.token_hash, token_hash),
    isNull(signInLinks.used_at),
    sql`${signInLinks.expires_at} > ${iso(now)}`,
  );
}

/** Ends every link of an address that could still be used. */
export function endLinks({ db, now }: BaseCtx, email: string) {
  return db
    .update(signInLinks)
    .set({ used_at: iso(now) })
    .where(
      and(eq(signInLinks.email, email), isNull(signInLinks.used_at), sql`${signInLinks.expires_at} > ${iso(now)}`),
    );
}

/** Ends the links by which the program invited an address to its team. */
export function endInvitationsOf({ db, now, program }: ProgramCtx, email: string): Write {
  const isInvitation = and(
    eq(signInLinks.email, email.toLowerCase()),
    eq(signInLinks.program_id, program.id),
    eq(signInLinks.audience, "owner"),
    isNull(signInLinks.used_at),
  );
  return {
    statement: db
      .update(signInLinks)
      .set({ used_at: iso(now) })
      .where(isInvitation),
  };
}

/** `endLinks` elsewhere, before the own link is used: of two links used at once at most one opens a session. */
async function endLinksElsewhere(ctx: BaseCtx, email: string): Promise<void> {
  await askAll(ctx, async (on) => on.shard === ctx.shard || runBatch(on.db, [endLinks(on, email)]));
}

/** Links that retention deletes: a tried one also records when its address was notified. */
export function expiredLinks(now: number): SQL {
  return sql`${expiredSignIns(now)} and (failed_at is null or failed_at <= ${iso(now - TOLD_EVERY)})`;
}

/** Requests for an address without an account here: strangers can make any number, and they open no session. */
export function requestsOfNobody(now: number): SQL {
  return sql`${expiredLinks(now)} and purpose = 'sign_in' and used_at is null
    and not exists (select 1 from program_members t where lower(t.email) = sign_in_links.email)
    and not exists (select 1 from partners p where lower(p.email) = sign_in_links.email)`;
}

/** The condition on sign-in links and sessions that are too old to be used. */
export function expiredSignIns(now: number): SQL {
  return sql`expires_at < ${iso(now - LINK_WINDOW)}`;
}

async function newLink(
  ctx: BaseCtx,
  email: string,
  purpose: LinkPurpose,
  identity: Pick<Identity, "audience" | "program_id" | "partner_id"> | undefined,
) {
  const token = tokenOn(ctx.shard, randomToken(TOKEN_BYTES));
  const row = {
    token_hash: await sha256Hex(token),
    audience: identity?.audience ?? ("partner" as const),
    email,
    program_id: identity?.program_id ?? null,
    partner_id: identity?.partner_id ?? null,
    created_at: iso(ctx.now),
    expires_at: iso(ctx.now + VALID_FOR[purpose]),
    purpose,
  };
  return { row, link: { token, expires_at: row.expires_at } satisfies SignInLink };
}

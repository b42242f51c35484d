/**
 * Locates the program of a vendor's event: by the event's claim, the stored payments, and the secret that verifies it.
 */
import { sql, type SQL } from "drizzle-orm";
import { literal, type Database } from "../../db/client.ts";
import { programs } from "../../db/schema.ts";
import { CLAIMED_ELSEWHERE } from "../../domain/payment.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { isProgramId, shardOfProgram } from "../../domain/shard.ts";
import { remember, type Remembered } from "../../lib/remembered.ts";
import { SECOND } from "../../lib/time.ts";
import type { ClaimedOwner } from "../../providers/provider.ts";
import { vendorNamed } from "../../providers/registry.ts";
import { refuseIf } from "../kernel/conflict.ts";
import { connectionOf } from "../kernel/connections.ts";
import { forProgram, type Ctx, type ProgramCtx, type Statement } from "../kernel/context.ts";
import { programFields, selectPrograms } from "../kernel/program-rows.ts";
import { providerSecrets } from "../kernel/provider-secrets.ts";
import type { Program } from "../kernel/rows.ts";
import { askAll, onShard } from "../kernel/shards.ts";

/** How long a program is cached with its connection to one provider; its secrets stay sealed. */
const REMEMBERED_MS = 10 * SECOND;
const MAX_REMEMBERED = 1_000;

const known = new WeakMap<Database, Remembered<string, Program>>();

/** Caches a program that was read with its connection to this provider, in the context's database and at its time. */
export function rememberProgram({ db, now }: Pick<Ctx, "db" | "now">, provider: VendorName, program: Program): void {
  const programs = known.get(db) ?? remember(MAX_REMEMBERED);
  known.set(db, programs);
  programs.set(`${program.id} ${provider}`, program, now + REMEMBERED_MS);
}

/** The context of a program from the cache; its writes hold only together with `unchanged`. */
export interface KnownProgramCtx extends ProgramCtx {
  /** Refuses the batch if the program, its settings, its secrets or its refused deliveries have changed. */
  unchanged: Statement;
}

/** The program in this isolate's cache; null if it is not cached. No round trip. */
export function knownProgram(ctx: Ctx, provider: VendorName, id: string): KnownProgramCtx | null {
  const on = onShard(ctx, shardOfProgram(id));
  const program = on && known.get(on.db)?.get(`${id} ${provider}`, on.now);
  if (!program) return null;
  const connection = connectionOf(program, provider);
  const { webhook_secret, webhook_secret_previous, webhook_secret_previous_until, refusals } = connection;
  const same = sql`select 1 from programs p left join provider_connections c
      on c.program_id = p.id and c.provider = ${provider}
    where p.id = ${id} and p.updated_at = ${program.updated_at} and c.webhook_secret is ${webhook_secret}
      and c.webhook_secret_previous is ${webhook_secret_previous}
      and c.webhook_secret_previous_until is ${webhook_secret_previous_until} and c.refusals is ${refusals}`;
  return { ...forProgram(on, program), unchanged: on.db.run(refuseIf(sql`not exists (${same})`)) };
}

/** Opens a program with its connection to the provider alone, in one read; null if it does not exist. */
export async function openProgramOrNull(ctx: Ctx, provider: VendorName, id: string): Promise<ProgramCtx | null> {
  const on = onShard(ctx, shardOfProgram(id));
  if (!on) return null;
  const [program] = await selectPrograms(on.db, provider).where(sql`${programs.id} = ${id}`);
  if (program) rememberProgram(on, provider, program);
  return program ? forProgram(on, program) : null;
}

/** Proves an event's account: a webhook's signature, or the secrets of the program whose key listed it. */
export type Proof = { header: string | null; signed: Uint8Array } | { secrets: readonly string[] };

/** An event from some program's account: the claim, and the proof of its account. */
export interface Claimed {
  provider: VendorName;
  claim: ClaimedOwner;
  proof: Proof;
}

export type Verdict = "verified" | "wrong_signature" | "not_configured";

/** Whether a signing secret of the program verifies an event. */
export async function verifyBy(
  ctx: ProgramCtx,
  { provider, proof }: Pick<Claimed, "provider" | "proof">,
): Promise<Verdict> {
  const secrets = await providerSecrets(ctx, ctx.program, provider);
  if (secrets.length === 0) return "not_configured";
  const isVerified =
    "secrets" in proof
      ? secrets.some((secret) => proof.secrets.includes(secret))
      : await vendorNamed(provider)!.verify({ header: proof.header, body: proof.signed, secrets, now: ctx.now });
  return isVerified ? "verified" : "wrong_signature";
}

/** Whether an event is of the account of a program. */
export async function isOfAccount(ctx: ProgramCtx, event: Pick<Claimed, "provider" | "proof">): Promise<boolean> {
  return (await verifyBy(ctx, event)) === "verified";
}

/**
 * Locates the program of an event at an address without a program: the claimed program, else one that stores the
 * event's payment or subscription; the first whose secret verifies it. If no secret does, the first that is configured,
 * else the first; null if there is no candidate.
 */
export async function locateByClaim(base: Ctx, event: Claimed): Promise<{ ctx: ProgramCtx; verdict: Verdict } | null> {
  const { provider, claim } = event;
  const { program_id } = claim;
  let unfit: { ctx: ProgramCtx; verdict: Verdict } | null = null;
  const verify = async (ctx: ProgramCtx) => {
    const result = { ctx, verdict: await verifyBy(ctx, event) };
    if (unfit?.verdict !== "wrong_signature") unfit = result;
    return result.verdict === "verified" ? result : null;
  };
  let asked: Asked | null = null;
  if (program_id !== null && isProgramId(program_id)) {
    // One read for the claimed and the storing programs: an unverified claim costs no second database (IN-10).
    const home = onShard(base, shardOfProgram(program_id));
    asked = home && (await claimedAndStoring(home, provider, claim));
    const claimed = asked?.found.find(({ ctx }) => ctx.program.id === program_id);
    const verified = claimed && (await verify(claimed.ctx));
    if (verified) return verified;
  }
  if (claim.transaction_id === null && claim.subscription_id === null) return unfit;
  const { found, failure } = await programsStoring(base, provider, claim, [], asked);
  for (const { ctx } of found) {
    const verified = ctx.program.id === program_id ? null : await verify(ctx);
    if (verified) return verified;
  }
  if (failure) throw failure.reason;
  return unfit;
}

/** The program that an event claims: `claimed` if its secret verifies the event, else one of the `claimants`. */
export async function locateClaimed(
  verified: ProgramCtx,
  event: Claimed,
): Promise<{ claimed: ProgramCtx | null; claimants: ProgramCtx[] }> {
  const { claim, provider } = event;
  if (claim.program_id === verified.program.id) return { claimed: verified, claimants: [] };
  const isNamed = claim.program_id !== null && isProgramId(claim.program_id);
  const named = isNamed ? await openProgramOrNull(verified, provider, claim.program_id!) : null;
  if (named && (await isOfAccount(named, event))) return { claimed: named, claimants: [] };
  return { claimed: null, claimants: named ? [named] : [] };
}

/** The first program that stores the event's payment or subscription and verifies it; others go to `strangers`. */
export async function locateOwner(url: ProgramCtx, event: Claimed, strangers: string[]) {
  const { found, failure } = await programsStoring(url, event.provider, event.claim, strangers);
  const isUrl = ({ ctx }: Storing) => ctx.program.id === url.program.id;
  for (const candidate of found.toSorted((a, b) => a.rank - b.rank || Number(isUrl(b)) - Number(isUrl(a)))) {
    if (isUrl(candidate) || (await isOfAccount(candidate.ctx, event))) {
      return { owner: candidate.ctx, failure: null };
    }
    strangers.push(candidate.ctx.program.id);
  }
  return { owner: null, failure };
}

export interface Storing {
  ctx: ProgramCtx;
  /** -1: the event claims it, 0: it stores the transaction, 1: it stores only the subscription. */
  rank: number;
}

/** A payment that is not another program's. */
const IS_OWN = sql.raw(`outcome is not '${CLAIMED_ELSEWHERE}'`);

/** The most programs with one vendor id that are read at a time. */
export const MAX_STORING = 50;

function storing(provider: VendorName, { transaction_id, subscription_id }: ClaimedOwner): SQL {
  return sql`select program_id, 0 as rank from payments where provider = ${literal(provider)}
      and provider_transaction_id = ${transaction_id} and ${IS_OWN}
    union all
    select program_id, 1 from payments where subscription_id = ${subscription_id}
      and +provider = ${literal(provider)} and ${IS_OWN}`;
}

/** The answer of a database that was already read. */
export interface Asked {
  shard: number;
  found: Storing[];
}

/**
 * Finds the programs that store the transaction or the subscription of an event, in any database, except `but`; those
 * of the transaction first. Their secrets decide whether the event is of their account. The database of `asked` is not
 * read again.
 */
export async function programsStoring(
  ctx: Ctx,
  provider: VendorName,
  claim: ClaimedOwner,
  but: readonly string[] = [],
  asked: Asked | null = null,
): Promise<{ found: Storing[]; failure: { reason: unknown } | null }> {
  const { found, failure } = await readPrograms(ctx, provider, storing(provider, claim), but, asked);
  return { found: found.toSorted((a, b) => a.rank - b.rank), failure };
}

/** The claimed program, if in this database, and `programsStoring` there, in one read. */
export async function claimedAndStoring(on: Ctx, provider: VendorName, claim: ClaimedOwner): Promise<Asked> {
  const ranked = sql`select ${claim.program_id} as program_id, -1 as rank union all ${storing(provider, claim)}`;
  return { shard: on.shard, found: await programsOn(on, provider, ranked, []) };
}

/** Reads programs of a select of `program_id` and `rank`, in all databases but that of `asked`, except `but`. */
export async function readPrograms(
  ctx: Ctx,
  provider: VendorName,
  ranked: SQL,
  but: readonly string[],
  asked: Asked | null = null,
) {
  const { said, failure } = await askAll(ctx, async (on) =>
    on.shard === asked?.shard ? asked.found : programsOn(on, provider, ranked, but),
  );
  return { found: said.flatMap(({ answer }) => answer), failure };
}

async function programsOn(on: Ctx, provider: VendorName, ranked: SQL, but: readonly string[]): Promise<Storing[]> {
  const rows = await on.db
    .select({ program: programFields(provider), rank: sql<number>`named.rank` })
    .from(
      sql`(select program_id, min(rank) as rank from (${ranked})
        where program_id not in (select value from json_each(${JSON.stringify(but)}))
        group by program_id order by rank limit ${literal(MAX_STORING)}) named`,
    )
    .innerJoin(programs, sql`${programs.id} = named.program_id`);
  return rows.map(({ program, rank }) => ({ ctx: forProgram(on, program), rank }));
}

/**
 * Refuses the batch if another program, not in `strangers`, stores its payment or subscription and this one does not.
 */
export function refuseIfStoredElsewhere(
  url: ProgramCtx,
  provider: VendorName,
  { transaction_id, subscription_id }: ClaimedOwner,
  strangers: readonly string[],
): Statement {
  const program_id = url.program.id;
  const others = sql`program_id <> ${program_id}
    and program_id not in (select value from json_each(${JSON.stringify(strangers)}))`;
  const own = ofTransaction(program_id, provider, transaction_id);
  return url.db.run(
    refuseIf(sql`not exists (${own}) and (
    exists (select 1 from payments where provider = ${literal(provider)} and provider_transaction_id = ${transaction_id}
      and ${IS_OWN} and ${others})
    or not exists (${ofSubscription(program_id, provider, subscription_id)}) and exists (
      select 1 from payments where subscription_id = ${subscription_id} and +provider = ${literal(provider)}
        and ${IS_OWN} and ${others}))`),
  );
}

export function ofTransaction(program_id: string, provider: VendorName, transaction_id: string | SQL | null): SQL {
  return sql`select 1 from payments where program_id = ${program_id} and provider = ${literal(provider)}
    and provider_transaction_id = ${transaction_id} and ${IS_OWN}`;
}

export function ofSubscription(program_id: string, provider: VendorName, subscription_id: string | SQL | null): SQL {
  return sql`select 1 from payments where program_id = ${program_id} and subscription_id = ${subscription_id}
    and +provider = ${literal(provider)} and ${IS_OWN}`;
}

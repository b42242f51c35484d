import { and, eq, sql, type SQL } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { selectRows, text, whole } from "../../db/rows.ts";
import { firstGroupOf } from "../../domain/group.ts";
import { NOTHING, percent } from "../../domain/money.ts";
import { keyOn, programIdOn, shardOfProgram } from "../../domain/shard.ts";
import { randomToken, sha256Hex } from "../../lib/crypto.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { HOUR, iso, nextStamp } from "../../lib/time.ts";
import type { PatchOf } from "../../resources/field.ts";
import type { PROGRAM } from "../../resources/program.ts";
import { SECRET_SETTINGS } from "../../providers/registry.ts";
import { appliedFrom, applyFrom, settleApplied, type ApplyFrom } from "../ledger/apply-from.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type CommitPlan, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { openDebtorIban, sealDebtorIban } from "../kernel/debtor.ts";
import { forProgram, prove, type BaseCtx, type Caller, type Ctx, type ProgramCtx } from "../kernel/context.ts";
import type { Holder } from "../kernel/key-lookup.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import { pickChanged, type Shown } from "../kernel/stale.ts";
import type { ProgramColumns, Program } from "../kernel/rows.ts";
import { askAll, onShard } from "../kernel/shards.ts";
import { requireScope } from "../kernel/scopes.ts";
import { apiKeys, programs, providerConnections, sessions } from "../../db/schema.ts";
import { connectionOf, type Connections, STILL_TAKING } from "../kernel/connections.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import {
  changedSecrets,
  secretsChanged,
  type ConnectionChanges,
  type SecretPatch,
} from "../kernel/provider-secrets.ts";

export interface ProgramInput {
  name: string;
  owner_email: string;
  domain?: string | null | undefined;
  currency?: string | undefined;
  live_only: boolean;
}

/** Settings that have a meaning only together (PAGE-30). */
export const OF_CURRENCY = ["currency", "min_payout_cents", "min_payouts"] as const;

/** Settings in clear; secrets are sealed, null deletes one. `apply_from` applies to `default_commission_pct`. */
export type ProgramPatch = SecretPatch & PatchOf<ProgramColumns, typeof PROGRAM> & ApplyFrom;

/** A program with its API key in clear: only for the reply that shows it. */
export interface ProgramWithKey {
  program: Program;
  api_key: string;
}

/** Creates a program with its first API key, in the database of the context; omitted settings get their defaults. */
export async function createProgram(ctx: Ctx, input: ProgramInput): Promise<ProgramWithKey> {
  const { api_key, columns } = await newApiKey(ctx);
  const stamp = iso(ctx.now);
  const id = programIdOn(ctx.shard, newId("program", ctx.now));
  const row: ProgramColumns = {
    id,
    name: input.name,
    owner_email: input.owner_email,
    domain: input.domain ?? null,
    currency: input.currency ?? "USD",
    default_commission_pct: percent(20),
    payout_term: "NET-15",
    min_payout_cents: NOTHING,
    cookie_days: 60,
    attribution: "last",
    auto_approve_days: null,
    code_precedence: "link",
    live_only: input.live_only,
    brand_color: null,
    time_zone: "UTC",
    applications: "off",
    slug: null,
    questions: null,
    terms: null,
    terms_version: 0,
    sale_amounts: "shown",
    partner_links: false,
    assets: null,
    default_group_id: firstGroupOf(id),
    payments_compared: 0,
    min_payouts: {},
    payout_currency: null,
    debtor_name: null,
    debtor_iban: null,
    debtor_iban_sealed: null,
    debtor_bic: null,
    self_billing: "off",
    self_billing_prefix: "",
    payer_name: null,
    payer_address: null,
    payer_country: null,
    payer_tax_id: null,
    require_tax_data: false,
    payout_change_hold_days: 3,
    shard: ctx.shard,
    ...columns,
    created_at: stamp,
    updated_at: stamp,
  };
  const program: Program = { ...row, connections: {} };
  await commit(forProgram(ctx, program), {
    writes: [{ statement: ctx.db.insert(programs).values(row) }],
    occurrences: [],
  });
  return { program, api_key };
}

/** Returns the program with this id, bound to its database; for its operator. */
export async function openProgram(ctx: Ctx, id: string): Promise<ProgramCtx> {
  const on = onShard(ctx, shardOfProgram(id));
  if (!on) throw notFound("program");
  const [[program]] = await runBatch(on.db, [selectPrograms(on.db).where(eq(programs.id, id))]);
  if (!program) throw notFound("program");
  return forProgram(on, program);
}

export async function getProgram(caller: Caller): Promise<Program> {
  const [{ program }] = await prove(caller);
  return program;
}

/** @throws `forbidden` for a key without the scope of a setting (ACCESS-11, ACCESS-13) */
function requireScopes(ctx: ProgramCtx, patch: ProgramPatch): void {
  if (SECRET_SETTINGS.some(({ setting }) => patch[setting] !== undefined)) requireScope(ctx, "keys");
  const isOfPayouts = patch.auto_approve_days !== undefined || patch.payout_change_hold_days !== undefined;
  if (isOfPayouts) requireScope(ctx, "payouts");
}

/**
 * Changes settings; secrets need the scope `keys`, approval by time and holds need `payouts` (ACCESS-13). A patch without
 * changes is not written. @throws `validation_failed` for another currency once a commission or a lead exists (PROG-3),
 * even if the first one arrives at the same moment.
 * @throws {StaleChange} if the stored values differ from `shown`, the values of the submitted form (PAGE-30).
 */
export async function updateProgram(
  caller: Caller,
  { apply_from, ...given }: ProgramPatch,
  shown?: Shown,
): Promise<Program> {
  const { ctx, program } = await untilWon(async () => {
    const [ctx, [before], [locked]] = await prove(
      caller,
      selectPrograms(caller.db).where(sql`${programs.id} = ${caller.programId}`),
      selectRows(caller.db, { any: whole }, sql`select ${isCurrencyLocked(caller.programId)} as "any"`),
    );
    if (!before) throw notFound("program");
    const always = apply_from === undefined ? [] : ["default_commission_pct"];
    const patch: typeof given = pickChanged(before, given, {
      shown,
      together: [OF_CURRENCY],
      always,
    });
    requireScopes(ctx, patch);
    const changes = await withSealedIban(ctx, before, changedSettings(before, patch));
    const secrets = await changedSecrets(ctx, before, patch);
    const from = appliedFrom(ctx, apply_from, patch.default_commission_pct !== undefined);
    await refuseTakenSlug(ctx, changes.slug);
    const isChanged = Object.keys(changes).length > 0 || secrets.size > 0;
    if (!isChanged && apply_from === undefined) return { ctx, program: before };
    const program: Program = {
      ...before,
      ...changes,
      connections: withChanges(before, secrets),
      updated_at: nextStamp(before.updated_at, ctx.now),
    };
    const writes: Write[] = [
      {
        statement: ctx.db
          .update(programs)
          .set({ ...changes, updated_at: program.updated_at })
          .where(and(eq(programs.id, program.id), eq(programs.updated_at, before.updated_at))),
        expect: 1,
      },
      ...[...secrets].map(([provider, values]) => ({
        statement: ctx.db
          .insert(providerConnections)
          .values({ program_id: program.id, provider, ...values })
          .onConflictDoUpdate({
            target: [providerConnections.program_id, providerConnections.provider],
            set: "reading" in values ? { ...values, reading: STILL_TAKING } : values,
          }),
      })),
    ];
    writes.push(...applyFrom(ctx, { source: "program", rules: program }, from));
    if (changes.currency !== undefined) {
      if (locked?.any) throw invalidField("currency", "The currency is locked once a commission or a lead exists.");
      writes.push(refuseWhere(ctx, isCurrencyLocked(sql`${program.id}`)));
    }
    const ofSecrets = secretsChanged(before, program);
    const applied = from.apply_from === undefined ? [] : ["default_commission_pct"];
    const changed = [...new Set([...Object.keys(changes), ...applied, ...Object.keys(ofSecrets)])];
    const payload = { program_id: program.id, changed, ...from };
    const shownChanges = { ...changesOf("program", before, program), ...ofSecrets };
    await commitSettings(ctx, {
      writes,
      occurrences: [{ type: "program.updated", changes: shownChanges, payload }],
      result: program,
    });
    return { ctx, program };
  });
  await settleApplied(ctx, { apply_from });
  return program;
}

/** @throws `validation_failed` if `min_payouts` names the program's own currency, also after a change of the currency */
function refuseOwnMinimum({ currency, min_payouts }: Program): void {
  if (!Object.hasOwn(min_payouts, currency)) return;
  throw invalidField(`min_payouts.${currency}`, "This is the program's currency: its minimum is min_payout_cents.");
}

/** @throws `validation_failed` naming the missing data of the payer while `self_billing` is on (OUT-34) */
function refuseUnnamedPayer(program: Program): void {
  if (program.self_billing === "off") return;
  const missing = PAYER_FIELDS.filter((field) => program[field] === null);
  if (missing.length === 0) return;
  throw new AppError("validation_failed", "Self-billing needs the payer's data.", {
    details: missing.map((path) => ({ path, message: "Self-billing invoices need this." })),
  });
}

const PAYER_FIELDS = ["payer_name", "payer_address", "payer_country"] as const;

/** Looks for the slug in other databases; the index checks this one. @throws `already_exists` */
async function refuseTakenSlug(ctx: ProgramCtx, slug: string | null | undefined): Promise<void> {
  if (slug === undefined || slug === null || ctx.databases.shards.length === 1) return;
  const { said, failure } = await askAll<boolean, BaseCtx>(ctx, async (on) => {
    const [found] = await runBatch(on.db, [
      selectRows(on.db, { id: text }, sql`select id from programs where slug = ${slug}`),
    ]);
    return found.some(({ id }) => id !== ctx.program.id);
  });
  if (failure) throw failure.reason;
  if (said.some(({ answer }) => answer)) throw slugTaken();
}

async function commitSettings(ctx: ProgramCtx, plan: CommitPlan): Promise<void> {
  try {
    await commit(ctx, plan);
  } catch (error) {
    if (error instanceof CommitConflict && error.constraint.includes("slug")) throw slugTaken();
    throw error;
  }
}

function slugTaken(): AppError {
  return new AppError("already_exists", "Another program has this slug.", {
    details: [{ path: "slug", message: "This value is taken." }],
  });
}

function withChanges(before: Program, changes: ConnectionChanges): Connections {
  const changed = [...changes].map(([name, values]) => [name, { ...connectionOf(before, name), ...values }]);
  return { ...before.connections, ...Object.fromEntries(changed) };
}

/** Issues a new API key; the old one is invalid at once, and the owners' sessions end with it (ACCESS-3). */
export async function regenerateApiKey(ctx: ProgramCtx): Promise<ProgramWithKey> {
  const { api_key, columns } = await newApiKey(ctx);
  const { id } = ctx.program;
  const made = { program: { ...ctx.program, ...columns }, api_key };
  await commit(ctx, {
    writes: [
      { statement: ctx.db.update(programs).set(columns).where(eq(programs.id, id)), expect: 1 },
      {
        statement: ctx.db.delete(sessions).where(and(eq(sessions.program_id, id), eq(sessions.audience, "owner"))),
      },
    ],
    occurrences: [
      {
        type: "api_key.regenerated",
        changes: changesOf("program", ctx.program, made.program),
        payload: { program_id: id, last4: columns.api_key_last4, actor: ctx.actor.type },
      },
    ],
    result: made,
  });
  return made;
}

/** Records the use of a key, at most once an hour (ACCESS-2); null if it is recorded already. */
export function touchApiKey(ctx: BaseCtx, { program, key }: Holder): Promise<unknown> | null {
  const last = key ? key.last_used_at : program.api_key_last_used_at;
  if (last !== null && Date.parse(last) > ctx.now - HOUR) return null;
  if (key) {
    const used = { last_used_at: iso(ctx.now) };
    return ctx.db
      .update(apiKeys)
      .set(used)
      .where(and(eq(apiKeys.id, key.id), eq(apiKeys.program_id, program.id)))
      .run();
  }
  return ctx.db
    .update(programs)
    .set({ api_key_last_used_at: iso(ctx.now) })
    .where(and(eq(programs.id, program.id), eq(programs.api_key_hash, program.api_key_hash)))
    .run();
}

const KEY_BYTES = 32;

/** `sk_` + 43 URL-safe characters, after a shard other than 0. Only its hash and last four are stored (ACCESS-2). */
async function newApiKey(ctx: Pick<BaseCtx, "now" | "shard">) {
  const api_key = keyOn(ctx.shard, randomToken(KEY_BYTES));
  const columns = {
    api_key_hash: await sha256Hex(api_key),
    api_key_last4: api_key.slice(-4),
    api_key_created_at: iso(ctx.now),
    api_key_last_used_at: null,
  };
  return { api_key, columns };
}

/**
 * The changes with the debtor's IBAN sealed; without it if it is the stored one. @throws `validation_failed` for a masked
 * text that is not that of the stored one
 */
async function withSealedIban(
  ctx: ProgramCtx,
  before: Program,
  { debtor_iban, ...changes }: Partial<ProgramColumns>,
): Promise<Partial<ProgramColumns>> {
  if (debtor_iban === undefined) return changes;
  if (debtor_iban?.includes("*")) throw invalidField("debtor_iban", "Give the whole IBAN.");
  if (debtor_iban !== null && debtor_iban === (await openDebtorIban(ctx, before))) return changes;
  return { ...changes, ...(await sealDebtorIban(ctx, before.id, debtor_iban)) };
}

/** The given settings that differ, and the next version of changed terms; without secrets. @throws `validation_failed` */
function changedSettings(before: Program, given: ProgramPatch): Partial<ProgramColumns> {
  const values = Object.entries(given).filter(([name, value]) => {
    if (value === undefined || SECRET_SETTINGS.some(({ setting }) => setting === name)) return false;
    return JSON.stringify(value) !== JSON.stringify(before[name as keyof Program]);
  });
  const changes: Partial<ProgramColumns> = Object.fromEntries(values);
  refuseOwnMinimum({ ...before, ...changes });
  refuseUnnamedPayer({ ...before, ...changes });
  return changes.terms === undefined ? changes : { ...changes, terms_version: before.terms_version + 1 };
}

/** A lead keeps the currency of the time when it was reported, even if a flow rewards it later (FLOW-12). */
function isCurrencyLocked(programId: SQL): SQL {
  return sql`(exists (select 1 from commissions where program_id = ${programId})
    or exists (select 1 from payments indexed by payments_leads where program_id = ${programId} and event = 'lead_created'))`;
}

import { and, asc, eq, inArray, isNull, sql, type SQL } from "drizzle-orm";
import { partnerCodes } from "../../db/schema.ts";
import { codeKey, MAX_CODES } from "../../domain/code.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type Occurrence, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { selectPartner } from "../kernel/partner-rows.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { EventPayloads } from "../../domain/event.ts";
import type { PartnerCode } from "../kernel/rows.ts";
import { selectCodeStats, type StatsFilter } from "./code-stats.ts";
import { markWaitingForCode, markWithCode, settleMarked } from "../ledger/codes-given.ts";

export interface CodeInput {
  code: string;
  provider: ProviderName;
  provider_code_id?: string | null | undefined;
  /** Moves it from the partner who has it, from now on. */
  move?: boolean | undefined;
}

/** Lists the partner's current codes, oldest first. */
export async function listCodes(ctx: Reader, partner_id: string): Promise<PartnerCode[]> {
  const [[partner], rows] = await ctx.read(selectPartner(ctx, partner_id), selectHeld(ctx, partner_id));
  if (!partner) throw notFound("partner");
  return rows;
}

/** Lists the codes with their results for the partner over some days, in one round trip. */
export async function listCodesWithStats(ctx: Reader, partner_id: string, days: Omit<StatsFilter, "partner_id">) {
  const [codes, rows] = await ctx.read(selectHeld(ctx, partner_id), selectCodeStats(ctx, { ...days, partner_id }));
  return { codes, stats: rows };
}

/** Returns a partner's current code. */
export async function getCode(ctx: Reader, id: string): Promise<PartnerCode> {
  const [[code]] = await ctx.read(ctx.db.select().from(partnerCodes).where(heldCode(ctx, id)));
  if (!code) throw notFound("code");
  return code;
}

/**
 * Gives a promotion code to a partner, from now on. Earlier payments without a partner, because no partner had the
 * code, become this partner's. @throws `already_exists` naming the field if a partner has it and it is not to be moved.
 */
export async function createCode(caller: Caller, partner_id: string, input: CodeInput): Promise<PartnerCode> {
  const { ctx, code } = await untilWon(async () => {
    const [ctx, [partner], taken, own] = await prove(
      caller,
      selectPartner(caller, partner_id),
      selectTaken(caller, input),
      selectHeld(caller, partner_id),
    );
    if (!partner) throw notFound("partner");
    const others = taken.filter((row) => row.partner_id !== partner_id);
    const same = taken.filter((row) => row.partner_id === partner_id && isSame(row, input));
    const [refused] = input.move ? same : [...same, ...others];
    if (refused) throw codeTaken(refusedFor(refused, input));
    if (own.length >= MAX_CODES) throw tooManyCodes();
    const code: PartnerCode = {
      id: newId("code", ctx.now),
      program_id: ctx.program.id,
      partner_id,
      provider: input.provider,
      code: input.code,
      code_key: codeKey(input.code),
      provider_code_id: input.provider_code_id ?? null,
      created_at: iso(ctx.now),
      ended_at: null,
    };
    await commitCode(ctx, {
      writes: [
        ...others.map((row) => endCode(ctx, row)),
        { statement: ctx.db.insert(partnerCodes).values(code) },
        refuseWhere(
          ctx,
          sql`(select count(*) from partner_codes where partner_id = ${partner_id} and ended_at is null) > ${MAX_CODES}`,
        ),
        ...others.flatMap((row) => markWithCode(ctx, row)),
        ...markWaitingForCode(ctx, code),
      ],
      occurrences: others.length === 0 ? [codeCreated(code)] : others.map((row) => codeMoved(row, code)),
      result: code,
    });
    return { ctx, code };
  });
  await settleMarked(ctx);
  return code;
}

/** Removes a code: it no longer attributes payments to the partner. */
export async function deleteCode(caller: Caller, id: string): Promise<PartnerCode> {
  const { ctx, code } = await untilWon(async () => {
    const [ctx, [code]] = await prove(caller, caller.db.select().from(partnerCodes).where(heldCode(caller, id)));
    if (!code) throw notFound("code");
    await commitCode(ctx, {
      writes: [endCode(ctx, code), ...markWithCode(ctx, code)],
      occurrences: [{ type: "code.deleted", payload: payloadOf(code) }],
      result: code,
    });
    return { ctx, code };
  });
  await settleMarked(ctx);
  return code;
}

function endCode(ctx: ProgramCtx, { id }: PartnerCode): Write {
  return {
    statement: ctx.db
      .update(partnerCodes)
      .set({ ended_at: iso(ctx.now) })
      .where(and(eq(partnerCodes.id, id), isNull(partnerCodes.ended_at))),
    expect: 1,
  };
}

export function codeCreated(code: PartnerCode): Occurrence {
  return { type: "code.created", payload: payloadOf(code) };
}

function codeMoved(before: PartnerCode, after: PartnerCode): Occurrence {
  return { type: "code.moved", changes: changesOf("code", before, after), payload: payloadOf(after) };
}

function payloadOf(row: PartnerCode): EventPayloads["code.created"] {
  const { id: code_id, partner_id, provider, code, provider_code_id } = row;
  return { code_id, partner_id, provider, code, provider_code_id };
}

async function commitCode(ctx: ProgramCtx, plan: Parameters<typeof commit>[1]): Promise<void> {
  try {
    await commit(ctx, plan);
  } catch (error) {
    if (!(error instanceof CommitConflict) || error.kind !== "unique") throw error;
    // Another request gave it to a partner at the same moment: the next read finds that partner.
    throw new CommitConflict("lost_race", error.constraint);
  }
}

function codeTaken(path: "code" | "provider_code_id"): AppError {
  return new AppError("already_exists", `A partner of this program already has this ${path}.`, {
    details: [{ path, message: "This value is taken." }],
  });
}

function tooManyCodes(): AppError {
  return invalidField("code", `A partner has at most ${MAX_CODES} codes.`);
}

function isSame({ code_key, provider_code_id }: PartnerCode, input: CodeInput): boolean {
  return code_key === codeKey(input.code) || (provider_code_id !== null && provider_code_id === input.provider_code_id);
}

/** The field of the input with the value that a partner already has. */
function refusedFor(row: PartnerCode, { code, provider_code_id = null }: CodeInput): "code" | "provider_code_id" {
  if (row.code_key === codeKey(code) || provider_code_id === null) return "code";
  const isById = row.provider_code_id === provider_code_id || row.code_key === codeKey(provider_code_id);
  return isById ? "provider_code_id" : "code";
}

/** Selects conflicting codes. One may be stored by its id as `code`, from a click before its name was known. */
function selectTaken(ctx: Reader, { provider, code, provider_code_id = null }: CodeInput) {
  const held = sql`program_id = ${ctx.programId} and provider = ${provider} and ended_at is null`;
  const ofVendor = (table: SQL) => sql`${table}.program_id = ${ctx.programId} and ${table}.provider = ${provider}`;
  const called = sql`(select lower(n.data ->> 'name') from facts n indexed by facts_of_code where ${ofVendor(sql`n`)}
    and n.kind = 'code' and n.ref_key = f.ref_key order by n.occurred_at desc, n.fact_id desc limit 1)`;
  const named = sql`select lower(f.ref_key) from fact_subjects s cross join facts f
      on ${ofVendor(sql`f`)} and f.fact_id = s.fact_id and f.kind = 'code'
    where ${ofVendor(sql`s`)} and s.scope = 'code' and s.subject = ${codeKey(code)} and ${called} = ${codeKey(code)}`;
  const byId = provider_code_id === null ? named : sql`${named} union select ${codeKey(provider_code_id)}`;
  return ctx.db
    .select()
    .from(partnerCodes)
    .where(
      inArray(
        partnerCodes.id,
        sql`(select id from partner_codes where ${held} and code_key = ${codeKey(code)}
          union select id from partner_codes where ${held} and provider_code_id in (${provider_code_id}, ${code})
          union select id from partner_codes where ${held} and code_key in (${byId}))`,
      ),
    );
}

function selectHeld(ctx: Reader, partner_id: string) {
  return ctx.db
    .select()
    .from(partnerCodes)
    .where(
      and(
        eq(partnerCodes.partner_id, partner_id),
        isNull(partnerCodes.ended_at),
        sql`+${partnerCodes.program_id} = ${ctx.programId}`,
      ),
    )
    .orderBy(asc(partnerCodes.id));
}

function heldCode(ctx: Reader, id: string): SQL | undefined {
  return and(
    eq(partnerCodes.id, id),
    sql`${partnerCodes.program_id} = ${ctx.programId}`,
    isNull(partnerCodes.ended_at),
  );
}

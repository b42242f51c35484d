/** A program's API keys beside its first (ACCESS-10). */
import { and, asc, eq, sql } from "drizzle-orm";
import { apiKeys } from "../../db/schema.ts";
import type { EventPayloads } from "../../domain/event.ts";
import { MAX_API_KEYS, missingScope, SCOPES, type Scope } from "../../domain/scope.ts";
import { keyOn } from "../../domain/shard.ts";
import { randomToken, sha256Hex } from "../../lib/crypto.ts";
import { type AppError, invalidField, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { ApiKey } from "../kernel/rows.ts";
import { lacksScope, requireNoEndBefore } from "../kernel/scopes.ts";

export interface ApiKeyInput {
  name: string;
  scopes: Scope[];
  /** ms since the epoch. */
  expires_at?: number | null | undefined;
}

/** A key with its text: only for the reply that shows it. */
export interface MadeApiKey {
  key: ApiKey;
  api_key: string;
}

/** Lists the program's keys beside its first, oldest first, including expired ones. */
export async function listApiKeys(ctx: Reader): Promise<ApiKey[]> {
  const [keys] = await ctx.read(selectKeys(ctx));
  return keys;
}

/** Returns one of them. @throws `not_found` */
export async function readApiKey(ctx: Reader, id: string): Promise<ApiKey> {
  const [[key]] = await ctx.read(ctx.db.select().from(apiKeys).where(owned(ctx, id)));
  if (!key) throw notFound("API key");
  return key;
}

/**
 * Creates a key that is valid from now on, until `expires_at` if given. A key cannot create one with more scopes, or
 * one that outlives it. @throws `forbidden` for that; `validation_failed` above the limit of keys and for a past time.
 */
export async function createApiKey(caller: Caller, input: ApiKeyInput): Promise<MadeApiKey> {
  const api_key = keyOn(caller.shard, randomToken(FURTHER_KEY_BYTES));
  const hash = await sha256Hex(api_key);
  return untilWon(async () => {
    const [ctx, held] = await prove(caller, selectKeys(caller));
    const missing = missingScope(input.scopes, SCOPES.filter(ctx.may));
    if (missing) throw lacksScope(missing);
    const expires_at = endOf(ctx, input);
    if (held.length >= MAX_API_KEYS) throw tooManyKeys();
    const key: ApiKey = {
      id: newId("api_key", ctx.now),
      program_id: ctx.program.id,
      name: input.name,
      scopes: SCOPES.filter((scope) => input.scopes.includes(scope)),
      hash,
      last4: api_key.slice(-4),
      created_at: iso(ctx.now),
      expires_at,
      last_used_at: null,
    };
    const made = { key, api_key };
    const { scopes } = key;
    await commit(ctx, {
      writes: [
        { statement: ctx.db.insert(apiKeys).values(key) },
        refuseWhere(ctx, sql`(select count(*) from api_keys where program_id = ${key.program_id}) > ${MAX_API_KEYS}`),
      ],
      occurrences: [{ type: "api_key.created", payload: { ...payloadOf(key), scopes, expires_at } }],
      result: made,
    });
    return made;
  });
}

/**
 * Creates a replacement for a key, which stays valid until it ends. The new key has the same name and scopes and, if
 * the old one expires, the same lifetime from now on. @throws `not_found`, and as `createApiKey`
 */
export async function rotateApiKey(ctx: Caller & Reader, id: string): Promise<MadeApiKey & { before: ApiKey }> {
  const before = await readApiKey(ctx, id);
  const { name, scopes, created_at, expires_at } = before;
  const ends = expires_at === null ? null : ctx.now + Date.parse(expires_at) - Date.parse(created_at);
  return { ...(await createApiKey(ctx, { name, scopes, expires_at: ends })), before };
}

/** Deletes a key, at once. @throws `not_found`; `forbidden` for a scope that the calling key lacks */
export async function deleteApiKey(caller: Caller, id: string): Promise<ApiKey> {
  return untilWon(async () => {
    const [ctx, [key]] = await prove(caller, caller.db.select().from(apiKeys).where(owned(caller, id)));
    if (!key) throw notFound("API key");
    const missing = ctx.actor.id === key.id ? undefined : missingScope(key.scopes, SCOPES.filter(ctx.may));
    if (missing) throw lacksScope(missing);
    await commit(ctx, {
      writes: [{ statement: ctx.db.delete(apiKeys).where(owned(ctx, id)), expect: 1 }],
      occurrences: [{ type: "api_key.deleted", payload: payloadOf(key) }],
      result: key,
    });
    return key;
  });
}

/** One more than for a program's first key: the text then shows which of the two it is (`domain/shard.ts`). */
const FURTHER_KEY_BYTES = 33;

function endOf(ctx: ProgramCtx, { expires_at }: ApiKeyInput): string | null {
  const end = expires_at ?? null;
  if (end !== null && end <= ctx.now) throw invalidField("expires_at", "This time is in the past.");
  const stamp = end === null ? null : iso(end);
  requireNoEndBefore(ctx, stamp);
  return stamp;
}

function payloadOf({ id, name, last4 }: ApiKey): EventPayloads["api_key.deleted"] {
  return { key_id: id, name, last4 };
}

function tooManyKeys(): AppError {
  return invalidField("name", `A program has at most ${MAX_API_KEYS} API keys in addition to its first.`);
}

function selectKeys(ctx: Reader) {
  return ctx.db
    .select()
    .from(apiKeys)
    .where(sql`${apiKeys.program_id} = ${ctx.programId}`)
    .orderBy(asc(apiKeys.id));
}

function owned(ctx: Reader, id: string) {
  return and(eq(apiKeys.id, id), sql`${apiKeys.program_id} = ${ctx.programId}`);
}

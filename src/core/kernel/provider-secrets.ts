import { rowOf, SEALED, type SealedPlace } from "../../db/sealed.ts";
import type { Changes } from "../../domain/actor.ts";
import { maskDistinctly } from "../../domain/mask.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { TRANSFER_METHOD } from "../../domain/partner.ts";
import { sha256Hex } from "../../lib/crypto.ts";
import { AppError } from "../../lib/errors.ts";
import type { Sealed } from "../../lib/seal.ts";
import { DAY, iso } from "../../lib/time.ts";
import type { KeyModes, Trouble } from "../../providers/connect.ts";
import { SECRET_SETTINGS, type SecretSetting } from "../../providers/registry.ts";
import { connectionOf, type Connection } from "./connections.ts";
import type { BaseCtx, ProgramCtx } from "./context.ts";
import type { Program } from "./rows.ts";

/** How long a replaced signing secret still counts (PROG-5). */
const PREVIOUS_VALID_FOR = DAY;

/** The signing secrets to try: the current, and the previous for 24 h; without those that no key opens. */
export async function providerSecrets(
  ctx: Pick<BaseCtx, "sealer" | "now">,
  program: Program,
  provider: VendorName,
): Promise<string[]> {
  const until = connectionOf(program, provider).webhook_secret_previous_until;
  const isPreviousValid = until !== null && until > iso(ctx.now);
  const columns = isPreviousValid
    ? (["webhook_secret", "webhook_secret_previous"] as const)
    : (["webhook_secret"] as const);
  const secrets = await Promise.all(columns.map((column) => openSecret(ctx, program, provider, column)));
  return secrets.filter((secret) => secret !== null);
}

type KeyContext = Pick<ProgramCtx, "sealer" | "program">;

/** The unencrypted API key for a provider, for one call; null without one, or if it cannot be opened. */
export function openApiKey(ctx: KeyContext, provider: VendorName): Promise<string | null> {
  return openSecret(ctx, ctx.program, provider, "api_key");
}

/** Whether a test-mode key belongs to a program that counts only live payments: its payments are not money. */
export function isOutOfMode(program: Program, modes: KeyModes, api_key: string): boolean {
  return program.live_only && modes.isTestKey(api_key);
}

/**
 * The unencrypted API key for payouts and connected accounts, or the reason why payouts are impossible: no stored key
 * can be opened, or it is a test-mode key and the program counts only live payments.
 */
export async function payingKey(ctx: KeyContext, modes: KeyModes): Promise<string | Trouble> {
  const api_key = await openApiKey(ctx, TRANSFER_METHOD);
  if (api_key !== null && !isOutOfMode(ctx.program, modes, api_key)) return api_key;
  const isStored = connectionOf(ctx.program, TRANSFER_METHOD).api_key !== null;
  return { code: "provider_not_configured", message: api_key !== null ? IN_TEST_MODE : isStored ? UNUSABLE : NO_KEY };
}

/** As `payingKey`. @throws `provider_not_configured` if payouts are impossible. */
export async function openPayingKey(ctx: KeyContext, modes: KeyModes): Promise<string> {
  const key = await payingKey(ctx, modes);
  if (typeof key === "string") return key;
  throw new AppError("provider_not_configured", key.message);
}

const NO_KEY = "The program has no API key of the provider that makes the transfers.";
const UNUSABLE =
  "The stored API key of the provider that makes the transfers can no longer be used. Store it in the settings again.";
const IN_TEST_MODE =
  "The stored API key is a test-mode key, which moves no money. Store a live-mode key in the settings.";

/** The unencrypted signing secret of a provider; null without a stored one, or if it can no longer be opened. */
export function openCurrentSecret(
  ctx: Pick<BaseCtx, "sealer">,
  program: Program,
  provider: VendorName,
): Promise<string | null> {
  return openSecret(ctx, program, provider, "webhook_secret");
}

/** Recognizes an earlier secret of a vendor: 64 bits of its hash with the program. */
export async function fingerprint(program_id: string, secret: string): Promise<string> {
  return (await sha256Hex(program_id, " ", secret)).slice(0, 16);
}

type SecretColumn = Extract<SealedPlace, { table: "provider_connections" }>["column"];

function placeOf(program: Program, provider: VendorName, column: SecretColumn): SealedPlace {
  const row = rowOf(SEALED[`provider_connections.${column}`], program.id, provider);
  return { table: "provider_connections", column, row };
}

async function openSecret(
  ctx: Pick<BaseCtx, "sealer">,
  program: Program,
  provider: VendorName,
  column: SecretColumn,
): Promise<string | null> {
  const sealed = connectionOf(program, provider)[column];
  return sealed === null ? null : ctx.sealer.openOrNull(sealed, placeOf(program, provider, column));
}

/** An owner's input of secrets: the text, null to clear, absent to keep. */
export interface SecretPatch {
  [setting: SecretSetting]: string | null | undefined;
}

export type ConnectionChanges = Map<VendorName, Partial<Connection>>;

/**
 * The changes, sealed, that make a program's secrets match the input. A replaced secret stays valid for 24 h; clearing
 * one ends it and its predecessor at once; the present one again is no change. With another API key the provider's list
 * of events is read from the beginning. A secret that can no longer be opened (its key is gone) never equals the input
 * and leaves no predecessor.
 */
export async function changedSecrets(
  ctx: Pick<BaseCtx, "sealer" | "now">,
  before: Program,
  given: SecretPatch,
): Promise<ConnectionChanges> {
  const changes: ConnectionChanges = new Map();
  for (const { setting, provider, secret } of SECRET_SETTINGS) {
    const plain = given[setting];
    if (plain === undefined) continue;
    const { name } = provider;
    const seal = async (text: string | null, column: SecretColumn) =>
      text === null ? null : ctx.sealer.seal(text, placeOf(before, name, column));
    const sealed = connectionOf(before, name)[secret];
    const present = await openSecret(ctx, before, name, secret);
    if (isSame(sealed, present, plain)) continue;
    const changed: Partial<Connection> = { ...changes.get(name), [secret]: await seal(plain, secret) };
    // A reading with one key is not valid for another key, which may be of another account.
    if (secret === "api_key") Object.assign(changed, { reading: null, next_read_at: "" });
    if (secret === "webhook_secret") {
      const replaced = plain === null ? null : present;
      changed.webhook_secret_previous = await seal(replaced, "webhook_secret_previous");
      changed.webhook_secret_previous_until = replaced === null ? null : iso(ctx.now + PREVIOUS_VALID_FOR);
    }
    changes.set(name, changed);
  }
  return changes;
}

/** The secrets that differ, by their names in the API: `"(secret)"`, or null without one (EVT-2). */
export function secretsChanged(before: Program, after: Program): Changes {
  return Object.fromEntries(
    SECRET_SETTINGS.flatMap(({ setting, provider, secret }): [string, [unknown, unknown]][] => {
      const [old, now] = [before, after].map((program) => connectionOf(program, provider.name)[secret]);
      if (old === now) return [];
      const apart = maskDistinctly(() => "(secret)");
      return [[setting, [old === null ? null : apart(old), now === null ? null : apart(now)]]];
    }),
  );
}

function isSame(sealed: Sealed | null, plain: string | null, given: string | null): boolean {
  return given === null ? sealed === null : plain === given;
}

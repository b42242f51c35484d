import type { SealedPlace } from "../../db/sealed.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { Sealed } from "../../lib/seal.ts";
import { DAY, iso } from "../../lib/time.ts";
import { SECRET_SETTINGS, type SecretSetting } from "../../providers/registry.ts";
import { connectionOf } from "./connections.ts";
import type { BaseCtx, ProgramCtx } from "./context.ts";
import type { Program } from "./rows.ts";

/** How long a replaced signing secret still counts (PROG-5). */
const PREVIOUS_VALID_FOR = DAY;

/** The signing secrets to try for a provider: the current one, and the previous one for 24 h after it was replaced. */
export async function providerSecrets(
  ctx: Pick<BaseCtx, "sealer" | "now">,
  program: Program,
  provider: ProviderName,
): Promise<string[]> {
  const name = `${provider}_webhook_secret` as SecretColumn;
  const until = connectionOf(program, provider).webhook_secret_previous_until;
  const isPreviousValid = until !== null && until > iso(ctx.now);
  const columns = isPreviousValid ? [name, `${name}_previous` as SecretColumn] : [name];
  const secrets = await Promise.all(columns.map((column) => openSecret(ctx, program, column)));
  return secrets.filter((secret) => secret !== null);
}

/** The API key for a provider in clear, for one call of the vendor. */
export function openApiKey(
  ctx: Pick<ProgramCtx, "sealer" | "program">,
  provider: ProviderName,
): Promise<string | null> {
  return openSecret(ctx, ctx.program, `${provider}_api_key` as SecretColumn);
}

type SecretColumn = Extract<SealedPlace, { table: "programs" }>["column"];

function placeOf(program: Program, column: SecretColumn): SealedPlace {
  return { table: "programs", column, row: program.id };
}

async function openSecret(
  ctx: Pick<BaseCtx, "sealer">,
  program: Program,
  column: SecretColumn,
): Promise<string | null> {
  const sealed = program[column];
  return sealed === null ? null : ctx.sealer.open(sealed, placeOf(program, column));
}

/** Secrets as an owner gives them: in clear, null to clear, absent to keep. */
export interface SecretPatch {
  [setting: SecretSetting]: string | null | undefined;
}

/**
 * The columns that bring a program's secrets to what was given, sealed. The secret that is replaced stays valid for
 * 24 h; clearing one ends it and its predecessor at once; giving the present one again changes nothing. One that can no
 * longer be opened (its key is gone) equals nothing and leaves no predecessor.
 */
export async function changedSecrets(
  ctx: Pick<BaseCtx, "sealer" | "now">,
  before: Program,
  given: SecretPatch,
): Promise<Partial<Program>> {
  const changes: Partial<Program> = {};
  const seal = async (plain: string | null, column: SecretColumn) =>
    plain === null ? null : ctx.sealer.seal(plain, placeOf(before, column));
  for (const { setting, secret: kind } of SECRET_SETTINGS) {
    const secret = given[setting];
    if (secret === undefined) continue;
    const name = setting as SecretColumn;
    const present = await openIfSet(ctx, before, name);
    if (isSame(before[name], present, secret)) continue;
    changes[name] = await seal(secret, name);
    if (kind !== "webhook_secret") continue;
    const replaced = secret === null ? null : present;
    const until = replaced === null ? null : iso(ctx.now + PREVIOUS_VALID_FOR);
    const previous = `${name}_previous` as SecretColumn;
    Object.assign(changes, { [previous]: await seal(replaced, previous), [`${previous}_until`]: until });
  }
  return changes;
}

async function openIfSet(ctx: Pick<BaseCtx, "sealer">, program: Program, column: SecretColumn): Promise<string | null> {
  const sealed = program[column];
  return sealed === null ? null : ctx.sealer.openOrNull(sealed, placeOf(program, column));
}

function isSame(sealed: Sealed | null, plain: string | null, given: string | null): boolean {
  return given === null ? sealed === null : plain === given;
}

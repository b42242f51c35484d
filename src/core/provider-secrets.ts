import { and, eq, type SQL } from "drizzle-orm";
import { programs } from "../db/schema.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import { PROVIDER_NAMES } from "../domain/provider-name.ts";
import type { Ctx, Program } from "./context.ts";
import { DAY, iso } from "../lib/time.ts";

/** How long a replaced signing secret still counts (contract §3). */
const PREVIOUS_VALID_FOR = DAY;

/** The signing secrets to try for a provider: the current one, and the previous one for 24 h after it was replaced. */
export async function providerSecrets(
  ctx: Pick<Ctx, "sealer" | "now">,
  program: Program,
  provider: ProviderName,
): Promise<string[]> {
  const current = program[`${provider}_webhook_secret`];
  const previous = program[`${provider}_webhook_secret_previous`];
  const until = program[`${provider}_webhook_secret_previous_until`];
  const sealed = [current, previous !== null && until !== null && until > iso(ctx.now) ? previous : null];
  return Promise.all(sealed.filter((secret) => secret !== null).map((secret) => ctx.sealer.open(secret)));
}

/** Secrets as an owner gives them: in clear, null to clear, absent to keep. */
export interface SecretPatch {
  provider_a_webhook_secret?: string | null | undefined;
  provider_b_webhook_secret?: string | null | undefined;
  provider_a_api_key?: string | null | undefined;
}

/**
 * The columns that bring a program's secrets to what was given, sealed. The secret that is replaced stays valid for
 * 24 h; clearing one ends it and its predecessor at once; giving the present one again changes nothing.
 */
export async function changedSecrets(
  ctx: Pick<Ctx, "sealer" | "now">,
  before: Program,
  given: SecretPatch,
): Promise<Partial<Program>> {
  const changes: Partial<Program> = {};
  for (const provider of PROVIDER_NAMES) {
    const name = `${provider}_webhook_secret` as const;
    const secret = given[name];
    if (secret === undefined || (await isSame(ctx, before[name], secret))) continue;
    const replaced = secret === null ? null : before[name];
    changes[name] = secret === null ? null : await ctx.sealer.seal(secret);
    changes[`${name}_previous`] = replaced;
    changes[`${name}_previous_until`] = replaced === null ? null : iso(ctx.now + PREVIOUS_VALID_FOR);
  }
  const key = given.provider_a_api_key;
  if (key !== undefined && !(await isSame(ctx, before.provider_a_api_key, key))) {
    changes.provider_a_api_key = key === null ? null : await ctx.sealer.seal(key);
  }
  return changes;
}

/**
 * True in the database while the secrets that a change moves to `_previous` are the ones it read: sealing anew under
 * another key (`core/reseal.ts`) must not be undone by a copy of what the earlier key sealed.
 */
export function movedSecretsAreThere(before: Program, changes: Partial<Program>): SQL | undefined {
  const moved = PROVIDER_NAMES.map((provider) => `${provider}_webhook_secret` as const).flatMap((name) => {
    const sealed = before[name];
    return sealed !== null && changes[`${name}_previous`] === sealed ? [eq(programs[name], sealed)] : [];
  });
  return and(...moved);
}

/** One that can no longer be opened (its key is gone) equals nothing, so that it can be replaced. */
async function isSame(ctx: Pick<Ctx, "sealer">, sealed: string | null, given: string | null): Promise<boolean> {
  if (sealed === null || given === null) return sealed === given;
  try {
    return (await ctx.sealer.open(sealed)) === given;
  } catch {
    return false;
  }
}

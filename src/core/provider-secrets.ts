import type { ProviderName } from "../domain/provider-name.ts";
import type { Ctx, Program } from "./context.ts";
import { iso } from "../lib/time.ts";

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

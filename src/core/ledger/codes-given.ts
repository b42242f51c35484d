/** Payments affected by a promotion code's new holder: marked in its transaction, settled after it (CODE-3). */
import { sql, type SQL } from "drizzle-orm";
import type { HeldCode } from "../../domain/code.ts";
import { ATTRIBUTION_SLACK_MS } from "../../domain/payment-state.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { iso } from "../../lib/time.ts";
import type { Write } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { matchesOrUnsettled, paymentsWithCodes, restartSettling, unsettle } from "./concerned-payments.ts";
import { settleUnsettled } from "./settle.ts";

type Given = Pick<HeldCode, "code_key" | "provider_code_id"> & { provider: ProviderName };

/** Marks payments dated from now on with a code that is taken away: a vendor's clock may be ahead. */
export function markWithCode(ctx: ProgramCtx, code: Given): Write[] {
  return mark(ctx, code, sql`false`);
}

/** Marks payments that waited for a code that is given to a partner, and those dated from now on with it. */
export function markWaitingForCode(ctx: ProgramCtx, code: Given): Write[] {
  return [{ statement: restartSettling(ctx) }, ...mark(ctx, code, WAITS)];
}

/** The same for many codes without a known id at the vendor. */
export function markWaitingForCodes(ctx: ProgramCtx, codes: readonly Given[]): Write[] {
  const providers = [...new Set(codes.map(({ provider }) => provider))];
  return [
    { statement: restartSettling(ctx) },
    ...providers.flatMap((provider) => {
      const keys = codes.filter((code) => code.provider === provider).map(({ code_key }) => code_key);
      return markSeeded(ctx, provider, sql`select value from json_each(${JSON.stringify(keys)})`, WAITS);
    }),
  ];
}

const WAITS = sql`+partner_id is null`;

function mark(ctx: ProgramCtx, { provider, code_key, provider_code_id }: Given, waits: SQL): Write[] {
  const seeds = sql`select ${code_key} union select ${provider_code_id} where ${provider_code_id} is not null`;
  return markSeeded(ctx, provider, seeds, waits);
}

function markSeeded(ctx: ProgramCtx, provider: ProviderName, seeds: SQL, waits: SQL): Write[] {
  return [
    unsettle(
      ctx,
      sql`id in (${paymentsWithCodes(ctx.program.id, provider, seeds)})
        and ${matchesOrUnsettled("payments", sql`${waits} or +created_at >= ${iso(ctx.now - ATTRIBUTION_SLACK_MS)}`)}`,
    ),
  ];
}

/** Settles the payments marked in the change's own transaction; to be called once that is committed. */
export async function settleMarked(ctx: ProgramCtx): Promise<void> {
  const marked = sql`from payments indexed by payments_unsettled
    where updated_at = ${iso(ctx.now)} and program_id = ${ctx.program.id}`;
  await settleUnsettled(ctx, marked);
}

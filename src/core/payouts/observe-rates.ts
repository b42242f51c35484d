/** The exchange rates at which a provider converted the vendor's own payments (OUT-38). */
import { sql } from "drizzle-orm";
import { atMost } from "../../db/client.ts";
import { programs } from "../../db/schema.ts";
import type { ObservedRate } from "../../domain/exchange.ts";
import { TRANSFER_METHOD } from "../../domain/partner.ts";
import { HOUR, iso } from "../../lib/time.ts";
import type { Vendor } from "../../providers/provider.ts";
import type { VendorReads } from "../../providers/reads.ts";
import { vendorNamed } from "../../providers/registry.ts";
import { commit } from "../kernel/commit.ts";
import { forProgram, type Ctx, type ProgramCtx } from "../kernel/context.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import { isOutOfMode, openApiKey } from "../kernel/provider-secrets.ts";
import type { Program } from "../kernel/rows.ts";
import type { Owner, Work } from "../kernel/work.ts";
import { laterStamp } from "../ledger/commission-rows.ts";

const PROGRAMS_AT_ONCE = 50;
/** One request for each program and day, at any hour. */
const ASKED_FOR = 20 * HOUR;

interface Due extends Owner {
  program: Program;
}

type RatesReads = Pick<VendorReads, "readRates" | "isTestKey">;

/**
 * Stores the newest rates at which the provider converted payments into each program's payout currency, with one request
 * a program and day. A provider that refuses or fails changes no rate.
 */
export function observeRates(ctx: Ctx, readsOf: (provider: Vendor) => RatesReads | null): Work<Due> {
  const vendor = vendorNamed(TRANSFER_METHOD);
  const reads = vendor ? readsOf(vendor) : null;
  return {
    cost: 4,
    async due(after) {
      if (!reads?.readRates) return [];
      const rows = await selectPrograms(ctx.db)
        .where(sql`${programs.id} > ${after} and ${programs.payout_currency} is not null
          and exists (select 1 from provider_connections k
            where k.program_id = ${programs.id} and k.provider = ${TRANSFER_METHOD} and k.api_key is not null)
          and not exists (select 1 from exchange_rates r
            where r.program_id = ${programs.id} and r.asked_at > ${iso(ctx.now - ASKED_FOR)})`)
        .orderBy(programs.id)
        .limit(atMost(PROGRAMS_AT_ONCE));
      return rows.map((program) => ({ key: program.id, program }));
    },
    async serve({ program }) {
      const own = forProgram(ctx, program);
      await storeObserved(own, reads === null ? {} : await askRates(own, reads));
      return false;
    },
  };
}

/** The rates into the payout currency, by the currency of the payments; empty if the provider does not answer. */
async function askRates(ctx: ProgramCtx, reads: RatesReads): Promise<Record<string, ObservedRate>> {
  const api_key = await openApiKey(ctx, TRANSFER_METHOD);
  if (api_key === null || isOutOfMode(ctx.program, reads, api_key)) return {};
  const answer = await reads.readRates?.(api_key);
  if (answer?.outcome !== "read") return {};
  const into = answer.rates.filter(({ to }) => to === ctx.program.payout_currency);
  // Newest first: of several of one currency the first stays.
  return Object.fromEntries(into.toReversed().map(({ from, to, rate, at }) => [from, { to, rate, at }]));
}

async function storeObserved(ctx: ProgramCtx, rates: Record<string, ObservedRate>): Promise<void> {
  const stamp = iso(ctx.now);
  const given = Object.keys(rates).length === 0 ? null : JSON.stringify(rates);
  await commit(ctx, {
    writes: [
      {
        statement: ctx.db.run(sql`insert into exchange_rates (program_id, observed, asked_at, updated_at)
          values (${ctx.program.id}, ${given}, ${stamp}, ${stamp})
          on conflict (program_id) do update set asked_at = excluded.asked_at,
            observed = iif(excluded.observed is null, observed, json_patch(ifnull(observed, '{}'), excluded.observed)),
            updated_at = iif(excluded.observed is null, updated_at, ${laterStamp(sql`updated_at`, stamp)})`),
      },
    ],
    occurrences: [],
  });
}

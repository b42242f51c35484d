import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { Networks } from "../../domain/address.ts";

/**
 * A budget that strangers use up together. Each network and each site has a share of it, and its second half is left to
 * sites that have not used it yet: no network can use it up for the others (HTTP-37).
 */
export interface SharedBudget {
  most: number;
  network: number;
  site: number;
}

/**
 * The caller's networks as keyed hashes: the addresses themselves are not stored. Null outside the platform: there all
 * callers are one network.
 */
export type HashedNetworks = Networks | null;

/**
 * SQL that is true if the caller may not use any more of the budget. `uses` is a `from` clause with one row for each use
 * that counts, whose columns `network` and `site` are the hashes of its caller.
 */
export function isUsedUp({ most, network, site }: SharedBudget, uses: SQL, caller: HashedNetworks): SQL {
  const by = (of: keyof Networks) => sql`count(*) filter (where ${sql.raw(of)} is ${caller?.[of] ?? null})`;
  return sql`exists (select 1
    from (select count(*) as used, ${by("network")} as by_network, ${by("site")} as by_site ${uses})
    where used >= ${literal(most)} or by_network >= ${literal(network)} or by_site >= ${literal(site)}
      or (by_site > 0 and used >= ${literal(most / 2)}))`;
}

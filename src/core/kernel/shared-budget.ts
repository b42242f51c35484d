import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { Networks } from "../../domain/address.ts";

/**
 * A budget that strangers share: each network and site has a part, and the second half is for sites new to it, so that
 * no network uses it up (HTTP-37).
 */
export interface SharedBudget {
  most: number;
  network: number;
  site: number;
}

/** The caller's networks as keyed hashes, never the addresses. Null outside the platform: one network. */
export type HashedNetworks = Networks | null;

/**
 * Whether the caller has used up the budget. `uses`: a `from` clause of one row a use, with hashed `network`, `site`.
 */
export function isUsedUp({ most, network, site }: SharedBudget, uses: SQL, caller: HashedNetworks): SQL {
  const by = (of: keyof Networks) => sql`count(*) filter (where ${sql.raw(of)} is ${caller?.[of] ?? null})`;
  return sql`exists (select 1
    from (select count(*) as used, ${by("network")} as by_network, ${by("site")} as by_site ${uses})
    where used >= ${literal(most)} or by_network >= ${literal(network)} or by_site >= ${literal(site)}
      or (by_site > 0 and used >= ${literal(most / 2)}))`;
}

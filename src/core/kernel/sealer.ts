import { sql, type SQL } from "drizzle-orm";
import { boundTo } from "../../db/sealed.ts";
import type { SecretSealer } from "../../lib/seal.ts";
import type { Sealer } from "./context.ts";

/** Seals for the places of the database (`db/sealed.ts`). */
export function sealerOf(secrets: SecretSealer): Sealer {
  return {
    mark: () => secrets.mark(),
    openable: () => secrets.openable(),
    seal: (plain, place) => secrets.seal(plain, boundTo(place)),
    openOrNull: (sealed, place) => secrets.openOrNull(sealed, boundTo(place)),
  };
}

/** SQL that is true where the value of a column begins with one of these: with those of `openable`, where a key may open it. */
export function isSealedBy(column: SQL, marks: readonly string[]): SQL {
  return sql`exists (select 1 from json_each(${JSON.stringify(marks)}) m
    where substr(${column}, 1, length(m.value)) = m.value)`;
}

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

/** The sealed versions of partners' tax data (OUT-33). */
import { columnsOf, type Row } from "../../db/rows.ts";
import { taxData } from "../../db/schema.ts";
import type { TaxData } from "../../domain/tax.ts";
import type { Sealed } from "../../lib/seal.ts";
import type { BaseCtx } from "./context.ts";

export const STORED_TAX_DATA = columnsOf(taxData, "id", "sealed");

const placeOf = (version: string) => ({ table: "tax_data", column: "sealed", row: version }) as const;

export async function sealTaxData(
  { sealer }: Pick<BaseCtx, "sealer">,
  version: string,
  data: TaxData,
): Promise<Sealed> {
  return sealer.seal(JSON.stringify(data), placeOf(version));
}

/** Null if no key opens them any more. */
export async function openTaxData(
  { sealer }: Pick<BaseCtx, "sealer">,
  { id, sealed }: Row<typeof STORED_TAX_DATA>,
): Promise<TaxData | null> {
  const text = await sealer.openOrNull(sealed, placeOf(id));
  return text === null ? null : (JSON.parse(text) as TaxData);
}

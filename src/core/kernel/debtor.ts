/** The IBAN from which a program's SEPA files pay, sealed in the program's row (OUT-27). */
import type { SealedPlace } from "../../db/sealed.ts";
import { maskIban } from "../../domain/mask.ts";
import type { BaseCtx } from "./context.ts";
import type { ProgramColumns } from "./rows.ts";

type Stored = Pick<ProgramColumns, "id" | "debtor_iban_sealed">;

const placeOf = (program_id: string): SealedPlace => ({
  ...{ table: "programs", column: "debtor_iban_sealed" },
  row: program_id,
});

/** The columns that store an IBAN; null clears them. */
export async function sealDebtorIban(
  { sealer }: Pick<BaseCtx, "sealer">,
  program_id: string,
  iban: string | null,
): Promise<Pick<ProgramColumns, "debtor_iban" | "debtor_iban_sealed">> {
  if (iban === null) return { debtor_iban: null, debtor_iban_sealed: null };
  return { debtor_iban: maskIban(iban), debtor_iban_sealed: await sealer.seal(iban, placeOf(program_id)) };
}

/** The stored IBAN; null without one, and if no key opens it any more. */
export async function openDebtorIban(
  { sealer }: Pick<BaseCtx, "sealer">,
  { id, debtor_iban_sealed }: Stored,
): Promise<string | null> {
  return debtor_iban_sealed === null ? null : sealer.openOrNull(debtor_iban_sealed, placeOf(id));
}

/** The account that a SEPA file pays from, frozen with the file (OUT-27). */
import type { Debtor } from "../../domain/payout-export.ts";
import { AppError } from "../../lib/errors.ts";
import type { Sealed } from "../../lib/seal.ts";
import type { BaseCtx, ProgramCtx } from "../kernel/context.ts";
import { openDebtorIban } from "../kernel/debtor.ts";
import type { PayoutExport } from "../kernel/rows.ts";

const placeOf = (export_id: string) => ({ table: "payout_exports", column: "debtor_sealed", row: export_id }) as const;

/** The program's debtor, sealed for a file. @throws `validation_failed` naming the settings that are missing */
export async function sealDebtor(ctx: ProgramCtx, export_id: string): Promise<Sealed> {
  const { debtor_name: name, debtor_bic: bic } = ctx.program;
  const iban = await openDebtorIban(ctx, ctx.program);
  if (name === null || iban === null) {
    const missing = [...(name === null ? ["debtor_name"] : []), ...(iban === null ? ["debtor_iban"] : [])];
    const details = missing.map((path) => ({ path, message: "A SEPA file needs this setting of the program." }));
    throw new AppError("validation_failed", `Set ${missing.join(" and ")} first.`, { details });
  }
  const debtor: Debtor = { name, iban, bic };
  return ctx.sealer.seal(JSON.stringify(debtor), placeOf(export_id));
}

/** The debtor of a file; null without one, and if no key opens it any more. */
export async function openFrozenDebtor(
  { sealer }: Pick<BaseCtx, "sealer">,
  { id, debtor_sealed }: Pick<PayoutExport, "id" | "debtor_sealed">,
): Promise<Debtor | null> {
  const text = debtor_sealed === null ? null : await sealer.openOrNull(debtor_sealed, placeOf(id));
  return text === null ? null : (JSON.parse(text) as Debtor);
}

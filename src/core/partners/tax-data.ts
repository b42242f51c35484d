/** Partners' tax data: set, and read in full or masked (OUT-33). */
import { sql } from "drizzle-orm";
import { selectRows } from "../../db/rows.ts";
import { taxData } from "../../db/schema.ts";
import { maskTaxData, TAX_FIELDS, taxDataProblem, type TaxData } from "../../domain/tax.ts";
import { invalidField, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import { pick } from "../../resources/field.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx } from "../kernel/context.ts";
import { selectPartner } from "../kernel/partner-rows.ts";
import { untilWon } from "../kernel/races.ts";
import type { Partner } from "../kernel/rows.ts";
import { requireScope } from "../kernel/scopes.ts";
import { pickChanged, type Shown } from "../kernel/stale.ts";
import { openTaxData, sealTaxData, STORED_TAX_DATA } from "../kernel/tax-data.ts";
import { changePartnerRow } from "./change-destination.ts";
import { partnerChanged } from "./partners.ts";

/** Tax data as given: the tax id and the rate may be left out. */
export type GivenTaxData = Omit<TaxData, "tax_id" | "vat_rate"> & {
  [K in "tax_id" | "vat_rate"]?: TaxData[K] | undefined;
};

/** A partner's tax data; null without any, and if no key opens them any more. */
export interface OwnTaxData {
  partner: Partner;
  data: TaxData | null;
}

/** Tax data as the API shows them, each field null without any. */
export type TaxDataView = { partner_id: string } & { [K in keyof TaxData]: TaxData[K] | null };

/** The tax data of a reply. */
export function viewTaxData({ partner, data }: OwnTaxData): TaxDataView {
  const fields = TAX_FIELDS.map((field) => [field, data?.[field] ?? null]);
  return { partner_id: partner.id, ...Object.fromEntries(fields) } as TaxDataView;
}

/** A partner's tax data for a caller with the scope `payouts`, which is an event `tax_data.read`; masked for others. */
export async function readTaxData(caller: Caller, id: string): Promise<OwnTaxData> {
  const { ctx, ...own } = await readOwn(caller, id);
  if (!ctx.may("payouts")) return masked(own);
  await commit(ctx, { writes: [], occurrences: [{ type: "tax_data.read", payload: { partner_id: id } }] });
  return own;
}

/** The tax data for the partner's own pages: in full, and no event. */
export async function ownTaxData(ctx: ProgramCtx, id: string): Promise<OwnTaxData> {
  const { ctx: _, ...own } = await readOwn(ctx, id);
  return own;
}

/**
 * Stores a new version of the tax data, unless they are the same. Statements of paid payouts keep theirs. Needs the
 * scope `payouts`. @throws `validation_failed` naming the field
 * @throws {StaleChange} if the stored values differ from `shown`, the values of the submitted form (PAGE-30).
 */
export async function setTaxData(caller: Caller, id: string, given: GivenTaxData, shown?: Shown): Promise<OwnTaxData> {
  return untilWon(async () => {
    const { ctx, ...own } = await readOwn(caller, id);
    requireScope(ctx, "payouts");
    const changed = pickChanged(viewTaxData(own), given, { shown, together: [["kind", "tax_id", "vat_rate"]] });
    const kept = shown === undefined ? {} : own.data;
    const data = pick({ ...NONE, ...kept, ...changed } as TaxData, TAX_FIELDS);
    const problem = taxDataProblem(data);
    if (problem) throw invalidField(problem.path, problem.message);
    if (JSON.stringify(own.data) === JSON.stringify(data)) return own;
    const before = own.partner;
    const version = newId("tax_data", ctx.now);
    const { write, after } = changePartnerRow(ctx, before, { tax_data_id: version });
    const row = { id: version, program_id: ctx.program.id, partner_id: id, created_at: iso(ctx.now) };
    await commit(ctx, {
      writes: [
        write,
        { statement: ctx.db.insert(taxData).values({ ...row, sealed: await sealTaxData(ctx, version, data) }) },
      ],
      occurrences: [partnerChanged(before, after, null)],
    });
    return { partner: after, data };
  });
}

const NONE = { tax_id: null, vat_rate: null };

/** The same for callers who may set, but do not see them. */
export function masked({ partner, data }: OwnTaxData): OwnTaxData {
  return { partner, data: data && maskTaxData(data) };
}

async function readOwn(caller: Caller, id: string): Promise<OwnTaxData & { ctx: ProgramCtx }> {
  const [ctx, [partner], [stored]] = await prove(
    caller,
    selectPartner(caller, id),
    selectRows(
      caller.db,
      STORED_TAX_DATA,
      sql`select t.id as id, t.sealed as sealed from partners p cross join tax_data t on t.id = p.tax_data_id
        where p.id = ${id} and p.program_id = ${caller.programId}`,
    ),
  );
  if (!partner) throw notFound("partner");
  return { ctx, partner, data: stored ? await openTaxData(ctx, stored) : null };
}

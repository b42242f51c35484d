import type { ImportField, ImportKind, MatchedColumn } from "../../domain/import-columns.ts";
import type { ImportProductId } from "../../domain/import-product.ts";
import type { PartnerStatus } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";

/** What a file is and how it is to be read. */
export interface ImportOrder {
  kind: ImportKind;
  product: ImportProductId;
  /** The query parameter of the old links; without one, those of the product. */
  param: string | null;
  /** The state of a new partner where the file has none. */
  status: PartnerStatus;
  /** Whose customer ids the file holds; null where their form shows it. */
  provider: ProviderName | null;
}

/** A line as its reader gives it to core, or why it is not given on. */
export type ReadLine<T> =
  | { ok: true; value: T; note?: LineNote }
  | { ok: false; outcome: "left_out" | "refused"; field: ImportField | null; message: string; column?: string };

/** Which of two things was taken; it is said where the line fills in this detail of its partner. */
export interface LineNote {
  of: "payout";
  column: string;
  message: string;
}

/** What reading a line needs to know of its file. */
export interface ImportFile {
  order: ImportOrder;
  params: readonly string[];
  statuses: Readonly<Record<string, PartnerStatus>>;
  columns: readonly MatchedColumn[];
  /** In which columns each field is. */
  places: ReadonlyMap<ImportField, readonly number[]>;
}

/** The cell of a field, empty where no column holds it; of several columns together. */
export type CellOf = (field: ImportField) => string;

/** The cells of a line. */
export interface LineCells {
  line: number;
  cell: CellOf;
  /** The cells of a field that may be in several columns, the preferred first, each with its column's name. */
  each: (field: ImportField) => { column: string; text: string }[];
}

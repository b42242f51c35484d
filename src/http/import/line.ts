import type { ImportField, ImportKind, MatchedColumn } from "./columns.ts";
import type { ImportProductId } from "./product.ts";
import type { PartnerStatus } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";

/** The kind of a file and how to read it. */
export interface ImportOrder {
  kind: ImportKind;
  product: ImportProductId;
  /** The query parameter of the old links; without one, those of the product. */
  param: string | null;
  /** The status of a new partner if the file does not have one. */
  status: PartnerStatus;
  /** The provider whose customer ids the file contains; null if their form shows it. */
  provider: ProviderName | null;
}

/** A line as its reader passes it to core, or the reason why it is left out. */
export type ReadLine<T> =
  | { ok: true; value: T; notes: LineNote[] }
  | { ok: false; outcome: "left_out" | "refused"; column: string | null; message: string };

/** A note about a cell of an imported line. */
export type LineNote = NoteText & ({ kind: "unread" } | ChoiceNote);

/** The cell cannot be read, and is left out. */
export const unread = (column: string | null, message: string): LineNote => ({
  kind: "unread",
  column: column ?? "",
  message,
});

/** The chosen one of two cells; reported if the line fills in this detail of its partner. */
interface ChoiceNote {
  kind: "choice";
  of: "payout";
}

interface NoteText {
  column: string;
  message: string;
}

/** The properties of a file that its lines depend on. */
export interface ImportFile {
  order: ImportOrder;
  params: readonly string[];
  statuses: Readonly<Record<string, PartnerStatus>>;
  columns: readonly MatchedColumn[];
  /** The columns of each field. */
  places: ReadonlyMap<ImportField, readonly number[]>;
  /** The columns that hold a partner's code only for lines that have no other. */
  further: ReadonlySet<number>;
}

/** A cell with its column's name. */
export interface NamedCell {
  column: string;
  text: string;
  /** It counts only if those before it are empty. */
  isFurther: boolean;
}

/** The cells of a line, as `cellText` reads them but for names. */
export interface LineCells {
  line: number;
  /** The cell of a field, empty if no column holds it; of several columns joined by commas. */
  cell: (field: ImportField) => string;
  /** The cells of a field that may be in several columns, the preferred first. */
  each: (field: ImportField) => NamedCell[];
  /** The first column with a value for the field, or that could have one; null if there is no such column. */
  columnOf: (field: ImportField) => string | null;
}

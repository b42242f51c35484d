import type { ImportField, ImportKind, MatchedColumn } from "./columns.ts";
import type { ImportProductId } from "./product.ts";
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
  | { ok: true; value: T; notes: LineNote[] }
  | { ok: false; outcome: "left_out" | "refused"; column: string | null; message: string };

/** What was done with a cell of a line that is imported. */
export type LineNote = NoteText & ({ kind: "unread" } | ChoiceNote);

/** The cell cannot be read, and is left out. */
export const unread = (column: string | null, message: string): LineNote => ({
  kind: "unread",
  column: column ?? "",
  message,
});

/** Which of two cells was taken; reported if the line fills in this detail of its partner. */
interface ChoiceNote {
  kind: "choice";
  of: "payout";
}

interface NoteText {
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
  /** The first column in which the line has the field, or could have it; null if there is none. */
  columnOf: (field: ImportField) => string | null;
}

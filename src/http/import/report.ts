import type { Given } from "../../core/imports/partner-lines.ts";
import type { ImportKind, MatchedColumn } from "./columns.ts";
import type { ImportProductId } from "./product.ts";
import type { LineNote } from "./line.ts";

export const ROW_OUTCOMES = ["added", "completed", "unchanged", "left_out", "refused"] as const;
export type RowOutcome = (typeof ROW_OUTCOMES)[number];

/** The result of a line of the file, with the reason in words if it was not imported. */
export interface ImportRow {
  line: number;
  outcome: RowOutcome;
  /** The column that is the reason, as the file calls it. */
  column: string | null;
  message: string | null;
  /** Which cells were left out, and which of two was taken. */
  notes: LineNote[];
  /** The line's contributions to its partner beside the first slug. */
  gives: Given;
  /** The person of the line and the partner, so that people find it again. */
  who: string;
  code: string;
}

/** A column, and how many of its cells were left out because they cannot be read. */
export interface ReadColumn extends MatchedColumn {
  unread: number;
}

/** A report stays small; the counts are exact. */
export const MAX_PROBLEMS = 500;

interface Imported {
  kind: ImportKind;
  product: ImportProductId;
  dry_run: boolean;
  data_param: string | null;
  columns: readonly ReadColumn[];
  rows: readonly ImportRow[];
  counts: Record<RowOutcome, number>;
}

/** An import's result in the API, without customers' names: a person's data must be erasable. */
export function viewImport({ kind, product, dry_run, data_param, columns, rows, counts }: Imported) {
  const problems = rows.filter(({ message }) => message !== null);
  const notes = rows.flatMap((row) => row.notes.map(({ column, message }) => ({ line: row.line, column, message })));
  return {
    kind,
    product,
    dry_run,
    data_param,
    lines: rows.length,
    added: counts.added,
    completed: counts.completed,
    unchanged: counts.unchanged,
    left_out: counts.left_out,
    refused: counts.refused,
    columns: columns.map(({ column, field, unread }) => ({ column, taken_as: field, unread })),
    problems: problems.slice(0, MAX_PROBLEMS).map(({ line, column, message, outcome }) => ({
      line,
      column,
      outcome,
      message: message ?? "",
    })),
    notes: notes.slice(0, MAX_PROBLEMS),
  };
}

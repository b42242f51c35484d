/**
 * A resource declares once, for each column of its table, every place that shows or accepts the column. A column with
 * only `{ audit: null }` is internal. Views, replies, requests, audit changes, examples, imports and forms are derived
 * from the entries.
 */
import * as z from "zod";
import type { Sealed } from "../lib/seal.ts";

interface Form {
  label: string;
  hint?: string;
  type?: "email" | "number";
}

interface Import {
  /** The usual column names in files. */
  names: readonly string[];
  /** The name in the choice of a column's field; the form's label by default. */
  label?: string;
}

interface Shown<Value> {
  /** The schema in replies of the API, created with the document. */
  read?: () => z.core.$ZodType<Value>;
  example?: unknown;
  /** The schema in requests of the API. */
  write?: z.core.$ZodType<Value>;
  /** Whether a create request must have it. */
  needed?: true;
  /** The one request that accepts it; both if absent. */
  only?: "create" | "patch";
  /** The description in the document; a text in `openapi/field-texts.ts` by default. */
  text?: string;
  form?: Form;
  import?: Import;
}

/**
 * The form of a change in the audit log: in clear, as a masked address or account, or omitted. `sealed`: it is the
 * masked text of the column `<name>_sealed`, with which it changes.
 */
interface Clear {
  audit: "plain" | "sealed" | null;
  payout_detail?: never;
}

/** A column with a partner's payout method or destination: masked everywhere if it is a free text. */
interface PayoutDetail<Value> {
  audit: string extends Value ? "address" | "account" | "sealed" : "plain";
  payout_detail: true;
}

/** A sealed column is in no reply, request or form, and never in clear in the audit log. */
interface Secret {
  audit: "secret" | null;
  payout_detail?: never;
  read?: never;
  example?: never;
  write?: never;
  form?: never;
  import?: never;
}

export type Field<Value> =
  NonNullable<Value> extends Sealed ? Secret : Shown<Value> & (Clear | PayoutDetail<NonNullable<Value>>);

export interface AnyField {
  audit: "plain" | "address" | "account" | "sealed" | "secret" | null;
  payout_detail?: true;
  read?: () => z.core.$ZodType;
  example?: unknown;
  write?: z.core.$ZodType;
  needed?: true;
  only?: "create" | "patch";
  text?: string;
  form?: Form;
  import?: Import;
}

export type Fields = Readonly<Record<string, AnyField>>;

/** The entries of a table's columns. A column without an entry does not compile, nor a sealed one that is shown. */
export function resource<Row>() {
  return <const F extends { [C in keyof Row]?: Field<Row[C]> }>(
    fields: F & { [C in Exclude<keyof Row, keyof F>]: Field<Row[C]> } & { [C in Exclude<keyof F, keyof Row>]: never },
  ): F => fields;
}

/** The columns whose entry has a property. */
export type ColumnsWith<F, Property extends keyof AnyField> = {
  [C in keyof F]: F[C] extends Record<Property, NonNullable<AnyField[Property]>> ? C : never;
}[keyof F] &
  string;

export function columnsWith<F extends Fields, Property extends keyof AnyField>(
  fields: F,
  property: Property,
): ColumnsWith<F, Property>[] {
  const columns = Object.keys(fields).filter((column) => fields[column]?.[property] != null);
  return columns as ColumnsWith<F, Property>[];
}

/** These columns of a row, in this order. */
export function pick<Row extends object, C extends keyof Row>(row: Row, columns: readonly C[]): Pick<Row, C> {
  const picked: Partial<Row> = {};
  for (const column of columns) picked[column] = row[column];
  return picked as Pick<Row, C>;
}

/** A row as the API shows it. */
export type ViewOf<Row, F> = Pick<Row, ColumnsWith<F, "read"> & keyof Row>;

type ReadShape<F> = { [C in ColumnsWith<F, "read">]: F[C] extends { read: () => infer S } ? S : never };

/** The schemas of the columns in replies. */
export function readShape<F extends Fields>(fields: F): ReadShape<F> {
  return mapped(columnsWith(fields, "read"), (column) => fields[column]?.read?.()) as ReadShape<F>;
}

/** The example of a reply. */
export function exampleOf(fields: Fields): Record<string, unknown> {
  return mapped(columnsWith(fields, "read"), (column) => fields[column]?.example);
}

type ImportNames<F> = {
  [C in ColumnsWith<F, "import">]: F[C] extends { import: { names: infer Names } } ? Names : never;
};

/** The names of the columns in files, by the column that each fills. */
export function importNames<F extends Fields>(fields: F): ImportNames<F> {
  return mapped(columnsWith(fields, "import"), (column) => fields[column]?.import?.names) as ImportNames<F>;
}

/** The labels of the columns that files fill. */
export function importLabels<F extends Fields>(fields: F): Record<ColumnsWith<F, "import">, string> {
  const labelOf = ({ import: named, form }: AnyField) => named?.label ?? form?.label ?? "";
  return mapped(columnsWith(fields, "import"), (column) => labelOf(fields[column]!));
}

type CreateColumn<F> = { [C in ColumnsWith<F, "write">]: F[C] extends { only: "patch" } ? never : C }[ColumnsWith<
  F,
  "write"
>];
type PatchColumn<F> = { [C in ColumnsWith<F, "write">]: F[C] extends { only: "create" } ? never : C }[ColumnsWith<
  F,
  "write"
>];
type Needed<F> = ColumnsWith<F, "needed">;

/** The columns that a verb accepts for a new row; those that are not needed may be left out. */
export type InputOf<Row, F> = Pick<Row, CreateColumn<F> & Needed<F> & keyof Row> & {
  [C in Exclude<CreateColumn<F>, Needed<F>> & keyof Row]?: Row[C] | undefined;
};

/** The columns that a verb accepts for a change. */
export type PatchOf<Row, F> = { [C in PatchColumn<F> & keyof Row]?: Row[C] | undefined };

/** The columns of a new row that come from a request; null if it leaves them out. */
export function rowOf<Row, F extends Fields>(
  fields: F,
  input: InputOf<Row, F>,
): Pick<Row, CreateColumn<F> & keyof Row> {
  const given: Record<string, unknown> = input;
  return mapped(createColumns(fields), (column) => given[column] ?? null) as Pick<Row, CreateColumn<F> & keyof Row>;
}

function createColumns(fields: Fields): string[] {
  return columnsWith(fields, "write").filter((column) => fields[column]?.only !== "patch");
}

type Written<F, C extends keyof F> = F[C] extends { write: infer S extends z.core.$ZodType } ? S : never;

type CreateShape<F> = {
  [C in CreateColumn<F>]: C extends Needed<F> ? Written<F, C> : z.ZodOptional<Written<F, C>>;
};

/** The schemas of the columns in a create request. */
export function createShape<F extends Fields>(fields: F): CreateShape<F> {
  return mapped(createColumns(fields), (column) => {
    const { write, needed } = fields[column] ?? {};
    return needed ? write : z.optional(write!);
  }) as CreateShape<F>;
}

type PatchShape<F> = { [C in PatchColumn<F>]: z.ZodOptional<Written<F, C>> };

/** The schemas of the columns in a patch, which may leave out each. */
export function patchShape<F extends Fields>(fields: F): PatchShape<F> {
  const columns = columnsWith(fields, "write").filter((column) => fields[column]?.only !== "create");
  return mapped(columns, (column) => z.optional(fields[column]!.write!)) as PatchShape<F>;
}

/** The most characters of a text, also of one that may be null; undefined if its schema has no such limit. */
export function maxLengthOf(schema: z.core.$ZodType | undefined): number | undefined {
  const text = schema instanceof z.ZodNullable ? schema.unwrap() : schema;
  return text instanceof z.ZodString || text instanceof z.ZodEmail ? (text.maxLength ?? undefined) : undefined;
}

function mapped<T>(columns: readonly string[], valueOf: (column: string) => T): Record<string, T> {
  return Object.fromEntries(columns.map((column) => [column, valueOf(column)]));
}

import { VENDORS } from "../../providers/registry.ts";
import { importNames } from "../../resources/field.ts";
import { PARTNER } from "../../resources/partner.ts";

/** Kinds of imports: partners, or the customers they referred. */
export const IMPORT_KINDS = ["partners", "customers"] as const;
export type ImportKind = (typeof IMPORT_KINDS)[number];

const COMMON = {
  partners: {
    ...importNames(PARTNER),
    name: ["name", "full name", "partner name", "affiliate name", "promoter name", "partner", "affiliate", "promoter"],
    // The first becomes the slug of a new partner.
    code: [
      ...["slug", "code", "token", "ref id", "referral id", "referral code", "ref code", "affiliate code"],
      ...["partner code", "promoter code", "tracking parameter", "tracking code", "link token", "link key"],
      ...["referral link", "affiliate link", "partner link", "tracking link", "referral url", "affiliate url"],
      ...["referral links", "link", "links", "via", "ref"],
    ],
    group: ["group", "group slug", "partner group"],
    promotion_codes: [
      ...["promotion codes", "promotion code", "promo codes", "promo code", "coupon codes", "coupon code", "coupons"],
      ...["coupon", "discount codes", "discount code", "voucher codes", "voucher code", "vouchers", "voucher"],
      ...["affiliate coupons", "affiliate coupon", "affiliate coupon code", "partner coupon", "partner coupon code"],
    ],
    // The partner's bank account (OUT-23).
    account_holder: ["account holder", "account holder name", "account name", "beneficiary", "beneficiary name"],
    country: ["country", "country code", "bank country"],
    currency: ["currency", "account currency", "payout currency"],
    iban: ["iban"],
    bic: ["bic", "swift", "swift code", "swift bic", "bic swift"],
    account_number: ["account number", "bank account number", "bank account"],
    routing_number: ["routing number", "aba", "aba number", "routing code", "bank code"],
  },
  customers: {
    customer_id: [
      ...["customer id", "provider customer id", "external customer id", "customer external id", "external id"],
      ...VENDORS.map(({ text }) => text.toLowerCase()).flatMap((name) => [
        ...[`${name} customer id`, `${name} id`, `${name} customer`],
      ]),
      ...[
        "provider id",
        "provider key",
        "payment provider id",
        "billing customer id",
        "imported id",
        "customer key",
        "uid",
      ],
    ],
    customer_email: [
      "customer email",
      "referral email",
      "lead email",
      "user email",
      "email",
      "e-mail",
      "email address",
    ],
    code: [
      ...["partner code", "affiliate code", "promoter code", "partner key", "ref id", "referral code", "ref code"],
      ...["affiliate token", "link token", "token", "slug", "code", "tracking parameter", "partner slug"],
      ...["referral link", "affiliate link", "partner link", "link", "via", "ref"],
    ],
    partner_email: ["partner email", "affiliate email", "promoter email", "referrer email"],
    status: ["status", "state", "conversion state", "referral status", "customer status", "lead status"],
  },
} as const satisfies Record<ImportKind, Record<string, readonly string[]>>;

export type ImportField<K extends ImportKind = ImportKind> = K extends ImportKind ? keyof (typeof COMMON)[K] : never;

export type ColumnNames = { [K in ImportKind]?: { [F in ImportField<K>]?: readonly string[] } };

/** The fields of both kinds. */
export const ALL_IMPORT_FIELDS = [...new Set(IMPORT_KINDS.flatMap(importFields))] as [ImportField, ...ImportField[]];

/** The fields that a file of this kind can contain. */
export function importFields(kind: ImportKind): ImportField[] {
  return Object.keys(COMMON[kind]) as ImportField[];
}

/** A column of the file and the field it is matched to; null if it is skipped. */
export interface MatchedColumn {
  column: string;
  field: ImportField | null;
}

export interface Matched {
  columns: MatchedColumn[];
  /** Why lines cannot be parsed with these columns. */
  problem: string | null;
}

/** Questions about the cells of a column, which is given by its position. */
export interface ColumnCells {
  /** Whether some line has a value in this column and an empty cell in each of the `others`. */
  adds: (column: number, others: readonly number[]) => boolean;
  /** Whether the column contains customer ids in a vendor's form. */
  holdsIds: (column: number) => boolean;
}

/** Fields that may span several columns: a partner has many codes, and is paid at one of several addresses. */
const SEVERAL: ReadonlySet<ImportField> = new Set(["code", "promotion_codes", "payout_email", "customer_id"]);

/** Fields whose common column names all mean the same; those of link codes mean different things. */
const ALIKE: ReadonlySet<ImportField> = new Set(["promotion_codes", "payout_email"]);

/**
 * Matches each column to a field: by the owner's choice (null: skip it), else by the product's own names, else by
 * common names, ignoring case, blanks and punctuation. If several columns match a field that needs one, the first with
 * any value is used: an empty column does not hide a filled one. Further columns are added for a partner's code as long
 * as lines lack it, and for a customer's id if they contain ids in a vendor's form.
 */
export function matchColumns(
  kind: ImportKind,
  names: ColumnNames,
  columns: readonly string[],
  cells: ColumnCells,
  chosen: readonly (ImportField | null | undefined)[] = [],
): Matched {
  const keys = columns.map(columnKey);
  const fields = columns.map((_, i) => chosen[i] ?? null);
  const own = namesOf(kind, names);
  const placesOf = (field: ImportField) => fields.flatMap((each, i) => (each === field ? [i] : []));
  const isTaken = (field: ImportField) => placesOf(field).length > 0;
  const found = (among: readonly string[] = []) =>
    among.map(columnKey).flatMap((name) => {
      return keys.flatMap((key, i) => (key === name && fields[i] === null && chosen[i] === undefined ? [i] : []));
    });
  const take = (field: ImportField, places: readonly number[]) => {
    for (const i of places) fields[i] = field;
  };
  const isChosen = new Set(importFields(kind).filter(isTaken));
  const open = importFields(kind).filter((field) => !isChosen.has(field));
  if (open.includes("customer_id")) {
    const named = [...found(own.customer_id), ...found(namesOf(kind).customer_id)];
    take("customer_id", named.filter(cells.holdsIds));
  }
  for (const field of open) {
    if (isTaken(field)) continue;
    const all = found(own[field]);
    take(field, field === "code" || ALIKE.has(field) ? all : firstFilled(all, cells));
  }
  for (const field of open) {
    if (field === "customer_id" && isTaken(field) && placesOf(field).some(cells.holdsIds)) continue;
    const all = found(namesOf(kind)[field]);
    const taken = placesOf(field);
    if (ALIKE.has(field)) take(field, all);
    else if (field === "code" && kind === "partners") addMissing(taken, all, cells, (i) => take(field, [i]));
    else if (!taken.some((i) => cells.adds(i, []))) {
      const [first] = firstFilled(all, cells);
      if (first === undefined || (taken.length > 0 && !cells.adds(first, []))) continue;
      for (const i of taken) fields[i] = null;
      take(field, [first]);
    }
  }
  return {
    columns: columns.map((column, i) => ({ column, field: fields[i] ?? null })),
    problem: twiceAmong(columns, keys, fields, chosen) ?? missingField(kind, isTaken),
  };
}

/** The column names of a product, or the common ones. */
function namesOf(kind: ImportKind, names: ColumnNames = COMMON): Partial<Record<ImportField, readonly string[]>> {
  return names[kind] ?? {};
}

/** The first column with any value, else the first column. */
function firstFilled(places: readonly number[], cells: ColumnCells): number[] {
  const [first] = places;
  return first === undefined ? [] : [places.find((i) => cells.adds(i, [])) ?? first];
}

/** Adds columns while some line has no value in those chosen so far; at least one column. */
function addMissing(
  taken: readonly number[],
  further: readonly number[],
  cells: ColumnCells,
  take: (column: number) => void,
): void {
  const all = [...taken];
  for (const i of further) {
    if (!cells.adds(i, all)) continue;
    all.push(i);
    take(i);
  }
  if (all.length === 0 && further[0] !== undefined) take(further[0]);
}

/**
 * A field's columns: the product's names, as the first code may become the slug; the owner's, in file order; common
 * ones.
 */
export function columnPlaces(
  kind: ImportKind,
  names: ColumnNames,
  columns: readonly MatchedColumn[],
): Map<ImportField, number[]> {
  const places = new Map<ImportField, number[]>();
  for (const [i, { field }] of columns.entries()) {
    const others = field === null ? undefined : places.get(field);
    if (others) others.push(i);
    else if (field !== null) places.set(field, [i]);
  }
  for (const [field, all] of places) {
    if (all.length < 2) continue;
    const ranks = new Map<string, number>();
    for (const name of namesOf(kind, names)[field] ?? []) ranks.set(columnKey(name), ranks.size - MAX_NAMES);
    for (const name of namesOf(kind)[field] ?? []) {
      const key = columnKey(name);
      if (!ranks.has(key)) ranks.set(key, ranks.size + 1);
    }
    const ranked = all.map((i) => ({ i, rank: ranks.get(columnKey(columns[i]?.column ?? "")) ?? 0 }));
    places.set(
      field,
      ranked.toSorted((a, b) => a.rank - b.rank).map(({ i }) => i),
    );
  }
  return places;
}

/** More names than a field has. */
const MAX_NAMES = 1_000;

/** Whether the column gives a code only to lines without one: its common name may mean different things. */
export function isFurtherCode(names: ColumnNames, column: string): boolean {
  const key = columnKey(column);
  const has = (among: ColumnNames) => (namesOf("partners", among).code ?? []).some((name) => columnKey(name) === key);
  return has(COMMON) && !has(names);
}

/** The comparison form of a column name, which ignores case, blanks and punctuation. */
export function columnKey(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}%]+/gu, "");
}

/** A repeated column name is ambiguous unless the owner chose the column. */
function twiceAmong(
  columns: readonly string[],
  keys: readonly string[],
  fields: readonly (ImportField | null)[],
  chosen: readonly unknown[],
): string | null {
  const twice = fields.findIndex(
    (field, i) =>
      field !== null &&
      ((!SEVERAL.has(field) && fields.indexOf(field) !== i) ||
        keys.some((key, other) => other !== i && key === keys[i] && chosen[other] === undefined)),
  );
  if (twice < 0) return null;
  const first = fields.indexOf(fields[twice] ?? null);
  return first === twice || keys[first] === keys[twice]
    ? `The column ${columns[twice]} occurs twice.`
    : `Both ${columns[first]} and ${columns[twice]} are used for the same field.`;
}

function missingField(kind: ImportKind, isTaken: (field: ImportField) => boolean): string | null {
  const has = (...among: ImportField[]) => among.some(isTaken);
  const missing = (what: string, call: string) => `No column has ${what}. Choose one, or name one ${call}.`;
  if (kind === "partners") {
    if (!has("email")) return missing("the partner's e-mail address", "email");
    return has("code") ? null : missing("the code in the partner's link", "code");
  }
  if (!has("customer_id", "customer_email")) {
    return missing("the customer", "customer_id or customer_email");
  }
  return has("code", "partner_email") ? null : missing("the partner", "partner_code or partner_email");
}

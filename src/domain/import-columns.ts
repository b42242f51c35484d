/** What an import brings: the partners, or the customers they referred. */
export const IMPORT_KINDS = ["partners", "customers"] as const;
export type ImportKind = (typeof IMPORT_KINDS)[number];

const COMMON = {
  partners: {
    email: ["email", "e-mail", "email address", "partner email", "affiliate email", "promoter email", "contact email"],
    name: ["name", "full name", "partner name", "affiliate name", "promoter name", "partner", "affiliate", "promoter"],
    first_name: ["first name", "given name", "partner first name", "affiliate first name"],
    last_name: ["last name", "surname", "family name", "partner last name", "affiliate last name"],
    code: [
      ...["slug", "code", "token", "ref id", "referral id", "referral code", "ref code", "affiliate code"],
      ...["partner code", "promoter code", "tracking parameter", "tracking code", "link token", "link key"],
      ...["referral link", "affiliate link", "partner link", "tracking link", "referral url", "affiliate url"],
      ...["referral links", "link", "links", "via", "ref"],
    ],
    promotion_codes: ["promotion_codes", "promotion code"],
    status: ["status", "state", "account status", "partner status", "affiliate status", "enrollment status"],
    commission_pct: [
      "commission_pct",
      "commission rate",
      "commission percent",
      "commission percentage",
      "commission %",
    ],
    payout_method: ["payout method"],
    payout_email: ["payout email", "paypal email", "paypal", "payment email", "affiliate paypal email", "wise email"],
  },
  customers: {
    customer_id: [
      ...["customer id", "stripe customer id", "paddle customer id", "provider customer id", "external customer id"],
      ...["customer external id", "external id", "customer key", "uid"],
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

/** The fields that a file of this kind can bring. */
export function importFields(kind: ImportKind): ImportField[] {
  return Object.keys(COMMON[kind]) as ImportField[];
}

/** A column of the file and what it was taken for; null where it was left. */
export interface MatchedColumn {
  column: string;
  field: ImportField | null;
}

export interface Matched {
  columns: MatchedColumn[];
  /** Why lines cannot be read this way. */
  problem: string | null;
}

/** Fields that may be in several columns: a partner has many codes, and is paid at the one address or the other. */
const SEVERAL: ReadonlySet<ImportField> = new Set(["code", "payout_email"]);

/**
 * What each column is taken for: as the owner chose (null: leave it), else by the product's own names, else by common
 * ones; case, blanks and punctuation never matter. A field has one column; only those of `SEVERAL` may be in more.
 */
export function matchColumns(
  kind: ImportKind,
  names: ColumnNames,
  columns: readonly string[],
  chosen: readonly (ImportField | null | undefined)[] = [],
): Matched {
  const keys = columns.map(columnKey);
  const fields: (ImportField | null)[] = columns.map((_, i) => chosen[i] ?? null);
  const isFree = (i: number) => fields[i] === null && chosen[i] === undefined;
  const take = (field: ImportField, among: readonly string[], all: boolean) => {
    for (const name of among.map(columnKey)) {
      const i = keys.findIndex((key, at) => key === name && isFree(at));
      if (i < 0) continue;
      fields[i] = field;
      if (!all) return;
    }
  };
  const isTaken = (field: ImportField) => fields.includes(field);
  for (const source of [names[kind] ?? {}, COMMON[kind]] as Record<string, readonly string[]>[]) {
    const own = source !== COMMON[kind];
    for (const field of importFields(kind)) {
      // Common names of codes are of different things; a product's own, and addresses to be paid at, are of the same.
      const isPayout = field === "payout_email";
      if (isPayout || !isTaken(field)) take(field, source[field] ?? [], isPayout || (own && field === "code"));
    }
  }
  return {
    columns: columns.map((column, i) => ({ column, field: fields[i] ?? null })),
    problem: twiceAmong(columns, keys, fields, chosen) ?? missingAmong(kind, isTaken),
  };
}

/**
 * In which columns each field is. Of a field in several the order is that of the product's names, because the first
 * code may become the slug, then that of the common names of addresses to be paid at, then that of the file.
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
  for (const field of SEVERAL) {
    const own = (names[kind] as Record<string, readonly string[]> | undefined)?.[field] ?? [];
    const common = field === "payout_email" ? COMMON.partners.payout_email : [];
    const order = [...new Set([...own, ...common].map(columnKey))];
    const ranks = new Map(order.map((key, rank) => [key, rank]));
    const rankOf = (i: number) => ranks.get(columnKey(columns[i]?.column ?? "")) ?? order.length;
    const ranked = (places.get(field) ?? []).map((i) => ({ i, rank: rankOf(i) }));
    if (ranked.length > 1) {
      places.set(
        field,
        ranked.toSorted((a, b) => a.rank - b.rank).map(({ i }) => i),
      );
    }
  }
  return places;
}

/** Column names are the same where only case, blanks and punctuation differ. */
export function columnKey(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}%]+/gu, "");
}

/** A name that occurs twice does not show which is meant, unless the owner chose it. */
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
    ? `The column ${columns[twice]} is there twice.`
    : `Both ${columns[first]} and ${columns[twice]} are taken for the same.`;
}

function missingAmong(kind: ImportKind, isTaken: (field: ImportField) => boolean): string | null {
  const has = (...among: ImportField[]) => among.some(isTaken);
  const missing = (what: string, call: string) => `No column holds ${what}. Choose one, or call one ${call}.`;
  if (kind === "partners") {
    if (!has("email")) return missing("the partner's e-mail address", "email");
    return has("code") ? null : missing("the code in the partner's link", "code");
  }
  if (!has("customer_id", "customer_email")) {
    return missing("the customer", "customer_id or customer_email");
  }
  return has("code", "partner_email") ? null : missing("the partner", "partner_code or partner_email");
}

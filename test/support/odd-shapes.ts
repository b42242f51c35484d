/** Values that a vendor may send in the future: each event differs from the sample in the shape of one value. */

type Plain = Record<string, unknown>;

const isPlain = (value: unknown): value is Plain =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isDigits = (value: unknown): value is string => typeof value === "string" && /^-?\d+$/.test(value);

/** The replacement of the value in each way; undefined if it would be the same. */
const WAYS = {
  /** An undocumented null. */
  nulled: (value: unknown) => (value === null ? undefined : null),
  /** A number as its text, and the text of a number as one. */
  retyped: (value: unknown) =>
    typeof value === "number" ? String(value) : isDigits(value) ? Number(value) : undefined,
  /** A value of an enumeration, or a type of events, that is newer than the vendor's libraries. */
  newer: (value: unknown) => (typeof value === "string" ? `${value}_of_2031` : undefined),
  zeroed: (value: unknown) => (typeof value === "number" ? 0 : isDigits(value) ? "0" : undefined),
  negated: (value: unknown) =>
    typeof value === "number" && value !== 0 ? -value : isDigits(value) && value !== "0" ? `-${value}` : undefined,
  /** More than a number holds exactly, and an id that is longer than any. */
  huge: (value: unknown) => {
    if (typeof value === "number") return 2 ** 53;
    return typeof value === "string" ? (isDigits(value) ? "9".repeat(30) : "x".repeat(3_000)) : undefined;
  },
  fraction: (value: unknown) => (typeof value === "number" ? value + 0.5 : isDigits(value) ? `${value}.5` : undefined),
  /** The object in place of its id, and the id in place of its object. */
  expanded: (value: unknown) => {
    if (typeof value === "string") return { id: value, object: "expanded", metadata: {} };
    return isPlain(value) && typeof value["id"] === "string" ? value["id"] : undefined;
  },
  flipped: (value: unknown) => (typeof value === "boolean" ? !value : undefined),
  /** A list that ends with its page, and an empty one. */
  cut: (value: unknown) => {
    if (Array.isArray(value)) return value.length > 0 ? [] : undefined;
    if (!isPlain(value) || !Array.isArray(value["data"])) return undefined;
    return { ...value, data: value["data"].slice(0, 1), has_more: true, total_count: 250 };
  },
} satisfies Record<string, (value: unknown) => unknown>;

export type Oddity = keyof typeof WAYS;
export const ODDITIES = Object.keys(WAYS) as readonly Oddity[];

/** The value in another shape; undefined if this way does not apply to it. */
export function oddOf(value: unknown, oddity: Oddity): unknown {
  return WAYS[oddity](value);
}

export interface OddEvent {
  /** The place that differs, as `data.object.id`, and how. */
  at: string;
  oddity: Oddity | "absent";
  event: unknown;
}

/** Every event that differs from this one in one value. */
export function oddEventsOf(event: unknown): OddEvent[] {
  const found: OddEvent[] = [];
  const visit = (value: unknown, at: string[], rebuilt: (inner: unknown) => unknown) => {
    const place = at.join(".");
    for (const oddity of ODDITIES) {
      const odd = oddOf(value, oddity);
      if (odd !== undefined) found.push({ at: place, oddity, event: rebuilt(odd) });
    }
    if (Array.isArray(value)) {
      value.forEach((item, i) => visit(item, [...at, String(i)], (inner) => rebuilt(value.with(i, inner))));
    } else if (isPlain(value)) {
      for (const [name, item] of Object.entries(value)) {
        const { [name]: _, ...rest } = value;
        found.push({ at: [...at, name].join("."), oddity: "absent", event: rebuilt(rest) });
        visit(item, [...at, name], (inner) => rebuilt({ ...value, [name]: inner }));
      }
    }
  };
  visit(event, [], (inner) => inner);
  return found;
}

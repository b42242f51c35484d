import { oddOf, type Oddity } from "../support/odd-shapes.ts";

/**
 * JSON as editable text, so that it can contain values that no object can hold (a field twice, 1e400, half a number).
 */
export type JsonText = string | { items: JsonText[] } | { fields: [string, JsonText][] };

/** The text of any plain value, in pieces that can be changed. */
export function piecesOf(value: unknown): JsonText {
  if (Array.isArray(value)) return { items: value.map(piecesOf) };
  if (typeof value === "object" && value !== null) {
    return { fields: Object.entries(value).map(([name, one]) => [JSON.stringify(name), piecesOf(one)]) };
  }
  return JSON.stringify(value) ?? "null";
}

export function textOf(pieces: JsonText): string {
  if (typeof pieces === "string") return pieces;
  if ("items" in pieces) return `[${pieces.items.map(textOf).join(",")}]`;
  return `{${pieces.fields.map(([name, one]) => `${name}:${textOf(one)}`).join(",")}}`;
}

/** One change to a text; `random` chooses among all places. */
export interface Change {
  kind: "replace" | "remove" | "double" | "add" | "wrap" | "odd";
  at: number;
  /** Inserted JSON text, and its name if it needs one. */
  value: string;
  name: string;
  /** The way in which an odd value differs from the original. */
  oddity: Oddity;
}

/** The text with one thing changed in it. */
export function changed(pieces: JsonText, { kind, at, value, name, oddity }: Change): JsonText {
  let left = at % countOf(pieces);
  const visit = (one: JsonText): JsonText | null => {
    if (left-- === 0) {
      if (kind === "remove") return null;
      if (kind === "wrap") return { items: [one] };
      if (kind === "odd") return oddPieces(one, oddity);
      const holds = typeof one === "object" && "fields" in one;
      if (kind === "add" && holds) return { fields: [...one.fields, [name, value]] };
      if (kind === "double" && holds && one.fields[0]) return { fields: [[one.fields[0][0], value], ...one.fields] };
      return value;
    }
    if (typeof one === "string") return one;
    if ("items" in one) return { items: one.items.map(visit).filter((item) => item !== null) };
    const fields = one.fields.flatMap(([field, inside]): [string, JsonText][] => {
      const kept = visit(inside);
      return kept === null ? [] : [[field, kept]];
    });
    return { fields };
  };
  return visit(pieces) ?? "";
}

/** A value in another shape; unchanged if this way does not apply, or an earlier change broke the JSON. */
function oddPieces(pieces: JsonText, oddity: Oddity): JsonText {
  let value: unknown;
  try {
    value = JSON.parse(textOf(pieces));
  } catch {
    return pieces;
  }
  const odd = oddOf(value, oddity);
  return odd === undefined ? pieces : piecesOf(odd);
}

function countOf(pieces: JsonText): number {
  if (typeof pieces === "string") return 1;
  const inside = "items" in pieces ? pieces.items : pieces.fields.map(([, one]) => one);
  return inside.reduce((sum, one) => sum + countOf(one), 1);
}

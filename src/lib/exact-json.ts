declare global {
  interface JSON {
    rawJSON(text: string): object;
  }
}

/** What readers of the JSON take a value for: an amount and a bigint are written as numbers. To the compiler an amount is an object too. */
export type Written<T> = T extends bigint | number
  ? number
  : T extends readonly (infer U)[]
    ? Written<U>[]
    : T extends object
      ? { [K in keyof T]: Written<T[K]> }
      : T;

/** A value for `JSON.stringify`, which refuses a bigint: of each it writes all digits, as a JSON number. */
export function written<T>(value: T): Written<T> {
  if (typeof value === "bigint") return JSON.rawJSON(String(value)) as Written<T>;
  if (Array.isArray(value)) return value.map(written) as Written<T>;
  if (typeof value !== "object" || value === null) return value as Written<T>;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, written(one)])) as Written<T>;
}

/** Prevents changes from a page that was opened minutes ago from overwriting newer values. */

/** Columns as a form showed them when it was opened, by name. */
export type Shown = Readonly<Record<string, unknown>>;

/** A changed column was also changed by another person after the form was opened; the change was not written. */
export class StaleChange extends Error {
  /** The current row. */
  readonly stored: object;
  /** The columns that the sender changed. */
  readonly changed: readonly string[];
  /** Those of them that another person has changed too. */
  readonly conflicts: readonly string[];

  constructor(stored: object, changed: readonly string[], conflicts: readonly string[]) {
    super(`changed meanwhile: ${conflicts.join(", ")}`);
    this.name = "StaleChange";
    this.stored = stored;
    this.changed = changed;
    this.conflicts = conflicts;
  }
}

export interface Meant {
  /** The values that the form showed; without them the whole patch counts as changed. */
  shown: Shown | undefined;
  /** Columns that have a meaning only together: a change of one decides all of them. */
  together?: readonly (readonly string[])[];
  /** Columns that count as changed even with the values shown. */
  always?: readonly string[];
}

/**
 * The part of `patch` that its sender changed: without columns that have the values shown in the form, which others may
 * have changed since. If both changed a column to the same value there is no conflict. For use between the read and the
 * guarded commit of a verb, so that the next attempt sees a change in between.
 * @throws {StaleChange} if another person changed one of these columns too.
 */
export function pickChanged<P extends object>(
  before: object,
  patch: P,
  { shown, together = [], always = [] }: Meant,
): P {
  if (shown === undefined) return patch;
  const [stored, given] = [before as Shown, patch as Shown];
  const known = Object.keys(given).filter((name) => given[name] !== undefined && name in shown);
  const isMeant = (name: string) => always.includes(name) || !isSame(given[name], shown[name]);
  const changed = new Set(known.filter(isMeant));
  const groups = together.filter((group) => group.some((name) => changed.has(name)));
  for (const name of groups.flat()) if (known.includes(name)) changed.add(name);
  // A form may show a column of a group without a field for it.
  const judged = new Set([...changed, ...groups.flat().filter((name) => name in shown)]);
  const conflicts = [...judged].filter((name) => {
    const isOthers = name in shown && !isSame(stored[name], shown[name]);
    return isOthers && !(changed.has(name) && isSame(stored[name], given[name]));
  });
  if (conflicts.length > 0) throw new StaleChange(before, [...changed], conflicts);
  const meant = Object.entries(given).filter(([name]) => !(name in shown) || changed.has(name));
  return Object.fromEntries(meant) as P;
}

/** Compares values before or after JSON: absent equals null, and the order of keys does not matter. */
function isSame(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

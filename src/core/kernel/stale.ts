/** Changes that were decided on a page of some minutes ago: nothing newer is overwritten by them. */

/** Columns as a form showed them when it was opened, by name. */
export type Shown = Readonly<Record<string, unknown>>;

/** What a patch changes was changed by somebody else after its form was opened; nothing was written. */
export class StaleChange extends Error {
  /** The row as it is now. */
  readonly stored: object;
  /** The columns that the sender changed. */
  readonly changed: readonly string[];
  /** Those of them that are different now, for somebody changed them too. */
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
  /** As the form showed them; without it the whole patch is meant. */
  shown: Shown | undefined;
  /** Columns that say something only together: who changes one decides all of them. */
  together?: readonly (readonly string[])[];
  /** Columns that are meant also if they are as shown. */
  always?: readonly string[];
}

/**
 * The part of `patch` that its sender decided: without columns that are as their form showed them, which others may have changed
 * since. Of a column that both changed to the same there is nothing to decide. For use between the read and the guarded commit of
 * a verb, so that a change in between is seen by the next attempt.
 * @throws {StaleChange} if somebody else changed one of these columns too.
 */
export function meantOf<P extends object>(before: object, patch: P, { shown, together = [], always = [] }: Meant): P {
  if (shown === undefined) return patch;
  const [stored, given] = [before as Shown, patch as Shown];
  const known = Object.keys(given).filter((name) => given[name] !== undefined && name in shown);
  const isMeant = (name: string) => always.includes(name) || !isSame(given[name], shown[name]);
  const changed = new Set(known.filter(isMeant));
  for (const group of together) {
    if (group.some((name) => changed.has(name))) for (const name of group) if (known.includes(name)) changed.add(name);
  }
  const conflicts = [...changed].filter(
    (name) => name in shown && !isSame(stored[name], shown[name]) && !isSame(stored[name], given[name]),
  );
  if (conflicts.length > 0) throw new StaleChange(before, [...changed], conflicts);
  const meant = Object.entries(given).filter(([name]) => !(name in shown) || changed.has(name));
  return Object.fromEntries(meant) as P;
}

/** Of values that went through JSON or did not: absent is null, and the order of keys says nothing. */
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

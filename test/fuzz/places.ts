/**
 * Words that stand for what only a run knows: `{{own.partners}}` is the id of a partner of the program that calls,
 * `{{other.partners}}` that of one of another program. So a seed alone describes a request.
 */
import fc from "fast-check";
import { hostileText } from "./hostile.ts";
import { place, type Owner } from "./place.ts";

export type Places = Record<Owner, Record<string, string>>;

/** An id: mostly the caller's own, often another program's, sometimes neither. */
export function idIn(kind: string): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant(place("own", kind)) },
    { weight: 3, arbitrary: fc.constant(place("other", kind)) },
    { weight: 1, arbitrary: fc.constantFrom("par_none", place("own", "program"), place("own", "flows")) },
    { weight: 1, arbitrary: hostileText },
  );
}

/** The text with the values of its placeholders. */
export function filled(text: string, places: Places): string {
  return text.replaceAll(/\{\{(own|other)\.([a-z_-]+)\}\}/g, (word, owner: Owner, kind: string) => {
    const value = places[owner][kind];
    if (value === undefined) throw new Error(`nothing stands for ${word}`);
    return value;
  });
}

/** Whether a text names something of the other program. */
export function namesOther(text: string): boolean {
  return text.includes("{{other.");
}

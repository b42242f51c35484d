/** A word for a value of the run (`places.ts`). */
export type Owner = "own" | "other";

export function place(owner: Owner, kind: string): string {
  return `{{${owner}.${kind}}}`;
}

/** A word that stands for what only a run knows (`places.ts`). */
export type Owner = "own" | "other";

export function place(owner: Owner, kind: string): string {
  return `{{${owner}.${kind}}}`;
}

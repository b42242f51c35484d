import type { Child } from "hono/jsx";
import type { Children } from "../page.tsx";

/** What just happened, or what to know; `bad` and `good` are announced to screen readers at once. */
export function Notice({ tone, undo, children }: Children & { tone: "good" | "warn" | "bad" | "calm"; undo?: Child }) {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : tone === "good" ? "status" : undefined}>
      <div>{children}</div>
      {undo ? <div class="notice-undo">{undo}</div> : null}
    </div>
  );
}

/** Says what the page before did, by the word in the address; an unknown word says nothing. */
export function Done({ code, texts, undo }: { code: string | undefined; texts: Record<string, Child>; undo?: Child }) {
  if (code === undefined || !Object.hasOwn(texts, code)) return null;
  return (
    <Notice tone="good" undo={undo}>
      <p>{texts[code]}</p>
    </Notice>
  );
}

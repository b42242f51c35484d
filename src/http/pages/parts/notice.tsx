import type { Child } from "hono/jsx";
import { problemText, type Problems } from "../forms.ts";
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

/** Why something was refused, above what the page shows. */
export function Refused({ problems }: { problems: Problems | undefined }) {
  return problems ? (
    <Notice tone="bad">
      <p>{problemText(problems)}</p>
    </Notice>
  ) : null;
}

import type { Child } from "../../jsx.ts";
import { problemText, type Problems } from "../forms.ts";
import type { Children } from "../page.tsx";

/** A message about the previous action or the page; screen readers announce `bad` and `good` at once. */
export function Notice({ tone, undo, children }: Children & { tone: "good" | "warn" | "bad" | "calm"; undo?: Child }) {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : tone === "good" ? "status" : undefined}>
      <div>{children}</div>
      {undo ? <div class="notice-undo">{undo}</div> : null}
    </div>
  );
}

/** The reason of a refusal, above the content of the page. */
export function Refused({ problems }: { problems: Problems | undefined }) {
  return problems ? (
    <Notice tone="bad">
      <p>{problemText(problems)}</p>
    </Notice>
  ) : null;
}

import type { Child } from "../../jsx.ts";
import { classes } from "../page.tsx";

/** The places in an address for a line break: after a part, never within one. */
const PARTS = /(?<=[^/:]\/|=)|(?=[?&])/;

/** A secret is not an address: it has no parts, even if it contains such characters. */
function partsOf(text: string): string[] {
  return text.includes("://") ? text.split(PARTS) : [text];
}

/** A line to copy: it can be selected and copied by hand; the script adds the button. */
export function CopyLine({ label, text }: { label: string; text: string }) {
  return (
    <div class="copy" role="group" aria-label={label}>
      <code>
        {partsOf(text).map((part, i) => (
          <>
            {i === 0 ? null : <wbr />}
            {part}
          </>
        ))}
      </code>
      <button type="button" class="quiet" data-copy={text} hidden aria-label={`Copy ${label}`}>
        Copy
      </button>
    </div>
  );
}

interface CopyBlockProps {
  label: string;
  text: string;
  /** Prose: its lines may wrap. */
  wraps?: boolean;
  children?: Child;
}

/** Several lines of code to copy. Scrolls on its own, so the keyboard can reach it. */
export function CopyBlock({ label, text, wraps = false, children }: CopyBlockProps) {
  return (
    <figure class={classes("snippet", wraps && "wraps")}>
      <figcaption>
        <span>{children ?? label}</span>
        <button type="button" class="quiet" data-copy={text} hidden aria-label={`Copy ${label}`}>
          Copy
        </button>
      </figcaption>
      <pre tabindex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
    </figure>
  );
}

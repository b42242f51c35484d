import type { Child } from "../../jsx.ts";

interface MenuProps {
  /** Links of the class `item`, and buttons; those that the reader may not use are left out. */
  items: readonly Child[];
}

/** The rare actions of a page behind one button. */
export function Menu({ items }: MenuProps) {
  return (
    <details class="drop menu-of">
      <summary class="button">More</summary>
      <ul class="drop-body">
        {items.map((item) => (
          <li>{item}</li>
        ))}
      </ul>
    </details>
  );
}

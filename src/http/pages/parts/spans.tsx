/** The spans of days that figures are shown of. */
const SPANS = [7, 30, 90] as const;
const DEFAULT_SPAN = 30;

/** The span that an address asks for by `days`. */
export function spanOf(days: string | undefined): number {
  return SPANS.find((span) => String(span) === days) ?? DEFAULT_SPAN;
}

/** Links to the page `at` of each span. */
export function Spans({ at, days }: { at: string; days: number }) {
  return (
    <nav aria-label="Span" class="spans">
      {SPANS.map((span) => (
        <a href={`${at}?days=${span}`} aria-current={span === days ? "true" : undefined}>
          {span} days
        </a>
      ))}
    </nav>
  );
}

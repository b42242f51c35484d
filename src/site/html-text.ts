/** The text of a rendered guide: `gap` in place of each tag, and every character as itself. */
export function textOfHtml(html: string, gap = ""): string {
  return unescaped(html.replaceAll(/<[^>]*>/g, gap)).trim();
}

function unescaped(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

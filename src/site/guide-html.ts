import { Marked, type RendererObject, type Tokens } from "marked";
import { guideTarget } from "./guide-list.ts";

/**
 * Renders a guide as the contents of a page: anchors as GitHub makes them, no style, no script, no HTML of the guide's own.
 * @throws if two headings are the same
 */
export function guideHtml(markdown: string, name: string): string {
  const seen = new Set<string>();
  let section = "";
  const renderer: RendererObject = {
    heading({ tokens, depth, text }) {
      const id = anchorOf(text);
      if (seen.has(id)) throw new Error(`${name}.md has two headings "${text}"`);
      seen.add(id);
      section = escaped(text.replaceAll("`", ""));
      return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      const target = guideTarget(href);
      return target === null ? text : `<a href="${target}">${text}</a>`;
    },
    code({ text }) {
      return `<pre tabindex="0" role="region" aria-label="${section}: code"><code>${escaped(text)}</code></pre>\n`;
    },
    table(token: Tokens.Table) {
      const cells = (row: Tokens.TableCell[], tag: string) =>
        row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("");
      const rows = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>\n`).join("");
      return `<div class="wide" tabindex="0" role="region" aria-label="${section}: table"><table>\n<thead><tr>${cells(token.header, "th")}</tr></thead>\n<tbody>\n${rows}</tbody></table></div>\n`;
    },
    html: () => "",
  };
  const html = new Marked({ renderer }).parse(markdown, { async: false });
  // The page has a heading of its own.
  return html.replace(/^<h1 [^\n]*<\/h1>\n/, "");
}

/** The anchor of a heading on GitHub, so that a link works there and here. */
function anchorOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

import { Marked, type RendererObject, type Tokens } from "marked";
import { guideTarget } from "./guide-list.ts";

/**
 * Renders a guide as the contents of a page: anchors as GitHub makes them, no style, no script, no HTML of the guide's own.
 * @throws if two headings are the same
 */
export function guideHtml(markdown: string, name: string): string {
  const seen = new Set<string>();
  let section = "";
  const labels = new Map<string, number>();
  /** The label of a part of the section; each label occurs once. */
  const labelOf = (part: string) => {
    const label = `${section}: ${part}`;
    const count = (labels.get(label) ?? 0) + 1;
    labels.set(label, count);
    return count === 1 ? label : `${label} ${count}`;
  };
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
    code({ text, lang = "" }) {
      const language = LANGUAGES[lang];
      if (language === undefined) throw new Error(`${name}.md has a code block in an unknown language: ${lang}`);
      return codeBlock(labelOf(language), language, escaped(text));
    },
    table(token: Tokens.Table) {
      const cells = (row: Tokens.TableCell[], tag: string) =>
        row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("");
      const rows = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>\n`).join("");
      return `<div class="wide" tabindex="0" role="region" aria-label="${labelOf("table")}"><table>\n<thead><tr>${cells(token.header, "th")}</tr></thead>\n<tbody>\n${rows}</tbody></table></div>\n`;
    },
    html: () => "",
  };
  const html = new Marked({ renderer }).parse(markdown, { async: false });
  // The page has a heading of its own.
  return html.replace(/^<h1 [^\n]*<\/h1>\n/, "");
}

/** The names of the languages of code blocks, by the words after their fences. */
const LANGUAGES: Record<string, string> = {
  ...{ go: "Go", html: "HTML", js: "JavaScript", json: "JSON", php: "PHP", python: "Python", ruby: "Ruby" },
  ...{ sh: "Shell", sql: "SQL", text: "Text", toml: "TOML", ts: "TypeScript" },
};

/** Renders the same as `CopyBlock`; the script shows its button. */
function codeBlock(label: string, caption: string, text: string): string {
  return `<figure class="snippet"><figcaption><span>${caption}</span><button type="button" class="quiet" data-copy="${text}" hidden aria-label="Copy ${label}">Copy</button></figcaption><pre tabindex="0" role="region" aria-label="${label}"><code>${text}</code></pre></figure>\n`;
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

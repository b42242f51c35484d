/**
 * Makes the guides that the Worker serves under /docs/ from src/docs: `node src/dev/build-guides.ts`. With `--check` it
 * writes nothing and fails when a committed file is not what its guide gives.
 */
import { readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { Marked, type RendererObject, type Tokens } from "marked";

/** The guides for people who use the service, in the order of the navigation; `src/docs/<name>.md` is each one's source. */
const GUIDES = [
  { name: "start", title: "Start", about: "The local service, and a first sale step by step" },
  { name: "integrate", title: "Integrate", about: "The script, the API, the typed client" },
  { name: "migrate", title: "Migrate", about: "Imports from another product" },
  { name: "payouts", title: "Payouts", about: "From an approved commission to the partner's money" },
  {
    name: "webhooks",
    title: "Webhooks",
    about: "Endpoints, deliveries, and how to verify them",
  },
  { name: "deploy", title: "Deploy", about: "Configuration, upgrade, rollback, more than one database" },
  { name: "operate", title: "Operate", about: "E-mail, monitoring, backups, rotating keys" },
  { name: "security", title: "Security", about: "What is protected by what, and what is not" },
  { name: "changelog", title: "Changelog", about: "Changes of the API, by date" },
];

const SOURCES = new URL("../docs/", import.meta.url);
const SERVED = new URL("../http/guides/", import.meta.url);

const made = new Map<string, string>([["list.ts", list()]]);
for (const { name } of GUIDES) {
  made.set(`${name}.txt`, render(await readFile(new URL(`${name}.md`, SOURCES), "utf8"), name));
}
for (const [file, text] of made) {
  const served = new URL(file, SERVED);
  if (!process.argv.includes("--check")) await writeFile(served, text);
  else if ((await readFile(served, "utf8").catch(() => "")) !== text) {
    console.error(`src/http/guides/${file} is not what src/docs gives: run npm run build:guides`);
    process.exitCode = 1;
  }
}
const gzipped = [...made.values()].reduce((sum, text) => sum + gzipSync(text).length, 0);
console.log(`guides: ${GUIDES.length} pages, ${gzipped} bytes gzipped`);

/** The module through which the Worker has the guides. */
function list(): string {
  return [
    "// Written by src/dev/build-guides.ts.",
    ...GUIDES.map(({ name }) => name)
      .toSorted()
      .map((name) => `import ${name} from "./${name}.txt";`),
    "",
    "export const GUIDES = [",
    ...GUIDES.map(
      (guide) => `  { name: "${guide.name}", title: "${guide.title}", about: "${guide.about}", html: ${guide.name} },`,
    ),
    "];",
    "",
  ].join("\n");
}

/** The guide as the contents of a page: anchors as GitHub makes them, no style, no script, no HTML of the guide's own. */
function render(markdown: string, name: string): string {
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
      const target = targetOf(href);
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

/** Where a link of a guide leads on the page: another guide or the web; null for a file that is only in the repository. */
function targetOf(href: string): string | null {
  if (/^(?:https:|#)/.test(href)) return href;
  const [, name, anchor = ""] = /^([a-z]+)\.md(#.*)?$/.exec(href) ?? [];
  return GUIDES.some((guide) => guide.name === name) ? `/docs/${name}${anchor}` : null;
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

/** What an owner gives partners to use: banners, texts and pages of the site (PORTAL-8). */
export const ASSET_KINDS = ["banner", "text", "link"] as const;
export type AssetKind = (typeof ASSET_KINDS)[number];

export interface Asset {
  name: string;
  kind: AssetKind;
  /** Of a banner the https address of the picture, of a link that of a page of the site; of a text the text. */
  content: string;
}

export const MAX_ASSETS = 20;
export const MAX_ASSET_NAME = 100;
export const MAX_ASSET_CONTENT = 1_000;

/** Where a text has the partner's link. */
const LINK_MARK = "{link}";

/** What is wrong with an asset, to go on after its number; null where nothing is. */
export function assetProblem({ name, kind, content }: Asset): string | null {
  if (/[\r\n]/.test(name)) return "its name is one line.";
  if (kind === "text") return null;
  const url = URL.parse(content);
  const isPlain = url?.protocol === "https:" && url.username === "" && url.password === "" && !/\s/.test(content);
  return isPlain ? null : `a ${kind} needs an address that begins with https://.`;
}

/** A text with a partner's link in it: where it is marked, else below. */
export function textWithLink(content: string, link: string): string {
  return content.includes(LINK_MARK) ? content.replaceAll(LINK_MARK, link) : `${content}\n${link}`;
}

/** HTML of a banner that leads to a partner's link. */
export function bannerHtml({ name, content }: Asset, link: string): string {
  return `<a href="${inHtml(link)}"><img src="${inHtml(content)}" alt="${inHtml(name)}"></a>`;
}

/** A text within an attribute of HTML. */
function inHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const SEPARATOR = "---";

/** Assets as a form has them: the kind and the name on the first line of each, its content below, `---` between two. */
export function assetsText(assets: readonly Asset[]): string {
  return assets.map(({ kind, name, content }) => `${kind}: ${name}\n${content}`).join(`\n${SEPARATOR}\n`);
}

/** The same as typed. What has no kind keeps its first line as the name, to be refused. */
export function readAssets(text: string): { kind: string; name: string; content: string }[] {
  const blocks: string[][] = [[]];
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line.trim() === SEPARATOR) blocks.push([]);
    else blocks.at(-1)!.push(line);
  }
  return blocks.flatMap((lines) => {
    const [first = "", ...rest] = lines.join("\n").trim().split("\n");
    if (first === "") return [];
    const at = first.indexOf(":");
    const kind = at < 0 ? "" : first.slice(0, at).trim().toLowerCase();
    return [{ kind, name: first.slice(at + 1).trim(), content: rest.join("\n").trim() }];
  });
}

/** Assets that an owner offers to partners: banners, texts and pages of the site (PORTAL-8). */
export const ASSET_KINDS = ["banner", "text", "link"] as const;
export type AssetKind = (typeof ASSET_KINDS)[number];

export interface Asset {
  name: string;
  kind: AssetKind;
  /** The picture's https address for a banner, a page's https address for a link, the text itself for a text. */
  content: string;
}

export const MAX_ASSETS = 20;
export const MAX_ASSET_NAME = 100;
export const MAX_ASSET_CONTENT = 1_000;

/** The placeholder for the partner's link in a text. */
const LINK_MARK = "{link}";

/** Why an asset is invalid, as a phrase that follows its number; null if it is valid. */
export function assetProblem({ name, kind, content }: Asset): string | null {
  if (/[\r\n]/.test(name)) return "its name is one line.";
  if (kind === "text") return null;
  const url = URL.parse(content);
  const isPlain = url?.protocol === "https:" && url.username === "" && url.password === "" && !/\s/.test(content);
  return isPlain ? null : `a ${kind} needs an address that begins with https://.`;
}

/** Puts a partner's link into a text: at its placeholder, or else below the text. */
export function textWithLink(content: string, link: string): string {
  return content.includes(LINK_MARK) ? content.replaceAll(LINK_MARK, link) : `${content}\n${link}`;
}

/** HTML of a banner that links to a partner's link. */
export function bannerHtml({ name, content }: Asset, link: string): string {
  return `<a href="${inHtml(link)}"><img src="${inHtml(content)}" alt="${inHtml(name)}"></a>`;
}

/** Escapes a text for an HTML attribute. */
function inHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const SEPARATOR = "---";

/** Assets as a form shows them: kind and name on the first line of each, its content below, `---` between two. */
export function assetsText(assets: readonly Asset[]): string {
  return assets.map(({ kind, name, content }) => `${kind}: ${name}\n${content}`).join(`\n${SEPARATOR}\n`);
}

/** Parses the text of `assetsText`. An asset without a kind keeps its first line as the name, and is refused later. */
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

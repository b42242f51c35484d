import type { OwnHosts } from "../../domain/own-host.ts";
import type { PageTrouble, ScriptTag, SitePage } from "../../domain/installation.ts";
import { checkTargetUrl } from "../../domain/target-url.ts";
import { EXPIRED, fetchWithin, startDeadline, type Deadline, type Fetch } from "../../lib/deadline.ts";
import { readAtMost } from "../../lib/http-body.ts";
import { resolveTarget } from "../kernel/target.ts";

/** How a page of the owner's site is reached. */
export interface SiteReach {
  fetch: Fetch;
  /** A DNS over HTTPS endpoint that answers `application/dns-json`. */
  resolverUrl: string;
  ownHosts: OwnHosts;
  /** For everything: look-ups, redirects and the body. */
  timeoutMs: number;
}

const MOST_REDIRECTS = 5;
const MOST_BYTES = 2 * 1024 * 1024;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Reads a page as a visitor's browser would, behind the guard of webhooks (HOOK-7, HOOK-20): its address and that of every
 * redirect is judged and looked up before it is asked. Bounded in size and time. Never throws.
 */
export async function readSitePage(address: string, reach: SiteReach): Promise<SitePage | PageTrouble> {
  const deadline = startDeadline(reach.timeoutMs);
  try {
    let at = address;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const answer = await ask(at, reach, deadline);
      if (!("next" in answer)) return answer;
      at = answer.next;
    }
    return { reason: "too_many_redirects", found: at };
  } catch {
    return { reason: "unreachable", found: address };
  } finally {
    deadline.clear();
  }
}

async function ask(
  at: string,
  reach: SiteReach,
  deadline: Deadline,
): Promise<SitePage | PageTrouble | { next: string }> {
  const target = checkTargetUrl(at);
  if (!target.ok) return { reason: "refused", found: `its address, ${at.slice(0, 200)}, ${target.reason}` };
  const { url } = target;
  const resolution = await deadline.race(resolveTarget(url.hostname, reach));
  if (resolution === EXPIRED) return { reason: "timed_out", found: at };
  if (resolution.kind === "blocked")
    return { reason: "refused", found: `its host, ${url.hostname}, ${resolution.reason}` };
  if (resolution.kind === "dns") return { reason: "dns", found: resolution.reason };
  const response = await fetchWithin(deadline, reach.fetch, url.href, {
    headers: { accept: "text/html", "user-agent": "Mozilla/5.0 (compatible; Service-Check/1.0)" },
    redirect: "manual",
    cache: "no-store",
  });
  if (response === EXPIRED) return { reason: "timed_out", found: at };
  const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
  if (location !== null || !response.ok) {
    await drop(response);
    return location === null
      ? { reason: "status", found: String(response.status) }
      : { next: URL.parse(location, url)?.href ?? location };
  }
  return readPage(response, url, deadline);
}

async function readPage(response: Response, url: URL, deadline: Deadline): Promise<SitePage | PageTrouble> {
  const type = response.headers.get("content-type") ?? "";
  if (!/^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(type)) {
    await drop(response);
    return { reason: "not_html", found: type.slice(0, 100) || "of no type" };
  }
  const { bytes, ended } = await readAtMost(response.body, MOST_BYTES, deadline);
  if (ended === "cut") return { reason: "too_large", found: url.href };
  if (ended === "expired") return { reason: "timed_out", found: url.href };
  if (ended === "broken") return { reason: "unreachable", found: url.href };
  const policy = response.headers.get("content-security-policy");
  return { url, policy, ...(await readHtml(bytes, type)) };
}

async function drop(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined);
}

type Html = Pick<SitePage, "base" | "scripts" | "meta_policies">;

/** Of pages with more, the rest is not looked at. */
const MOST_TAGS = 100;

/** What the check needs of a document. */
async function readHtml(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<Html> {
  const scripts: ScriptTag[] = [];
  const meta_policies: string[] = [];
  let base: string | null = null;
  const rewriter = new HTMLRewriter()
    .on("base[href]", { element: (element) => void (base ??= attributeOf(element, "href")) })
    .on("meta[http-equiv][content]", {
      element: (element) => {
        const isPolicy = attributeOf(element, "http-equiv")?.trim().toLowerCase() === "content-security-policy";
        if (isPolicy && meta_policies.length < MOST_TAGS) meta_policies.push(attributeOf(element, "content") ?? "");
      },
    })
    .on("script[src]", {
      element: (element) => {
        const src = attributeOf(element, "src");
        const program = attributeOf(element, "data-program");
        if (scripts.length >= MOST_TAGS || (program === null && !src?.includes("service.js"))) return;
        const [tagType, nonce, integrity] = ["type", "nonce", "integrity"].map((name) => attributeOf(element, name));
        scripts.push({
          ...{ src, program, type: tagType ?? null, nonce: nonce ?? null, integrity: integrity ?? null },
          policies_before: meta_policies.length,
        });
      },
    });
  await rewriter.transform(new Response(bytes, { headers: { "content-type": type } })).arrayBuffer();
  return { base, scripts, meta_policies };
}

const NAMED: Readonly<Record<string, string>> = { amp: "&", quot: '"', apos: "'", lt: "<", gt: ">" };

/** An attribute as a browser reads it: the parser leaves character references as they are. */
function attributeOf(element: Element, name: string): string | null {
  return (
    element
      .getAttribute(name)
      ?.slice(0, 8192)
      .replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|quot|apos|lt|gt));/gi, (text, decimal, hex, named) => {
        if (typeof named === "string") return NAMED[named.toLowerCase()] ?? text;
        const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16);
        return code <= 0x10ffff ? String.fromCodePoint(code) : text;
      }) ?? null
  );
}

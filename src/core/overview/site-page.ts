import type { OwnHosts } from "../../domain/own-host.ts";
import type { PageTrouble, ScriptTag, SitePage } from "../../domain/installation.ts";
import { checkTargetUrl } from "../../domain/target-url.ts";
import { EXPIRED, fetchWithin, startDeadline, type Deadline, type Fetch } from "../../lib/deadline.ts";
import { readAtMost } from "../../lib/http-body.ts";
import { resolveTarget } from "../kernel/target.ts";

/** The means to reach a page of the owner's site. */
export interface SiteReach {
  fetch: Fetch;
  /** A DNS over HTTPS endpoint that answers `application/dns-json`. */
  resolverUrl: string;
  ownHosts: OwnHosts;
  /** The time limit of all look-ups, redirects and the body together. */
  timeoutMs: number;
}

const MOST_REDIRECTS = 5;
const MOST_BYTES = 2 * 1024 * 1024;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Reads a page as a visitor's browser would, behind the guard of webhooks (HOOK-7, HOOK-20): checks and resolves its
 * address, and that of every redirect, before the request. Bounded in size and time. Never throws.
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

/**
 * Checks whether an address answers a click as the service does, behind the same guard: sends a click without a
 * program, which the service refuses in its own format and does not store. Never throws.
 */
export async function answersClicks(address: URL, reach: SiteReach): Promise<boolean> {
  const deadline = startDeadline(reach.timeoutMs);
  try {
    const opened = await open(address.href, reach, deadline, {
      method: "POST",
      headers: { ...AGENT, "content-type": "text/plain" },
      body: "{}",
    });
    if ("reason" in opened) return false;
    const { bytes } = await readAtMost(opened.response.body, MOST_REFUSAL_BYTES, deadline);
    return isOwnRefusal(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return false;
  } finally {
    deadline.clear();
  }
}

const AGENT = { "user-agent": "Mozilla/5.0 (compatible; Service-Check/1.0)" };
const MOST_REFUSAL_BYTES = 4096;

/** Whether an answer is the service's own to an invalid click (TRACK-9). */
function isOwnRefusal(answer: unknown): boolean {
  const { code, request_id } = (answer as { error?: { code?: unknown; request_id?: unknown } } | null)?.error ?? {};
  return code === "validation_failed" && typeof request_id === "string" && request_id.startsWith("req_");
}

async function ask(
  at: string,
  reach: SiteReach,
  deadline: Deadline,
): Promise<SitePage | PageTrouble | { next: string }> {
  const opened = await open(at, reach, deadline, { headers: { ...AGENT, accept: "text/html" } });
  if ("reason" in opened) return opened;
  const { response, url } = opened;
  const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
  if (location !== null || !response.ok) {
    await drop(response);
    return location === null
      ? { reason: "status", found: String(response.status) }
      : { next: URL.parse(location, url)?.href ?? location };
  }
  return readPage(response, url, deadline);
}

/** Sends one request to an address that the guard accepts, without following redirects. */
async function open(
  at: string,
  reach: SiteReach,
  deadline: Deadline,
  init: RequestInit,
): Promise<{ response: Response; url: URL } | PageTrouble> {
  const target = checkTargetUrl(at);
  if (!target.ok) return { reason: "refused", found: `its address, ${at.slice(0, 200)}, ${target.reason}` };
  const { url } = target;
  const resolution = await deadline.race(resolveTarget(url.hostname, reach));
  if (resolution === EXPIRED) return { reason: "timed_out", found: at };
  if (resolution.kind === "blocked")
    return { reason: "refused", found: `its host, ${url.hostname}, ${resolution.reason}` };
  if (resolution.kind === "dns") return { reason: "dns", found: resolution.reason };
  const response = await fetchWithin(deadline, reach.fetch, url.href, {
    ...init,
    redirect: "manual",
    cache: "no-store",
  });
  return response === EXPIRED ? { reason: "timed_out", found: at } : { response, url };
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

/** The most tags read from a page; further ones are ignored. */
const MOST_TAGS = 100;

/** Reads the parts of a document that the check needs. */
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
        const [program, origin] = [attributeOf(element, "data-program"), attributeOf(element, "data-origin")];
        if (scripts.length >= MOST_TAGS || (program === null && !src?.includes("service.js"))) return;
        const [tagType, nonce, integrity] = ["type", "nonce", "integrity"].map((name) => attributeOf(element, name));
        scripts.push({
          ...{ src, program, origin, type: tagType ?? null, nonce: nonce ?? null, integrity: integrity ?? null },
          policies_before: meta_policies.length,
        });
      },
    });
  await rewriter.transform(new Response(bytes, { headers: { "content-type": type } })).arrayBuffer();
  return { base, scripts, meta_policies };
}

const NAMED: Readonly<Record<string, string>> = { amp: "&", quot: '"', apos: "'", lt: "<", gt: ">" };

/** Returns an attribute as a browser reads it: the parser leaves character references as they are. */
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

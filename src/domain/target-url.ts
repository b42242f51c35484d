import { parseAddress, whyNotPublic } from "./address.ts";

/** The check that refused: parsing, the rules on ports and lengths, an IP literal, or a name. */
export type RefusalStage = "parse" | "policy" | "literal" | "name";

export interface Refusal {
  stage: RefusalStage;
  /** A phrase that follows "url …", suitable for an API error. */
  reason: string;
}

export type TargetUrlCheck = { ok: true; url: URL } | ({ ok: false } & Refusal);

export const MAX_TARGET_URL_LENGTH = 2048;

/**
 * Checks the URL of a webhook endpoint by its text alone; used at creation, at PATCH and before every attempt. Never
 * throws. The accepted URL is the one that the platform's `fetch` will parse, so send to `url.href`.
 *
 * https only; no credentials in the URL; port 443 or 1024–65535; an IP literal that is not public is refused; names
 * `localhost`, `*.localhost`, `*.local`, `*.internal`, `*.lan`, `*.home.arpa`, single labels and their trailing-dot
 * forms are refused (HOOK-7, HOOK-18).
 */
export function checkTargetUrl(text: string): TargetUrlCheck {
  if (text.length > MAX_TARGET_URL_LENGTH) {
    return refuse("policy", `must have at most ${MAX_TARGET_URL_LENGTH} characters`);
  }
  // The URL parser drops tabs, line ends and outer spaces: the owner would read another URL than the one called.
  // oxlint-disable-next-line no-control-regex -- the pattern looks for control characters
  if (/[\u0000-\u0020\u007f]/.test(text)) return refuse("parse", "must not contain spaces or control characters");
  if (!URL.canParse(text)) return refuse("parse", "must be an absolute https URL");
  const url = new URL(text);
  if (url.protocol !== "https:") return refuse("parse", "must be an https URL");
  if (url.username !== "" || url.password !== "") return refuse("parse", "must not contain credentials");
  const refusal = whyHostRefused(url.hostname);
  if (refusal !== null) return refuse(refusal.stage, refusal.reason);
  if (url.port !== "" && Number(url.port) < 1024) return refuse("policy", "must use port 443 or 1024–65535");
  return { ok: true, url };
}

/** Why a host, spelled as in `URL.hostname`, is refused; null if it is public, or if only DNS can decide. */
export function whyHostRefused(hostname: string): Refusal | null {
  const literal = parseHostLiteral(hostname);
  if (literal !== null) {
    const reason = whyNotPublic(literal);
    return reason === null ? null : { stage: "literal", reason: `must not be a non-public address (${reason})` };
  }
  const reason = whyNameRefused(hostname);
  if (reason !== null) return { stage: "name", reason };
  const labels = hostname.split(".");
  if (hostname.length > MAX_NAME_LENGTH || labels.some((label) => label.length > MAX_LABEL_LENGTH)) {
    return { stage: "policy", reason: "must have a host name of at most 253 characters, 63 in each label" };
  }
  if (!labels.every((label) => LABEL.test(label))) return { stage: "name", reason: "must have a valid host name" };
  return null;
}

/** Parses a `URL.hostname` that is an IP literal; null for a name. */
export function parseHostLiteral(hostname: string): ReturnType<typeof parseAddress> {
  return parseAddress(hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname);
}

/**
 * Why a name is refused as host or alias: local by definition, or not in the public tree. Strip an alias's dot first.
 */
export function whyNameRefused(name: string): string | null {
  const lower = name.toLowerCase();
  const labels = lower.split(".");
  const last = labels.at(-1) ?? "";
  if (LOCAL_TOP_LABELS.has(last)) return "must not be a local or special-use name";
  if (labels.includes("")) return "must not have an empty label or a trailing dot in its host name";
  if (labels.length < 2) return "must have a full host name, not a single label";
  if (/^\d+$/.test(last)) return "must have a valid host name";
  return null;
}

const MAX_NAME_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;

/** Letters, digits, inner hyphens, and the underscore that some hosting names have. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/i;

/**
 * Top labels that never lead to a public host: the special-use names of RFC 6761, 6762 (with its appendix G), 7686,
 * 8375 and 9476, ICANN's `internal`, and the infrastructure under `arpa`. Names reserved for documentation and tests
 * (`example`, `test`, `invalid`) do no harm and are left to DNS.
 */
const LOCAL_TOP_LABELS: ReadonlySet<string> = new Set([
  "localhost",
  "localdomain",
  "local",
  "internal",
  "lan",
  "intranet",
  "private",
  "corp",
  "home",
  "arpa",
  "onion",
  "alt",
]);

function refuse(stage: RefusalStage, reason: string): TargetUrlCheck {
  return { ok: false, stage, reason };
}

import { parseAddress, whyNotPublic } from "../../domain/address.ts";
import { isOwnHost, OWN_HOST_REASON, type OwnHosts } from "../../domain/own-host.ts";
import { parseHostLiteral, whyHostRefused, whyNameRefused } from "../../domain/target-url.ts";
import { EXPIRED, fetchWithin, startDeadline, type Deadline, type Fetch } from "../../lib/deadline.ts";
import { readAtMost } from "../../lib/http-body.ts";

export type Resolution =
  /** Every address is public: the host may be called now. */
  | { kind: "public" }
  /** The name, an alias or an address is refused: the host must not be called, and a repetition is useless. */
  | { kind: "blocked"; reason: string }
  /** The name could not be resolved: the host must not be called now. */
  | { kind: "dns"; reason: string };

export interface ResolveDeps {
  fetch: Fetch;
  /** A DNS over HTTPS endpoint that answers `application/dns-json`. */
  resolverUrl: string;
  ownHosts: OwnHosts;
  /** The limit for the whole lookup. */
  timeoutMs: number;
}

/**
 * Whether a host, in the spelling of `URL.hostname`, may be called now. Queries the resolver for A and AAAA at once and
 * checks every address and every alias of both answers. Never throws and never takes longer than `timeoutMs`.
 *
 * At each attempt the name is resolved by DNS over HTTPS (A and AAAA), every answer must be public unicast (HOOK-20),
 * and a failed lookup is a failed attempt (`dns`), never a send (HOOK-19): so if one of the two lookups fails, good
 * answers of the other do not help, but a refused one still blocks.
 */
export async function resolveTarget(hostname: string, deps: ResolveDeps): Promise<Resolution> {
  const refusal = whyHostRefused(hostname);
  if (refusal !== null) return { kind: "blocked", reason: refusal.reason };
  if (isOwnHost(hostname, deps.ownHosts)) return { kind: "blocked", reason: OWN_HOST_REASON };
  if (parseHostLiteral(hostname) !== null) return { kind: "public" };
  const deadline = startDeadline(deps.timeoutMs);
  try {
    const lookups = await Promise.all(["A", "AAAA"].map((type) => lookUp(hostname, type, deps, deadline)));
    return resolutionOf(lookups, deps.ownHosts);
  } finally {
    deadline.clear();
  }
}

export type Resolve = typeof resolveTarget;

/** The same for concurrent attempts, which share a lookup of the same name. The answer is not cached. */
export function openResolver(): Resolve {
  const underWay = new Map<string, Promise<Resolution>>();
  return (hostname, deps) => {
    const asked = underWay.get(hostname);
    if (asked) return asked;
    const asking = resolveTarget(hostname, deps).finally(() => underWay.delete(hostname));
    underWay.set(hostname, asking);
    return asking;
  };
}

interface DnsRecord {
  type: number;
  data: string;
}

type Lookup = { records: DnsRecord[] } | { failure: string };

/** Record types of RFC 1035, 3596 and 6672. */
const TYPE_A = 1;
const TYPE_CNAME = 5;
const TYPE_AAAA = 28;
const TYPE_DNAME = 39;

const RESPONSE_CODES: Readonly<Record<number, string>> = { 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 5: "REFUSED" };

/** More than any answer over a 64 KiB DNS message needs as JSON for the names and addresses that matter. */
const MAX_ANSWER_BYTES = 256 * 1024;

function resolutionOf(lookups: Lookup[], ownHosts: OwnHosts): Resolution {
  const failures: string[] = [];
  let addresses = 0;
  for (const lookup of lookups) {
    if ("failure" in lookup) {
      failures.push(lookup.failure);
      continue;
    }
    for (const { type, data } of lookup.records) {
      if (type === TYPE_CNAME || type === TYPE_DNAME) {
        const target = data.replace(/\.$/, "");
        if (whyNameRefused(target) !== null || isOwnHost(target, ownHosts))
          return { kind: "blocked", reason: `is an alias of ${target}` };
      } else if (type === TYPE_A || type === TYPE_AAAA) {
        const address = parseAddress(data);
        if (address?.kind() !== (type === TYPE_A ? "ipv4" : "ipv6")) {
          failures.push("an answer is not an address");
          continue;
        }
        const reason = whyNotPublic(address);
        if (reason !== null) return { kind: "blocked", reason: `resolves to ${data} (${reason})` };
        addresses++;
      }
    }
  }
  if (failures[0] !== undefined) return { kind: "dns", reason: failures[0] };
  return addresses > 0 ? { kind: "public" } : { kind: "dns", reason: "has no address" };
}

async function lookUp(name: string, type: string, deps: ResolveDeps, deadline: Deadline): Promise<Lookup> {
  try {
    const url = new URL(deps.resolverUrl);
    url.searchParams.set("name", name);
    url.searchParams.set("type", type);
    const { fetch } = deps;
    const response = await fetchWithin(deadline, fetch, url.href, {
      headers: { accept: "application/dns-json" },
      redirect: "manual",
      cache: "no-store",
    });
    if (response === EXPIRED) return { failure: `${type}: timed out` };
    const body = await readAtMost(response.body, MAX_ANSWER_BYTES, deadline);
    if (response.status !== 200) return { failure: `${type}: the resolver answered HTTP ${response.status}` };
    if (body.ended === "expired") return { failure: `${type}: timed out` };
    if (body.ended !== "complete") return { failure: `${type}: the resolver's answer is incomplete` };
    return readAnswer(type, JSON.parse(new TextDecoder().decode(body.bytes)));
  } catch {
    return { failure: `${type}: the resolver cannot be reached or read` };
  }
}

function readAnswer(type: string, answer: unknown): Lookup {
  if (!isObject(answer) || typeof answer["Status"] !== "number") return { failure: `${type}: malformed answer` };
  const status = answer["Status"];
  if (status !== 0) return { failure: `${type}: ${RESPONSE_CODES[status] ?? `response code ${status}`}` };
  // A truncated answer may lack the one address that would be refused.
  if (answer["TC"] === true) return { failure: `${type}: truncated answer` };
  const entries = answer["Answer"] ?? [];
  if (!Array.isArray(entries)) return { failure: `${type}: malformed answer` };
  const records: DnsRecord[] = [];
  for (const entry of entries) {
    if (!isObject(entry) || typeof entry["type"] !== "number" || typeof entry["data"] !== "string") {
      return { failure: `${type}: malformed answer` };
    }
    records.push({ type: entry["type"], data: entry["data"] });
  }
  return { records };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The installation check (PROG-12): evaluates a page of the owner's site, and explains for each point how to fix it. */
import { readPolicies, whyNotCalled, whyNotLoaded, type ContentPolicy } from "./content-policy.ts";

export const CHECKS = ["page", "script", "program", "script_policy", "click_policy", "click_address", "click"] as const;
export type CheckName = (typeof CHECKS)[number];

/** `unknown`: an earlier check failed, so this one cannot be evaluated. */
export const CHECK_RESULTS = ["ok", "failed", "unknown"] as const;
export type CheckResult = (typeof CHECK_RESULTS)[number];

/** Why a check has failed. */
export const CHECK_REASONS = [
  ...(["refused", "dns", "unreachable", "timed_out", "too_many_redirects", "status", "not_html", "too_large"] as const),
  ...(["absent", "held_back", "no_program", "other_program", "policy", "elsewhere", "no_click"] as const),
] as const;
export type CheckReason = (typeof CHECK_REASONS)[number];

export interface Check {
  check: CheckName;
  result: CheckResult;
  reason: CheckReason | null;
  /** The finding and its fix, for people. */
  text: string;
}

export type PageTrouble = {
  reason: Exclude<
    CheckReason,
    "absent" | "held_back" | "no_program" | "other_program" | "policy" | "elsewhere" | "no_click"
  >;
  /** The value found: an address, a status, a type. */
  found: string;
};

/** A script element that may load the tracking script. */
export interface ScriptTag {
  src: string | null;
  /** `data-program` and `data-origin`; either can be in the script's address instead (`clickAddressOf`). */
  program: string | null;
  origin: string | null;
  type: string | null;
  nonce: string | null;
  integrity: string | null;
  /** The number of meta policies before it: later ones do not block it. */
  policies_before: number;
}

/** The relevant parts of a page that answered. */
export interface SitePage {
  url: URL;
  /** `base href`, if present. */
  base: string | null;
  scripts: readonly ScriptTag[];
  /** The header's Content-Security-Policy. */
  policy: string | null;
  /** The policies of the meta elements, in order. */
  meta_policies: readonly string[];
}

export interface Expected {
  program_id: string;
  /** The address of the tracking script. */
  script_url: string;
  has_clicks: boolean;
  /** Whether the address of `clickAddressOf` leads to this service; null if it was not tested. */
  arrives: boolean | null;
  /** A page on which to try a click. */
  try_url: string;
}

/** Evaluates every check in order. Pure: API and page show the same. */
export function checksOf(page: SitePage | PageTrouble, expected: Expected): Check[] {
  const click = clickCheck(expected);
  if ("reason" in page) {
    return [failed("page", page.reason, PAGE_TEXTS[page.reason](page.found)), ...unknowns(CHECKS.slice(1, 6)), click];
  }
  const ok = passed("page", `The page ${page.url.href} answers.`);
  const script = scriptOf(page, expected);
  if (script === null) {
    const held = page.scripts.find(isTracker);
    const reason = held ? "held_back" : "absent";
    return [ok, failed("script", reason, scriptText(held, expected)), ...unknowns(CHECKS.slice(2, 6)), click];
  }
  const { url } = script;
  return [
    ok,
    passed("script", `The script is on the page, from ${url.href}.`),
    programCheck(optionOf(script, "program"), expected),
    ...policyChecks(page, script),
    addressCheck(script, expected),
    click,
  ];
}

/** The address to which the page's script reports clicks; null if the page has no script, or the address is invalid. */
export function clickAddressOf(page: SitePage | PageTrouble, expected: Pick<Expected, "script_url">): URL | null {
  const script = "reason" in page ? null : scriptOf(page, expected);
  return script === null ? null : clickAddress(script);
}

/** True if every check is ok. */
export function isInstalled(checks: readonly Check[]): boolean {
  return checks.every(({ result }) => result === "ok");
}

const RUNS = /^(?:|module|(?:text|application)\/(?:x-)?(?:java|ecma)script)$/i;
const isTracker = ({ src, program }: ScriptTag) =>
  src !== null && (program !== null || /\/service\.js(?:[?#]|$)/.test(src));

interface FoundScript {
  tag: ScriptTag;
  url: URL;
}

/** An option of the script: its attribute, or the parameter of its address (TRACK-23). */
function optionOf({ tag, url }: FoundScript, name: "program" | "origin"): string | null {
  return tag[name] || url.searchParams.get(name);
}

function clickAddress(script: FoundScript): URL | null {
  return URL.parse("/click", optionOf(script, "origin") ?? script.url.href);
}

/** The script element whose options apply: the first that names a program, else the first with its address. */
function scriptOf(page: SitePage, { script_url }: Pick<Expected, "script_url">): FoundScript | null {
  const base = (page.base === null ? null : URL.parse(page.base, page.url)) ?? page.url;
  const found = page.scripts.filter(isTracker).flatMap((tag) => {
    const url = URL.parse(tag.src ?? "", base);
    return url !== null && RUNS.test(tag.type?.trim() ?? "") ? [{ tag, url }] : [];
  });
  return (
    found.find((script) => optionOf(script, "program")?.startsWith("prog_")) ??
    found.find(({ url }) => url.href === script_url) ??
    found[0] ??
    null
  );
}

/** The call that a consent tool runs on each page; it takes effect once the script has loaded. */
export const CONSENT_CALL = "(window.Service = window.Service || []).push((service) => service.consent());";

function scriptText(held: ScriptTag | undefined, { script_url }: Expected): string {
  return held
    ? `The script is there with type="${held.type ?? ""}", so browsers do not run it: a consent tool may hold it back. Load it always, with data-consent="required", and have the tool run this where visitors have agreed: ${CONSENT_CALL}`
    : `No script from ${script_url} is in the HTML of the page. Paste the script tag before the closing body tag of every page, and publish the site. A script that a tag manager adds is not in the HTML: put the program's id into its address, ${script_url}?program=prog_…, and open a partner's link to see that a click arrives.`;
}

function programCheck(program: string | null, { program_id }: Expected): Check {
  if (program === program_id) return passed("program", `The script's program is ${program_id}.`);
  const fix = `Set data-program="${program_id}" on the script tag.`;
  return program === null || program === ""
    ? failed("program", "no_program", `The script tag has no data-program. ${fix}`)
    : failed("program", "other_program", `The script's program is ${program}, which is not this program. ${fix}`);
}

function policyChecks(page: SitePage, script: FoundScript): Check[] {
  const { tag, url } = script;
  const header = page.policy === null ? [] : readPolicies(page.policy);
  const metas = page.meta_policies.map((text) => readPolicies(text));
  const before: ContentPolicy[] = [...header, ...metas.slice(0, tag.policies_before).flat()];
  const click = clickAddress(script) ?? new URL("/click", url);
  const load = whyNotLoaded(before, { url, nonce: tag.nonce, integrity: tag.integrity }, page.url);
  const call = whyNotCalled([...header, ...metas.flat()], click, page.url);
  const where = page.policy === null ? "a meta element" : "the header or a meta element";
  return [
    load === null
      ? passed("script_policy", "The page's Content-Security-Policy lets it load.")
      : failed(
          "script_policy",
          "policy",
          `The page's Content-Security-Policy (${where}) does not let the script load: add ${url.origin} to ${load === "default-src" ? "script-src" : load}, or give the tag the page's nonce.`,
        ),
    call === null
      ? passed("click_policy", "The page's Content-Security-Policy lets it report clicks.")
      : failed(
          "click_policy",
          "policy",
          `The page's Content-Security-Policy (${where}) does not let the script report clicks to ${click.href}: add ${click.origin} to connect-src.`,
        ),
  ];
}

function addressCheck(script: FoundScript, { script_url, arrives }: Expected): Check {
  const { href } = clickAddress(script) ?? {};
  const { origin } = new URL(script_url);
  return arrives
    ? passed("click_address", `The script reports clicks to ${href}, which is this service.`)
    : failed(
        "click_address",
        "elsewhere",
        `The script reports clicks to ${href ?? "no address"}, which does not lead to this service, so no click arrives. Load the script from ${script_url}, or set data-origin="${origin}" on the tag of the copy.`,
      );
}

function clickCheck({ has_clicks, try_url }: Expected): Check {
  return has_clicks
    ? passed("click", "Clicks are arriving.")
    : failed(
        "click",
        "no_click",
        `No click yet. Open ${try_url} in a browser without a blocker: the slug is a partner's.`,
      );
}

const PAGE_TEXTS: Record<PageTrouble["reason"], (found: string) => string> = {
  refused: (found) => `We did not open the page: ${found}. Use the public https address of a page of your site.`,
  dns: (found) => `The name of the host cannot be looked up (${found}). Check its spelling and the domain's DNS.`,
  unreachable: () => "The page's host cannot be reached. Check that the site is up, and that its certificate is valid.",
  timed_out: () => "The page did not answer in time. Check that the site is up, then try again.",
  too_many_redirects: (found) => `The page redirects too often, at last to ${found}. Use its final address.`,
  status: (found) =>
    `The page answers with HTTP ${found}. Use a page that visitors see without signing in; a firewall may refuse requests from servers.`,
  not_html: (found) => `The address returns ${found} instead of an HTML page. Use the address of a page.`,
  too_large: () => "The page is larger than the limit of 2 MiB. Use another page of the site.",
};

function passed(check: CheckName, text: string): Check {
  return { check, result: "ok", reason: null, text };
}

function failed(check: CheckName, reason: CheckReason, text: string): Check {
  return { check, result: "failed", reason, text };
}

function unknowns(checks: readonly CheckName[]): Check[] {
  return checks.map((check) => ({ check, result: "unknown", reason: null, text: "Not known yet: see above." }));
}

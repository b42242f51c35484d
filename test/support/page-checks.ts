/** The rules of every page of the dashboard and the portal, checked in its document and its headers. */
import { expect } from "vitest";
import { textOf } from "./visitor.ts";

/** Markup, a script and quotes, for every field that takes a text. */
export const HOSTILE = `<script>alert(1)</script><img src=x onerror=alert(2)>"'><b>&amp;{{7*7}}`;

/** Pages on which the script previews the effect of a form. */
const SHOW_PREVIEWS =
  /^\/dashboard\/(?:flows(?:\/new|\/(?:flw_\w+|:id))?|partners\/import|payouts\/exports\/[^/]+\/results)(?:\?|$)/;

/** The form of the service's secrets: keys and signing secrets. */
const SECRET = /\b(?:sk|rk|whsec)_[\w+/=-]{20,}/;

/** The policy of a page, and the headers that keep it from other sites and from caches (PAGE-10). */
export function expectHeaders(path: string, headers: Headers): void {
  const previews = SHOW_PREVIEWS.test(path) ? "; connect-src 'self'" : "";
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; " +
      `frame-ancestors 'none'; base-uri 'none'${previews}`,
  );
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("access-control-allow-origin")).toBeNull();
}

/** One document, without scripts and resources that the policy forbids (PAGE-10). */
export function expectDocument(body: string): void {
  expect(body).toMatch(/^<!doctype html><html lang="en">/);
  expect(body.match(/<h1[\s>]/g)).toHaveLength(1);
  const tags = body.replaceAll(/="[^"]*"/g, '=""');
  expect(tags.match(/<script\b[^>]*>[^<]/)).toBeNull();
  expect(tags.match(/<style\b|<[^>]*\sstyle=|<[^>]*\son[a-z]+=/i)).toBeNull();
  expect(body.match(/="\s*javascript:/i)).toBeNull();
  // The page does not load an image, a font or a frame of another site.
  expect(body.match(/<(img|iframe|object|embed|link rel="(?!icon|stylesheet)|script src="(?!\/assets\/))/)).toBeNull();
  expect(body).not.toContain("[object");
  const prose = textOf(body.replaceAll(/<pre[\s\S]*?<\/pre>/g, ""));
  expect(prose.replace("the reference, or null", "")).not.toMatch(/\b(undefined|NaN|null)\b/);
}

/** Every field has a label, and every form that posts the token of its session (PAGE-10). */
export function expectForms(body: string): void {
  const within = body.replaceAll(/<label\b(?:(?!<\/label>)[\s\S])*<\/label>/g, "");
  const fields = [...within.matchAll(/<(?:input|select|textarea)\b[^>]*>/g)].map(([field]) => field);
  const unnamed = fields.filter((field) => {
    const [, id] = /\sid="([^"]*)"/.exec(field) ?? [];
    const isLabelled = id !== undefined && body.includes(`<label for="${id}"`);
    return !/\stype="hidden"|\saria-label="[^"]/.test(field) && !isLabelled;
  });
  expect(unnamed).toEqual([]);
  const forms = [...body.matchAll(/<form\b[^>]*method="post"[^>]*>[\s\S]*?<\/form>/g)].map(([form]) => form);
  expect(forms.filter((form) => !/<input type="hidden" name="csrf" value="[0-9a-f]{64}"/.test(form))).toEqual([]);
}

/** The addresses of forms that send the stored values along that they show (PAGE-30). */
export function guardedForms(path: string, body: string): string[] {
  return postedForms(path, body).flatMap(({ address, isGuarded }) => (isGuarded ? [address] : []));
}

/** The addresses of forms that show stored values and do not send them along, so that they overwrite newer ones (PAGE-30). */
export function unguardedForms(path: string, body: string): string[] {
  const isTyped = (tag: string) => !/\stype="(?:hidden|checkbox|radio|file|password)"/.test(tag);
  return postedForms(path, body).flatMap(({ address, isGuarded, inside }) => {
    const inputs = [...inside.matchAll(/<input\b[^>]*>/g)].filter(([tag]) => isTyped(tag) && /\svalue="[^"]/.test(tag));
    const areas = [...inside.matchAll(/<textarea\b[^>]*>\s*[^<\s]/g)];
    return inputs.length + areas.length === 0 || isGuarded ? [] : [address];
  });
}

function postedForms(path: string, body: string): { address: string; inside: string; isGuarded: boolean }[] {
  const forms = [...body.matchAll(/<form\b([^>]*method="post"[^>]*)>([\s\S]*?)<\/form>/g)];
  return forms.map(([, form = "", inside = ""]) => ({
    address: /\saction="([^"?#]*)/.exec(form)?.[1] ?? path,
    ...{ inside, isGuarded: inside.includes('name="shown"') },
  }));
}

/** The page does not contain a secret of the program, sealed or generated. */
export function expectNoSecret(body: string, secrets: readonly string[]): void {
  expect(secrets.filter((secret) => body.includes(secret))).toEqual([]);
  expect(body.match(SECRET)).toBeNull();
}

/** Texts of people are shown as texts (PAGE-10). */
export function expectEscaped(body: string): void {
  expect(body).not.toMatch(/<script>|<img src=x|<b>|"'>/);
  // Each page has at least the program's name.
  expect(body).toContain("&lt;script&gt;alert(1)");
}

/** Requests of a browser to the pages for people, by hand and by their forms. */
import fc from "fast-check";
import { pageRoutes } from "../support/stocked.ts";
import { hostileHeader, hostileQuery, hostileSegment, hostileText, MARKUP } from "./hostile.ts";
import { place } from "./place.ts";
import { namesOther } from "./places.ts";
import { withHeader, type Draft } from "./requests.ts";

/** A form as it is in a page. */
export interface Form {
  method: string;
  action: string;
  /** Its fields and values, without the token. */
  fields: [string, string][];
}

/** The forms of a document at `address`. */
export function formsIn(html: string, address: string): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(([, attributes = "", inside = ""]) => ({
    method: (attribute(attributes, "method") ?? "get").toUpperCase(),
    action: attribute(attributes, "action") ?? address,
    fields: [
      ...inside.matchAll(/<(?:input|button|textarea|select)\b([^>]*)>(\s*<option[^>]*value="([^"]*)")?/g),
    ].flatMap(([, field = "", , option]): [string, string][] => {
      const name = attribute(field, "name");
      return name === null || name === "csrf" ? [] : [[name, attribute(field, "value") ?? option ?? ""]];
    }),
  }));
}

function attribute(text: string, name: string): string | null {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(text)?.[1];
  return (
    value?.replaceAll("&amp;", "&").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<") ?? null
  );
}

const GETS = [
  ...pageRoutes("dashboard", "portal").filter(({ method }) => method === "GET"),
  ...["/", "/sign-in", "/switch", "/dashboard/nowhere", "/assets/style.css"].map((path) => ({ method: "GET", path })),
];

const KINDS: Record<string, string> = { secrets: "secrets" };

/** Any page with some program's ids in its address, and any query. */
const visit: fc.Arbitrary<Draft> = fc
  .record({
    route: fc.constantFrom(...GETS),
    id: fc.oneof(
      { weight: 3, arbitrary: fc.constant("own") },
      { weight: 2, arbitrary: fc.constant("other") },
      { weight: 1, arbitrary: hostileSegment },
    ),
    query: fc.option(hostileQuery, { freq: 2 }),
    header: fc.option(hostileHeader, { freq: 4 }),
  })
  .map(({ route, id, query, header }) => {
    const path = route.path.replaceAll(/([a-z-]+)\/:[a-z_]+/g, (_, kind: string) => {
      if (id !== "own" && id !== "other") return `${kind}/${id}`;
      return `${kind}/${place(id, KINDS[kind] ?? kind)}`;
    });
    const headers: [string, string][] = [["cookie", cookieFor(path)]];
    return {
      method: "GET",
      path: query === null ? path : `${path}?${query}`,
      headers: header === null ? headers : withHeader(headers, header),
      body: null,
      refused: namesOther(path) && !path.includes("/secrets/"),
    };
  });

/** A form of a page, sent with a few of its fields changed; the forms are those that a run has found. */
const sent: fc.Arbitrary<(forms: readonly Form[]) => Draft> = fc
  .record({
    form: fc.nat(100_000),
    changes: fc.array(fc.tuple(fc.nat(50), fieldValue()), { maxLength: 3 }),
    extra: fc.option(fc.tuple(hostileText, hostileText), { freq: 4 }),
    token: fc.constantFrom("right", "right", "right", "right", "wrong", "none"),
    encoding: fc.constantFrom("url", "url", "multipart", "broken"),
    id: fc.option(fc.constant("other"), { freq: 4 }),
  })
  .map(({ form: nth, changes, extra, token, encoding, id }) => (forms) => {
    const form = forms[nth % forms.length] ?? { method: "GET", action: "/", fields: [] };
    const fields = form.fields.map(([name, value]): [string, string] => [name, value]);
    for (const [at, value] of changes) {
      const field = fields[at % Math.max(1, fields.length)];
      if (field) field[1] = value;
    }
    if (extra) fields.push(extra);
    const area = form.action.startsWith("/portal") ? "partner" : "owner";
    if (token !== "none") fields.unshift(["csrf", token === "right" ? place("own", `${area}_csrf`) : "0".repeat(64)]);
    const path = id === null ? form.action : form.action.replaceAll("{{own.", "{{other.");
    const headers: [string, string][] = [["cookie", cookieFor(path)]];
    if (form.method === "GET") {
      return {
        method: "GET",
        path: `${path.split("?")[0]}?${urlEncoded(fields)}`,
        headers,
        body: null,
        refused: false,
      };
    }
    const body = encoding === "multipart" ? multipart(fields) : urlEncoded(fields);
    const type = encoding === "url" ? "application/x-www-form-urlencoded" : `multipart/form-data; boundary=${BOUNDARY}`;
    return { method: "POST", path, headers: withHeader(headers, ["content-type", type]), body, refused: false };
  });

function fieldValue(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: hostileText },
    { weight: 1, arbitrary: fc.constantFrom(...MARKUP) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("partners", "commissions", "payouts", "flows").map((kind) => place("other", kind)),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom("1", "10", "9007199254740993", "2026-03-01", "on", "active", "a@b.example"),
    },
  );
}

function cookieFor(path: string): string {
  return place("own", path.startsWith("/portal") ? "partner_cookie" : "owner_cookie");
}

/** The words of `places.ts` are left as they are. */
function urlEncoded(fields: readonly [string, string][]): string {
  const encode = (text: string) =>
    text.split(/(\{\{[a-z_.]+\}\})/).map((part, i) => (i % 2 === 1 ? part : encodeURIComponent(part.toWellFormed())));
  return fields.map(([name, value]) => `${encode(name).join("")}=${encode(value).join("")}`).join("&");
}

const BOUNDARY = "fuzz-boundary";

function multipart(fields: readonly [string, string][]): string {
  const parts = fields.map(([name, value]) => {
    const file = name === "file" ? '; filename="a.csv"\r\nContent-Type: text/csv' : "";
    const safe = name.replaceAll(/["\r\n]/g, "_");
    return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${safe}"${file}\r\n\r\n${value}\r\n`;
  });
  return `${parts.join("")}--${BOUNDARY}--\r\n`;
}

export const pageRequest: fc.Arbitrary<(forms: readonly Form[]) => Draft> = fc.oneof(
  visit.map((draft) => () => draft),
  sent,
);

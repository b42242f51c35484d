/** The fields of each resource in the API, compared with those that the specification lists. */
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { OUTBOUND_EVENT_TYPES, sentEvent, SUBSCRIPTIONS } from "../../src/domain/event.ts";
import specification from "../../src/docs/specification.md?raw";
import migration from "../../src/docs/migrate.md?raw";
import { MAIL_KINDS, type MailKind } from "../../src/domain/mail.ts";
import { SEARCHED_COLUMNS } from "../../src/domain/partner.ts";
import { partnerCreate } from "../../src/http/api/partners.ts";
import { programPatch } from "../../src/http/api/programs.ts";
import { ID_PREFIXES } from "../../src/lib/id.ts";
import { AUDIT_EVENT_TYPES, SECRET_SETTINGS } from "../../src/providers/registry.ts";
import { PARTNER_TEXTS } from "../../src/resources/partner.ts";
import { create } from "../support/conformance.ts";
import { servedDocument } from "../support/openapi.ts";
import { call, makePartner } from "../support/program.ts";
import { makeStocked, pageRoutes, type Stocked } from "../support/stocked.ts";

function textOf(rule: string): string {
  const text = specification.split(`**${rule}**`)[1]?.split(/\n(?:- \*\*|\n)/)[0] ?? "";
  return text.replaceAll(/\s+/g, " ");
}

/** The codes in a rule that `pattern` matches. */
function codeOf(rule: string, pattern: RegExp): string[] {
  return [...textOf(rule).matchAll(/`([^`]+)`/g)].flatMap(([, code = ""]) => (pattern.test(code) ? [code] : []));
}

/** Prefixes of ids. */
const PREFIXES = codeOf("HTTP-20", /^\w+_$/);

/** The fields of the first sentence of a rule; parentheses describe the field before them. */
function fieldsOf(rule: string): string[] {
  const plain = textOf(rule).replaceAll(/\([^()]*\)/g, "");
  return [...(plain.split(/\.\s/)[0] ?? "").matchAll(/`(\w+)`/g)].map(([, field = ""]) => field).toSorted();
}

describe("records", () => {
  let stocked: Stocked;
  const read = async (path: string) => {
    const reply = await stocked.program.api<Record<string, unknown>>("GET", `/api/v1${path}`);
    expect([path, reply.status]).toEqual([path, 200]);
    return reply.body;
  };
  const keysOf = (record: unknown) => Object.keys(record as object).toSorted();

  beforeAll(async () => {
    stocked = await makeStocked();
  });

  it.each([
    ["flows", "FLOW-7"],
    ["commissions", "COM-9"],
    ["events", "EVT-1"],
  ])("have the fields of the specification and no other: %s (FLOW-7, COM-9, EVT-1)", async (kind, rule) => {
    expect(fieldsOf(rule).length).toBeGreaterThan(5);
    expect(keysOf(await read(`/${kind}/${stocked.ids[kind]}`))).toEqual(fieldsOf(rule));
  });

  it("have the fields of the specification and their parts: a partner, a code, a payout, an endpoint, a claim, an application, a member (PART-9, PART-10, CODE-5, CLAIM-1, JOIN-7, TEAM-7, OUT-10, HOOK-11, HOOK-14)", async () => {
    const { stats, slugs: _slugs, ...partner } = await read(`/partners/${stocked.ids["partners"]}`);
    expect(keysOf(partner)).toEqual(fieldsOf("PART-9"));
    expect(["slugs", "stats", ...keysOf(stats)].toSorted()).toEqual(fieldsOf("PART-10"));
    const { data } = await read(`/partners/${stocked.ids["partners"]}/codes`);
    expect(keysOf((data as unknown[])[0])).toEqual(fieldsOf("CODE-5"));
    const { payments: _, ...claim } = await read(`/claims/${stocked.ids["claims"]}`);
    expect(keysOf(claim)).toEqual(fieldsOf("CLAIM-1"));
    const application = await read(`/applications/${stocked.ids["applications"]}`);
    expect(keysOf(application)).toEqual(fieldsOf("JOIN-7"));
    const { commissions, ...payout } = await read(`/payouts/${stocked.ids["payouts"]}`);
    expect(keysOf(payout)).toEqual(fieldsOf("OUT-10"));
    expect(keysOf((commissions as unknown[])[0])).toEqual(fieldsOf("COM-9"));
    const team = await read("/members");
    expect(keysOf((team["data"] as unknown[])[0])).toEqual(fieldsOf("TEAM-7"));
    const { deliveries, ...endpoint } = await read(`/webhooks/${stocked.ids["webhooks"]}`);
    expect(keysOf(endpoint)).toEqual(fieldsOf("HOOK-11"));
    expect(keysOf((deliveries as unknown[])[0])).toEqual(fieldsOf("HOOK-14"));
  });

  it("have ids of their prefixes and 26 characters, and times in UTC, in every reply (HTTP-20, HTTP-21, OUT-22)", async () => {
    const shown = JSON.stringify(servedDocument()).matchAll(/"pattern":"\^([a-z]+_)"/g);
    const found = new Set(Array.from(shown, ([, prefix]) => prefix));
    const kinds = Object.values(ID_PREFIXES).map((prefix) => `${prefix}_`);
    expect(PREFIXES.toSorted()).toEqual(kinds.filter((prefix) => found.has(prefix)).toSorted());
    const seen = new Set<string>();
    const look = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      for (const [key, inner] of Object.entries(value)) {
        // An actor's id may be of any kind.
        if (key === "actor") continue;
        if (key.endsWith("_at") && typeof inner === "string")
          expect([key, inner]).toEqual([key, new Date(inner).toISOString()]);
        if (
          typeof inner === "string" &&
          (key === "id" || /^(program|flow|partner|payment|payout|event)_id$/.test(key))
        ) {
          const prefix = inner.slice(0, inner.indexOf("_") + 1);
          if (PREFIXES.includes(prefix)) expect(inner).toMatch(/^[a-z]+_[0-9a-z]{26}$/);
          seen.add(prefix);
        } else look(inner);
      }
    };
    const { ids } = stocked;
    for (const kind of [
      "flows",
      "partners",
      "commissions",
      "payments",
      "payouts",
      "claims",
      "applications",
      "events",
      "webhooks",
    ]) {
      look(await read(`/${kind}/${ids[kind]}`));
    }
    await create(stocked.program, "/api/v1/api-keys", { name: "Reporting", scopes: ["read"] });
    look(await read("/api-keys"));
    look(await read("/members"));
    look(await read(`/partners/${ids["partners"]}/entries`));
    look(await read(`/partners/${ids["partners"]}/codes`));
    look(await read("/groups"));
    const payoutExport = await read(`/payouts/exports/${ids["exports"]}`);
    expect(keysOf(payoutExport)).toEqual(fieldsOf("OUT-22"));
    look(payoutExport);
    expect([...seen].toSorted()).toEqual(
      expect.arrayContaining(PREFIXES.filter((prefix) => prefix !== "req_").toSorted()),
    );
  });

  it("stay as they are, without an event, after a PATCH without a field (HTTP-15)", async () => {
    const { program, ids } = stocked;
    const logged = async () => (await program.api<{ total: number }>("GET", "/api/v1/events")).body.total;
    const before = await logged();
    for (const kind of ["partners", "flows", "webhooks", "commissions"]) {
      const at = `/api/v1/${kind}/${ids[kind]}`;
      const { stats: _, slugs: _slugs, deliveries: __, ...record } = await read(`/${kind}/${ids[kind]}`);
      const reply = await program.api("PATCH", at, {});
      const { warnings: _warnings, ...body } = reply.body as Record<string, unknown>;
      expect([kind, reply.status, body]).toEqual([kind, 200, record]);
    }
    const settings = { ...(await read("/programs/me")), api_key_last_used_at: null };
    const patched = await program.api<object>("PATCH", "/api/v1/programs/me", {});
    expect({ ...patched.body, api_key_last_used_at: null }).toEqual(settings);
    expect(await logged()).toBe(before);
  });

  it("begin with defaults where creation leaves them out (FLOW-7, HOOK-11, PART-9)", async () => {
    const { program } = stocked;
    const flow = await create(program, "/api/v1/flows", { name: "Plain", action_type: "flat", action_value: 5 });
    expect(flow).toMatchObject({ event: "transaction_completed", conditions: [], priority: 0, active: true });
    const endpoint = await create(program, "/api/v1/webhooks", { url: "https://r.example.com/", events: ["*"] });
    expect(endpoint).toMatchObject({ description: null, active: true, disabled_at: null });
    expect(await makePartner(program, {}, "invited")).toMatchObject({ status: "invited", commission_pct: null });
  });
});

describe("what is said of a partner's fields", () => {
  it("names what search looks in (PART-5)", () => {
    expect(fieldsOf("PART-5").filter((field) => field !== "search")).toEqual(SEARCHED_COLUMNS.toSorted());
  });

  it("gives the longest text that each takes (PART-9)", () => {
    const limits = Object.entries(partnerCreate.shape).flatMap(([field, schema]) => {
      const json = z.toJSONSchema(schema, { unrepresentable: "any", io: "input" });
      const most = [json, ...(json.anyOf ?? [])].find(({ maxLength }) => maxLength !== undefined)?.maxLength;
      return most === undefined ? [] : [[field, String(most)]];
    });
    const stated = textOf("PART-9").matchAll(/((?:`\w+`(?: and )?)+) \(up to (\d+)/g);
    const each = [...stated].flatMap(([, fields = "", most]) =>
      [...fields.matchAll(/\w+(?=`)/g)].map(([field]) => [field, most]),
    );
    expect(each.toSorted()).toEqual(limits.toSorted());
  });

  it("names in the guide what an import fills in", () => {
    const [, filled = ""] = /only an empty\s([^.]*), empty payout details[^.]*are filled in/.exec(migration) ?? [];
    expect([...filled.matchAll(/`(\w+)`/g)].map(([, field]) => field)).toEqual(PARTNER_TEXTS);
  });
});

describe("what is said of a program's settings", () => {
  it("names each that can be changed (PROG-1, PROG-9)", () => {
    const isSecret = (name: string) => SECRET_SETTINGS.some(({ setting }) => setting === name);
    const settings = Object.keys(programPatch.shape).filter((name) => name !== "apply_from" && !isSecret(name));
    expect(fieldsOf("PROG-1")).toEqual(settings.toSorted());
  });
});

describe("closed lists", () => {
  interface Schema {
    enum?: string[];
    properties?: Record<string, Schema>;
    $ref?: string;
    items?: Schema;
  }
  interface Document {
    components: { schemas: Record<string, Schema> };
    paths: Record<string, Record<string, { parameters?: { name: string; schema: Schema }[] }>>;
  }
  let document: Document;

  beforeAll(async () => {
    document = (await call<Document>("/openapi.json")).body;
  });

  it("of audit events are those of the specification (EVT-5)", () => {
    let noun = "";
    // `.updated` after `flow.created` is `flow.updated`.
    const types = codeOf("EVT-5", /^[a-z_]*(?:\.[a-z_]+)?$/).map((code) => {
      if (code.startsWith(".")) return `${noun}${code}`;
      noun = code.split(".")[0]!;
      return code;
    });
    const parameter = document.paths["/api/v1/events"]?.["get"]?.parameters?.find(({ name }) => name === "type");
    expect(parameter?.schema.enum?.toSorted()).toEqual(types.toSorted());
  });

  it("of e-mails are those of the specification, and so are those that cannot be switched off (MAIL-7, MAIL-14)", () => {
    const kinds = Object.keys(MAIL_KINDS) as MailKind[];
    const always = codeOf("MAIL-7", /./).filter((code) => code !== "withheld");
    expect(always.toSorted()).toEqual(kinds.filter((kind) => !MAIL_KINDS[kind].may_be_off).toSorted());
    const applying = always.filter((code) => code.startsWith("application_"));
    expect([...applying, ...codeOf("MAIL-14", /./)].toSorted()).toEqual(kinds.toSorted());
  });

  it("of webhooks are those of the specification (HOOK-1)", () => {
    expect(codeOf("HOOK-1", /^(?:\*|[a-z_]+\.[a-z_]+)$/).toSorted()).toEqual([...SUBSCRIPTIONS].toSorted());
  });

  it("of webhooks are those that a rule says the occasion of (HOOK-15)", () => {
    expect(codeOf("HOOK-15", /^[a-z_]+\.[a-z_]+$/).toSorted()).toEqual(OUTBOUND_EVENT_TYPES.toSorted());
  });

  it("of the data of webhooks are a commission's, or of an object that the API returns (HOOK-2)", () => {
    const { schemas } = document.components;
    const sent = new Set(OUTBOUND_EVENT_TYPES.map((type) => sentEvent(type).data));
    expect(sent).toContain("CommissionData");
    const own = codeOf("HOOK-2", /^[a-z_]+$/).filter((field) => !textOf("HOOK-2").includes(`without \`${field}\``));
    expect(Object.keys(schemas["CommissionData"]?.properties ?? {}).toSorted()).toEqual(own.toSorted());
    const returned = JSON.stringify(document.paths);
    const fields = (name: string) => Object.keys(schemas[name]?.properties ?? {});
    const ofClaim = fields("Claim").filter((field) => !textOf("HOOK-2").includes(`without \`${field}\``));
    expect(fields("ClaimData").toSorted()).toEqual(ofClaim.toSorted());
    const others = [...sent].filter((name) => name !== "CommissionData" && name !== "ClaimData");
    expect(others.filter((name) => !returned.includes(`"#/components/schemas/${name}"`))).toEqual([]);
  });

  it.each([
    ["partner", "PART-11"],
    ["flow", "FLOW-10"],
    ["code", "CODE-5"],
  ])("of a noun's events are those that its own rule lists: %s (PART-11, FLOW-10, CODE-5)", (noun, rule) => {
    const types = AUDIT_EVENT_TYPES.filter((type) => type.startsWith(`${noun}.`));
    expect(codeOf(rule, /^[a-z_]+\.[a-z_]+$/).toSorted()).toEqual(types.toSorted());
  });

  it.each([
    ["dashboard", "PAGE-7"],
    ["portal", "PAGE-8"],
  ] as const)("of pages are those of the specification: /%s (PAGE-7, PAGE-8)", (area, rule) => {
    const paths = pageRoutes(area).flatMap(({ method, path }) => (method === "GET" ? path.split("/").slice(1) : []));
    const parts = new Set(paths.filter((part) => part !== "" && !part.startsWith(":")));
    const stated = codeOf(rule, /./).map((code) => code.replace(/^\//, ""));
    // Settings have tabs of the names of other pages.
    expect([...new Set(stated)].toSorted()).toEqual([...parts].toSorted());
  });

  it("of error codes are those of the specification (HTTP-3, IN-3, IN-4)", () => {
    const code = /^[a-z]+(?:_[a-z]+)+$|^(?:forbidden|unauthorized)$/;
    const codes = [...new Set(["HTTP-3", "IN-3", "IN-4"].flatMap((rule) => codeOf(rule, code)))];
    const documented = JSON.stringify(document.components.schemas).match(/"code":\{[^{}]*"enum":\[([^\]]*)\]/)?.[1];
    expect((JSON.parse(`[${documented}]`) as string[]).toSorted()).toEqual(codes.toSorted());
  });
});

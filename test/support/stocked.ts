/** A program with one of everything, so that every page has rows to show. */
import { newId } from "../../src/lib/id.ts";
import { env } from "cloudflare:workers";
import { app } from "../../src/app.ts";
import * as z from "zod";
import { apiKeyCreate } from "../../src/http/api/api-keys.ts";
import { codeCreate } from "../../src/http/api/codes.ts";
import { commissionCreate } from "../../src/http/api/commissions.ts";
import { flowCreate } from "../../src/http/api/flows.ts";
import { partnerCreate } from "../../src/http/api/partners.ts";
import { taxDataSet } from "../../src/http/api/tax-data.ts";
import { endpointCreate } from "../../src/http/api/webhooks.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { lead, report } from "./api.ts";
import { makeApplication } from "./applications.ts";
import { makeClaim } from "./claims.ts";
import { click, recorded } from "./clicks.ts";
import { sendA } from "./ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "./program.ts";
import { chargeRefunded, sessionCompleted } from "./provider-a.ts";
import { uniqueId } from "./vendor.ts";

export interface Stocked {
  program: TestProgram;
  /** The active partner, whose everything is. */
  partner: Awaited<ReturnType<typeof makePartner>>;
  /** Ids by the part of the address that names their kind. */
  ids: Record<string, string>;
}

interface WithId {
  id: string;
}

/**
 * The fields of a schema that accept any text, with as much of `name` or `note` as each accepts: new fields are
 * included.
 */
export function freeTexts(
  { shape }: z.ZodObject,
  { name, note }: Record<"name" | "note", string>,
): Record<string, string> {
  const free = Object.keys(shape).filter((field) => z.safeParse(shape[field], `<b>"'>`).success);
  return Object.fromEntries(
    free.map((field) => {
      const text = field.endsWith("name") ? name : note;
      const prefixes = Array.from(text, (_, i) => text.slice(0, text.length - i));
      return [field, prefixes.find((prefix) => z.safeParse(shape[field], prefix).success) ?? ""];
    }),
  );
}

/** Texts go wherever a person or a customer can put one. */
export async function makeStocked(texts: Partial<Record<"name" | "note", string>> = {}): Promise<Stocked> {
  const { name = "Ada", note = "thank you" } = texts;
  const program = await makeProgram({ name, applications: "review" });
  const free = (schema: z.ZodObject) => freeTexts(schema, { name, note });
  const partner = await makeTaxedPartner(program, free, note);
  await makeClick({ program_id: program.id, ref: partner.slug, landing: `/${note}`, referrer: `https://${note}` });
  const made = async (path: string, body: unknown) => {
    const reply = await program.api<WithId>("POST", `/api/v1${path}`, body);
    if (reply.status >= 300) throw new Error(`${path}: ${JSON.stringify(reply.body)}`);
    return reply.body.id;
  };
  const condition = { field: "partner_slug", op: "neq", value: note };
  const flow = await made("/flows", {
    ...{ ...free(flowCreate), action_type: "percentage", action_value: 20, conditions: [condition] },
  });
  const groups = await made("/groups", { name, slug: "stocked" });
  const endpoint = await made("/webhooks", {
    ...free(endpointCreate),
    url: `https://receiver.example.com/${encodeURIComponent(note)}`,
    events: ["*"],
  });
  const code = await made(`/partners/${partner.id}/codes`, { ...free(codeCreate), provider: VENDOR_NAMES[0] });
  const keys = await made("/api-keys", { ...free(apiKeyCreate), scopes: ["read"] });
  const applications = await makeApplication(program, { name, answers: [{ question: note, answer: note }] });
  const payment_intent = uniqueId("pi_");
  await sendA(program, sessionCompleted({ ref: partner.slug, amount: 10_000, payment_intent, customer: note }));
  await sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 750 }));
  await sendA(program, sessionCompleted({ ref: note, amount: 5_000 }));
  await report(program, "lead", lead({ ref: partner.slug, customer: { email: `${uniqueId("lead")}@shop.example` } }));
  await made("/commissions", { ...free(commissionCreate), partner_id: partner.id, amount_cents: 700 });
  const list = async <Row>(path: string) =>
    (await program.api<{ data: (Row & WithId)[] }>("GET", `/api/v1${path}`)).body.data;
  const commissions = await list<{ kind: string }>("/commissions");
  const approved = await made("/commissions", {
    ...free(commissionCreate),
    partner_id: partner.id,
    amount_cents: 4_200,
  });
  await program.api("PATCH", `/api/v1/commissions/${approved}`, { status: "approved" });
  await program.api("POST", "/api/v1/payouts/generate", {});
  const team = await made("/members", { email: `${uniqueId("viewer")}@shop.example`, role: "viewer" });
  const claim = await makeClaim(program, partner.id, { order_id: note });
  const [payout] = await list("/payouts");
  const [logged] = await list("/events");
  const payments = await list<{ partner_id: string | null; event: string }>("/payments");
  const [delivery] = await list(`/webhooks/${endpoint}/deliveries`);
  // Not found by position: two of one millisecond are listed in any order.
  const sale = commissions.find(({ kind }) => kind === "sale");
  const own = (event: string) => payments.find((row) => row.partner_id === partner.id && row.event === event)?.id ?? "";
  const payment = own("transaction_completed");
  return {
    program,
    partner,
    ids: {
      partners: partner.id,
      codes: code,
      ...{ flows: flow, groups },
      webhooks: endpoint,
      ...{ keys, "api-keys": keys },
      deliveries: delivery?.id ?? "",
      commissions: sale?.id ?? "",
      ...{ payments: payment, customers: payment, leads: own("lead_created") },
      payouts: payout?.id ?? "",
      ...{ exports: await makePaidExport(program, payout?.id ?? ""), claims: claim },
      mails: await makeFailedMail(program),
      events: logged?.id ?? "",
      ...{ applications, team, members: team, secrets: "provider_a_webhook_secret", integration: "provider_a" },
    },
  };
}

async function makeClick(arrival: Parameters<typeof click>[0]): Promise<void> {
  const { status, body } = await click(arrival, {}, { country: "DE" });
  if (status !== 202) throw new Error(`click: ${JSON.stringify(body)}`);
  await recorded();
}

/** A file of this payout that is paid already, according to its rows. */
async function makePaidExport({ id: program_id }: TestProgram, payout: string): Promise<string> {
  const id = newId("export", Date.now());
  await env.DB.batch([
    env.DB.prepare(
      `insert into payout_exports (id, program_id, format, currency, count, amount_cents, status, created_at, updated_at)
      values (?1, ?2, 'wallet', 'USD', 1, 4200, 'paid', ?3, ?3)`,
    ).bind(id, program_id, new Date().toISOString()),
    env.DB.prepare("insert into export_items (export_id, payout_id, status) values (?, ?, 'paid')").bind(id, payout),
  ]);
  return id;
}

/** An e-mail whose delivery was abandoned, according to its row. */
async function makeFailedMail({ id }: TestProgram): Promise<string> {
  const mail = uniqueId("mail_");
  await env.DB.prepare(
    `insert into mails (id, program_id, kind, recipient, status, attempt_count, error, created_at, completed_at)
      values (?, ?, 'endpoint_disabled', 'owner@shop.example', 'failed', 9, 'status 500', ?3, ?3)`,
  )
    .bind(mail, id, new Date().toISOString())
    .run();
  return mail;
}

export interface PageRoute {
  method: string;
  path: string;
}

/** Every page of the app once; new ones are walked without another word here. */
export function pageRoutes(...areas: ("dashboard" | "portal")[]): PageRoute[] {
  const isPage = new RegExp(`^/(${areas.join("|")})(/|$)`);
  const routes = app.routes.filter(({ method, path }) => method !== "ALL" && isPage.test(path) && !path.includes("*"));
  return [...new Map(routes.map(({ method, path }) => [`${method} ${path}`, { method, path }])).values()];
}

/** A route's address with the ids of a program in it. */
export function pageAddress(path: string, ids: Record<string, string>): string {
  return path.replaceAll(/([a-z-]+)\/:[a-z_]+/g, (_, kind: string) => {
    const id = ids[kind];
    if (id === undefined) throw new Error(`makeStocked makes none of ${kind}: let it`);
    return `${kind}/${id}`;
  });
}

async function makeTaxedPartner(program: TestProgram, free: (schema: z.ZodObject) => object, note: string) {
  const partner = await makePartner(program, { ...free(partnerCreate), metadata: { [note]: note } });
  const data = { ...free(taxDataSet), country: "DE", kind: "private" };
  const { status, body } = await program.api("PUT", `/api/v1/partners/${partner.id}/tax-data`, data);
  if (status !== 200) throw new Error(`tax data: ${JSON.stringify(body)}`);
  return partner;
}

/** All values in a program's rows, to prove that they did not change. */
export async function everythingOf(program_id: string): Promise<string> {
  const tables = [
    "partners",
    "partner_codes",
    "api_keys",
    "flows",
    "commissions",
    "payments",
    "payouts",
    "webhook_endpoints",
    "deliveries",
    "program_members",
    "claims",
    "applications",
  ];
  const rows = await env.DB.batch(
    [...tables.map((table) => `select * from ${table} where program_id = ? order by id`), PROGRAM].map((sql) =>
      env.DB.prepare(sql).bind(program_id),
    ),
  );
  return JSON.stringify(rows.map(({ results }) => results));
}

const PROGRAM = "select * from programs where id = ?";

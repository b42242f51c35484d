/** Makers of programs and their keys, and the one way tests call the service. */
import { env, exports } from "cloudflare:workers";
import { vi } from "vitest";
import type { Program } from "../../src/core/kernel/rows.ts";
import { baseContext } from "../../src/http/context.ts";
import { actingAs, forProgram, type ProgramCtx } from "../../src/core/kernel/context.ts";
import type { Connection, Connections } from "../../src/core/kernel/connections.ts";
import { programs, providerConnections } from "../../src/db/schema.ts";
import type { ProviderName } from "../../src/domain/provider-name.ts";
import { actors } from "../../src/domain/actor.ts";
import { randomToken, sha256Hex } from "../../src/lib/crypto.ts";
import { firstGroupOf } from "../../src/domain/group.ts";
import { newId } from "../../src/lib/id.ts";
import { SecretSealer } from "../../src/lib/seal.ts";
import { iso } from "../../src/lib/time.ts";
import type { ListedVendor } from "../../src/providers/registry.ts";
import { TEST_SECRETS } from "./vendors/index.ts";
import { unplain, type Plain } from "./plain.ts";
import { assertDocumented } from "./openapi.ts";

export const BASE_URL = "https://service.example";

export interface TestProgram {
  program: Program;
  id: string;
  api_key: string;
  /** Calls the API with the program's key; a body that is not a text is sent as JSON. */
  api: <T = Record<string, never>>(...request: ApiRequest) => Promise<Reply<T>>;
}

export interface Reply<T> {
  status: number;
  headers: Headers;
  body: T;
}

export { TEST_SECRETS };
export const SECRET_A = TEST_SECRETS.provider_a;
export const SECRET_B = TEST_SECRETS.provider_b;

const SECRETS = ["webhook_secret", "webhook_secret_previous", "api_key"] as const;

/** A program's connections, by provider and column: `provider_a_api_key`. Secrets are in clear. */
export type ConnectionFields = { [field: `provider_${string}_${keyof Connection}`]: string | null };

/** Fields of a program, and of its connections. */
export type ProgramFields = Partial<Plain<Omit<Program, "connections">>> & ConnectionFields;

const COLUMN =
  /^(provider_[a-z]+)_(webhook_secret|webhook_secret_previous|webhook_secret_previous_until|api_key|last_event_at|refusals|seen_types|reading|next_read_at)$/;

/** The rows of `provider_connections` of a program, by provider, their secrets sealed. */
async function connectionsOf(program_id: string, fields: ConnectionFields): Promise<Connections> {
  const { sealer } = testContext();
  const connections: Record<string, Record<string, string | null>> = {};
  for (const [field, value] of Object.entries(fields)) {
    const [, provider = "", column = ""] = COLUMN.exec(field) ?? [];
    const secret = SECRETS.find((name) => name === column);
    const row = `${program_id} ${provider}`;
    const kept =
      secret && value !== null
        ? await sealer.seal(value, { table: "provider_connections", column: secret, row })
        : value;
    connections[provider] = { ...connections[provider], [column]: kept };
  }
  return connections as unknown as Connections;
}

async function keep(program_id: string, connections: Connections): Promise<void> {
  const { db } = testContext();
  for (const [provider, values] of Object.entries(connections)) {
    await db
      .insert(providerConnections)
      .values({ program_id, provider: provider as ProviderName, ...values })
      .onConflictDoUpdate({ target: [providerConnections.program_id, providerConnections.provider], set: values });
  }
}

/** Changes a program's connections, secrets in clear, past the API. */
export async function setSecrets(program_id: string, fields: ConnectionFields): Promise<void> {
  await keep(program_id, await connectionsOf(program_id, fields));
}

/**
 * Makes a program's stored secrets unreadable, as after the loss of the sealing key: the deployment's keys cannot open
 * them.
 */
export async function loseSecrets(program_id: string): Promise<void> {
  const lost = (await new SecretSealer([btoa("the key that nobody has any more")]).mark()) + "AAAAAAAAAAAAAAAA.AAAA";
  await env.DB.prepare(
    `update provider_connections set api_key = iif(api_key is null, null, ?2),
      webhook_secret = iif(webhook_secret is null, null, ?2) where program_id = ?1`,
  )
    .bind(program_id, lost)
    .run();
}

/** Secrets by the names of their settings. */
export function webhookSecrets(secrets: Partial<Record<ListedVendor, string | null>>): ConnectionFields {
  return Object.fromEntries(Object.entries(secrets).map(([name, secret]) => [`${name}_webhook_secret`, secret]));
}

/** A program with every provider's secret set by default. */
export async function makeProgram(overrides: ProgramFields = {}): Promise<TestProgram> {
  const now = Date.now();
  const api_key = `sk_${randomToken(32)}`;
  const { db } = testContext(now);
  const id = overrides.id ?? newId("program", now);
  const entries = Object.entries(overrides);
  const kept: ConnectionFields = {
    ...webhookSecrets(TEST_SECRETS),
    ...Object.fromEntries(entries.filter(([name]) => COLUMN.test(name))),
  };
  const connections = await connectionsOf(id, kept);
  const program = unplain<Program>({
    id,
    name: "Test program",
    owner_email: `owner-${randomToken(6).toLowerCase()}@example.com`,
    domain: "shop.example",
    currency: "USD",
    default_commission_pct: 20,
    payout_term: "NET-15",
    min_payout_cents: 0,
    cookie_days: 60,
    attribution: "last",
    code_precedence: "link",
    auto_approve_days: null,
    live_only: true,
    brand_color: null,
    time_zone: "UTC",
    applications: "off",
    slug: null,
    questions: null,
    terms: null,
    terms_version: 0,
    sale_amounts: "shown",
    partner_links: false,
    assets: null,
    default_group_id: firstGroupOf(id),
    payments_compared: 0,
    min_payouts: {},
    payout_currency: null,
    debtor_name: null,
    debtor_iban: null,
    debtor_iban_sealed: null,
    debtor_bic: null,
    ...{ self_billing: "off", self_billing_prefix: "", require_tax_data: false },
    ...{ payer_name: null, payer_address: null, payer_country: null, payer_tax_id: null },
    payout_change_hold_days: 3,
    shard: 0,
    api_key_hash: await sha256Hex(api_key),
    api_key_last4: api_key.slice(-4),
    api_key_created_at: iso(now),
    api_key_last_used_at: null,
    connections,
    created_at: iso(now),
    updated_at: iso(now),
    ...Object.fromEntries(entries.filter(([name]) => !COLUMN.test(name))),
  });
  await db.insert(programs).values(program);
  await keep(id, connections);
  return { program, id: program.id, api_key, api: (...args) => callApi(api_key, ...args) };
}

/** A context outside any request; wake-ups are dropped, so that a test decides when deliveries and e-mails go out. */
export function testContext(now: number = Date.now()) {
  return {
    ...actingAs(
      baseContext(env, now, () => {}),
      actors.cron("a test"),
    ),
    wake: () => {},
  };
}

export function programContext({ program }: TestProgram, now: number = Date.now()): ProgramCtx {
  return forProgram(testContext(now), program);
}

export async function callApi<T>(api_key: string | null, ...request: ApiRequest): Promise<Reply<T>> {
  return call<T>(request[1], initOf(api_key, ...request));
}

export type ApiRequest = [method: string, path: string, body?: unknown, headers?: HeadersInit];

/** A request of the API with a key; a body that is not a text is sent as JSON. */
export function initOf(api_key: string | null, ...[method, , body, headers = {}]: ApiRequest): RequestInit {
  const all = new Headers(headers);
  if (api_key !== null && !all.has("authorization")) all.set("authorization", `Bearer ${api_key}`);
  if (body !== undefined && !all.has("content-type")) all.set("content-type", "application/json");
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { method, headers: all, ...(body === undefined ? {} : { body: text }) };
}

/** Calls the deployment as the network would. The body is parsed if it is JSON. */
export async function call<T>(path: string, init: RequestInit = {}): Promise<Reply<T>> {
  const request = new Request(`${BASE_URL}${path}`, { redirect: "manual", ...init });
  await clockPassed(calledAt);
  calledAt = Date.now();
  return replyTo<T>(request, (await staticFile(request)) ?? (await exports.default.fetch(request)));
}

let calledAt = 0;

/**
 * Lists order rows by time: as over a network, two requests in turn do not begin in one millisecond, nor the second
 * before the first if the machine's clock is set back a little. A clock that a test sets is left alone.
 */
async function clockPassed(at: number): Promise<void> {
  if (vi.isFakeTimers() || vi.getMockedSystemTime() !== null) return;
  while (Date.now() <= at && Date.now() > at - MOST_BEHIND) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Milliseconds. A larger difference is left by a clock that a test had set. */
const MOST_BEHIND = 2_000;

/** The platform's own answer, before the Worker (`[assets]` in `wrangler.toml`); null if there is no static file. */
export async function staticFile(request: Request): Promise<Response | null> {
  const { pathname } = new URL(request.url);
  const isStatic = /^\/(docs|assets|openapi\.json|llms\.txt|client\.d\.ts|service\.js)(\/|$)/.test(pathname);
  if (!isStatic || pathname === "/docs/search") return null;
  const response = await env.ASSETS.fetch(request.clone());
  return response.status === 404 ? null : response;
}

/** Pages for people, which are not part of the API. */
export function isPage(pathname: string): boolean {
  return /^\/($|(join|confirm-payout-details|sign-in|embed|sign-out|switch|dashboard|portal|assets|dev|unsubscribe)(\/|$))/.test(
    pathname,
  );
}

/** Every call so far, as "POST /api/v1/partners", for tests that check their coverage. */
export const CALLS: string[] = [];

/** A reply read to its end, and held to the OpenAPI document: every answer of the API that any test sees. */
export async function replyTo<T>({ method, url }: Request, response: Response): Promise<Reply<T>> {
  const { status, headers } = response;
  const text = await response.text();
  const isJson = headers.get("content-type")?.includes("json") ?? false;
  const body: unknown = isJson && text !== "" ? JSON.parse(text) : text;
  const { pathname } = new URL(url);
  CALLS.push(`${method} ${pathname}`);
  if (!isPage(pathname)) assertDocumented(method, pathname, status, body, headers);
  return { status, headers, body: body as T };
}

let counter = 0;

export type PartnerStatus = "invited" | "active" | "deactivated";

export type TestPartner = { id: string; slug: string; email: string; status: string; [field: string]: unknown };

/** A partner made through the API, activated by default. */
export async function makePartner(
  program: TestProgram,
  fields: Record<string, unknown> = {},
  status: PartnerStatus = "active",
): Promise<TestPartner> {
  const n = `${Date.now().toString(36)}${counter++}`;
  const given = { email: `p${n}@partners.example`, slug: `p${n}`, ...fields };
  const created = await program.api<TestPartner>("POST", "/api/v1/partners", given);
  if (created.status !== 201) throw new Error(`partner not created: ${JSON.stringify(created.body)}`);
  if (status === "invited") return created.body;
  const patched = await program.api<TestPartner>("PATCH", `/api/v1/partners/${created.body.id}`, { status });
  return patched.body;
}

/** A program, and a partner of it. */
export async function programOfPartner(
  fields: ProgramFields = {},
  ...partner: [fields?: Record<string, unknown>, status?: PartnerStatus]
): Promise<[program: TestProgram, partner: TestPartner]> {
  const program = await makeProgram(fields);
  return [program, await makePartner(program, ...partner)];
}

/** A program whose partner has the slug `jane`. */
export async function programOfJane(fields: ProgramFields = {}): Promise<TestProgram> {
  const [program] = await programOfPartner(fields, { slug: "jane" });
  return program;
}

/** A deployment that can be measured, grown and measured again; each measurement has subjects of its own. */
import { env } from "cloudflare:workers";
import { createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import { openDatabase } from "../../src/db/client.ts";
import { newId } from "../../src/lib/id.ts";
import { iso } from "../../src/lib/time.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { makeClaim } from "./claims.ts";
import { liveStory, run, type Story } from "./grown-program.ts";
import { sendA } from "./ledger.ts";
import { meterRowsRead } from "./metered-database.ts";
import { deliveriesOf } from "./outbound.ts";
import { API_KEY_A, makeCommissions, sealedFor } from "./payouts.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "./program.ts";
import { sessionCompleted } from "./provider-a.ts";
import { openVendor } from "./provider-a-api.ts";
import { uniqueId } from "./vendor.ts";
import { followLink, makeVisitor, requestLink, type Visitor } from "./visitor.ts";
import { callWith } from "./watched-database.ts";

export const meter = meterRowsRead(env.DB);
export const METERED = { DB: meter.binding };

/** A context outside any request, on the meter. */
export const meteredContext = (now?: number) => ({ ...testContext(now), db: openDatabase(meter.binding) });

export const send = async (path: string, init: RequestInit) => callWith<string>(METERED, path, init);

export interface World {
  program: TestProgram;
  story: Story;
  owner: Visitor;
  /** The payment provider, for payouts. */
  vendor: ReturnType<typeof openVendor>;
}

/** The subjects of operations: made again for each measurement, so that they do not grow with the rest. */
export interface Subject extends World {
  partner: { id: string; slug: string; email: string };
  portal: Visitor;
  /** The partner's, both pending. */
  commissions: string[];
  /** The partner's, pending at provider A, of two commissions each. */
  payouts: string[];
  payment: string;
  /** All of them are pending. */
  applications: string[];
  /** The invited partner. */
  invited: { id: string };
  /** Later than any other payment of the program. */
  paid_at: string;
  payment_intent: string;
  customer_email: string;
  flow: string;
  group: string;
  /** A member without the owner role. */
  member: string;
  api_key: string;
  /** The partner's, open: the first by the day of the payment. */
  claims: string[];
  /** The partner's, and one of another partner. */
  code: string;
  other_code: string;
  /** The endpoint with a history as long as the world is large. */
  endpoint: string;
  /** A failed delivery of that endpoint. */
  delivery: string;
  event: string;
}

export type Operation = (subject: Subject) => Promise<unknown>;

/** The addresses of endpoints that subjects have. */
const MADE = "https://subject-*";

let made = 0;

/** An unused name. */
export function fresh(): string {
  return `new${(made += 1)}`;
}

/** A program that has lived its story, with its owner signed in. */
export async function openWorld(): Promise<World> {
  const program = await makeProgram({
    api_key_last_used_at: iso(Date.now()),
    provider_a_api_key: API_KEY_A,
    live_only: false,
    auto_approve_days: 30,
  });
  const story = await liveStory(program);
  const owner = makeVisitor(send);
  await followLink(owner, (await createLinkByHand(testContext(), program.program.owner_email)).token);
  return { program, story, owner, vendor: openVendor({ keys: [API_KEY_A] }) };
}

/** Restores the rules of the story: a rule applied for another subject does not affect the next one. */
async function forgetRules({ id, program }: TestProgram): Promise<void> {
  await run("delete from flows where program_id = ?", id);
  await run("update programs set default_commission_pct = ? where id = ?", program.default_commission_pct, id);
  await run("update partners set commission_pct = null where program_id = ?", id);
  await run("delete from groups where program_id = ? and slug <> 'default'", id);
  await run("delete from past_rules where program_id = ?", id);
  await run("delete from rule_applications where program_id = ?", id);
}

/** `size`: how many deliveries the endpoint has behind it. */
export async function newSubject(world: World, size: number): Promise<Subject> {
  const { program, vendor } = world;
  const now = Date.now();
  const name = fresh();
  // Removes the rows of earlier subjects.
  await run(
    "update webhook_endpoints set deleted_at = created_at where program_id = ? and url glob ?",
    program.id,
    MADE,
  );
  await forgetRules(program);
  const partner = await makePartner(program, { slug: name, email: `${name}@partners.example` });
  const account = `acct_${name}`;
  vendor.accounts.set(account, { state: "active", email: "", body: {} });
  await run(
    "update partners set payout_method = 'provider_a', provider_a_account_id = ? where id = ?",
    account,
    partner.id,
  );
  const payment_intent = uniqueId("pi_");
  const customer_email = `${name}@customers.example`;
  const paid_at = await laterThanAll(program.id);
  const paid = { ref: name, email: customer_email, payment_intent, created: paid_at / 1_000 };
  await sendA(program, sessionCompleted(paid));
  const payouts = Array.from({ length: 3 }, () => newId("payout", now));
  for (const id of payouts) {
    await run(
      `insert into payouts (id, program_id, partner_id, amount_cents, currency, status, method, period_end, due_at,
        commission_count, attempt, created_at, updated_at, recipient_sealed, recipient)
      values (?1, ?2, ?3, 2000, 'USD', 'pending', 'provider_a', ?4, ?4, 2, 0, ?4, ?4, ?5, 'acct_****')`,
      ...[id, program.id, partner.id, iso(now), await sealedFor(id, account)],
    );
    await makeCommissions(program, partner.id, [{ payout_id: id }, { payout_id: id }]);
  }
  const commissions = await makeCommissions(program, partner.id, [{ status: "pending" }, { status: "pending" }]);
  const create = async (path: string, body: unknown) =>
    (await program.api<{ id: string }>("POST", `/api/v1${path}`, body)).body.id;
  const flow = await create("/flows", { name, action_type: "flat", action_value: 5 });
  const codes = await newCodes(program, partner);
  const sold = { day: iso(paid_at).slice(0, 10), email_domain: "customers.example" };
  const invited = await makePartner(program, {}, "invited");
  const claims = [await makeClaim(program, partner.id, sold)];
  for (const order_id of ["lost", "found"]) claims.push(await makeClaim(program, partner.id, { order_id }));
  const url = "https://subject-one.example.com/hook";
  const endpoint = await create("/webhooks", { url, events: ["partner.updated"] });
  await run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1)
    insert into deliveries (id, program_id, endpoint_id, event_id, event, status, attempt_count, created_at, completed_at)
    select substr(?2, 1, 24) || printf('%06d', i), ?3, ?4, substr(?5, 1, 24) || printf('%06d', i), 'partner.updated',
      'succeeded', 1, ?6, ?6 from n`,
    ...[size, newId("delivery", now), program.id, endpoint, newId("event", now), iso(now)],
  );
  await program.api("PATCH", `/api/v1/partners/${partner.id}`, { last_name: name });
  await run("update deliveries set status = 'succeeded', next_attempt_at = null where status = 'pending'");
  const delivery = (await deliveriesOf(program, endpoint)).at(-1)!.id;
  await run("update deliveries set status = 'failed', completed_at = created_at where id = ?", delivery);
  const portal = makeVisitor(send);
  await followLink(portal, (await requestLink(testContext(), partner.email))!.link.token);
  return {
    ...world,
    ...{ claims, invited, member: await newMember(program, name), api_key: await newKey(program, name), ...codes },
    ...{ partner, portal, payouts, payment_intent, customer_email, flow, endpoint, delivery, paid_at: iso(paid_at) },
    ...{ group: await create("/groups", { name, slug: name }) },
    ...{ commissions: commissions.map(({ id }) => id), applications: await newApplications(program, name) },
    payment: await idOf("select max(id) as id from payments where partner_id = ?", partner.id),
    event: await idOf("select max(id) as id from events where program_id = ?", program.id),
  };
}

async function newMember(program: TestProgram, name: string): Promise<string> {
  const body = { email: `${name}@team.example`, role: "viewer" };
  return (await program.api<{ id: string }>("POST", "/api/v1/members", body)).body.id;
}

async function newKey(program: TestProgram, name: string): Promise<string> {
  return (await program.api<{ id: string }>("POST", "/api/v1/api-keys", { name, scopes: ["read"] })).body.id;
}

/** Open applications, of people with a name of their own. */
async function newApplications(program: TestProgram, name: string): Promise<string[]> {
  const now = Date.now();
  const ids = Array.from({ length: 4 }, () => newId("application", now));
  for (const id of ids) {
    await run(
      `insert into applications (id, program_id, status, email, name, answers, token_hash, created_at, updated_at)
      values (?1, ?2, 'pending', ?1 || '@a.example', ?3 || ' ' || ?1, '[]', ?1, ?4, ?4)`,
      ...[id, program.id, name, iso(now)],
    );
  }
  return ids;
}

/** A code of the partner and one of another. */
async function newCodes(program: TestProgram, partner: { id: string; slug: string }) {
  const provider = VENDOR_NAMES[0];
  const name = fresh();
  const other = await makePartner(program, { slug: name, email: `${name}@partners.example` });
  const give = async (id: string, code: string) =>
    (await program.api<{ id: string }>("POST", `/api/v1/partners/${id}/codes`, { code, provider })).body.id;
  await give(other.id, name);
  return { code: await give(partner.id, partner.slug), other_code: name };
}

/** The first whole second (ms) after every payment of the program. */
async function laterThanAll(program_id: string): Promise<number> {
  const last = await idOf("select max(created_at) as id from payments where program_id = ?", program_id);
  const second = Math.ceil((Date.parse(last) + 1) / 1_000) * 1_000;
  while (Date.now() < second) await new Promise((resolve) => setTimeout(resolve, second - Date.now()));
  return second;
}

async function idOf(sql: string, value: string): Promise<string> {
  const row = await env.DB.prepare(sql).bind(value).first<{ id: string }>();
  return row!.id;
}

type Body = string | Record<string, unknown>;

/** The API call of a route, answered well; `{partner}`, `{payouts.1}` stand for the subject's ids. */
export function api(method: string, path: string, body?: Body | ((subject: Subject) => Body)): Operation {
  return async (subject) => {
    const address = path.replaceAll(/\{(\w+)(?:\.(\d))?\}/g, (_, name: keyof Subject, nth?: string) => {
      const value = subject[name];
      if (Array.isArray(value)) return (value as string[])[Number(nth)]!;
      return typeof value === "string" ? value : (value as { id: string }).id;
    });
    const given = typeof body === "function" ? body(subject) : body;
    await answered(method, address, `Bearer ${subject.program.api_key}`, given);
  };
}

/** An operator's call, answered well. */
export function admin(method: string, path: string, body?: (subject: Subject) => Body): Operation {
  return async (subject) => answered(method, path, "Bearer test-admin-token", body?.(subject));
}

/** A text is a CSV file, all else JSON. */
async function answered(method: string, path: string, authorization: string, body?: Body): Promise<void> {
  const isFile = typeof body === "string";
  const { status, body: reply } = await callWith(METERED, path, {
    method,
    headers: {
      authorization,
      "content-type": isFile ? "text/csv" : "application/json",
      ...(method === "GET" ? {} : { "Idempotency-Key": fresh() }),
    },
    ...(body === undefined ? {} : { body: isFile ? body : JSON.stringify(body) }),
  });
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(reply)}`);
}

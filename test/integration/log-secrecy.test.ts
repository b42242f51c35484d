/**
 * Log lines are JSON with the request id and never contain a secret or an e-mail address (DEP-5). A journey in which every
 * possible step fails, with marks in every secret and personal datum, checks all log output.
 */
import { createMessageBatch, createScheduledController } from "cloudflare:test";
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Bindings } from "../../src/env.ts";
import { unsubscribeToken } from "../../src/http/mails/unsubscribe.ts";
import worker from "../../src/index.ts";
import { bySecretSetting } from "../../src/providers/registry.ts";
import { playOutsideWorld, RESOLVER_URL } from "../support/dns.ts";
import { deliveriesOf } from "../support/outbound.ts";
import { callApi, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { bodyOfA, sessionCompleted, signA } from "../support/provider-a.ts";
import { customerEventB } from "../support/provider-b.ts";
import { callWith, watchDatabase, SILENT_QUEUE } from "../support/watched-database.ts";

const METHODS = ["log", "info", "warn", "error", "debug"] as const;
const MARKS = {
  owner: "marked-owner@people.example",
  partner: "marked-partner@people.example",
  payout: "marked-payout@people.example",
  customer: "marked-customer@people.example",
  secret_a: "whsec_markedsecretofa0123456789",
  secret_b: "pdl_ntfset_markedsecretofb0123456789",
  key_a: "rk_live_markedkeyofa",
  key_b: "pdl_live_apikey_markedkeyofb0123456789",
  password: "markedpassword",
};

const lines: { method: string; text: string }[] = [];
/** The keys in the requests to the vendors. */
const asked = new Set<string>();

/** The bindings of a production deployment. */
function production(overrides: Partial<Bindings> = {}): Partial<Bindings> {
  return { ENVIRONMENT: "production", DNS_RESOLVER_URL: RESOLVER_URL, ...overrides };
}

/** Refuses statements that write, with an error message that contains them, as a database's message may. */
function complaining(only = /insert|update/i): Partial<Bindings> {
  const { binding, roundTrips } = watchDatabase(env.DB, {
    before: (statements) => {
      if (!statements.some((sql) => only.test(sql))) return;
      const values = roundTrips.at(-1)?.flatMap((statement) => statement.values) ?? [];
      throw new Error(`D1_ERROR: near ${JSON.stringify(values)}: SQLITE_ERROR`);
    },
  });
  return production({ DB: binding });
}

describe("the log", () => {
  let program: TestProgram;
  const secrets: string[] = Object.values(MARKS);

  beforeAll(async () => {
    for (const method of METHODS) {
      vi.spyOn(console, method).mockImplementation((...args: unknown[]) => {
        lines.push({ method, text: args.map(String).join(" ") });
      });
    }
    program = await makeProgram({ owner_email: MARKS.owner });
    secrets.push(program.api_key);
    await journey(program, secrets);
  });
  afterAll(() => vi.restoreAllMocks());

  it("was written to in the journey, by all that failed in it", () => {
    const what = new Set(lines.map(({ text }) => (JSON.parse(text) as { what: string }).what));
    for (const reported of [
      "request failed",
      "no e-mail is set up",
      "e-mail not sent",
      "wake-ups not queued",
      "attempt failed",
      "job failed",
    ]) {
      expect([...what]).toContain(reported);
    }
    expect(lines.length).toBeGreaterThan(8);
    expect([...asked].toSorted()).toEqual([MARKS.key_b, MARKS.key_a].map((key) => `Bearer ${key}`));
  });

  it("has one JSON object a line, with a level and what happened (DEP-5)", () => {
    for (const { method, text } of lines) {
      const line = JSON.parse(text) as { level: string; what: string };
      expect([text, line.level]).toEqual([text, method]);
      expect(line.what.length).toBeGreaterThan(5);
      expect(text).not.toContain("\n");
    }
  });

  it("names the request of every line that is written in one", () => {
    const inRequests = ["request failed", "no e-mail is set up", "e-mail not sent", "wake-ups not queued"];
    const own = lines.map(({ text }) => JSON.parse(text) as { what: string; request_id?: string });
    const named = own.filter(({ what }) => inRequests.includes(what));
    expect(named.length).toBeGreaterThan(4);
    for (const { what, request_id } of named) {
      expect([what, request_id]).toEqual([what, expect.stringMatching(/^req_[0-9a-z]{26}$/)]);
    }
  });

  it("names the page of a link that failed without its secret", () => {
    const paths = lines.map(({ text }) => (JSON.parse(text) as { path?: string }).path ?? "");
    expect(paths.filter((path) => path.startsWith("/unsubscribe/"))).toEqual(
      Array.from({ length: 2 }, () => "/unsubscribe/[secret]"),
    );
  });

  it("has no secret, no address and nothing that opens a door (DEP-5)", () => {
    const all = lines.map(({ text }) => text).join("\n");
    for (const secret of secrets) expect([secret, all.includes(secret)]).toEqual([secret, false]);
    expect(all).not.toMatch(/@people\.example/);
    expect(all).not.toMatch(/marked/);
    expect(all).not.toMatch(/token=[A-Za-z0-9_-]{20}/);
    // The log does not contain part of a secret either: 43 characters are 256 bits.
    expect(all).not.toMatch(/(?<![\w-])[\w-]{43}(?![\w-])/);
  });
});

async function journey(program: TestProgram, secrets: string[]): Promise<void> {
  const authorization = `Bearer ${program.api_key}`;
  const json = { authorization, "content-type": "application/json" };
  const send = (bindings: Partial<Bindings>, method: string, path: string, body?: unknown, more = {}) =>
    callWith(bindings, path, {
      method,
      headers: { ...json, ...more },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  const settings = {
    ...bySecretSetting(({ setting }) => `marked_${setting}_0123456789`),
    provider_a_webhook_secret: MARKS.secret_a,
    provider_b_webhook_secret: MARKS.secret_b,
    provider_a_api_key: MARKS.key_a,
    provider_b_api_key: MARKS.key_b,
  };
  const partner = {
    email: MARKS.partner,
    slug: "public-slug",
    payout_email: MARKS.payout,
    payout_method: "provider_a",
  };

  // Every write is sent first to a failing database and then to a working one.
  const deaf = { sendBatch: () => Promise.reject(new Error(`queue of ${MARKS.partner} is away`)) };
  for (const bindings of [complaining(), production({ DELIVERIES: deaf as unknown as Bindings["DELIVERIES"] })]) {
    await send(bindings, "PATCH", "/api/v1/programs/me", settings);
    const endpoint = await send(bindings, "POST", "/api/v1/webhooks", {
      url: `https://hooks.example/${MARKS.password}`,
      events: ["*"],
    });
    const { secret } = endpoint.body;
    if (typeof secret === "string") secrets.push(secret);
    const made = await send(bindings, "POST", "/api/v1/partners", partner, { "Idempotency-Key": "once" });
    await send(bindings, "PATCH", `/api/v1/partners/${String(made.body["id"])}`, { status: "active" });
    await send(bindings, "POST", "/api/v1/customers/erase", { email: MARKS.customer });
    await send(bindings, "GET", `/api/v1/partners?search=${encodeURIComponent(MARKS.partner)}`);
    await send(bindings, "POST", "/admin/programs", { name: "x", owner_email: MARKS.owner }, admin());
    const link = await send(bindings, "POST", "/admin/sign-in-links", { email: MARKS.owner }, admin());
    const { url } = link.body;
    if (typeof url === "string") secrets.push(new URL(url).searchParams.get("token") ?? url);
    await payment(bindings, program);
    await askForLink(bindings);
    const refusing = { send: () => Promise.reject(new Error(`destination address ${MARKS.owner} is not verified`)) };
    await askForLink({ ...bindings, EMAIL: refusing, EMAIL_FROM: "from@people.example" });
  }
  await send(complaining(/select/i), "GET", `/api/v1/partners/${MARKS.partner}`);
  await callApi("wrong-admin-token-marked", "GET", "/admin/programs");
  const about = { program_id: program.id, reader: { audience: "owner" }, kind: "weekly_summary" } as const;
  const token = await unsubscribeToken(testContext().sealer, { ...about, address: MARKS.owner });
  secrets.push(token, token.slice(-20));
  for (const method of ["GET", "POST"]) await callWith(complaining(/./), `/unsubscribe/${token}`, { method });

  await attempts(program);
  await readings((bindings, provider) => send(bindings, "POST", `/api/v1/integrations/${provider}/reconcile`, {}));
  // The jobs of all crons, with a failing database.
  for (const cron of ["* * * * *", "17 3 * * *", "23 0 1 * *", "not a cron"]) {
    const context = createExecutionContext();
    const bindings = { ...(env as unknown as Bindings), ...complaining(/./), DELIVERIES: SILENT_QUEUE };
    await worker.scheduled(createScheduledController({ cron, scheduledTime: new Date() }), bindings, context);
    await waitOnExecutionContext(context);
  }
}

function admin(): Record<string, string> {
  return { authorization: "Bearer test-admin-token" };
}

async function payment(bindings: Partial<Bindings>, program: TestProgram): Promise<void> {
  const body = bodyOfA(sessionCompleted({ ref: "public-slug", email: MARKS.customer }));
  for (const secret of [MARKS.secret_a, "whsec_wrong"]) {
    const headers = { "content-type": "application/json", "provider-a-signature": await signA(body, secret) };
    await callWith(bindings, `/webhooks/provider_a?program_id=${program.id}`, { method: "POST", headers, body });
  }
}

async function askForLink(bindings: Partial<Bindings>): Promise<void> {
  const page = await callWith<string>(bindings, "/sign-in");
  const cookie = page.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ");
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)?.[1] ?? "";
  const body = new URLSearchParams({ email: MARKS.owner, csrf });
  await callWith(bindings, "/sign-in", { method: "POST", headers: { cookie }, body });
}

/**
 * Readings of the vendors' lists: calls that fail with an error that repeats the request, and events that cannot be stored,
 * cannot be parsed, or contain a person.
 */
async function readings(read: (bindings: Partial<Bindings>, provider: string) => Promise<unknown>): Promise<void> {
  const complaint = {
    id: "evt_marked",
    type: "invoice.paid",
    object: MARKS.customer,
    data: { object: MARKS.customer },
  };
  const [a, b] = [
    sessionCompleted({ ref: "public-slug", email: MARKS.customer }),
    customerEventB({ email: MARKS.customer }),
  ];
  const broken = { ...b, event_id: `${b.event_id}0`, data: MARKS.customer };
  const pagination = { per_page: 50, next: "https://vendor.example/", has_more: false, estimated_total: 2 };
  const lists = {
    provider_a: { object: "list", url: "/v1/events", has_more: false, data: [a, complaint] },
    provider_b: { data: [b, broken], meta: { request_id: "req_1", pagination } },
  };
  const answers: ((key: string, list: object) => Response)[] = [
    (key) => {
      throw new TypeError(`the connection with ${key} was lost`);
    },
    (key) => new Response(`refused: ${key}`, { status: 500 }),
    (key) => Response.json({ error: { message: key, detail: key, code: key } }, { status: 403 }),
    (_key, list) => Response.json(list),
  ];
  for (const [provider, list] of Object.entries(lists)) {
    for (const answer of answers) {
      const played = vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
        const key = new Request(input, init).headers.get("authorization") ?? "";
        asked.add(key);
        return answer(key, list);
      });
      await read(complaining(/into provider_events/i), provider);
      await read(production({ DELIVERIES: SILENT_QUEUE }), provider);
      played.mockRestore();
    }
  }
}

/** Attempts at a receiver that echoes the request, and at an unreachable one. */
async function attempts(program: TestProgram): Promise<void> {
  const rows = await deliveriesOf(program);
  const answers = [
    (text: string) => new Response(`${text} ${MARKS.customer}`, { status: 500 }),
    () => {
      throw new TypeError(`connection to https://u:${MARKS.password}@hooks.example/ for ${MARKS.partner} was lost`);
    },
  ];
  for (const [i, row] of rows.slice(0, 2).entries()) {
    const world = playOutsideWorld({ receivers: { "hooks.example": ({ text }) => answers[i % 2]!(text) } });
    const { fetch } = world;
    const played = vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
      return fetch(typeof input === "string" ? input : input instanceof URL ? input.href : input.url, init);
    });
    const bindings = { ...(env as unknown as Bindings), ...production(), DELIVERIES: SILENT_QUEUE };
    const context = createExecutionContext();
    const message = { id: `m${i}`, timestamp: new Date(), attempts: 1, body: { delivery_id: row.id, shard: 0 } };
    await worker.queue(createMessageBatch("deliveries", [message]), bindings, context);
    await waitOnExecutionContext(context);
    played.mockRestore();
  }
}

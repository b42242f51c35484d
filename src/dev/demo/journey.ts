import { brotliCompressSync } from "node:zlib";
import { saleAt } from "../../../test/support/sale.ts";
import { signed } from "../../../test/support/signed.ts";
import { byVendor, claimsPrograms, VENDORS, VENDOR_NAMES, type ListedVendor } from "../../providers/registry.ts";
import { call, dollars, expectSame, expectStatus } from "./client.ts";
import type { PlayedWorld } from "./receiver.ts";
import { eventually, requireMade, Steps } from "./steps.ts";

export interface Target {
  url: string;
  /** The operator's token, with which the demo creates its own program if it has no `api_key`. */
  admin_token?: string | undefined;
  /** The key of a program to play in. The demo replaces its provider secrets, and deletes its own flows at the end. */
  api_key?: string | undefined;
  /** The played outside world. Without it, the webhook goes to a host name that does not exist. */
  world?: PlayedWorld | undefined;
}

/** The host name of the demo's receiver, which does not exist in public DNS. */
export const RECEIVER_HOST = "hooks.shop.example";

const BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
const SECRETS = byVendor((name) => `whsec_demo_${name}_${crypto.randomUUID()}`);
const SETTINGS = Object.fromEntries(VENDOR_NAMES.map((name) => [`${name}_webhook_secret`, SECRETS[name]]));

interface Identified {
  id: string;
}
interface Commission extends Identified {
  amount_cents: number;
  txn_amount_cents: number;
  status: string;
  flow_id: string | null;
  payment_id: string;
  provider: string;
}
interface Trace {
  arithmetic: string | null;
  flows: { name: string; matched: boolean }[];
}
interface Delivery extends Identified {
  event: string;
  status: string;
  next_attempt_at: string | null;
  attempts: { number: number; status_code: number | null; error: string | null; duration_ms: number }[];
}
interface List<T> {
  data: T[];
  total: number;
}

/** The result; the payment is missing if its step failed. */
export interface Played {
  steps: Steps;
  partner_email: string;
  payment_id: string | undefined;
}

/** Plays the main journey of the service over HTTP alone. */
export async function journey({ url, admin_token, api_key, world }: Target): Promise<Played> {
  const steps = new Steps();
  const isOwn = api_key === undefined;
  const slug = isOwn ? "jane" : `jane-${crypto.randomUUID().slice(0, 8)}`;
  const partner_email = `${slug}@partners.example`;
  // The flows take precedence over those of an existing program, for this partner alone.
  const priority = 1_000_000;
  const theirs = { field: "partner_slug", op: "eq", value: slug };
  let program: Identified | undefined;
  let key = api_key;
  let partner: Identified | undefined;
  let big: Identified | undefined;
  let every: Identified | undefined;
  let endpoint: (Identified & { secret: string }) | undefined;
  let commission: Commission | undefined;

  const api = <T>(method: string, path: string, body?: unknown) =>
    call<T>(`${url}/api/v1${path}`, { method, bearer: requireMade(key, "API key"), body });

  await steps.step("The service answers", "GET /healthz is 200 ok", async () => {
    const { status } = expectStatus(await call<{ status: string }>(`${url}/healthz`), 200);
    expectSame(status, "ok", "its status");
    return url;
  });

  if (isOwn) {
    await steps.step("The operator creates a program", "201 with an API key", async () => {
      const body = { name: "Demo shop", owner_email: "owner@shop.example", domain: "shop.example" };
      const reply = await call<{ program: Identified; api_key: string }>(`${url}/admin/programs`, {
        ...{ method: "POST", bearer: admin_token ?? "", body },
      });
      ({ program, api_key: key } = expectStatus(reply, 201));
      return program.id;
    });
  }
  await steps.step("The API key opens its program", "200, and 401 without the key", async () => {
    program = expectStatus(await api<Identified & { currency: string }>("GET", "/programs/me"), 200);
    expectStatus(await call(`${url}/api/v1/programs/me`), 401);
    return `${program.id}; without the key 401`;
  });

  await steps.step("A partner is registered", "201, invited", async () => {
    const body = { email: partner_email, first_name: "Jane", slug };
    const reply = await api<Identified & { status: string }>("POST", "/partners", body);
    partner = expectStatus(reply, 201);
    expectSame(reply.body.status, "invited", "the status");
    return `${partner.id}, link https://shop.example/?ref=${slug}, invited`;
  });
  await steps.step("The partner is activated", "200, active", async () => {
    const path = `/partners/${requireMade(partner, "partner").id}`;
    const { status } = expectStatus(await api<{ status: string }>("PATCH", path, { status: "active" }), 200);
    expectSame(status, "active", "the status");
    return status;
  });
  await steps.step("A flow for big purchases", "201", async () => {
    const conditions = [theirs, { field: "txn_amount_cents", op: "gt", value: 20_000 }];
    const body = { name: "Big purchases", action_type: "percentage", action_value: 30, conditions, priority };
    big = expectStatus(await api<Identified>("POST", "/flows", body), 201);
    return "30 % of payments over 200.00 USD, evaluated first";
  });
  await steps.step("A flow for all others", "201", async () => {
    const body = {
      name: "Every purchase",
      action_type: "percentage",
      action_value: 12.5,
      conditions: [theirs],
      priority: priority - 1,
    };
    every = expectStatus(await api<Identified>("POST", "/flows", body), 201);
    return "12.5 % of every payment";
  });
  await steps.step("A webhook endpoint is registered", "201 with its signing secret", async () => {
    const body = { url: `https://${RECEIVER_HOST}/affiliate`, events: ["commission.created"] };
    endpoint = expectStatus(await api<Identified & { secret: string }>("POST", "/webhooks", body), 201);
    if (!endpoint.secret.startsWith("whsec_")) throw new Error("there is no secret in the reply");
    return `${endpoint.id} at ${body.url}`;
  });

  await steps.step("A page loads the tracking script", "GET /service.js is at most 1,280 bytes in brotli", async () => {
    const reply = await call<string>(`${url}/service.js`);
    const size = brotliCompressSync(expectStatus(reply, 200)).length;
    if (size > 1280) throw new Error(`it is ${size} bytes in brotli`);
    return `${size} bytes in brotli, ${reply.headers.get("cache-control")}`;
  });
  const landing = "/pricing";
  await steps.step("A visitor follows the partner's link", "POST /click is 202", async () => {
    const click = {
      program_id: requireMade(program, "program").id,
      ref: slug,
      landing,
      referrer: "https://blog.example/",
    };
    const headers = { "content-type": "text/plain", "user-agent": BROWSER, origin: "https://shop.example" };
    expectStatus(await call(`${url}/click`, { method: "POST", headers, body: JSON.stringify(click) }), 202);
    return "accepted and durable";
  });
  await steps.step("The click is in the audit log", "one event of type click, after some seconds", async () => {
    const started = Date.now();
    const event = await eventually(
      90,
      async () => {
        const list = await api<List<{ payload: Record<string, unknown> }>>("GET", "/events?type=click");
        return expectStatus(list, 200).data.find(({ payload }) => payload["ref"] === slug);
      },
      "the click",
    );
    expectSame(event.payload["landing"], landing, "its landing");
    return `after ${((Date.now() - started) / 1000).toFixed(1)} s, ref ${slug}, landing ${landing}`;
  });

  await steps.step("The owner pastes the providers' signing secrets", "200, all set", async () => {
    const settings = expectStatus(await api<Record<string, unknown>>("PATCH", "/programs/me", SETTINGS), 200);
    for (const name of VENDOR_NAMES) expectSame(settings[`${name}_webhook_secret_set`], true, name);
    return "all set, shown nowhere again";
  });
  const textOf = (name: ListedVendor) => VENDORS.find((one) => one.name === name)!.text;
  const sell = async (name: ListedVendor, body: string, secret: string = SECRETS[name]) => {
    // If events claim their program, the address needs no program.
    const query = claimsPrograms(name) ? "" : `?program_id=${requireMade(program, "program").id}`;
    const headers = await signed(name, body, secret);
    return call<{ outcome: string }>(`${url}/webhooks/${name}${query}`, { method: "POST", headers, body });
  };
  const [first, ...others] = VENDOR_NAMES as readonly [ListedVendor, ...ListedVendor[]];
  const saleOf = (name: ListedVendor, amount: number, tax: number) =>
    saleAt(name, { ref: slug, program: requireMade(program, "program").id, amount, tax });
  const firstSale = program && saleOf(first, 12_000, 2_000);
  await steps.step("A provider's event with a wrong signature", "401, nothing stored", async () => {
    expectStatus(await sell(first, requireMade(firstSale, "payment"), "whsec_somebody_elses"), 401);
    return `refused with 401 at ${textOf(first)}'s address`;
  });
  await steps.step(`A payment of 120.00 USD at ${textOf(first)}, 20.00 of it tax`, "200, a commission", async () => {
    const { outcome } = expectStatus(await sell(first, requireMade(firstSale, "payment")), 200);
    expectSame(outcome, "commission", "the outcome");
    return "200, commission";
  });
  await steps.step("The same event again", "200, and still one commission", async () => {
    expectStatus(await sell(first, requireMade(firstSale, "payment")), 200);
    const path = `/commissions?partner_id=${requireMade(partner, "partner").id}`;
    expectSame(expectStatus(await api<List<Commission>>("GET", path), 200).total, 1, "the number of commissions");
    return "still one commission";
  });
  for (const name of others) {
    await steps.step(`A payment of 300.00 USD at ${textOf(name)}`, "200, a commission", async () => {
      const { outcome } = expectStatus(await sell(name, saleOf(name, 30_000, 0)), 200);
      expectSame(outcome, "commission", "the outcome");
      return "200, commission";
    });
  }
  const sales = VENDOR_NAMES.length;
  const earned = 1_250 + 9_000 * others.length;

  await steps.step("The commissions", "12.5 % of 100.00 and 30 % of 300.00 USD, pending", async () => {
    const path = `/commissions?partner_id=${requireMade(partner, "partner").id}`;
    const { data } = expectStatus(await api<List<Commission>>("GET", path), 200);
    const of = (provider: string) =>
      requireMade(
        data.find((row) => row.provider === provider),
        `commission of ${provider}`,
      );
    commission = of(first);
    expectSame(commission.amount_cents, 1_250, `the amount for ${textOf(first)}'s payment`);
    expectSame(commission.txn_amount_cents, 10_000, "its base");
    expectSame(commission.flow_id, requireMade(every, "second flow").id, "its flow");
    for (const name of others) {
      expectSame(of(name).amount_cents, 9_000, `the amount for ${textOf(name)}'s payment`);
      expectSame(of(name).flow_id, requireMade(big, "first flow").id, "its flow");
    }
    expectSame(commission.status, "pending", "the status");
    return data.map((row) => `${dollars(row.amount_cents)} of ${dollars(row.txn_amount_cents)}`).join(", ");
  });
  await steps.step("Why it is that much", "the first flow did not match, the second one did", async () => {
    const path = `/payments/${requireMade(commission, "commission").payment_id}`;
    const { trace } = expectStatus(await api<{ trace: Trace }>("GET", path), 200);
    const tried = trace.flows.map(({ name, matched }) => `${name} ${matched ? "matched" : "did not match"}`);
    expectSame(tried.join(", "), "Big purchases did not match, Every purchase matched", "the trace");
    return `${tried.join(", ")}: ${trace.arithmetic}`;
  });
  await steps.step("The partner's stats", `${sales} commissions, ${dollars(earned)} pending`, async () => {
    const path = `/partners/${requireMade(partner, "partner").id}`;
    const { stats } = expectStatus(await api<{ stats: Record<string, number> }>("GET", path), 200);
    expectSame(stats["total_commissions"], sales, "the number of commissions");
    expectSame(stats["total_earned_cents"], earned, "the sum earned");
    expectSame(stats["pending_cents"], earned, "the sum pending");
    return `${sales} commissions, ${dollars(earned)} earned, all of it pending`;
  });
  await steps.step("The audit log", "every occurrence once", async () => {
    const expected: Record<string, number> = {
      "partner.created": 1,
      "partner.updated": 1,
      "flow.created": 2,
      "webhook_endpoint.created": 1,
      click: 1,
      ...Object.fromEntries(VENDOR_NAMES.map((name) => [`webhook.${name}`, 1])),
      "commission.created": sales,
    };
    for (const [type, count] of Object.entries(expected)) {
      const { total } = expectStatus(await api<List<unknown>>("GET", `/events?type=${type}`), 200);
      if (isOwn ? total !== count : total < count) throw new Error(`${type} is there ${total} times`);
    }
    const { total } = expectStatus(await api<List<unknown>>("GET", "/events"), 200);
    return `${total} events: ${Object.entries(expected)
      .map(([type, count]) => `${type} ${count}`)
      .join(", ")}`;
  });
  await steps.step("The integrations", "every provider configured", async () => {
    const status = expectStatus(await api<Record<string, { configured: boolean }>>("GET", "/integrations/status"), 200);
    for (const name of VENDOR_NAMES) expectSame(status[name]?.configured, true, name);
    return "every provider configured";
  });

  const outcome = world ? "succeeded, 200" : "attempt 1 failed: no such name, attempt 2 in 5 minutes";
  await steps.step("The webhooks to the endpoint", `one delivery for each commission, ${outcome}`, async () => {
    const path = `/webhooks/${requireMade(endpoint, "endpoint").id}`;
    const deliveries = await eventually(
      90,
      async () => {
        const { deliveries: all } = expectStatus(await api<{ deliveries: Delivery[] }>("GET", path), 200);
        return all.length === sales && all.every(({ attempts }) => attempts.length > 0) ? all : undefined;
      },
      "the first attempt of each delivery",
    );
    for (const { event, status, attempts, next_attempt_at } of deliveries) {
      expectSame(event, "commission.created", "the event");
      expectSame(status, world ? "succeeded" : "pending", "the status");
      expectSame(attempts[0]?.error, world ? null : "dns", "the error of attempt 1");
      if (world) expectSame(attempts[0]?.status_code, 200, "the status code of attempt 1");
      else if (!next_attempt_at) throw new Error("no second attempt is planned");
    }
    return deliveries
      .map(
        ({ id, attempts: [first] }) =>
          `${id} attempt 1 ${first?.error ?? first?.status_code} in ${first?.duration_ms} ms`,
      )
      .join(", ");
  });
  if (world) {
    await steps.step("The receiver checks their signatures", "each holds", async () => {
      const received = world.received(requireMade(endpoint, "endpoint").secret);
      expectSame(received.length, sales, "the number received");
      expectSame(
        received.every(({ signed }) => signed),
        true,
        "each signature holding",
      );
      return "X-Service-Signature and the Standard Webhooks headers hold for each";
    });
  }
  if (!isOwn) {
    await steps.step(
      "What the demo set up is removed",
      "the flows, the endpoint and the providers' secrets",
      async () => {
        for (const flow of [big, every]) if (flow) expectStatus(await api("DELETE", `/flows/${flow.id}`), 200);
        if (endpoint) expectStatus(await api("DELETE", `/webhooks/${endpoint.id}`), 200);
        const cleared = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, null]));
        expectStatus(await api("PATCH", "/programs/me", cleared), 200);
        return "the partner, the payments and the commissions stay";
      },
    );
  }
  return { steps, partner_email, payment_id: commission?.payment_id };
}

/** Each snippet of the Integration page, run against pages and an API that behave like the vendor's. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import Stripe from "stripe";
import { Paddle, type Environment } from "@paddle/paddle-node-sdk";
import type { Route } from "playwright-core";
import { CONSENT_CALL } from "../../src/domain/installation.ts";
import type { Snippet, Vendor } from "../../src/providers/provider.ts";
import { VENDORS } from "../../src/providers/registry.ts";
import { invoicePaid, paymentIntentSucceeded, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { refusedByA } from "../support/vendor-a-requests.ts";
import { refusedByB } from "../support/vendor-b-requests.ts";
import {
  PROGRAM,
  scriptTag,
  SHOP,
  startTrackerWorld,
  until,
  type TrackerWorld,
  type Visitor,
} from "./tracker-world.ts";

const VALUES = { program_id: PROGRAM, slug: "ada", domain: new URL(SHOP).host };

/** The data that a checkout gave to the vendor: the query of an address, or the body of a request. */
type Asked = URLSearchParams | Record<string, unknown>;

let world: TrackerWorld;
let visitor: Visitor;
let vendor: Server;
let asked: Asked[];

before(async () => {
  world = await startTrackerWorld();
  vendor = createServer((request, response) => {
    reply(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => vendor.listen(0, "127.0.0.1", resolve));
});
after(async () => {
  await world.close();
  vendor.closeAllConnections();
  await new Promise((resolve) => vendor.close(resolve));
});
afterEach(async () => {
  await visitor.context.close();
  assert.deepEqual(visitor.thrown, []);
  world.reset();
});

/** The vendors' APIs: the request as each describes it, and an object as they would make one. */
async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = Buffer.concat(await Array.fromAsync(request)).toString();
  const url = new URL(request.url!, "http://vendor.test");
  const type = request.headers["content-type"] ?? null;
  const sent = { method: request.method!, url, type, body };
  const refused = url.pathname.startsWith("/v1/") ? refusedByA(sent) : refusedByB(sent);
  const isForm = type?.startsWith("application/x-www-form-urlencoded");
  asked.push(isForm ? new URLSearchParams(body) : (JSON.parse(body) as Asked));
  const { status, body: shown } = refused ?? { status: 200, body: REPLIES[url.pathname] };
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(shown));
}

const SECRET = "secret_of_the_vendor";
const REPLIES: Record<string, unknown> = {
  "/v1/checkout/sessions": { id: "cs_1", object: "checkout.session", url: `${SHOP}/hosted`, client_secret: SECRET },
  "/v1/payment_intents": { id: "pi_1", object: "payment_intent", client_secret: SECRET },
  "/v1/subscriptions": {
    id: "sub_1",
    object: "subscription",
    latest_invoice: { id: "in_1", object: "invoice", confirmation_secret: { client_secret: SECRET } },
  },
  "/transactions": { data: transactionCompleted({ id: "txn_1" }).data, meta: { request_id: "req_1" } },
};

/** An element of the vendor's: it works on its own, and reads the attribute at the time of the purchase. */
function paymentElement(name: string): string {
  return `customElements.define("${name}", class extends HTMLElement {
    connectedCallback() {
      this.attachShadow({ mode: "closed" });
      this.addEventListener("subscribe", () => {
        location.href = "https://buy.stripe.com/table?client_reference_id=" + this.getAttribute("client-reference-id");
      });
    }
  })`;
}

/** The vendors' scripts for the page, as far as the snippets call them. */
const SCRIPTS: Record<string, string> = {
  "https://js.stripe.com/dahlia/stripe.js": `window.Stripe = () => ({
    createEmbeddedCheckoutPage: async ({ fetchClientSecret }) => {
      const secret = await fetchClientSecret();
      return { mount: (place) => document.querySelector(place).append(secret) };
    },
    elements: ({ clientSecret }) => ({
      create: () => ({ mount: (place) => document.querySelector(place).append(clientSecret) }),
    }),
    confirmPayment: async () => { document.title = "confirmed"; },
    initCheckoutElementsSdk: ({ clientSecret }) => ({
      createPaymentElement: () => ({ mount: (place) => document.querySelector(place).append(clientSecret) }),
      loadActions: async () => ({ type: "success", actions: { confirm: async () => { document.title = "confirmed"; } } }),
    }),
  })`,
  "https://js.stripe.com/v3/pricing-table.js": paymentElement("stripe-pricing-table"),
  "https://js.stripe.com/v3/buy-button.js": paymentElement("stripe-buy-button"),
  "https://cdn.paddle.com/paddle/v2/paddle.js": `window.opened = []; window.Paddle = {
    Initialize({ token }) { if (!token) throw new Error("no token"); },
    Checkout: { open(what) { window.opened.push(JSON.parse(JSON.stringify(what))); } },
  }`,
};

/** The snippet's server code with the vendor's own library. */
async function serve(snippet: Snippet, ref: unknown): Promise<string> {
  const { port } = vendor.address() as AddressInfo;
  const stripe = new Stripe("sk_test_x", { host: "127.0.0.1", port, protocol: "http", maxNetworkRetries: 0 });
  const paddle = new Paddle("pdl_x", { environment: `http://127.0.0.1:${port}` as Environment });
  const AsyncFunction = (async () => {}).constructor as new (
    ...texts: string[]
  ) => (...values: unknown[]) => Promise<string>;
  return new AsyncFunction("stripe", "paddle", "ref", snippet.server!(VALUES))(stripe, paddle, ref);
}

/** A visitor lands on the page that has the snippet; the test runs the clock of a timed one. */
async function land(path: string, snippet: Snippet, tag = scriptTag("defer"), isTimed = false): Promise<void> {
  asked = [];
  visitor = await world.visitor();
  if (isTimed) await visitor.page.clock.install();
  world.html = () => tag + snippet.page!(VALUES);
  await visitor.page.route(/^https:/, (route: Route) => {
    const url = route.request().url();
    const body = SCRIPTS[url];
    if (body !== undefined) return route.fulfill({ contentType: "text/javascript", body });
    asked.push(new URL(url).searchParams);
    return route.fulfill({ contentType: "text/html", body: "<title>pay</title>" });
  });
  await visitor.page.route(`${SHOP}/checkout`, async (route: Route) => {
    const { ref } = route.request().postDataJSON() as { ref?: unknown };
    try {
      await route.fulfill({ contentType: "text/plain", body: await serve(snippet, ref) });
    } catch (refused) {
      visitor.thrown.push((refused as Error).message);
      await visitor.page.close();
    }
  });
  await visitor.page.goto(SHOP + path);
}

const opened = () =>
  visitor.page.evaluate(() => (globalThis as unknown as { opened: Record<string, unknown>[] }).opened);
const click = (selector: string) => visitor.page.locator(selector).click();
const pay = async () => {
  await click("#payment button");
  await until(async () => (await visitor.page.title()) === "confirmed");
};
const mounted = (selector: string) => visitor.page.locator(selector, { hasText: SECRET }).waitFor();
const field = (name: string) => (asked[0] as URLSearchParams).get(name);

/** A visitor's actions on the page of a snippet; and the vendor's event of the data that it received. */
const DRIVEN: Record<string, { visit: () => Promise<unknown>; event: () => object | Promise<object> }> = {
  "Hosted checkout": {
    visit: async () => [await click("#buy"), await visitor.page.waitForURL(`${SHOP}/hosted`)],
    event: () => sessionCompleted({ ref: field("client_reference_id") }),
  },
  "Hosted checkout of a subscription": {
    visit: async () => [await click("#buy"), await visitor.page.waitForURL(`${SHOP}/hosted`)],
    event: () => renewal(field("subscription_data[metadata][service_ref]")),
  },
  "Embedded checkout": {
    visit: () => mounted("#checkout"),
    event: () => sessionCompleted({ ref: field("client_reference_id") }),
  },
  "Payment link": {
    visit: () => click("a"),
    event: () => sessionCompleted({ ref: field("client_reference_id") }),
  },
  "Pricing table": {
    visit: () => subscribe("stripe-pricing-table"),
    event: () => sessionCompleted({ ref: referenceOf("client_reference_id") }),
  },
  "Buy button": {
    visit: () => subscribe("stripe-buy-button"),
    event: () => sessionCompleted({ ref: referenceOf("client_reference_id") }),
  },
  Elements: {
    visit: async () => [await mounted("#element"), await pay()],
    event: () => sessionCompleted({ ref: field("client_reference_id") }),
  },
  "Subscription made through the API": {
    visit: async () => [await mounted("#element"), await pay()],
    event: () => renewal(field("metadata[service_ref]")),
  },
  "Payment intent made through the API": {
    visit: async () => [await mounted("#element"), await pay()],
    event: () => paymentIntentSucceeded({ ref: field("metadata[service_ref]") }),
  },
  "Overlay checkout": {
    visit: () => click("#buy"),
    event: async () => transactionCompleted({ custom_data: (await opened())[0]!["customData"] }),
  },
  "Inline checkout": {
    visit: () => until(async () => (await opened()).length === 1),
    event: async () => transactionCompleted({ custom_data: (await opened())[0]!["customData"] }),
  },
  "Transaction made on your server": {
    visit: async () => {
      await click("#buy");
      await until(async () => (await opened())[0]?.["transactionId"] === "txn_1");
    },
    event: () => transactionCompleted({ custom_data: (asked[0] as Record<string, unknown>)["custom_data"] }),
  },
};

/** Buys in an element of the vendor's, once the tracking script has had its turn. */
async function subscribe(name: string): Promise<void> {
  await until(() =>
    visitor.page.evaluate((tag) => {
      const { Service } = globalThis as unknown as { Service?: { getRef?: () => string | null } };
      const isGiven = document.querySelector(tag)!.hasAttribute("client-reference-id");
      return customElements.get(tag) !== undefined && Service?.getRef !== undefined && (isGiven || !Service.getRef());
    }, name),
  );
  await visitor.page.evaluate((tag) => document.querySelector(tag)!.dispatchEvent(new Event("subscribe")), name);
  await until(() => asked.length > 0);
}

/** The reference from an element; null without the attribute. */
function referenceOf(name: string): string | null {
  const value = field(name);
  return value === "null" ? null : value;
}

/** The metadata of a subscription comes with each of its invoices. */
function renewal(ref: string | null): object {
  return invoicePaid({ ref });
}

/** All that is read of the event the vendor then sends. */
function heardOf(provider: Vendor, event: object): string {
  const result = provider.parse(JSON.parse(JSON.stringify(event)));
  assert.ok(result.ok, JSON.stringify(result));
  return JSON.stringify(result.event.facts);
}

for (const provider of VENDORS) {
  describe(`the checkouts of ${provider.name} (TRACK-13)`, () => {
    for (const snippet of provider.checkout.snippets) {
      it(`${snippet.label}: the payment names the partner whose link was followed, or nobody`, async () => {
        const { visit, event } = DRIVEN[snippet.label]!;
        await land("/?ref=jane", snippet);
        await visit();
        assert.match(heardOf(provider, await event()), /"jane"/);
        await visitor.context.close();
        await land("/", snippet);
        await visit();
        assert.doesNotMatch(heardOf(provider, await event()), /"jane"|"ada"|undefined/);
        if (!snippet.page!(VALUES).includes("getRef")) return;
        await visitor.context.close();
        // The browser blocks the script, and the consent tool has queued its call.
        await land("/?ref=jane", snippet, `<script>${CONSENT_CALL}</script>`);
        await visit();
        assert.deepEqual(visitor.thrown, []);
      });
    }
  });
}

describe("payment elements of a page (TRACK-13)", () => {
  it("get the reference where they come late and are several, and keep what the page gave them", async () => {
    const page = () => `<stripe-buy-button publishable-key="pk" client-reference-id="cart-1"></stripe-buy-button>`;
    await land("/?ref=jane", { label: "", page, server: null });
    await visitor.page.evaluate(() => {
      for (const tag of ["stripe-pricing-table", "stripe-buy-button", "stripe-buy-button", "div"]) {
        const element = document.createElement(tag);
        if (tag !== "div") element.setAttribute("publishable-key", "pk");
        document.body.append(element);
      }
    });
    const given = () =>
      visitor.page.evaluate(() =>
        [...document.querySelectorAll("stripe-pricing-table, stripe-buy-button, div")].map((element) =>
          element.getAttribute("client-reference-id"),
        ),
      );
    await until(async () => (await given()).filter((ref) => ref === "jane").length === 3);
    assert.deepEqual(await given(), ["cart-1", "jane", "jane", "jane", null]);
  });

  it("get none where there is none, and the one that comes later", async () => {
    const page = () => `<stripe-buy-button publishable-key="pk"></stripe-buy-button>`;
    await land("/", { label: "", page, server: null }, scriptTag("defer"), true);
    await visitor.page.clock.runFor(10_000);
    const given = () =>
      visitor.page.evaluate(() => document.querySelector("stripe-buy-button")!.getAttribute("client-reference-id"));
    assert.equal(await given(), null);
    await visitor.page.evaluate(() => history.pushState(null, "", "/?ref=jane"));
    await visitor.page.clock.runFor(1_000);
    await until(async () => (await given()) === "jane");
  });
});

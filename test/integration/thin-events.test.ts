/** Provider A's thin events: each that is needed counts as its snapshot event does, or is not acknowledged. */
import { env } from "cloudflare:workers";
import Stripe from "stripe";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readEventLists } from "../../src/core/inbound/read-list.ts";
import { readThin } from "../../src/core/inbound/thin.ts";
import type { ProgramCtx } from "../../src/core/kernel/context.ts";
import { UNREAD_REASONS } from "../../src/domain/refusal.ts";
import { DAY, HOUR } from "../../src/lib/time.ts";
import { READ_TYPES } from "../../src/providers/provider-a/events.ts";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { LIST_KEYS, openEventLists, type EventLists, type ListFault } from "../support/event-lists.ts";
import { ledgerOf, sendA, sendBody } from "../support/ledger.ts";
import {
  makePartner,
  makeProgram,
  programContext,
  SECRET_A,
  testContext,
  type ProgramFields,
  type TestProgram,
} from "../support/program.ts";
import { couponEvent, discountEventA, giveCode, promotionCode } from "../support/codes.ts";
import { serveAll } from "../support/jobs.ts";
import { chargeRefunded, eventA, invoicePaid, sessionCompleted, signA, type EventA } from "../support/provider-a.ts";
import { thinOfA, type ThinA } from "../support/thin.ts";
import { TEST_VENDORS } from "../support/vendors/index.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

let lists: EventLists;
beforeEach(() => {
  lists = openEventLists();
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) =>
    lists.fetch(new Request(input, init).url, init ?? {}),
  );
});
afterEach(() => vi.restoreAllMocks());

const KEY = { provider_a_api_key: LIST_KEYS.provider_a };

async function shop(fields: ProgramFields = KEY): Promise<TestProgram> {
  const program = await makeProgram(fields);
  await makePartner(program, { slug: "jane" });
  return program;
}

const sendThin = (program: TestProgram, thin: ThinA) => sendBody(program, "provider_a", JSON.stringify(thin));

/** An occurrence at the vendor: it makes the event, and sends its thin event. */
function happen(event: EventA, fields: Parameters<typeof thinOfA>[1] = {}): ThinA {
  lists.a.push(event);
  return thinOfA(event, fields);
}

/**
 * Provider A's answer about the subject of a thin event: the event that it names, that event in the list, or the object
 * alone.
 */
const readIt = (ctx: ProgramCtx, thin: ThinA) =>
  readThin(ctx, providerA, { value: thin, text: "" }, providerA.thinOf!(thin)!, lists.readsOf(providerA));

const FORMS = ["named", "listed", "object"] as const;
type Form = (typeof FORMS)[number];

/** An occurrence at the vendor, in one of the forms. */
function happenAs(form: Form, event: EventA): ThinA {
  lists.faultOf = () => (form === "object" && lists.calls.at(-1)!.pathname === "/v1/events" ? "forbidden" : null);
  return happen(event, { snapshot: form === "named" });
}

interface AuditEvent {
  payload: { event_id: string; event_type: string; outcome: string };
}

async function audited(program: TestProgram) {
  const { body } = await program.api<{ data: AuditEvent[] }>("GET", "/api/v1/events?type=webhook.provider_a");
  return body.data.map(({ payload }) => payload);
}

async function statusOf(program: TestProgram) {
  type Status = { last_refusal: { reason: string } | null; last_event_at: string | null };
  return (await program.api<Record<string, Status>>("GET", "/api/v1/integrations/status")).body["provider_a"]!;
}

const storedOf = async ({ id }: TestProgram) =>
  (await env.DB.prepare("select count(*) as n from provider_events where program_id = ?")
    .bind(id)
    .first<{ n: number }>())!.n;

/** At least one sample of each type that is read. */
const SAMPLES = TEST_VENDORS.provider_a.samples as readonly EventA[];

describe("a thin event", () => {
  it("is of the form that the vendor's own library takes", async () => {
    const thin = thinOfA(sessionCompleted({ ref: "jane" }));
    const body = JSON.stringify(thin);
    const stripe = new Stripe("sk_test_1");
    const parsed = await stripe.parseEventNotificationAsync(body, await signA(body, SECRET_A), SECRET_A);
    expect(parsed).toMatchObject({ type: "v1.checkout.session.completed", snapshot_event: thin.snapshot_event });
  });

  it.each(FORMS)("earns as its snapshot event (%s) (IN-18)", async (form) => {
    const program = await shop();
    const sale = sessionCompleted({ ref: "jane", amount: 12_000, tax: 2_000, payment_intent: "pi_thin" });
    const thin = happenAs(form, sale);
    expect(await sendThin(program, thin)).toMatchObject({ status: 200, body: { outcome: "commission" } });
    const refund = chargeRefunded({ payment_intent: "pi_thin", amount: 12_000, refunded: 6_000 });
    const thinRefund = happenAs(form, refund);
    expect(await sendThin(program, thinRefund)).toMatchObject({ status: 200, body: { outcome: "adjusted" } });
    const { commissions } = await ledgerOf(program);
    expect(commissions).toMatchObject([{ amount_cents: 1_000, txn_amount_cents: 10_000 }]);
    // The stored event is the whole one.
    const isWhole = form !== "object";
    expect((await audited(program)).map(({ event_id, event_type }) => [event_id, event_type])).toEqual([
      [isWhole ? refund.id : thinRefund.id, "charge.refunded"],
      [isWhole ? sale.id : thin.id, "checkout.session.completed"],
    ]);
  });

  it.each(FORMS)("counts once with its snapshot event, in either order (%s) (IN-18)", async (form) => {
    for (const isThinFirst of [true, false]) {
      const program = await shop();
      const sale = sessionCompleted({ ref: "jane" });
      const thin = happenAs(form, sale);
      const sends = [() => sendThin(program, thin), () => sendA(program, sale), () => sendThin(program, thin)];
      for (const send of isThinFirst ? sends : sends.toReversed()) expect((await send()).status).toBe(200);
      const { commissions, payments } = await ledgerOf(program);
      expect([payments.length, commissions.length]).toEqual([1, 1]);
      expect(await audited(program)).toHaveLength(form === "object" ? 2 : 1);
    }
  });

  it.each(["named", "listed"] as const)(
    "that comes late says what was so then, whatever its object has become (%s) (IN-18)",
    async (form) => {
      const program = await shop();
      await makePartner(program, { slug: "bob" });
      const second = Math.floor(Date.now() / 1000) - 3600;
      const updated = (created: number, slug: string, more: object = {}) =>
        eventA(
          "customer.updated",
          { id: "cus_1", object: "customer", metadata: { service_ref: slug } },
          { created, ...more },
        );
      const thin = happenAs(form, updated(second, "jane"));
      // One event of the same time about another object, and a later one of the same customer.
      lists.a.push(eventA("customer.updated", { id: "cus_2", object: "customer" }, { created: second }));
      lists.a.push(updated(second + 1, "bob"), updated(second + 60, "bob"));
      await sendThin(program, thin);
      expect((await audited(program)).map(({ event_id }) => event_id)).toEqual([lists.a[0]!.id]);
      const sale = sessionCompleted({ created: second + 30, customer: "cus_1" });
      expect(await sendA(program, sale)).toMatchObject({ body: { outcome: "commission" } });
      const { payments } = await ledgerOf(program);
      expect(payments).toMatchObject([{ ref: "jane" }]);
    },
  );

  it("is verified as any other before anything is asked of the vendor", async () => {
    const program = await shop({ ...KEY, provider_a_webhook_secret: "whsec_another" });
    expect((await sendThin(program, happen(sessionCompleted({ ref: "jane" })))).status).toBe(401);
    expect(lists.calls).toEqual([]);
  });

  it("that the service does not need is acknowledged and listed as ignored, and nothing is asked (IN-18)", async () => {
    const program = await shop({});
    const other = [
      thinOfA(eventA("invoice.voided", { id: "in_1", object: "invoice" })),
      thinOfA(eventA("charge.succeeded", { id: "ch_1", object: "charge" }), { type: "v1.product.created" }),
      thinOfA(eventA("charge.succeeded", { id: "ch_1", object: "charge" }), { type: "v2.core.account.updated" }),
      thinOfA(eventA("charge.succeeded", { id: "ch_1", object: "charge" }), {
        ...{ type: "v2.core.event_destination.ping", related_object: null },
      }),
    ];
    for (const thin of other) {
      expect(await sendThin(program, thin)).toMatchObject({ status: 200, body: { outcome: "ignored" } });
    }
    expect((await audited(program)).map(({ event_type }) => event_type).toSorted()).toEqual(
      other.map(({ type }) => type).toSorted(),
    );
    expect(lists.calls).toEqual([]);
  });

  it("of test mode is answered without an API key where the program takes only live events (PAY-13)", async () => {
    const program = await shop({ live_only: true });
    const thin = happen(sessionCompleted({ ref: "jane", livemode: false }));
    expect(await sendThin(program, thin)).toMatchObject({ status: 200, body: { outcome: "test_mode" } });
    expect(lists.calls).toEqual([]);
    const taking = await shop({ live_only: false, ...KEY });
    expect(await sendThin(taking, thin)).toMatchObject({ status: 200, body: { outcome: "commission" } });
  });

  it("of another account is read in the name that it says", async () => {
    const program = await shop();
    const asked: (string | null)[] = [];
    const { fetch } = lists;
    lists.fetch = (url, init) => {
      asked.push(new Headers(init?.headers).get("stripe-context"));
      return fetch(url, init);
    };
    await sendThin(program, happen(sessionCompleted({ ref: "jane" }), { context: "org_1/acct_2" }));
    await sendThin(program, happen(sessionCompleted({ ref: "jane" })));
    expect(asked).toEqual(["org_1/acct_2", null]);
  });
});

describe("no event of a type that is needed is acknowledged and dropped", () => {
  const whole = (type: string) => eventA(type, { object: "none" });

  it("each type has a sample that says something", () => {
    const said = SAMPLES.filter((event) => {
      const result = providerA.parse(event);
      return result.ok && (result.event.facts.length > 0 || result.event.reversed !== undefined);
    }).map(({ type }) => type);
    expect(READ_TYPES.filter((type) => !said.includes(type))).toEqual([]);
  });

  it.each(READ_TYPES)("%s: refused whole without its object, and thin without a key (IN-18)", async (type) => {
    const program = await shop({});
    const sample = SAMPLES.find((event) => event.type === type)!;
    expect((await sendA(program, { ...whole(type), data: { object: { id: 7 } as never } })).status).toBe(422);
    for (const snapshot of [true, false]) {
      const reply = await sendThin(program, thinOfA(sample, { snapshot }));
      expect(reply).toMatchObject({ status: 409, body: { error: { code: "provider_not_configured" } } });
    }
    for (const broken of [
      { related_object: null },
      { related_object: { id: "in_1", type: "invoice", url: "//other.example/v1/invoices/in_1" } },
      ...["..", "%2E%2e", ".", "", "in_1?expand[]=x", "in_1#x", "in_1\\x", "%2"].map((end) => {
        return { related_object: { id: "in_1", type: "invoice", url: `/v1/invoices/${end}/balance` } };
      }),
    ]) {
      expect((await sendThin(program, thinOfA(sample, { snapshot: false, ...broken }))).status).toBe(422);
    }
    const strange = thinOfA(sample, { snapshot_event: "evt_1/../../balance" });
    expect((await sendThin(program, strange)).status).toBe(422);
    expect(await storedOf(program)).toBe(0);
    expect(lists.calls).toEqual([]);
  });

  it.each(["BLACK-FRIDAY", "20 % / off", "été.50", "../balance"])(
    "a coupon whose id, which its owner chose, is %s (IN-18)",
    async (id) => {
      for (const form of FORMS) {
        const program = await shop();
        const thin = happenAs(form, couponEvent({ id, name: "Half" }));
        expect(await sendThin(program, thin)).toMatchObject({ status: 200, body: { outcome: "linked" } });
        expect(lists.calls.at(-1)!.pathname).toBe(
          {
            named: `/v1/events/${thin.snapshot_event}`,
            listed: "/v1/events",
            object: `/v1/coupons/${encodeURIComponent(id)}`,
          }[form],
        );
        // If the event is named, the spelling of its object's address does not matter.
        const strange = { id, type: "coupon", url: `/v1/coupons/${id}?x` };
        if (form === "named")
          expect(await sendThin(program, { ...thin, related_object: strange })).toMatchObject({ status: 200 });
      }
    },
  );

  it("a discount that is over or another by now, for what was paid with it says what it was made from (CODE-8)", async () => {
    const program = await shop();
    const partner = await makePartner(program, { slug: "coded" });
    await giveCode(program, partner.id, { code: "JANE20", provider: "provider_a" }, Date.now() - 2 * HOUR);
    const named = (id: string) => discountEventA({ id, promotion_code: "promo_1", coupon: "cou_1" });
    const [over, other] = [named("di_over"), named("di_other")];
    // The vendor has no snapshot event of it, and its customer's discount is now removed or replaced.
    const gone = await sendThin(program, thinOfA(over, { snapshot: false }));
    expect(gone).toMatchObject({ status: 200, body: { outcome: "ignored" } });
    lists.a.push(other);
    const read = await sendThin(program, thinOfA(named("di_before"), { snapshot: false }));
    expect(read).toMatchObject({ status: 200, body: { outcome: "linked" } });
    for (const id of ["di_over", "di_before"]) {
      const invoice = invoicePaid({ id: `in_${id}`, object: { discounts: [id] } });
      expect((await sendA(program, invoice)).body.outcome).toBe("unknown_code");
      lists.codes.push({ ...invoice.data.object, object: "invoice" }, named(id).data.object);
    }
    lists.codes.push(promotionCode({ id: "promo_1", code: "Jane20" }));
    await serveAll(readEventLists(testContext(Date.now()), lists.readsOf));
    expect((await ledgerOf(program)).payments.map(({ outcome }) => outcome)).toEqual(["commission", "commission"]);
  });

  it.each(SAMPLES.map((event, i) => [`${i} ${event.type}`, event] as const))(
    "%s: says thin what it says whole",
    async (_, event) => {
      const ctx = programContext(await makeProgram({ ...KEY, live_only: false }));
      const parsed = providerA.parse(JSON.parse(JSON.stringify(event)));
      if (!parsed.ok) throw new Error("a sample is refused");
      for (const form of FORMS) {
        const thin = happenAs(form, event);
        const understood = await readIt(ctx, thin);
        expect(understood).toEqual({
          ...{ value: expect.anything(), text: expect.any(String) },
          parsed: { ok: true, event: { ...parsed.event, event_id: form === "object" ? thin.id : event.id } },
        });
      }
    },
  );
});

describe("a thin event that cannot be read", () => {
  const FAULTS: [ListFault, number, string, string][] = [
    ["forbidden", 409, "permission_missing", "provider_not_configured"],
    ["gone", 503, "refused", "provider_unavailable"],
    ["limited", 503, "rate_limited", "provider_unavailable"],
    ["broken", 503, "unavailable", "provider_unavailable"],
    ["lost", 503, "unavailable", "provider_unavailable"],
    ["cut", 503, "unreadable", "provider_unavailable"],
    ["garbage", 503, "unreadable", "provider_unavailable"],
    ["other", 503, "unreadable", "provider_unavailable"],
  ];

  it.each(FAULTS)(
    "%s: is %s, says %s on the status and the page, and counts when it comes again (IN-18)",
    async (fault, status, reason, code) => {
      for (const snapshot of [true, false]) {
        const program = await shop();
        const owner = await signInOwner(program);
        const thin = happen(sessionCompleted({ ref: "jane" }), { snapshot });
        lists.faultOf = () => fault;
        const reply = await sendThin(program, thin);
        expect(reply).toMatchObject({ status, body: { error: { code } } });
        if (fault === "limited") expect(reply.headers.get("retry-after")).toBe("600");
        expect(await storedOf(program)).toBe(0);
        expect(await statusOf(program)).toMatchObject({ last_event_at: null, last_refusal: { reason } });
        expect(textOf((await owner.get("/dashboard/integration")).body)).toContain(
          "it only has a reference to its data",
        );
        lists.faultOf = () => null;
        expect(await sendThin(program, thin)).toMatchObject({ status: 200, body: { outcome: "commission" } });
      }
    },
  );

  it("is refused where it is older than the provider's list, whatever its object is by now (IN-18)", async () => {
    const program = await shop();
    const created = Math.floor((Date.now() - 30 * DAY) / 1000) - 60;
    const old = eventA("customer.updated", { id: "cus_1", object: "customer", metadata: { service_ref: "jane" } });
    const thin = happenAs("object", { ...old, created });
    expect(await sendThin(program, thin)).toMatchObject({
      status: 503,
      body: { error: { code: "provider_unavailable" } },
    });
    expect(await storedOf(program)).toBe(0);
    const young = happenAs("object", { ...old, created: created + 3_600 });
    expect(await sendThin(program, young)).toMatchObject({ status: 200, body: { outcome: "remembered" } });
  });

  it("has a case for each reason", () => {
    const cases = [...FAULTS.map(([, , reason]) => reason), "no_api_key", "api_key_refused", "test_key"];
    expect(UNREAD_REASONS.filter((reason) => !cases.includes(reason))).toEqual([]);
  });

  it("is given up where the vendor is slow, without an answer", async () => {
    const ctx = programContext(await makeProgram(KEY));
    lists.faultOf = () => "slow";
    const thin = happen(sessionCompleted({ ref: "jane" }));
    const understood = await readIt(ctx, thin);
    expect(understood).toMatchObject({ reason: "unavailable", retry_after_ms: null });
  });

  it("without a key, or with one that is refused, waits for the owner, whose new key holds at once (IN-18)", async () => {
    const program = await shop({});
    const thin = happen(sessionCompleted({ ref: "jane" }));
    const attempt = async () => {
      const { status } = await sendThin(program, thin);
      return [status, (await statusOf(program)).last_refusal?.reason];
    };
    expect(await attempt()).toEqual([409, "no_api_key"]);
    const paste = (provider_a_api_key: string) => program.api("PATCH", "/api/v1/programs/me", { provider_a_api_key });
    await paste("rk_live_of_nobody");
    expect(await attempt()).toEqual([409, "api_key_refused"]);
    await paste(LIST_KEYS.provider_a);
    expect((await sendThin(program, thin)).status).toBe(200);
    expect((await ledgerOf(program)).commissions).toHaveLength(1);
  });

  it.each([true, false])(
    "of live mode, with a key of test mode, waits for the owner, and nothing is asked (live_only: %s) (IN-18)",
    async (live_only) => {
      const program = await shop({ provider_a_api_key: "rk_test_of_a", live_only });
      lists.keys.add("rk_test_of_a");
      const owner = await signInOwner(program);
      const thin = happen(sessionCompleted({ ref: "jane" }));
      expect(await sendThin(program, thin)).toMatchObject({
        status: 409,
        body: { error: { code: "provider_not_configured", message: expect.stringContaining("test-mode key") } },
      });
      expect([lists.calls, await storedOf(program)]).toEqual([[], 0]);
      expect(await statusOf(program)).toMatchObject({ last_refusal: { reason: "test_key" } });
      expect(textOf((await owner.get("/dashboard/integration")).body)).toContain(
        "the API key is of the provider's test mode",
      );
      await program.api("PATCH", "/api/v1/programs/me", KEY);
      expect((await sendThin(program, thin)).body.outcome).toBe("commission");
    },
  );

  it("where the vendor gives another event or object than the one that is named is not believed", async () => {
    const program = await shop();
    const [own, other] = [sessionCompleted({ ref: "jane" }), sessionCompleted({ ref: "jane", amount: 99_000 })];
    const give = (json: unknown) => (lists.fetch = async () => Response.json(json));
    give(other);
    expect((await sendThin(program, happen(own))).status).toBe(503);
    give({ ...own, type: "checkout.session.expired" });
    expect((await sendThin(program, happen(own))).status).toBe(503);
    give(other.data.object);
    expect((await sendThin(program, happen(own, { snapshot: false }))).status).toBe(503);
    give({ ...own.data.object, object: "invoice" });
    expect((await sendThin(program, happen(own, { snapshot: false }))).status).toBe(503);
    // An object of an undocumented shape is refused as it is by webhook.
    const undocumented = { ...own, id: uniqueId("evt_"), data: { object: { ...own.data.object, mode: "barter" } } };
    give(undocumented);
    expect((await sendThin(program, happen(undocumented))).status).toBe(422);
    expect((await statusOf(program)).last_refusal).not.toBeNull();
    expect(await storedOf(program)).toBe(0);
  });
});

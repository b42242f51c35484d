/** Promotion codes: the attribution of payments that used one (CODE-1 to CODE-5). */
import { describe, expect, it } from "vitest";
import { at, isoAt, JANE_A, JANE_B, programOf, reported, traced } from "../support/code-sales.ts";
import { couponEvent, discount, discountEventA, discountEventB, promotionCode } from "../support/codes.ts";
import { giveCode, promotionCodeEvent, takeCode } from "../support/codes.ts";
import { ledgerOf, sendA, sendB, sendBody } from "../support/ledger.ts";
import { makePartner, type TestProgram } from "../support/program.ts";
import { bodyOfA, invoicePaid, sessionCompleted, subscriptionEventA } from "../support/provider-a.ts";
import { bodyOfB, subscriptionEventB, transactionCompleted } from "../support/provider-b.ts";

/** The id of a code that the partner holds. */
async function heldBy({ api }: TestProgram, partner_id: string, code: string): Promise<string | undefined> {
  const { body } = await api<{ data: { id: string; code: string }[] }>("GET", `/api/v1/partners/${partner_id}/codes`);
  return body.data.find((one) => one.code === code)?.id;
}

describe("a sale that carries only a promotion code earns (CODE-1)", () => {
  it.each([
    ["its id", { promotion_code: "promo_1", coupon: null }, { ...JANE_A, provider_code_id: "promo_1" }],
    ["the code, expanded", { promotion_code: promotionCode({ id: "promo_1" }), coupon: null }, JANE_A],
    ["the code, old shape", { promotion_code: promotionCode({ shape: "old" }), coupon: null }, JANE_A],
    ["a coupon whose id is the code", { promotion_code: null, coupon: "jane20" }, JANE_A],
    ["a coupon of that id", { promotion_code: null, coupon: "Z4OV" }, { ...JANE_A, provider_code_id: "Z4OV" }],
    ["a coupon of that name", { promotion_code: null, coupon: { id: "Z4OV", name: "Jane20" } }, JANE_A],
  ])("provider A, a session with %s", async (_, discounted, input) => {
    const { program, partners } = await programOf({}, "jane");
    await giveCode(program, partners.jane, input, at(0) * 1_000);
    const session = sessionCompleted({ created: at(1), object: { discounts: [discounted] } });
    expect((await sendA(program, session)).body).toEqual({ received: true, outcome: "commission" });
    const [payment] = await traced(program);
    expect(payment?.trace).toMatchObject({ ref_source: "code", partner_slug: "jane" });
    expect(payment?.trace.candidates.map(({ source }) => source)).toContain("promotion_code");
  });

  it.each([
    ["expanded", { discounts: [discount({ promotion_code: "promo_1" })] }],
    ["of a line", { lines: { data: [{ discounts: [discount({ promotion_code: "promo_1" })] }] } }],
    ["old shape", { discounts: ["di_1"], discount: discount({ promotion_code: "promo_1", shape: "old" }) }],
  ])("provider A, an invoice, its discount %s", async (_, object) => {
    const { program, partners } = await programOf({}, "jane");
    await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
    await sendA(program, invoicePaid({ created: at(1), object }));
    expect(await reported(program)).toEqual(["commission jane code"]);
  });

  it("provider A, an invoice of many discounts, each with its promotion code and coupon", async () => {
    const { program, partners } = await programOf({}, "jane");
    await giveCode(program, partners.jane, JANE_A, at(0) * 1_000);
    const codes = [...Array.from({ length: 11 }, (_, i) => `CODE${i}`), "JANE20"];
    const discounts = codes.map((code) => ({ ...discount({}), promotion_code: promotionCode({ code, shape: "old" }) }));
    const invoice = invoicePaid({ created: at(1), subscription: "sub_1", customer: "cus_1", object: { discounts } });
    expect((await sendA(program, invoice)).body).toEqual({ received: true, outcome: "commission" });
    expect(await reported(program)).toEqual(["commission jane code"]);
  });

  it.each(["first", "last"])(
    "provider A, an invoice that names its discount alone, which is explained %s",
    async (when) => {
      const { program, partners } = await programOf({}, "jane");
      await giveCode(program, partners.jane, JANE_A, at(0) * 1_000);
      const invoice = invoicePaid({ created: at(1), object: { discounts: ["di_1"] } });
      const named = [
        discountEventA({ id: "di_1", promotion_code: "promo_1", created: at(1) }),
        promotionCodeEvent({ id: "promo_1", created: at(0) }),
      ];
      for (const event of when === "first" ? [...named, invoice] : [invoice, ...named]) await sendA(program, event);
      expect(await reported(program)).toEqual(["commission jane code"]);
      expect((await traced(program))[0]?.trace.candidates).toMatchObject([
        { ref: "JANE20", source: "promotion_code" },
        { ref: "cou_20off", source: "promotion_code", partner_id: null },
      ]);
    },
  );

  it.each(["first", "last"])("provider B, its code named %s", async (when) => {
    const { program, partners } = await programOf({}, "jane");
    await giveCode(program, partners.jane, JANE_B, at(0) * 1_000);
    const sale = transactionCompleted({ occurred_at: isoAt(1), data: { discount_id: "dsc_1" } });
    const named = discountEventB({ id: "dsc_1", code: "Jane20", occurred_at: isoAt(0) });
    for (const event of when === "first" ? [named, sale] : [sale, named]) await sendB(program, event);
    expect(await reported(program)).toEqual(["commission jane code"]);
  });

  it("renewals are the partner's by the remembered subscription or customer (REF-3)", async () => {
    const { program, partners } = await programOf({}, "jane");
    await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
    await giveCode(program, partners.jane, { ...JANE_B, provider_code_id: "dsc_1" }, at(0) * 1_000);
    const ids = { subscription: "sub_1", customer: "cus_1" };
    const discounts = [{ promotion_code: "promo_1", coupon: null }];
    await sendA(program, sessionCompleted({ ...ids, invoice: "in_1", created: at(1), object: { discounts } }));
    await sendA(program, invoicePaid({ ...ids, created: at(2) }));
    await sendA(program, sessionCompleted({ customer: "cus_1", created: at(3) }));
    const own = { subscription: "sub_2", customer: "ctm_1" };
    await sendB(program, transactionCompleted({ ...own, occurred_at: isoAt(4), data: { discount_id: "dsc_1" } }));
    await sendB(program, transactionCompleted({ ...own, occurred_at: isoAt(5) }));
    expect(await reported(program)).toEqual([
      "commission jane code",
      "commission jane subscription",
      "commission jane customer",
      "commission jane code",
      "commission jane subscription",
    ]);
  });

  it("so are payments of a subscription that was made with it, whose first invoice came first", async () => {
    const { program, partners } = await programOf({}, "jane");
    await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
    await giveCode(program, partners.jane, { ...JANE_B, provider_code_id: "dsc_1" }, at(0) * 1_000);
    await sendA(program, invoicePaid({ subscription: "sub_1", customer: "cus_1", created: at(1) }));
    await sendB(program, transactionCompleted({ subscription: "sub_2", occurred_at: isoAt(2) }));
    const discounts = [discount({ promotion_code: "promo_1" })];
    const made = { id: "sub_1", customer: "cus_1", created: at(1), object: { discounts } };
    await sendA(program, subscriptionEventA("customer.subscription.created", made));
    const data = { discount: { id: "dsc_1", starts_at: isoAt(2), ends_at: null, type: "percentage" } };
    await sendB(program, subscriptionEventB("subscription.created", { id: "sub_2", occurred_at: isoAt(2), data }));
    expect(await reported(program)).toEqual(["commission jane subscription", "commission jane subscription"]);
  });
});

describe("which goes first (CODE-2)", () => {
  it.each([
    ["link", "joe payment", "joe"],
    ["code", "jane code", "jane"],
  ] as const)("code_precedence %s, and what is remembered", async (code_precedence, first, then) => {
    for (const attribution of ["first", "last"] as const) {
      const { program, partners } = await programOf({ code_precedence, attribution }, "jane", "joe");
      await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
      const discounts = [{ promotion_code: "promo_1", coupon: null }];
      const both = { ref: "joe", customer: "cus_1", created: at(1), object: { discounts } };
      await sendA(program, sessionCompleted(both));
      await sendA(program, sessionCompleted({ customer: "cus_1", created: at(2) }));
      expect(await reported(program)).toEqual([`commission ${first}`, `commission ${then} customer`]);
    }
  });

  it("the setting counts from its change on, whenever a payment comes", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
    await program.api("PATCH", "/api/v1/programs/me", { code_precedence: "code" });
    const discounts = [{ promotion_code: "promo_1", coupon: null }];
    const soon = Math.floor(Date.now() / 1_000) + 60;
    for (const created of [at(1), soon])
      await sendA(program, sessionCompleted({ ref: "joe", created, object: { discounts } }));
    expect(await reported(program)).toEqual(["commission joe payment", "commission jane code"]);
  });

  it("a code that is nobody's hides no remembered partner, and a link that leads to nobody no code", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
    await sendA(program, sessionCompleted({ ref: "joe", customer: "cus_1", created: at(1) }));
    const summer = { discounts: [{ promotion_code: "promo_summer", coupon: null }] };
    await sendA(program, sessionCompleted({ customer: "cus_1", created: at(2), object: summer }));
    const jane = { discounts: [{ promotion_code: "promo_1", coupon: null }] };
    await sendA(program, sessionCompleted({ ref: "cart-7", created: at(3), object: jane }));
    expect((await reported(program)).slice(1)).toEqual(["commission joe customer", "commission jane code"]);
    expect((await traced(program))[1]?.trace.candidates).toMatchObject([
      { ref: "promo_summer", source: "promotion_code", partner_id: null },
      { ref: "joe", source: "remembered_customer", partner_id: partners.joe },
    ]);
  });
});

describe("a code that is given to a partner later (CODE-3)", () => {
  it("decides the payments that waited for it, renewals too, and no other", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    const object = { discounts: [{ promotion_code: "promo_1", coupon: null }] };
    const ids = { subscription: "sub_1", customer: "cus_1" };
    await sendA(program, sessionCompleted({ ...ids, invoice: "in_1", created: at(1), object }));
    await sendA(program, invoicePaid({ ...ids, created: at(2) }));
    await sendA(program, sessionCompleted({ ref: "joe", created: at(3), object }));
    await sendA(program, sessionCompleted({ created: at(4) }));
    expect(await reported(program)).toEqual([
      "unknown_code null code",
      "no_ref null null",
      "commission joe payment",
      "no_ref null null",
    ]);
    const input = { ...JANE_A, provider_code_id: "promo_1" };
    const given = await program.api("POST", `/api/v1/partners/${partners.jane}/codes`, input);
    expect(given.status).toBe(201);
    expect(await reported(program)).toEqual([
      "commission jane code",
      "commission jane subscription",
      "commission joe payment",
      "no_ref null null",
    ]);
    expect((await traced(program))[0]?.trace.candidates).toMatchObject([
      { ref: "promo_1", source: "promotion_code", partner_id: null },
      { ref: "promo_1", source: "code_given_later", partner_id: partners.jane },
    ]);
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ partner_id }) => partner_id)).toEqual([partners.jane, partners.jane, partners.joe]);
  });

  it("to an invited partner, when that one turns active", async () => {
    const { program } = await programOf({});
    const ivy = await makePartner(program, { slug: "ivy" }, "invited");
    await sendB(program, transactionCompleted({ occurred_at: isoAt(1), data: { discount_id: "dsc_1" } }));
    await giveCode(program, ivy.id, { ...JANE_B, provider_code_id: "dsc_1" });
    expect(await reported(program)).toEqual(["partner_not_active ivy code"]);
    await program.api("PATCH", `/api/v1/partners/${ivy.id}`, { status: "active" });
    expect(await reported(program)).toEqual(["commission ivy code"]);
  });

  it("also where the code's name comes last", async () => {
    const { program, partners } = await programOf({}, "jane");
    await sendB(program, transactionCompleted({ occurred_at: isoAt(1), data: { discount_id: "dsc_1" } }));
    await giveCode(program, partners.jane, JANE_B, at(2) * 1_000);
    expect(await reported(program)).toEqual(["unknown_code null code"]);
    await sendB(program, discountEventB({ id: "dsc_1", occurred_at: isoAt(3) }));
    expect(await reported(program)).toEqual(["commission jane code"]);
  });

  it("a coupon's name alone, by its own event", async () => {
    const { program, partners } = await programOf({}, "jane");
    await giveCode(program, partners.jane, { ...JANE_A, code: "Jane's week" }, at(0) * 1_000);
    const object = { discounts: [{ promotion_code: null, coupon: "Z4OV" }] };
    await sendA(program, sessionCompleted({ created: at(1), object }));
    expect((await sendA(program, couponEvent({ id: "Z4OV", name: "JANE'S WEEK", created: at(0) }))).body.outcome).toBe(
      "linked",
    );
    expect(await reported(program)).toEqual(["commission jane code"]);
  });
});

describe("a code that moves, is taken away or renamed (CODE-3)", () => {
  const sale = (step: number) => transactionCompleted({ occurred_at: isoAt(step), data: { discount_id: "dsc_1" } });
  const input = { ...JANE_B, provider_code_id: "dsc_1" };

  it("counts for the other from then on, whenever a payment comes", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    await giveCode(program, partners.jane, input, at(1) * 1_000);
    await giveCode(program, partners.joe, { ...input, move: true }, at(5) * 1_000);
    for (const step of [2, 6, 0]) await sendB(program, sale(step));
    expect(await reported(program)).toEqual(["commission jane code", "commission jane code", "commission joe code"]);
  });

  it("counts for nobody once it is taken away, until it is somebody's again; renewals stay", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    const { id } = await giveCode(program, partners.jane, input, at(1) * 1_000);
    const subscription = { subscription: "sub_1", data: { discount_id: "dsc_1" } };
    await sendB(program, transactionCompleted({ ...subscription, occurred_at: isoAt(2) }));
    await takeCode(program, id, at(3) * 1_000);
    await sendB(program, sale(4));
    await sendB(program, transactionCompleted({ subscription: "sub_1", occurred_at: isoAt(5) }));
    expect(await reported(program)).toEqual([
      "commission jane code",
      "unknown_code null code",
      "commission jane subscription",
    ]);
    await giveCode(program, partners.joe, input, at(6) * 1_000);
    expect(await reported(program)).toEqual([
      "commission jane code",
      "commission joe code",
      "commission jane subscription",
    ]);
  });

  /** Payments of a subscription, each with the code. */
  const PAID = {
    provider_a: (step: number, ref: string | null) => {
      const ids = { id: `in_${step}`, subscription: "sub_1", customer: "cus_1", ref, ref_in: "line" as const };
      const discounts = [{ ...discount({}), promotion_code: promotionCode({ id: "promo_1", code: "JANE20" }) }];
      return bodyOfA(invoicePaid({ ...ids, created: at(step), object: { discounts } }));
    },
    provider_b: (step: number, ref: string | null) => {
      const ids = { id: `txn_${step}`, subscription: "sub_1", customer: "ctm_1", ref };
      return bodyOfB(transactionCompleted({ ...ids, occurred_at: isoAt(step), data: { discount_id: "dsc_1" } }));
    },
  };

  describe.each(["provider_a", "provider_b"] as const)("%s", (provider) => {
    it.each([
      ["link", null, [2, 6]],
      ["link", null, [6, 2]],
      ["code", "ann", [2, 6]],
      ["code", "ann", [6, 2]],
    ] as const)(
      "renewals that carry it stay (precedence %s, own reference %s, days %o)",
      async (precedence, ref, days) => {
        const { program, partners } = await programOf({ code_precedence: precedence }, "jane", "joe", "ann");
        const named = discountEventB({ id: "dsc_1", code: "JANE20", occurred_at: isoAt(0) });
        if (provider === "provider_b") await sendB(program, named);
        const { id } = await giveCode(program, partners.jane, { code: "JANE20", provider }, at(1) * 1_000);
        await takeCode(program, id, at(3) * 1_000);
        // The code is free on day 6, and another partner's later.
        for (const day of days) await sendBody(program, provider, PAID[provider](day, day === 2 ? null : ref));
        expect(await reported(program)).toEqual(["commission jane code", "commission jane code"]);
        await giveCode(program, partners.joe, { code: "JANE20", provider }, at(8) * 1_000);
        await sendBody(program, provider, PAID[provider](9, ref));
        expect(await reported(program)).toEqual([
          "commission jane code",
          "commission jane code",
          "commission jane code",
        ]);
      },
    );
  });

  it("a name that the vendor gave to another id leads by the time of the payment", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    await giveCode(program, partners.jane, JANE_B, at(0) * 1_000);
    await giveCode(program, partners.joe, { ...JANE_B, code: "JOE20" }, at(0) * 1_000);
    await sendB(program, discountEventB({ id: "dsc_1", code: "JOE20", occurred_at: isoAt(3) }, "discount.updated"));
    for (const step of [2, 4]) await sendB(program, sale(step));
    await sendB(program, discountEventB({ id: "dsc_1", code: "JANE20", occurred_at: isoAt(1) }));
    expect(await reported(program)).toEqual(["commission jane code", "commission joe code"]);
  });
});

describe("the codes of a partner over the API (CODE-2, CODE-4, CODE-5)", () => {
  type Code = { id: string; code: string; partner_id: string; error?: { code: string; details?: { path: string }[] } };

  it("are given, listed, moved and taken away, each with its event", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    const at = (id: string) => `/api/v1/partners/${id}/codes`;
    const given = await program.api<Code>("POST", at(partners.jane), { ...JANE_A, code: " Jane20 " });
    expect(given).toMatchObject({ status: 201, body: { code: "Jane20", provider_code_id: null } });
    const moved = await program.api<Code>("POST", at(partners.joe), { ...JANE_A, move: true });
    expect(moved).toMatchObject({ status: 201, body: { code: "JANE20", partner_id: partners.joe } });
    expect((await program.api("GET", at(partners.jane))).body).toEqual({ data: [] });
    expect((await program.api("GET", at(partners.joe))).body).toEqual({ data: [moved.body] });
    for (const method of ["GET", "DELETE"]) {
      expect((await program.api(method, `/api/v1/codes/${given.body.id}`)).status).toBe(404);
    }
    expect((await program.api("GET", `/api/v1/codes/${moved.body.id}`)).body).toEqual(moved.body);
    const gone = await program.api("DELETE", `/api/v1/codes/${moved.body.id}`);
    expect(gone).toMatchObject({ status: 200, body: { id: moved.body.id, deleted: true } });
    expect((await program.api("GET", at(partners.joe))).body).toEqual({ data: [] });
    const { body } = await program.api<{ data: Record<string, unknown>[] }>("GET", "/api/v1/events");
    const events = body.data.filter(({ type }) => String(type).startsWith("code.")).toReversed();
    expect(events.map(({ type, actor }) => [type, (actor as { type: string }).type])).toEqual([
      ["code.created", "api_key"],
      ["code.moved", "api_key"],
      ["code.deleted", "api_key"],
    ]);
    expect(events[1]).toMatchObject({
      payload: { code_id: moved.body.id, partner_id: partners.joe },
      changes: { partner_id: [partners.jane, partners.joe], code: ["Jane20", "JANE20"] },
    });
  });

  it("are unique per program and provider, ignoring case", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    const give = async (id: string, input: object) => {
      const { status, body } = await program.api<Code>("POST", `/api/v1/partners/${id}/codes`, input);
      return [status, body.error?.details?.[0]?.path];
    };
    expect(await give(partners.jane, { ...JANE_A, provider_code_id: "promo_1" })).toEqual([201, undefined]);
    expect(await give(partners.jane, JANE_B)).toEqual([201, undefined]);
    for (const id of [partners.jane, partners.joe]) {
      expect(await give(id, { ...JANE_A, code: "jane20" })).toEqual([409, "code"]);
      const other = { ...JANE_A, code: "OTHER", provider_code_id: "promo_1" };
      expect(await give(id, other)).toEqual([409, "provider_code_id"]);
    }
    expect(await give(partners.jane, { ...JANE_A, move: true })).toEqual([409, "code"]);
    const neighbor = await programOf({}, "jane");
    const mine = `/api/v1/partners/${partners.jane}/codes`;
    expect((await neighbor.program.api("POST", mine, JANE_A)).status).toBe(404);
    expect(
      (await neighbor.program.api("POST", `/api/v1/partners/${neighbor.partners.jane}/codes`, JANE_A)).status,
    ).toBe(201);
  });

  it.each([
    ["the code, by its name", JANE_A, "code"],
    ["its id, beside another name", { ...JANE_A, code: "OTHER", provider_code_id: "PROMO_1" }, "provider_code_id"],
  ])("that was given by its id alone is no other partner's by %s, unless it is moved", async (_, input, path) => {
    const { program, partners } = await programOf({}, "jane", "joe");
    const sell = async (created: number) => {
      const object = { discounts: [{ promotion_code: "PROMO_1", coupon: null }] };
      return (await sendA(program, sessionCompleted({ created, object }))).body.outcome;
    };
    expect(await sell(at(1))).toBe("unknown_code");
    // The owner gives the code with one click by its id, before an event contains its name.
    await giveCode(program, partners.jane, { ...JANE_A, code: "PROMO_1" }, at(2) * 1_000);
    const named = { id: "PROMO_1", created: at(3) };
    await sendA(program, promotionCodeEvent({ ...named, code: "Jane20" }));
    const give = (move: boolean) =>
      program.api<Code>("POST", `/api/v1/partners/${partners.joe}/codes`, { ...input, move });
    const refused = await give(false);
    expect([refused.status, refused.body.error?.details?.[0]?.path]).toEqual([409, path]);
    expect((await give(true)).status).toBe(201);
    const { body } = await program.api<{ data: object[] }>("GET", `/api/v1/partners/${partners.jane}/codes`);
    expect(body.data).toEqual([]);
    expect(await sell(Math.floor(Date.now() / 1_000) + 1)).toBe("commission");
    expect(await reported(program)).toEqual(["commission jane code", "commission joe code"]);
  });

  it("are whose they are already by another name, of another time too, without a refusal", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    const give = async (id: string, input: object) =>
      (await program.api("POST", `/api/v1/partners/${id}/codes`, input)).status;
    expect(await give(partners.jane, { ...JANE_A, code: "PROMO_1" })).toBe(201);
    await sendA(program, promotionCodeEvent({ id: "PROMO_1", created: at(1), code: "JANE20" }));
    expect(await give(partners.jane, JANE_A)).toBe(201);
    await sendA(program, promotionCodeEvent({ id: "PROMO_1", created: at(2), code: "SUMMER" }));
    await sendA(program, promotionCodeEvent({ id: "PROMO_2", created: at(2), code: "WINTER" }));
    // WINTER is another code's name. SUMMER is the current name of PROMO_1, and JANE20 a former one.
    expect(await give(partners.joe, { ...JANE_A, code: "WINTER" })).toBe(201);
    expect(await give(partners.joe, { ...JANE_A, code: "summer" })).toBe(409);
    await program.api("DELETE", `/api/v1/codes/${(await heldBy(program, partners.jane, "JANE20"))!}`);
    expect(await give(partners.joe, JANE_A)).toBe(201);
  });

  it("of two who give one away at once one does", async () => {
    const { program, partners } = await programOf({}, "jane", "joe");
    const replies = await Promise.all(
      [partners.jane, partners.joe, partners.jane].map((id) =>
        program.api("POST", `/api/v1/partners/${id}/codes`, JANE_A),
      ),
    );
    expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
  });

  it.each([
    [{ provider: "provider_a" }, "code"],
    [{ ...JANE_A, code: "  " }, "code"],
    [{ ...JANE_A, code: "x".repeat(201) }, "code"],
    [{ ...JANE_A, provider: "somebody" }, "provider"],
    [{ ...JANE_A, provider_code_id: "" }, "provider_code_id"],
    [{ ...JANE_A, move: "yes" }, "move"],
    [{ ...JANE_A, partner: "x" }, "partner"],
  ])("refuse %j", async (input, path) => {
    const { program, partners } = await programOf({}, "jane");
    const reply = await program.api<Code>("POST", `/api/v1/partners/${partners.jane}/codes`, input);
    expect([reply.status, reply.body.error?.details?.[0]?.path]).toEqual([422, path]);
  });

  it("are at most 100", async () => {
    const { program, partners } = await programOf({}, "jane");
    for (let i = 0; i < 100; i++) await giveCode(program, partners.jane, { ...JANE_A, code: `C${i}` });
    const reply = await program.api<Code>("POST", `/api/v1/partners/${partners.jane}/codes`, JANE_A);
    expect([reply.status, reply.body.error?.details?.[0]?.path]).toEqual([422, "code"]);
  });
});

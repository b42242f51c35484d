/** The types of events that a provider has sent (PROG-10): in the status and on the pages, recorded once a day. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { SeenType } from "../../src/core/kernel/seen-types.ts";
import { DAY, iso } from "../../src/lib/time.ts";
import { VENDORS, type ListedVendor } from "../../src/providers/registry.ts";
import { sendA, sendBody } from "../support/ledger.ts";
import { makeProgram, type ProgramFields, type TestProgram } from "../support/program.ts";
import { customerEvent, eventA, invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { saleAt } from "../support/sale.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

type Status = Record<
  ListedVendor,
  { event_types: SeenType[]; last_event_at: string | null; is_last_event_test: boolean }
>;

async function statusOf(program: TestProgram): Promise<Status> {
  return (await program.api<Status>("GET", "/api/v1/integrations/status")).body;
}

async function keptOf(program: TestProgram): Promise<Record<string, string>> {
  const row = await env.DB.prepare(
    "select seen_types from provider_connections where program_id = ? and provider = 'provider_a'",
  )
    .bind(program.id)
    .first<{ seen_types: string | null }>();
  return JSON.parse(row!.seen_types ?? "{}") as Record<string, string>;
}

const seen = (types: Record<string, number>): ProgramFields => ({
  provider_a_seen_types: JSON.stringify(
    Object.fromEntries(Object.entries(types).map(([type, age]) => [type, iso(Date.now() - age)])),
  ),
});

describe("the types of events that came", () => {
  it("are listed beside those to select at the provider, of every provider", async () => {
    const program = await makeProgram();
    const sales = new Map(
      VENDORS.map(({ name }) => [name, saleAt(name as ListedVendor, { ref: null, program: program.id })]),
    );
    for (const [name, body] of sales) {
      expect((await sendBody(program, name as ListedVendor, body)).status).toBe(200);
    }
    await sendA(program, eventA("customer.tax_id.created", { id: "txi_1", object: "tax_id" }));
    const status = await statusOf(program);
    for (const { name, wanted_events, parse } of VENDORS) {
      const { event_types, last_event_at } = status[name as ListedVendor];
      const sale = parse(JSON.parse(sales.get(name)!));
      const listed = event_types.map(({ type, need }) => `${need} ${type}`);
      expect(listed.filter((one) => !one.startsWith("none"))).toEqual([
        ...wanted_events.needed.map(({ type }) => `required ${type}`),
        ...wanted_events.better.map(({ type }) => `recommended ${type}`),
      ]);
      const came = event_types.filter(({ last_seen_at }) => last_seen_at !== null);
      expect(came.filter(({ need }) => need !== "none").map(({ type }) => type)).toEqual([
        sale.ok && sale.event.event_type,
      ]);
      for (const { last_seen_at } of came) expect(last_seen_at! <= last_event_at!).toBe(true);
    }
    expect(status.provider_a.event_types.at(-1)).toMatchObject({ type: "customer.tax_id.created", need: "none" });
  });

  it("are noted once a day, and are not shown after 30", async () => {
    const program = await makeProgram(
      seen({
        "checkout.session.completed": 2 * DAY,
        "invoice.paid": DAY / 2,
        "charge.refunded": 31 * DAY,
        old: 31 * DAY,
      }),
    );
    const before = await keptOf(program);
    const types = (await statusOf(program)).provider_a.event_types;
    const at = (type: string) => types.find((one) => one.type === type)?.last_seen_at;
    expect([at("invoice.paid"), at("charge.refunded"), at("old")]).toEqual([before["invoice.paid"], null, undefined]);
    // The time of the connection is noted by the first; the type of the second is noted already.
    await sendA(program, sessionCompleted());
    const between = await keptOf(program);
    expect(between["checkout.session.completed"]! > before["checkout.session.completed"]!).toBe(true);
    await sendA(program, invoicePaid());
    await sendA(program, sessionCompleted());
    expect(await keptOf(program)).toEqual(between);
  });

  it("are any text, and no more of them than a vendor has", async () => {
    const many = Object.fromEntries(Array.from({ length: 399 }, (_, i) => [`made.up.${i}`, DAY / 2]));
    const program = await makeProgram(seen(many));
    const odd = "odd.\"$[0]'\\ ü";
    expect((await sendA(program, eventA(odd, { id: "x" }))).status).toBe(200);
    expect((await sendA(program, eventA("one.too.many", { id: "x" }))).status).toBe(200);
    const kept = await keptOf(program);
    expect(Object.keys(kept)).toHaveLength(400);
    expect([kept[odd], kept["one.too.many"]]).toEqual([expect.any(String), undefined]);
    expect((await statusOf(program)).provider_a.last_event_at).not.toBeNull();
  });

  it("are noted also where their name is one that every object has", async () => {
    // The connection itself is noted already.
    const program = await makeProgram({ provider_a_last_event_at: iso(Date.now()) });
    for (const type of ["constructor", "__proto__"]) {
      expect((await sendA(program, eventA(type, { id: "x" }))).status).toBe(200);
      expect(new Map(Object.entries(await keptOf(program))).get(type)).toEqual(expect.any(String));
    }
    const { event_types } = (await statusOf(program)).provider_a;
    expect(event_types.filter(({ need }) => need === "none").map(({ type }) => type)).toEqual([
      "__proto__",
      "constructor",
    ]);
  });

  it("are said to be of test mode where the last one was, and what to do (PROG-10)", async () => {
    const program = await makeProgram();
    const owner = await signInOwner(program);
    const hint = "The last event came from the test mode";
    const said = async () => {
      const pages = [await owner.get("/dashboard/settings/providers"), await owner.get("/dashboard/integration")];
      return [
        (await statusOf(program)).provider_a.is_last_event_test,
        ...pages.map(({ body }) => textOf(body).includes(hint)),
      ];
    };
    expect(await said()).toEqual([false, false, false]);
    await sendA(program, sessionCompleted({ livemode: false }));
    expect(await said()).toEqual([true, true, true]);
    await sendA(program, eventA("customer.tax_id.created", { id: "txi_1", object: "tax_id" }, { livemode: false }));
    expect(await said()).toEqual([true, true, true]);
    // Within the minute of the one before.
    await sendA(program, sessionCompleted({}));
    expect(await said()).toEqual([false, false, false]);
    await sendA(program, sessionCompleted({ livemode: false }));
    await program.api("PATCH", "/api/v1/programs/me", { live_only: false });
    expect(await said()).toEqual([true, false, false]);
    expect(textOf((await owner.get("/dashboard/integration")).body)).toMatch(/Connected\. Last event/);
  });

  it("are shown on the pages with their day, and those that are not used as well", async () => {
    const program = await makeProgram();
    const owner = await signInOwner(program);
    const pages = ["/dashboard/settings/providers", "/dashboard/integration"];
    for (const page of pages) expect(textOf((await owner.get(page)).body)).not.toContain("did not arrive in 30 days");
    await sendA(program, sessionCompleted());
    await sendA(program, eventA("customer.tax_id.created", { id: "txi_1", object: "tax_id" }));
    // A type that is not selected, but read.
    await sendA(program, { ...invoicePaid(), type: "invoice.payment_succeeded" });
    await sendA(program, customerEvent({ ref: "jane" }, "customer.created"));
    for (const page of pages) {
      const text = textOf((await owner.get(page)).body);
      expect(text).toMatch(
        /checkout\.session\.completed payments through the checkout and payment links · last received \d/,
      );
      expect(text).toContain("A type without a date did not arrive in 30 days");
      const [, unused] = /These arrive too but are not needed: ([a-z._, ]+)/.exec(text)!;
      expect(unused!.trim()).toBe("customer.tax_id.created");
      expect(text).not.toMatch(/invoice\.paid[^·]*subscriptions and invoices ·/);
    }
  });
});

/** The trace of a payment: values that conditions saw, flows that came too late, and the next step (PAY-14, PAGE-7). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { OUTCOMES, type Outcome } from "../../src/domain/payment.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makePartner } from "../support/program.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { programOfOwner, signInMember, textOf } from "../support/visitor.ts";
import { ago, change, flow, seconds } from "../support/applied.ts";

interface Traced {
  trace: { later_flows: { name: string }[]; flows: { conditions: { saw: unknown }[] }[] };
}

const HALF = { action_type: "percentage", action_value: 50 };

describe("the trace of a payment", () => {
  it("names flows that are younger than it, with the way to apply them (PAY-16, FLOW-11)", async () => {
    const [program, owner] = await programOfOwner();
    const { slug } = await makePartner(program);
    await sendA(program, sessionCompleted({ ref: slug, amount: 10_000, created: seconds(ago(2 * 24 * 60)) }));
    const { id: younger } = await change(program, "POST", "/flows", { ...HALF, name: "Younger" });
    await change(program, "POST", "/flows", { ...flow, name: "Leads", event: "lead_created" });
    await change(program, "POST", "/flows", { ...flow, name: "Off", active: false });
    const [payment] = (await ledgerOf(program)).payments;
    const path = `/dashboard/payments/${payment!.id}`;
    const traced = async () => (await program.api<Traced>("GET", `/api/v1/payments/${payment!.id}`)).body.trace;
    expect((await traced()).later_flows.map(({ name }) => name)).toEqual(["Younger"]);
    const page = (await owner.get(path)).body;
    expect(textOf(page)).toMatch(
      /Your flow was added after this payment \([^)]+\), so it does not apply: Flow “Younger”, added .* Apply it to earlier payments/,
    );
    expect(textOf(page)).not.toContain("No flow was active");
    const [, link = ""] = /href="(\/dashboard\/flows\/[^"]*\?apply_from=[^"]*)"/.exec(page) ?? [];
    expect(link).toContain(younger);
    const email = "viewer@shop.example";
    expect((await program.api("POST", "/api/v1/members", { email, role: "viewer" })).status).toBe(201);
    const viewer = await signInMember(program, email);
    const seen = (await viewer.get(path)).body;
    expect([seen.includes("apply_from="), textOf(seen).includes("Flow “Younger”")]).toEqual([false, true]);
    // The link previews exactly that; its form applies it.
    expect(textOf((await owner.get(link)).body)).toContain("Apply “Younger” from");
    const apply_from = new URL(link, "https://service.example").searchParams.get("apply_from");
    await change(program, "PATCH", `/flows/${younger}`, { apply_from });
    expect((await traced()).later_flows).toEqual([]);
    expect(textOf((await owner.get(path)).body)).toContain("The flow “Younger” applies: 50 %");
  });

  it("shows what each condition saw, the group, the hold, and what the flow counts", async () => {
    const [program, owner] = await programOfOwner();
    const { slug } = await makePartner(program);
    const conditions = [
      { field: "product_id", op: "not_in", value: ["pro_none"] },
      { field: "payment_number", op: "lte", value: 3 },
      { field: "months_since_first_payment", op: "lt", value: 12 },
      { field: "new_customer", op: "eq", value: true },
    ];
    await change(program, "POST", "/flows", { ...HALF, name: "First year", conditions, hold_days: 14 });
    const created = seconds(ago(-0.05));
    await sendA(
      program,
      invoicePaid({ ref: slug, ref_in: "invoice", customer: null, email: null, created, object: { lines: undefined } }),
    );
    const [payment] = (await ledgerOf(program)).payments;
    const shown = textOf((await owner.get(`/dashboard/payments/${payment!.id}`)).body);
    for (const text of [
      "Number of the customer's payment is at most 3; it was 1",
      "Months since the customer's first payment is less than 12; it was 0",
      "The customer is new is yes: matches",
      "The customer is unknown, so the payment counts as a first one.",
      "Group at the time: default .",
      "It is held for 14 days, by the flow",
    ]) {
      expect(shown).toContain(text);
    }
  });

  it.each([
    [
      "no_ref",
      { ref: null },
      "Credit a partner by hand Assign customers to partners Check how your checkout passes references on",
    ],
    ["unknown_ref", { ref: "nobody" }, "Find the partner"],
    ["zero_amount", { ref: "jane", amount: 0 }, "Nothing to do: trials, free orders"],
    ["partner_deactivated", { ref: "gone" }, "Reactivate the partner"],
    ["partner_not_active", { ref: "invited" }, "Activate or invite the partner"],
  ] as const)("leads from the outcome %s to the next step", async (outcome, sold, text) => {
    const [program, owner] = await programOfOwner();
    await makePartner(program, { slug: "jane" });
    await makePartner(program, { slug: "invited" }, "invited");
    await makePartner(program, { slug: "gone" }, "deactivated");
    await sendB(program, transactionCompleted(sold));
    const [payment] = (await ledgerOf(program)).payments;
    expect(payment!.outcome).toBe(outcome);
    expect(textOf((await owner.get(`/dashboard/payments/${payment!.id}`)).body)).toContain(text);
  });

  it.each([
    ["pending", "Approve or reject the commission"],
    ["approved", "Prepare payouts"],
    ["rejected", "Review the rejected commission"],
  ])("leads to the next step of a commission that is %s, for members who may take it", async (status, text) => {
    const [program, owner] = await programOfOwner();
    const { slug } = await makePartner(program);
    await sendA(program, sessionCompleted({ ref: slug }));
    const [commission] = (await ledgerOf(program)).commissions;
    if (status !== "pending") await program.api("PATCH", `/api/v1/commissions/${commission!.id}`, { status });
    const path = `/dashboard/payments/${commission!.payment_id}`;
    expect(textOf((await owner.get(path)).body)).toContain(text);
    const email = `viewer-${status}@shop.example`;
    expect((await program.api("POST", "/api/v1/members", { email, role: "viewer" })).status).toBe(201);
    expect(textOf((await (await signInMember(program, email)).get(path)).body)).not.toContain(text);
  });

  it("leads to the next step from every outcome without a commission", async () => {
    const [program, owner] = await programOfOwner();
    await sendB(program, transactionCompleted({ ref: "nobody" }));
    const [payment] = (await ledgerOf(program)).payments;
    const without = async (outcome: Outcome) => {
      await env.DB.prepare("update payments set outcome = ? where id = ?").bind(outcome, payment!.id).run();
      return !/<ul class="plain-list next-steps">/.test((await owner.get(`/dashboard/payments/${payment!.id}`)).body);
    };
    const dead: Outcome[] = [];
    for (const outcome of OUTCOMES.filter((one) => one !== "commission")) {
      if (await without(outcome)) dead.push(outcome);
    }
    expect(dead).toEqual([]);
  });

  it("leads to the page of the settings that has the field", async () => {
    const [program, owner] = await programOfOwner();
    const conditions = [{ field: "product_id", op: "not_in", value: ["pro_none"] }];
    await change(program, "POST", "/flows", { ...HALF, name: "All but one", conditions });
    const { slug } = await makePartner(program);
    await sendA(program, sessionCompleted({ ref: slug, created: seconds(ago(-0.05)) }));
    const [payment] = (await ledgerOf(program)).payments;
    const field = async (label: string) => {
      const { body } = await owner.get(`/dashboard/payments/${payment!.id}`);
      const [, href = ""] = new RegExp(`<a [^>]*href="([^"]*)"[^>]*>${label}`).exec(body) ?? [];
      return (await owner.get(href.split("#")[0]!)).body;
    };
    expect(await field("Add the provider")).toContain('name="name" value="provider_a_api_key"');
    await env.DB.prepare("update payments set outcome = 'test_mode' where id = ?").bind(payment!.id).run();
    expect(await field("Accept test payments")).toContain('id="f-live_only"');
  });

  it("says that a referral code matches no partner", async () => {
    const [program, owner] = await programOfOwner();
    await sendB(program, transactionCompleted({ ref: "nobody" }));
    const [payment] = (await ledgerOf(program)).payments;
    const shown = textOf((await owner.get(`/dashboard/payments/${payment!.id}`)).body);
    expect(shown).toContain("Referral code nobody · matches no partner");
  });
});

/** Flows on the dashboard: previewed, added, edited and deleted (PAGE-7, PAGE-22). */
import { describe, expect, it } from "vitest";
import { sendA } from "../support/ledger.ts";
import { makePartner, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { textOf, programOfOwner } from "../support/visitor.ts";

describe("flows", () => {
  const FLOW = {
    name: "Large orders",
    action_type: "percentage",
    action_value: "30",
    priority: "5",
    active: "on",
    "conditions.0.field": "txn_amount_cents",
    "conditions.0.op": "gt",
    "conditions.0.value": "50.00",
    "conditions.3.field": "customer_email",
    "conditions.3.op": "contains",
    "conditions.3.value": "@example.com",
    "conditions.5.field": "",
    "conditions.5.value": "left over",
  };

  async function flowsOf(of: TestProgram) {
    return (await of.api<{ data: Record<string, unknown>[] }>("GET", "/api/v1/flows")).body.data;
  }

  it("are previewed without being saved, then added, switched, edited and deleted (PAGE-7)", async () => {
    const [ruled, boss] = await programOfOwner();
    const partner = await makePartner(ruled);
    await sendA(ruled, sessionCompleted({ ref: partner.slug, amount: 10_000 }));
    await sendA(ruled, sessionCompleted({ ref: partner.slug, amount: 4_000 }));
    await boss.get("/dashboard/flows/new");
    const preview = await boss.post("/dashboard/flows/new", { ...FLOW, simulate: "yes" });
    expect(textOf(preview.body)).toContain("Of the last 2 payments, 1 would have earned a different amount.");
    expect(textOf(preview.body)).toContain("2 payments 28.00 USD 38.00 USD");
    expect(preview.body).toContain('value="Large orders"');
    expect(await flowsOf(ruled)).toEqual([]);

    const added = await boss.post("/dashboard/flows/new", FLOW);
    const [flow] = await flowsOf(ruled);
    expect(flow).toMatchObject({
      name: "Large orders",
      action_value: 30,
      priority: 5,
      active: true,
      conditions: [
        { field: "txn_amount_cents", op: "gt", value: 5000 },
        { field: "customer_email", op: "contains", value: "@example.com" },
      ],
    });
    const path = added.headers.get("location")?.split("?")[0] ?? "";
    expect((await boss.get(path)).body).toContain('value="50.00"');
    await boss.post(path, { ...FLOW, action_type: "flat", action_value: "2.5", "conditions.0.field": "" });
    expect((await flowsOf(ruled))[0]).toMatchObject({ action_type: "flat", action_value: 250 });
    expect((await flowsOf(ruled))[0]?.["conditions"]).toHaveLength(1);
    await boss.post(`${path}/switch`, { active: "false" });
    expect((await flowsOf(ruled))[0]).toMatchObject({ active: false });
    expect(textOf((await boss.get(`${path}/delete`)).body)).toContain("This cannot be undone");
    expect(await flowsOf(ruled)).toHaveLength(1);
    await boss.post(`${path}/delete`);
    expect(await flowsOf(ruled)).toEqual([]);
  });

  it("are previewed from the list with another rate, all else as it is, without being saved (PAGE-22)", async () => {
    const [ruled, boss] = await programOfOwner();
    const partner = await makePartner(ruled);
    await sendA(ruled, sessionCompleted({ ref: partner.slug, amount: 10_000 }));
    await boss.get("/dashboard/flows/new");
    await boss.post("/dashboard/flows/new", { ...FLOW, "conditions.3.field": "" });
    const stored = await flowsOf(ruled);
    const path = `/dashboard/flows/${stored[0]?.["id"] as string}`;
    expect((await boss.get("/dashboard/flows")).body).toContain(`<form method="get" action="${path}"`);
    const preview = await boss.get(`${path}?action_value=40`);
    expect(textOf(preview.body)).toContain("1 payment 20.00 USD 40.00 USD");
    expect(preview.body).toContain('name="rate" value="40"');
    expect(textOf(preview.body)).toContain("40 % in place of 30 %");
    const same = textOf((await boss.get(`${path}?action_value=30.0`)).body);
    expect([same.includes("30 %, as before"), same.includes("in place of")]).toEqual([true, false]);
    for (const typed of ["300", "a lot", ""]) {
      const wrong = await boss.get(`${path}?action_value=${encodeURIComponent(typed)}`);
      expect([wrong.status, /id="f-action_value"[^>]*aria-invalid="true"/.test(wrong.body)]).toEqual([422, true]);
    }
    expect(await flowsOf(ruled)).toEqual(stored);
    expect((await boss.post(path, { rate: "a lot" })).status).toBe(422);
    expect((await boss.post(path, { rate: "40" })).headers.get("location")).toBe(`${path}?done=saved`);
    const [{ updated_at: _, ...saved } = {}] = await flowsOf(ruled);
    const [{ updated_at: __, ...before } = {}] = stored;
    expect(saved).toEqual({ ...before, action_value: 40 });
    // Another person has made it a fixed amount since the preview: the previewed value is saved, not 40.00 USD.
    await ruled.api("PATCH", `/api/v1/flows/${before["id"] as string}`, { action_type: "flat", action_value: 500 });
    const shown = [...preview.body.matchAll(/<input type="hidden" name="(rate|action_type)" value="([^"]*)"/g)];
    await boss.post(path, Object.fromEntries(shown.map(([, name, value]) => [name, value])));
    expect((await flowsOf(ruled))[0]).toMatchObject({ action_type: "percentage", action_value: 40 });
  });

  it("are marked in the list if they decide every payment, since other flows and rates then have no effect (PAGE-33)", async () => {
    const [ruled, boss] = await programOfOwner();
    const marked = async () => /have no effect/.test(textOf((await boss.get("/dashboard/flows")).body));
    const flow = { name: "Flow", action_type: "percentage", action_value: 12, priority: 1 };
    const limited = [
      { conditions: [{ field: "payment_number", op: "eq", value: 1 }] },
      { conditions: [], ends_at: "2099-01-01T00:00:00.000Z" },
      { conditions: [], starts_at: "2099-01-01T00:00:00.000Z" },
      { conditions: [], currency: "EUR" },
      { conditions: [], action_type: "flat", action_value: 500 },
      { conditions: [], active: false },
    ];
    for (const fields of limited) {
      expect((await ruled.api("POST", "/api/v1/flows", { ...flow, ...fields })).status).toBe(201);
      expect([fields, await marked()]).toEqual([fields, false]);
    }
    const started = { ...flow, conditions: [], starts_at: "2026-01-01T00:00:00.000Z" };
    expect((await ruled.api("POST", "/api/v1/flows", started)).status).toBe(201);
    expect(await marked()).toBe(true);
  });

  it("report what does not fit together beside the row", async () => {
    const [, owner] = await programOfOwner();
    await owner.get("/dashboard/flows/new");
    const reply = await owner.post("/dashboard/flows/new", {
      ...FLOW,
      action_value: "300",
      "conditions.3.field": "provider",
      "conditions.3.op": "gt",
    });
    expect(reply.status).toBe(422);
    expect(textOf(reply.body)).toContain("provider is compared with");
    const value = await owner.post("/dashboard/flows/new", { ...FLOW, action_value: "300" });
    expect(value.body).toMatch(/id="f-action_value"[^>]*aria-invalid="true"/);
    const amount = await owner.post("/dashboard/flows/new", { ...FLOW, "conditions.0.value": "a lot" });
    expect(amount.body).toMatch(/id="f-conditions-0-value"[^>]*aria-invalid="true"/);
  });
});

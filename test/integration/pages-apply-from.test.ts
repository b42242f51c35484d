/** A rate or a flow that is applied from an earlier day, from the dashboard (FLOW-11, PAGE-7). */
import { describe, expect, it } from "vitest";
import { DAY, utcDay } from "../../src/lib/time.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { type TestProgram, programOfPartner } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { signInOwner, textOf, type Visitor } from "../support/visitor.ts";

const dayAgo = (days: number) => utcDay(Date.now() - days * DAY);

const FLOW = {
  name: "Large orders",
  action_type: "percentage",
  action_value: "5",
  priority: "0",
  active: "on",
  "conditions.0.field": "provider",
  "conditions.0.op": "eq",
  "conditions.0.value": "provider_a",
};

/** 100.00 USD three days ago, and 100.00 USD and 2,000 JPY a day ago; at 20 %. */
async function makeSold() {
  const [program, partner] = await programOfPartner();
  const sell = async (days: number, amount: number, currency: string) => {
    const created = Math.floor((Date.now() - days * DAY) / 1_000);
    await sendA(program, sessionCompleted({ ref: partner.slug, amount, currency, created }));
  };
  await sell(3, 10_000, "usd");
  await sell(1, 10_000, "usd");
  await sell(1, 2_000, "jpy");
  return { program, partner, owner: await signInOwner(program) };
}

async function amounts(program: TestProgram): Promise<number[]> {
  return (await ledgerOf(program)).commissions.map(({ amount_cents }) => amount_cents).toSorted((a, b) => a - b);
}

/** The fields of the page's form that posts there, as its browser would send them. */
function fieldsOf(body: string, action: string): Record<string, string> {
  const form = new RegExp(`<form[^>]*action="${action}".*?</form>`, "s").exec(body)?.[0] ?? "";
  const inputs = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  return Object.fromEntries(
    inputs
      .map(([, name = "", value = ""]) => [name, value.replaceAll("&#39;", "'")])
      .filter(([name]) => !["csrf", "form", "made_for"].includes(name ?? "")),
  );
}

interface Form {
  path: string;
  typed: Record<string, string>;
}

/** Each form with its rate at 5 %. */
const FORMS: [string, (sold: Awaited<ReturnType<typeof makeSold>>) => Promise<Form>][] = [
  ["a new flow", async () => ({ path: "/dashboard/flows/new", typed: FLOW })],
  [
    "a flow",
    async ({ program }) => {
      const flow = { name: "Off", action_type: "percentage", action_value: 7, active: false };
      const { body } = await program.api<{ id: string }>("POST", "/api/v1/flows", flow);
      return { path: `/dashboard/flows/${body.id}`, typed: FLOW };
    },
  ],
  [
    "a partner's rate",
    async ({ partner: { id, email, slug } }) => {
      return {
        path: `/dashboard/partners/${id}/edit`,
        typed: { email, slug, commission_pct: "5", last_name: "O'Hara" },
      };
    },
  ],
  [
    "the program's rate",
    async () => {
      const typed = { default_commission_pct: "5", cookie_days: "60", attribution: "last", live_only: "false" };
      return { path: "/dashboard/settings/commissions", typed };
    },
  ],
];

async function previewed(owner: Visitor, { path, typed }: Form, apply_from: string) {
  await owner.get(path);
  const reply = await owner.post(path, { ...typed, apply_from });
  return { ...reply, text: textOf(reply.body), fields: fieldsOf(reply.body, path) };
}

describe("apply from an earlier day", () => {
  it.each(FORMS)("%s: shown first, by currency, changed by Apply alone, and nothing typed is lost", async (_, make) => {
    const sold = await makeSold();
    const { program, owner } = sold;
    const form = await make(sold);
    const { path, typed } = form;
    const before = await program.api("GET", "/api/v1/flows");
    const preview = await previewed(owner, form, dayAgo(2));
    expect(preview.status).toBe(200);
    expect(preview.text).toContain("Nothing has changed yet.");
    expect(preview.text).toMatch(/Of the 2 payments since \d+ \w+ \d+, 2 earn a different amount\. /);
    expect(preview.text).toContain("1 payment 20.00 USD 5.00 USD");
    expect(preview.text).toContain("1 payment 400 JPY 100 JPY");
    expect(preview.text).toContain(
      "Commissions that are paid or in a payout stay; the difference becomes a separate commission",
    );
    expect(preview.fields).toEqual({ ...typed, apply_from: dayAgo(2) });
    expect(await amounts(program)).toEqual([400, 2_000, 2_000]);
    expect((await program.api("GET", "/api/v1/flows")).body).toEqual(before.body);

    const back = await owner.post(path, { ...preview.fields, back: "yes" });
    expect(back.status).toBe(200);
    const shown = new Set([...back.body.matchAll(/ value="([^"]*)"/g)].map(([, value]) => value));
    expect([...Object.values(typed), dayAgo(2)].filter((value) => !shown.has(value.replace("'", "&#39;")))).toEqual([]);
    expect(await amounts(program)).toEqual([400, 2_000, 2_000]);

    const applied = await owner.post(path, { ...preview.fields, apply: "yes" });
    expect(applied.status).toBe(303);
    const done = await owner.get(applied.headers.get("location") ?? "");
    expect(textOf(done.body)).toContain("Saved and applied.");
    expect(await amounts(program)).toEqual([100, 500, 2_000]);
  });

  it.each(FORMS)("%s: without a day nothing is decided again", async (_, make) => {
    const sold = await makeSold();
    const { path, typed } = await make(sold);
    await sold.owner.get(path);
    expect((await sold.owner.post(path, { ...typed, apply_from: "" })).status).toBe(303);
    expect(await amounts(sold.program)).toEqual([400, 2_000, 2_000]);
  });

  it.each(FORMS)("%s: a day to come, and what is none, is marked beside its field", async (_, make) => {
    const sold = await makeSold();
    const form = await make(sold);
    for (const [day, problem] of [
      [dayAgo(-2), "This must not be in the future."],
      ["soon", "This must be an ISO 8601 date or time."],
    ] as const) {
      const { status, body, text } = await previewed(sold.owner, form, day);
      expect([day, status]).toEqual([day, 422]);
      expect(text).toContain(problem);
      expect(body).toMatch(/id="f-apply_from"[^>]*aria-invalid="true"/);
    }
  });

  it("says where it looked at a part of the payments, or found none, or none that changes", async () => {
    const sold = await makeSold();
    const { program, partner, owner } = sold;
    const form = await FORMS[2]![1](sold);
    expect((await previewed(owner, form, dayAgo(0))).text).toMatch(/There are no payments since \d+ \w+ \d+\./);
    const same = { ...form, typed: { ...form.typed, commission_pct: "20" } };
    expect((await previewed(owner, same, dayAgo(2))).text).toMatch(/It changes none of the 2 payments since/);
    for (let i = 0; i < 99; i++) {
      const created = Math.floor((Date.now() - DAY) / 1_000) + i;
      await sendA(program, sessionCompleted({ ref: partner.slug, amount: 1_000, created }));
    }
    const { text } = await previewed(owner, form, dayAgo(2));
    expect(text).toMatch(
      /Of the newest 100 payments since \d+ \w+ \d+, 100 earn a different amount\. It also applies to older ones, which this preview leaves out\./,
    );
    expect(text).toContain("The newest 20 of 100.");
  });
});

/** The editor of flows without scripts: its buttons, ready-made starts, several flows by one form, their order. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { sentOf } from "../support/form-fields.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { signInOwner, textOf, type Visitor } from "../support/visitor.ts";

interface FlowBody {
  id: string;
  name: string;
  action_type: string;
  action_value: number;
  conditions: { field: string; op: string; value: unknown }[];
  priority: number;
  base: string;
}

const NEW = "/dashboard/flows/new";

let program: TestProgram;
let owner: Visitor;

beforeEach(async () => {
  program = await makeProgram();
  owner = await signInOwner(program);
});

const flowsOf = async () => (await program.api<{ data: FlowBody[] }>("GET", "/api/v1/flows")).body.data;

type Form = Record<string, string | string[]>;

/** Sends the form as it is, with changes, and returns the form of the page to which it leads. */
async function send(path: string, form: Form, changes: Form = {}) {
  const reply = await owner.post(path, { ...form, ...changes });
  const location = reply.headers.get("location");
  const body = reply.status === 303 ? (await owner.get(location!)).body : reply.body;
  return { status: reply.status, location, body, form: Object.fromEntries<string | string[]>(sentOf(body)) };
}

const opened = async (path: string): Promise<Form> =>
  Object.fromEntries<string | string[]>(sentOf((await owner.get(path)).body));
const sentenceIn = (body: string) =>
  textOf(/<div class="sentence"[\s\S]*?<\/div>/.exec(body)?.[0] ?? "")
    .trim()
    .replaceAll(/ (?=[.,])/g, "");

async function sellOf(product_id: string, name: string): Promise<void> {
  await program.api("POST", "/api/v1/track/sale", {
    ...{ external_id: `sale-${product_id}`, amount_cents: 1_000, currency: "USD", net_of_tax: true },
    items: [{ product_id, amount_cents: 1_000 }],
  });
  await env.DB.prepare("update products set name = ? where id = ?").bind(name, product_id).run();
}

describe("the buttons of the editor (PAGE-33)", () => {
  it("add, extend and remove conditions, keep the input and save nothing", async () => {
    let page = await send(NEW, await opened(NEW), { name: "Mine", action_value: "30", action: "add:customer_email" });
    expect([page.status, page.form["name"], page.form["conditions.0.field"]]).toEqual([
      200,
      ["Mine"],
      ["customer_email"],
    ]);
    page = await send(NEW, page.form, { "conditions.0.value": "ada@x.example", action: "or:0" });
    expect(page.form["conditions.0.value"]).toEqual(["ada@x.example", ""]);
    page = await send(NEW, page.form, {
      "conditions.0.value": ["ada@x.example", "bob@x.example"],
      action: "add:payment_number",
    });
    page = await send(NEW, page.form, { "conditions.1.value": "3", action: "show" });
    expect(sentenceIn(page.body)).toBe(
      "Partners get 30 % of each payment among the customer's first 3 from ada@x.example or bob@x.example.",
    );
    expect(await flowsOf()).toEqual([]);
    page = await send(NEW, page.form, { action: "remove:0" });
    expect([page.form["conditions.0.field"], page.form["conditions.1.field"]]).toEqual([["payment_number"], undefined]);
    await send(NEW, page.form);
    const [flow] = await flowsOf();
    expect(flow).toMatchObject({ name: "Mine", conditions: [{ field: "payment_number", op: "lte", value: 3 }] });
    // The last condition can be removed too.
    const path = `/dashboard/flows/${flow!.id}`;
    await send(path, (await send(path, await opened(path), { action: "remove:0" })).form);
    expect((await flowsOf())[0]?.conditions).toEqual([]);
  });

  it("offer only the operators that the field allows (FLOW-4)", async () => {
    const { body } = await send(NEW, await opened(NEW), { action: "add:product_id" });
    const ops = /<select[^>]*name="conditions\.0\.op"[\s\S]*?<\/select>/.exec(body)?.[0] ?? "";
    expect([...ops.matchAll(/<option value="(\w+)"/g)].map(([, op]) => op)).toEqual(["eq", "neq", "in", "not_in"]);
    expect(body).toContain('<option value="matching_items" selected="">');
  });

  it("take products and groups by name, and warn of unknown ones (LINE-4, FLOW-16)", async () => {
    await sellOf("prod_1", "Pro");
    await program.api("POST", "/api/v1/groups", { name: "Creators", slug: "creators" });
    const conditions = {
      ...{ "conditions.0.field": "product_id", "conditions.0.op": "eq", "conditions.0.value": ["pro", "other"] },
      ...{ "conditions.1.field": "partner_group", "conditions.1.op": "eq", "conditions.1.value": "creators" },
      ...{ "conditions.2.field": "partner_group", "conditions.2.op": "neq", "conditions.2.value": "gone" },
    };
    const { status, body } = await send(NEW, await opened(NEW), {
      name: "Pro",
      action_value: "30",
      base: "payment",
      ...conditions,
    });
    expect(status).toBe(303);
    expect((await flowsOf())[0]?.conditions).toEqual([
      { field: "product_id", op: "in", value: ["prod_1", "other"] },
      { field: "partner_group", op: "eq", value: "creators" },
      { field: "partner_group", op: "neq", value: "gone" },
    ]);
    const text = sentenceIn(body);
    expect(text).toContain("Partners in Creators outside gone get 30 % of each payment with Pro or other.");
    expect(text).toContain("No payment has contained other yet.");
    expect(text).toContain("No group has the slug gone.");
    expect(textOf((await owner.get("/dashboard/flows")).body)).toContain("with Pro or other");
  });
});

describe("a ready-made start (PAGE-34)", () => {
  it.each([
    ["first_year", "Partners get 50 % of each payment for 12 months after the customer's first payment."],
    ["first_payment", "Partners get 30 % of each payment that is the customer's first."],
    ["product", "Partners get 30 % of each payment."],
    ["new_customers", "Partners get nothing for each payment from existing customers."],
    ["lead", "Partners get 10.00 USD for each lead."],
    ["campaign", "Partners get 40 % of each payment made from "],
    ["unknown", "Partners get … of each payment."],
  ])("fills the form in: %s", async (start, text) => {
    const { body } = await owner.get(`${NEW}?start=${start}`);
    expect(sentenceIn(body)).toContain(text);
    if (start === "product" || start === "unknown") return;
    expect((await send(NEW, Object.fromEntries<string | string[]>(sentOf(body)))).status).toBe(303);
    expect(await flowsOf()).toHaveLength(start.startsWith("first") ? 2 : 1);
  });
});

describe("one form that makes several flows (FLOW-18)", () => {
  it("makes a first-year rate, a later one, and a last flow for everything else, tried in this order", async () => {
    await program.api("POST", "/api/v1/flows", {
      name: "Old",
      action_type: "percentage",
      action_value: 10,
      priority: 3,
      conditions: [{ field: "currency", op: "eq", value: "JPY" }],
    });
    const form = await opened(`${NEW}?start=first_year`);
    expect((await send(NEW, form, { only: ["", "on"] })).status).toBe(303);
    const year = { field: "months_since_first_payment", value: 12 };
    expect(await flowsOf()).toMatchObject([
      { name: "First year", action_value: 50, conditions: [{ ...year, op: "lt" }], priority: 13 },
      { name: "First year, afterwards", action_value: 20, conditions: [{ ...year, op: "gte" }], priority: 13 },
      { name: "Old" },
      { name: "Everything else", action_value: 0, conditions: [], priority: -7 },
    ]);
    // Once is enough.
    await send(NEW, await opened(`${NEW}?start=product`), { "conditions.0.value": "prod_1", only: ["", "on"] });
    expect(await flowsOf()).toHaveLength(5);
  });

  it.each<[string, Form, string]>([
    ["a later rate that is no rate", { then_value: "300" }, "then_value"],
    ["a later rate without an end", { then_value: "20", "conditions.0.op": "gte" }, "then_value"],
    ["no first rate", { action_value: "" }, "action_value"],
  ])("makes none of them with %s", async (_, changes, field) => {
    const reply = await send(NEW, await opened(`${NEW}?start=first_year`), changes);
    expect(reply.status).toBe(422);
    expect(reply.body).toContain(
      field === "action_value"
        ? `id="f-${field}-problem"`
        : field === "then_value" && "conditions.0.op" in changes
          ? "This needs a condition that ends"
          : `id="f-${field}-problem"`,
    );
    expect(await flowsOf()).toEqual([]);
  });

  it("previews all of them, for all payments and from an earlier day (FLOW-6)", async () => {
    const { slug } = await makePartner(program);
    for (const external_id of ["first", "second"]) {
      await program.api("POST", "/api/v1/track/sale", {
        ...{ external_id, amount_cents: 10_000, currency: "USD", net_of_tax: true, ref: slug },
        customer: { id: "cus_1" },
      });
    }
    const asked = { then_value: "5", only: ["", "on"] };
    for (const changes of [{ simulate: "yes" }, { apply_from: "2020-01-01" }]) {
      const { status, body } = await send(NEW, await opened(`${NEW}?start=first_payment`), { ...asked, ...changes });
      expect(status).toBe(200);
      const sums = /<table[^>]*aria-label="Commissions by currency"[\s\S]*?<\/table>/.exec(body)?.[0] ?? "";
      expect(textOf(sums)).toContain("35.00");
    }
  });

  it("names the flow that already applies to everything else", async () => {
    await program.api("POST", "/api/v1/flows", { name: "Catch-all", action_type: "percentage", action_value: 10 });
    const reply = await send(NEW, await opened(`${NEW}?start=first_year`), { only: ["", "on"] });
    expect([reply.status, textOf(reply.body).includes("“Catch-all” already applies to everything else.")]).toEqual([
      422,
      true,
    ]);
    expect(await flowsOf()).toHaveLength(1);
  });

  it("makes none of them past the limit of flows (FLOW-1)", async () => {
    for (let i = 0; i < 99; i++)
      await program.api("POST", "/api/v1/flows", { name: `${i}`, action_type: "percentage", action_value: 1 });
    const reply = await send(NEW, await opened(`${NEW}?start=first_year`));
    expect([reply.status, textOf(reply.body).includes("at most 100 flows")]).toEqual([422, true]);
    expect(await flowsOf()).toHaveLength(99);
  });
});

describe("the order of flows (FLOW-17)", () => {
  const LIST = "/dashboard/flows";
  const names = async () => (await flowsOf()).map(({ name }) => name).join("");
  const make = (name: string, priority = 0) =>
    program.api<FlowBody>("POST", "/api/v1/flows", { name, action_type: "percentage", action_value: 1, priority });
  const orderIn = (html: string) => /name="order" value="([^"]*)"/.exec(html)?.[1] ?? "";
  const move = async (fields: Form) => owner.post(`${LIST}/order`, { order: orderIn(owner.html), ...fields });

  it("changes by a button or by a whole order, and each change is an event (FLOW-10)", async () => {
    for (const name of "abc") await make(name);
    const [a, , c] = await flowsOf();
    await owner.get(LIST);
    expect((await move({ move: `up:${c!.id}` })).status).toBe(303);
    expect(await names()).toBe("acb");
    await owner.get(LIST);
    await move({ move: `up:${a!.id}` });
    expect(await names()).toBe("acb");
    await owner.get(LIST);
    await move({ to: orderIn(owner.html).split(",").toReversed().join(",") });
    expect(await names()).toBe("bca");
    const events = await program.api<{ data: object[] }>("GET", "/api/v1/events?type=flow.updated");
    expect(events.body.data.length).toBeGreaterThan(0);
  });

  it("does not change over what somebody else moved or added (PAGE-30)", async () => {
    for (const name of "abc") await make(name);
    const [a, b, c] = await flowsOf();
    await owner.get(LIST);
    await program.api("PATCH", `/api/v1/flows/${b!.id}`, { priority: 1 });
    const reply = await move({ move: `up:${c!.id}` });
    expect([reply.status, textOf(reply.body).includes("This is the order now")]).toEqual([422, true]);
    expect(await names()).toBe("bac");
    // The page shows the new order, and takes it.
    expect((await move({ move: `down:${a!.id}` })).status).toBe(303);
    expect(await names()).toBe("bca");
  });

  it.each(["", "flw_x", "twice"])("refuses an order that is none of these flows: %s", async (to) => {
    for (const name of "ab") await make(name);
    const [a] = await flowsOf();
    await owner.get(LIST);
    expect((await move({ to: to === "twice" ? `${a!.id},${a!.id}` : to })).status).toBe(422);
    expect(await names()).toBe("ab");
  });
});

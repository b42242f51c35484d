/**
 * An owner's rules, made in the editor of flows as a person makes them, and their effect on payments (PAGE-33 to PAGE-35,
 * FLOW-18).
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { signInOwner, startPagesWorld, type OwnedProgram, type PagesWorld } from "./pages-world.ts";

let world: PagesWorld;
let made = 0;

before(async () => {
  world = await startPagesWorld();
});
after(() => world.close());

/** An owner on the page of a new flow. Each click and each filled field is a step. */
class Owner {
  readonly program: OwnedProgram;
  readonly page: Page;
  steps = 0;

  constructor(program: OwnedProgram, page: Page) {
    this.program = program;
    this.page = page;
  }

  static async of(scripts = true): Promise<Owner> {
    const owner_email = `flows-${++made}@shop.example`;
    const program = await world.createProgram({
      name: "Flows",
      owner_email,
      domain: "shop.example",
    });
    await program.api("PATCH", "/programs/me", { default_commission_pct: 10 });
    const { id } = await program.api("POST", "/partners", { email: `ada-${made}@partners.example`, slug: "ada" });
    await program.api("PATCH", `/partners/${id}`, { status: "active" });
    await program.api(
      "POST",
      "/track/sale",
      sale("earlier", {
        customer: { id: "cus_0" },
        amount_cents: 100,
        items: [{ product_id: "pro", amount_cents: 100 }],
      }),
    );
    const page = await world.visitor({ scripts, isApart: true });
    await signInOwner(world, page, owner_email);
    await page.goto(`${world.url}/dashboard/flows/new`);
    return new Owner(program, page);
  }

  async link(name: string): Promise<void> {
    await this.page.getByRole("main").getByRole("link", { name }).click();
    this.steps++;
  }

  async press(name: string): Promise<void> {
    await this.page.getByRole("main").getByRole("button", { name, exact: true }).click();
    this.steps++;
  }

  /** Adds a condition, whose controls then are there. */
  async add(field: string): Promise<void> {
    const rows = this.page.getByRole("group", { name: /^Condition \d/ });
    const count = await rows.count();
    await this.press(field);
    await rows.nth(count).waitFor();
  }

  async fill(label: string, text: string): Promise<void> {
    await this.page.getByLabel(label, { exact: true }).fill(text);
    this.steps++;
  }

  async choose(label: string, option: string): Promise<void> {
    await this.page.getByLabel(label, { exact: true }).selectOption(option);
    this.steps++;
  }

  async tick(label: string): Promise<void> {
    await this.page.getByLabel(label, { exact: true }).check();
    this.steps++;
  }

  async reads(sentence: string): Promise<void> {
    await this.page.locator("[data-sentence]").getByText(sentence).first().waitFor();
  }

  async save(): Promise<void> {
    await this.press("Add flow");
    await this.page.getByText(/^The flows? (?:was|were) added/).waitFor();
  }

  /** The rates by which payments are decided, in the order of the payments. */
  async rates(sales: readonly ReturnType<typeof sale>[]): Promise<(number | null)[]> {
    for (const one of sales) await this.program.api("POST", "/track/sale", one);
    const { data } = await this.program.api<{ data: Payment[] }>("GET", "/payments?per_page=100");
    const rates = new Map<string, number | null>();
    for (const { id, provider_transaction_id } of data) {
      const { trace } = await this.program.api<Payment>("GET", `/payments/${id}`);
      rates.set(provider_transaction_id, trace?.rate?.action_value ?? null);
    }
    return sales.map(({ external_id }) => rates.get(external_id) ?? null);
  }
}

interface Payment {
  id: string;
  provider_transaction_id: string;
  trace?: { rate: { action_value: number } | null };
}

const DAY = 86_400_000;

/** Sales are in their order, 10 ms apart. */
let sold = 0;

/** A sale of the partner's customer, just after the flow was made. */
function sale(external_id: string, fields: Record<string, unknown> = {}) {
  return {
    ...{ external_id, amount_cents: 10_000, currency: "USD", net_of_tax: true, ref: "ada" },
    ...{ customer: { id: "cus_1" }, ...ago(-(1 + sold++ / 100) / 86_400), ...fields },
  };
}

const ago = (days: number) => ({ occurred_at: new Date(Date.now() - days * DAY).toISOString() });
const of = (product_id: string) => ({ items: [{ product_id, amount_cents: 10_000 }] });
/** A customer who paid before the partner referred them. */
const OLD = { customer: { id: "cus_old" } };
/** Payments of before the flow earn the program's first rate, 20 %. */
const existing = () => [
  sale("before", { ...OLD, ...of("pro"), ...ago(40), ref: undefined }),
  sale("after", { ...OLD, ...of("pro") }),
];

/** The sentences of owners: the steps in the form, the sales, and the rates that decide them. */
const SENTENCES: [
  string,
  steps: number,
  (owner: Owner) => Promise<void>,
  () => ReturnType<typeof sale>[],
  (number | null)[],
][] = [
  [
    "50 % for the first 12 months, then 20 %",
    2,
    (owner) => owner.link("First-year rate"),
    () => [
      sale("new"),
      sale("first", { customer: { id: "cus_2" }, ...ago(400) }),
      sale("later", { customer: { id: "cus_2" } }),
    ],
    [50, 20, 20],
  ],
  ["first payment only", 2, (owner) => owner.link("First payment only"), () => [sale("one"), sale("two")], [30, 0]],
  [
    "first three payments",
    3,
    async (owner) => {
      await owner.link("First payment only");
      await owner.fill("Number of the customer's payment", "3");
    },
    () => ["one", "two", "three", "four"].map((id) => sale(id)),
    [30, 30, 30, 0],
  ],
  [
    "30 % of product X only",
    4,
    async (owner) => {
      await owner.link("Rate per product");
      await owner.fill("Product or price", "pro");
      await owner.tick("Everything else earns nothing");
    },
    () => [sale("pro", of("pro")), sale("other", of("other"))],
    [30, 0],
  ],
  [
    "no commission for existing customers",
    2,
    (owner) => owner.link("New customers only"),
    () => [...existing(), sale("new")],
    [null, 0, 10],
  ],
  [
    "double in this month",
    5,
    async (owner) => {
      await owner.link("Campaign between two dates");
      await owner.fill("Amount", "20");
      await owner.fill("First day optional", new Date().toISOString().slice(0, 8).concat("01"));
      await owner.fill("Last day optional", new Date(Date.now() + DAY).toISOString().slice(0, 10));
    },
    () => [sale("now")],
    [20],
  ],
  ["double in the next month", 2, (owner) => owner.link("Campaign between two dates"), () => [sale("now")], [10]],
  [
    "50 % in the first year, 20 % after, only product Pro, new customers only",
    6,
    async (owner) => {
      await owner.link("First-year rate");
      await owner.add("Product or price");
      await owner.fill("Product or price", "pro");
      await owner.add("The customer is new");
      await owner.tick("Everything else earns nothing");
    },
    () => [
      sale("pro", of("pro")),
      sale("other", of("other")),
      sale("first", { ...of("pro"), ...ago(400), customer: { id: "cus_2" } }),
      sale("later", { ...of("pro"), customer: { id: "cus_2" } }),
      ...existing(),
    ],
    [50, 0, 20, 20, null, 0],
  ],
];

for (const scripts of [true, false]) {
  describe(`an owner makes a rule ${scripts ? "with" : "without"} scripts (PAGE-33, PAGE-34, FLOW-18)`, () => {
    for (const [sentence, steps, fillIn, sales, rates] of SENTENCES) {
      it(`${sentence}, in ${steps} steps`, async () => {
        const owner = await Owner.of(scripts);
        await fillIn(owner);
        await owner.save();
        assert.equal(owner.steps, steps);
        assert.deepEqual(await owner.rates(sales()), rates);
        await owner.page.context().close();
      });
    }

    it("flat 40 EUR per lead, in 5 steps", async () => {
      const owner = await Owner.of(scripts);
      await owner.link("Flat amount per lead");
      await owner.fill("Amount", "40");
      await owner.page.getByText("Currency, hold, priority").click();
      owner.steps++;
      await owner.fill("Currency optional", "EUR");
      if (scripts) await owner.page.locator("[data-sentence]").getByText("40.00\u00a0EUR").waitFor();
      await owner.save();
      assert.equal(owner.steps, 5);
      const lead = {
        external_id: "lead",
        ref: "ada",
        customer: { id: "cus_1", email: "kim@shop.example" },
        ...ago(-1 / 86_400),
      };
      await owner.program.api("POST", "/track/lead", lead);
      const { data } = await owner.program.api<{ data: Commission[] }>("GET", "/commissions");
      const euros = data.filter(({ currency }) => currency === "EUR");
      assert.deepEqual(
        euros.map(({ amount_cents }) => amount_cents),
        [4_000],
      );
      await owner.page.context().close();
    });
  });
}

interface Commission {
  amount_cents: number;
  currency: string;
}

describe("the order of flows (PAGE-35, FLOW-17)", () => {
  const names = async ({ program }: Owner) =>
    (await program.api<{ data: { name: string }[] }>("GET", "/flows")).data.map(({ name }) => name).join(" ");

  async function ownerOfThree(scripts: boolean): Promise<Owner> {
    const owner = await Owner.of(scripts);
    for (const name of ["One", "Two", "Three"])
      await owner.program.api("POST", "/flows", { name, action_type: "percentage", action_value: 10 });
    await owner.page.goto(`${world.url}/dashboard/flows`);
    return owner;
  }

  for (const scripts of [true, false]) {
    it(`changes by the keyboard, ${scripts ? "with" : "without"} scripts, and the focus stays`, async () => {
      const owner = await ownerOfThree(scripts);
      const button = (place: number) => owner.page.getByRole("button", { name: `Move Three up, now ${place} of 3` });
      await button(3).focus();
      await owner.page.keyboard.press("Enter");
      await button(2).waitFor();
      await owner.page.locator("button:focus[value^='up:']").waitFor();
      await owner.page.keyboard.press("Enter");
      await button(1).waitFor();
      assert.equal(await names(owner), "Three One Two");
      await owner.page.context().close();
    });
  }

  it("changes by dragging", async () => {
    const owner = await ownerOfThree(true);
    const grip = (i: number) => owner.page.locator(".grip").nth(i);
    await grip(2).dragTo(grip(0), { targetPosition: { x: 2, y: 1 } });
    await owner.page.getByRole("button", { name: "Move Three up, now 1 of 3" }).waitFor();
    assert.equal(await names(owner), "Three One Two");
    await owner.page.context().close();
  });
});

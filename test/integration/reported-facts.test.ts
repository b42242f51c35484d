/** Reports of the owner's server: leads, sales and refunds of a checkout without a payment provider. */
import { describe, expect, it } from "vitest";
import { lead, refund, sale, report, type Customer, type Taken } from "../support/api.ts";
import { ledgerOf } from "../support/ledger.ts";
import { makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";

async function programOfJane(fields: Parameters<typeof makeProgram>[0] = {}): Promise<TestProgram> {
  const program = await makeProgram(fields);
  await makePartner(program, { slug: "jane", email: "jane@partners.example" });
  await makePartner(program, { slug: "bob", email: "bob@partners.example" });
  return program;
}

/** The outcome, the partner's slug and the earned amount, by the sale's id. */
async function earned(program: TestProgram) {
  const { payments, commissions } = await ledgerOf(program);
  return Object.fromEntries(
    payments
      .filter(({ event }) => event === "transaction_completed")
      .map((row) => [
        row.provider_transaction_id,
        [
          row.outcome,
          row.decision?.partner_slug ?? null,
          commissions.filter(({ payment_id }) => payment_id === row.id).reduce((sum, one) => sum + one.amount_cents, 0),
        ],
      ]),
  );
}

interface Refused {
  error: { code: string; details: { path: string; message: string }[] };
}

/** The refusal of a request: status, code and fields. */
function refusalOf(reply: Reply<Taken>): [number, string, string[]] {
  const { error } = reply.body as unknown as Refused;
  return [reply.status, error.code, (error.details ?? []).map(({ path }) => path)];
}

const HOUR = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

describe("a sale that the owner's server reports (FACT-1)", () => {
  it("is a payment of the provider api, decided, traced and listed as any other", async () => {
    const program = await programOfJane();
    const conditions = [{ field: "provider", op: "eq", value: "api" }];
    await program.api("POST", "/api/v1/flows", {
      ...{ name: "Own shop", action_type: "percentage", action_value: 50, conditions },
    });
    const reply = await report(program, "sale", sale({ external_id: "order-1", ref: "Jane", amount_cents: 12_000 }));
    expect([reply.status, reply.body]).toEqual([200, { received: true, outcome: "commission" }]);
    const { body } = await program.api<{ data: Record<string, unknown>[] }>("GET", "/api/v1/payments?provider=api");
    expect(body.data).toMatchObject([
      { provider: "api", provider_transaction_id: "order-1", txn_amount_cents: 12_000, outcome: "commission" },
    ]);
    const trace = await program.api<{ trace: object }>("GET", `/api/v1/payments/${String(body.data[0]!["id"])}`);
    expect(JSON.stringify(trace.body.trace)).toContain('"Jane"');
    const { body: commissions } = await program.api<{ data: object[] }>("GET", "/api/v1/commissions?provider=api");
    expect(commissions.data).toMatchObject([{ provider: "api", amount_cents: 6_000, status: "pending" }]);
    const { body: events } = await program.api<{ data: object[] }>("GET", "/api/v1/events?type=webhook.api");
    expect(events.data).toMatchObject([
      {
        payload: { event_id: "sale:order-1", event_type: "sale", outcome: "commission" },
        actor: { type: "provider", id: "sale:order-1", name: "api" },
      },
    ]);
  });

  it("names in its trace a reference that leads to nobody, and earns nothing without one", async () => {
    const program = await programOfJane();
    expect((await report(program, "sale", sale({ ref: "nobody" }))).body.outcome).toBe("unknown_ref");
    expect((await report(program, "sale", sale())).body.outcome).toBe("no_ref");
    expect((await report(program, "sale", sale({ ref: "jane", amount_cents: 0 }))).body.outcome).toBe("zero_amount");
  });

  it("remembers the reference for the customer's next sale", async () => {
    const program = await programOfJane();
    await report(program, "sale", sale({ ref: "jane", customer: { id: "user-1" } }));
    const next = await report(program, "sale", sale({ customer: { id: "user-1" } }));
    expect(next.body.outcome).toBe("commission");
  });

  it("remembers no reference for the customer's address (REF-3)", async () => {
    const program = await programOfJane();
    const customer = { email: "kim@customer.example" };
    await report(program, "sale", sale({ ref: "jane", customer }));
    expect((await report(program, "sale", sale({ customer }))).body.outcome).toBe("no_ref");
  });

  it("is flagged where the customer is the partner", async () => {
    const program = await programOfJane();
    await report(program, "lead", lead({ ref: "jane", customer: { id: "user-1", email: "Jane@partners.example" } }));
    await report(program, "sale", sale({ customer: { id: "user-1" } }));
    expect((await ledgerOf(program)).commissions).toMatchObject([{ review_reason: "self_referral" }]);
  });
});

describe("what is reported again (FACT-2)", () => {
  it("is answered alike and does nothing, also at once", async () => {
    const program = await programOfJane();
    const order = sale({ external_id: "order-1", ref: "jane", customer: { id: "u", email: "a@b.example" } });
    const replies = await Promise.all([1, 2, 3, 4].map(() => report(program, "sale", order)));
    const late = await report(program, "sale", { ...order, occurred_at: undefined as never });
    for (const { status, body } of [...replies, late]) {
      expect([status, body]).toEqual([200, { received: true, outcome: "commission" }]);
    }
    const { payments, commissions } = await ledgerOf(program);
    expect([payments.length, commissions.length]).toEqual([1, 1]);
    const { body } = await program.api<{ total: number }>("GET", "/api/v1/events?type=webhook.api");
    expect(body.total).toBe(1);
  });

  it("and says something else is refused, with each field that differs, also at once", async () => {
    const program = await programOfJane();
    const order = sale({
      external_id: "o",
      ref: "jane",
      customer: { id: "u", email: "a@b.example" },
      occurred_at: ago(HOUR),
    });
    await report(program, "sale", order);
    for (const [changed, paths] of [
      [{ amount_cents: 1 }, ["amount_cents"]],
      [{ ref: "bob" }, ["ref"]],
      [{ currency: "EUR" }, ["currency"]],
      [{ items: [{ product_id: "x", amount_cents: 1 }] }, ["items"]],
      [{ occurred_at: ago(2 * HOUR) }, ["occurred_at"]],
      [{ customer: { id: "v", email: "a@b.example" } }, ["customer.id"]],
      [{ customer: { id: "u", email: "c@b.example" } }, ["customer.email"]],
      [{ customer: { id: "u" }, amount_cents: 2 }, ["amount_cents", "customer.email"]],
    ] as const) {
      const reply = await report(program, "sale", { ...order, ...changed } as typeof order);
      const [status, code, found] = refusalOf(reply);
      expect([status, code, found.toSorted()], JSON.stringify(changed)).toEqual([409, "already_exists", paths]);
    }
    const same = await report(program, "sale", { ...order, customer: { id: "u", email: "A@B.example" } });
    expect(same.status).toBe(200);
    const races = await Promise.all(
      [1, 2].map((amount_cents) => report(program, "sale", sale({ external_id: "p", ref: "jane", amount_cents }))),
    );
    expect(races.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect((await ledgerOf(program)).payments).toHaveLength(2);
  });

  it("holds for leads and refunds, whose ids are apart", async () => {
    const program = await programOfJane();
    await report(program, "sale", sale({ external_id: "1", ref: "jane" }));
    await report(program, "lead", lead({ external_id: "1", ref: "jane", customer: { email: "a@b.example" } }));
    await report(program, "refund", refund({ external_id: "1", sale_external_id: "1", amount_cents: 500 }));
    const other = lead({ external_id: "1", ref: "bob", customer: { email: "c@b.example" } });
    expect(refusalOf(await report(program, "lead", other))).toEqual([409, "already_exists", ["ref", "customer.email"]]);
    const changed = refund({ external_id: "1", sale_external_id: "2", amount_cents: 600 });
    expect(refusalOf(await report(program, "refund", changed))).toEqual([
      ...[409, "already_exists"],
      ["sale_external_id", "amount_cents"],
    ]);
    expect(await earned(program)).toEqual({ 1: ["commission", "jane", 1_900] });
  });

  it("is another program's of its own", async () => {
    const [one, other] = [await programOfJane(), await programOfJane()];
    for (const program of [one, other]) {
      expect((await report(program, "sale", sale({ external_id: "order-1", ref: "jane" }))).body.outcome).toBe(
        "commission",
      );
    }
  });
});

describe("a refund that the owner's server reports (FACT-3)", () => {
  it("lowers the commission, and no further than the sale", async () => {
    const program = await programOfJane();
    await report(program, "sale", sale({ external_id: "o", ref: "jane" }));
    const part = await report(program, "refund", refund({ sale_external_id: "o", amount_cents: 2_500 }));
    expect(part.body).toEqual({ received: true, outcome: "adjusted" });
    expect(await earned(program)).toEqual({ o: ["commission", "jane", 1_500] });
    await report(program, "refund", refund({ sale_external_id: "o", amount_cents: 9_000 }));
    expect(await earned(program)).toEqual({ o: ["commission", "jane", 0] });
  });

  it("waits for its sale", async () => {
    const program = await programOfJane();
    const early = await report(program, "refund", refund({ sale_external_id: "o", amount_cents: 2_500 }));
    expect(early.body).toEqual({ received: true, outcome: "waiting" });
    await report(program, "sale", sale({ external_id: "o", ref: "jane" }));
    expect(await earned(program)).toEqual({ o: ["commission", "jane", 1_500] });
  });
});

describe("a lead that the owner's server reports (FACT-4)", () => {
  const customers: [Customer, Customer][] = [
    [{ id: "u" }, { id: "u" }],
    [{ email: "A@b.example" }, { email: "a@B.example" }],
    [{ id: "u", email: "a@b.example" }, { id: "u" }],
    [{ id: "u", email: "a@b.example" }, { email: "a@b.example" }],
    [{ email: "a@b.example" }, { id: "v", email: "a@b.example" }],
  ];

  it.each(customers)("binds %o, whose sale names %o, in either order", async (bound, paying) => {
    for (const isFirst of [true, false]) {
      const program = await programOfJane();
      const steps = [
        () => report(program, "lead", lead({ ref: "jane", customer: bound, occurred_at: ago(2 * HOUR) })),
        () => report(program, "sale", sale({ external_id: "o", customer: paying, occurred_at: ago(HOUR / 2) })),
      ];
      const replies = [];
      for (const step of isFirst ? steps : steps.toReversed()) replies.push((await step()).body.outcome);
      expect(replies).toEqual(isFirst ? ["remembered", "commission"] : ["no_ref", "remembered"]);
      expect(await earned(program)).toEqual({ o: ["commission", "jane", 2_000] });
    }
  });

  it("gives way to a sale's own reference, and decides nothing that was paid before it", async () => {
    const program = await programOfJane();
    await report(program, "lead", lead({ ref: "jane", customer: { id: "u" }, occurred_at: ago(3 * HOUR) }));
    await report(program, "sale", sale({ external_id: "own", ref: "bob", customer: { id: "u" } }));
    await report(program, "sale", sale({ external_id: "before", customer: { id: "u" }, occurred_at: ago(5 * HOUR) }));
    expect(await earned(program)).toEqual({ own: ["commission", "bob", 2_000], before: ["no_ref", null, 0] });
  });

  it.each([
    ["first", "jane"],
    ["last", "bob"],
  ] as const)("of two partners the %s counts where the program says so", async (attribution, slug) => {
    for (const by of [{ id: "u" }, { email: "a@b.example" }]) {
      const program = await programOfJane({ attribution });
      await report(program, "lead", lead({ ref: "bob", customer: by, occurred_at: ago(2 * HOUR) }));
      await report(program, "lead", lead({ ref: "jane", customer: by, occurred_at: ago(3 * HOUR) }));
      await report(program, "sale", sale({ external_id: "o", customer: by }));
      expect(await earned(program)).toEqual({ o: ["commission", slug, 2_000] });
    }
  });

  it("whose reference leads to nobody is answered so, and never remembered", async () => {
    const program = await programOfJane();
    const unknown = lead({ ref: "later", customer: { id: "u", email: "a@b.example" } });
    expect((await report(program, "lead", unknown)).body).toEqual({ received: true, outcome: "unknown_ref" });
    await makePartner(program, { slug: "later" });
    expect((await report(program, "lead", unknown)).body).toEqual({ received: true, outcome: "unknown_ref" });
    expect((await report(program, "sale", sale({ customer: { id: "u" } }))).body.outcome).toBe("no_ref");
  });
});

describe("what cannot be taken (FACT-5)", () => {
  it.each([
    ["sale", sale({ net_of_tax: false as true }), "net_of_tax"],
    ["sale", sale({ amount_cents: -1 }), "amount_cents"],
    ["sale", sale({ amount_cents: 1.5 }), "amount_cents"],
    ["sale", sale({ amount_cents: 2 ** 53 }), "amount_cents"],
    ["sale", sale({ currency: "usd" }), "currency"],
    ["sale", sale({ external_id: "jane@example.com" }), "external_id"],
    ["sale", sale({ external_id: "" }), "external_id"],
    ["sale", sale({ customer: { id: "jane@example.com" } }), "customer.id"],
    ["sale", sale({ customer: { email: "nobody" } }), "customer.email"],
    ["sale", sale({ occurred_at: new Date(Date.now() + HOUR).toISOString() }), "occurred_at"],
    ["sale", sale({ occurred_at: "2026-02-30" }), "occurred_at"],
    // Servers send this for a time that was never set.
    ["sale", sale({ occurred_at: "0001-01-01T00:00:00Z" }), "occurred_at"],
    ["lead", lead({ ref: "jane", occurred_at: "1970-01-01T00:00:00.000Z" }), "occurred_at"],
    ["refund", refund({ sale_external_id: "o", occurred_at: "1999-12-31T23:59:59Z" }), "occurred_at"],
    ["sale", { ...sale(), click_id: "abc" }, "click_id"],
    ["sale", { ...sale(), amount: 1 }, "amount"],
    ["lead", lead({ ref: "jane", customer: {} }), "customer"],
    ["lead", { ...lead({ ref: "jane" }), ref: undefined }, "ref"],
    ["refund", refund({ sale_external_id: "o", amount_cents: 0 }), "amount_cents"],
    ["refund", refund({ sale_external_id: "a b" }), "sale_external_id"],
  ] as const)("a %s of %o is refused at %s", async (kind, body, path) => {
    const program = await programOfJane();
    expect(refusalOf(await report(program, kind, body as never))).toEqual([422, "validation_failed", [path]]);
    expect((await ledgerOf(program)).payments).toEqual([]);
  });
});

describe("an erasure of a customer that was reported (FACT-6)", () => {
  const address = "gone@example.com";

  it("leaves sums and no address, and what is reported again brings none back", async () => {
    const program = await programOfJane();
    const all = [
      [
        "lead",
        lead({ external_id: "1", ref: "jane", customer: { id: "u", email: address }, occurred_at: ago(3 * HOUR) }),
      ],
      ["lead", lead({ external_id: "2", ref: "bob", customer: { email: address }, occurred_at: ago(4 * HOUR) })],
      ["sale", sale({ external_id: "a", customer: { id: "u" }, occurred_at: ago(2 * HOUR) })],
      ["sale", sale({ external_id: "b", customer: { email: address }, occurred_at: ago(2 * HOUR) })],
      ["sale", sale({ external_id: "c", ref: "jane", customer: { id: "u", email: address }, occurred_at: ago(HOUR) })],
    ] as const;
    for (const [kind, body] of all) expect((await report(program, kind, body)).status).toBe(200);
    const before = await earned(program);
    expect(before).toMatchObject({ a: ["commission", "jane", 2_000], b: ["commission", "jane", 2_000] });
    const erased = await program.api("POST", "/api/v1/customers/erase", { email: address });
    // The leads are among them.
    expect([erased.status, erased.body]).toMatchObject([200, { erased: { payments: 5 } }]);
    expect(await held(program, address)).toEqual([]);
    for (const [kind, body] of all) expect((await report(program, kind, body)).status, JSON.stringify(body)).toBe(200);
    await report(program, "refund", refund({ sale_external_id: "a", amount_cents: 5_000 }));
    await report(program, "refund", refund({ sale_external_id: "b", amount_cents: 5_000 }));
    const late = lead({ ref: "bob", customer: { id: "u", email: address }, occurred_at: ago(HOUR) });
    await report(program, "lead", late);
    await report(program, "sale", sale({ external_id: "d", customer: { email: address }, occurred_at: ago(HOUR) }));
    expect(await held(program, address)).toEqual([]);
    expect(await earned(program)).toMatchObject({
      ...before,
      a: ["commission", "jane", 1_000],
      b: ["commission", "jane", 1_000],
    });
  });

  it("leaves what the answer to a lead of before says of its reference (FACT-4)", async () => {
    const program = await programOfJane();
    await program.api("POST", "/api/v1/customers/erase", { email: address });
    const answers = ["jane", "nobody"].map(async (ref) => {
      const late = lead({ external_id: ref, ref, customer: { email: address }, occurred_at: ago(HOUR) });
      return (await report(program, "lead", late)).body.outcome;
    });
    expect(await Promise.all(answers)).toEqual(["remembered", "unknown_ref"]);
    expect(await held(program, address)).toEqual([]);
  });
});

/** The tables in which an address is stored. */
async function held(program: TestProgram, address: string): Promise<string[]> {
  const { env } = await import("cloudflare:workers");
  const { results } = await env.DB.prepare(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like '\\_cf%' escape '\\' and name not like 'd1_%'",
  ).all<{ name: string }>();
  const found: string[] = [];
  for (const { name } of results) {
    const { results: columns } = await env.DB.prepare(`select name from pragma_table_info('${name}')`).all<{
      name: string;
    }>();
    if (!columns.some((column) => column.name === "program_id")) continue;
    const any = columns.map((column) => `instr(lower("${column.name}"), ?2) > 0`).join(" or ");
    const row = await env.DB.prepare(`select 1 from "${name}" where program_id = ?1 and (${any})`)
      .bind(program.id, address)
      .first();
    if (row) found.push(name);
  }
  return found;
}

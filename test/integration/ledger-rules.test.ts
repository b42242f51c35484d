/** The rates, flows and settings at the time of the payment apply (PAY-16). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { sql } from "drizzle-orm";
import { recordFacts } from "../../src/core/ledger/facts.ts";
import { settleUnsettled } from "../../src/core/ledger/settle.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { sendA, sendBody } from "../support/ledger.ts";
import { understood } from "../support/money-world.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, invoicePaymentPaid, paymentIntentSucceeded } from "../support/provider-a-changes.ts";
import { bodyOfA, invoicePaid, sessionAsyncSucceeded, sessionCompleted } from "../support/provider-a.ts";
import { saleAt } from "../support/sale.ts";

interface Row {
  kind: string;
  status: string;
  amount_cents: number;
  rate: { source: string; action_value: number };
}

async function rowsOf(program: TestProgram): Promise<Row[]> {
  return (await program.api<{ data: Row[] }>("GET", "/api/v1/commissions?per_page=100")).body.data;
}

async function change(program: TestProgram, method: string, path: string, body?: unknown): Promise<{ id: string }> {
  const { status, body: reply } = await program.api<{ id: string }>(method, path, body);
  expect([path, status]).toEqual([path, method === "POST" ? 201 : 200]);
  return reply;
}

const MINUTE = 60_000;
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * MINUTE);
const seconds = (time: Date) => Math.floor(time.getTime() / 1_000);

/** Moves the program's latest change `minutes` into the past. */
async function changedAgo(program: TestProgram, minutes: number): Promise<void> {
  await env.DB.prepare("update past_rules set valid_until = ? where program_id = ? and valid_until > ?")
    .bind(minutesAgo(minutes).toISOString(), program.id, minutesAgo(1).toISOString())
    .run();
}

const flow = { name: "all", action_type: "flat", action_value: 700 } as const;

describe("a late fact never decides by a later rule (PAY-16)", () => {
  it("an e-mail that comes after the rate was changed makes no clawback, whichever event comes first", async () => {
    for (const late of ["session", "invoice"] as const) {
      const program = await makeProgram();
      const { slug } = await makePartner(program);
      const ids = { subscription: `sub_${slug}`, amount: 10_000 };
      const invoice = `in_${slug}`;
      const events = {
        session: sessionCompleted({
          ...ids,
          invoice,
          ref: slug,
          email: late === "session" ? "new@shop.example" : null,
        }),
        invoice: invoicePaid({ ...ids, id: invoice, ref: slug, email: late === "invoice" ? "new@shop.example" : null }),
      };
      await change(program, "POST", "/api/v1/flows", {
        ...flow,
        conditions: [{ field: "customer_email", op: "contains", value: "@old.example" }],
      });
      await sendA(program, late === "session" ? events.invoice : events.session);
      await change(program, "PATCH", "/api/v1/programs/me", { default_commission_pct: 10 });
      await change(program, "POST", "/api/v1/flows", { ...flow, action_value: 1 });
      await sendA(program, events[late]);
      expect(await rowsOf(program)).toMatchObject([{ kind: "sale", amount_cents: 2_000, rate: { source: "program" } }]);
    }
  });

  it("a flow that a late fact brings in is the one of then, though it was changed, switched off or removed since", async () => {
    for (const since of [{ action_value: 1 }, { active: false }, { priority: 1, conditions: [] }, null]) {
      const program = await makeProgram();
      const { slug } = await makePartner(program);
      const { id } = await change(program, "POST", "/api/v1/flows", {
        ...flow,
        conditions: [{ field: "customer_email", op: "contains", value: "@vip.example" }],
      });
      const ids = { subscription: `sub_${slug}`, amount: 10_000 };
      const invoice = `in_${slug}`;
      await sendA(program, sessionCompleted({ ...ids, invoice, ref: slug, email: null }));
      expect(await rowsOf(program)).toMatchObject([{ amount_cents: 2_000 }]);
      if (since) await change(program, "PATCH", `/api/v1/flows/${id}`, since);
      else await change(program, "DELETE", `/api/v1/flows/${id}`);
      await sendA(program, invoicePaid({ ...ids, id: invoice, email: "a@vip.example" }));
      expect([since, await rowsOf(program)]).toMatchObject([since, [{ amount_cents: 700, rate: { source: "flow" } }]]);
    }
  });
});

describe("a payment that arrives late is decided by the rules of its own time (PAY-16)", () => {
  it("the program's rate, the partner's rate, and the first rate for all that is older", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    await changedAgo(program, 60);
    await change(program, "PATCH", "/api/v1/programs/me", { default_commission_pct: 10 });
    await changedAgo(program, 20);
    await change(program, "PATCH", `/api/v1/partners/${partner.id}`, { commission_pct: 5 });
    await changedAgo(program, 10);
    for (const [minutes, amount_cents] of [
      [30, 2_000],
      [15, 1_000],
      [5, 500],
      [60 * 24 * 400, 2_000],
    ] as const) {
      await sendA(program, sessionCompleted({ ref: partner.slug, created: seconds(minutesAgo(minutes)) }));
      expect([minutes, (await rowsOf(program)).map((row) => row.amount_cents)]).toEqual([
        minutes,
        expect.arrayContaining([amount_cents]),
      ]);
    }
    expect((await rowsOf(program)).map((row) => row.amount_cents).toSorted()).toEqual([1_000, 2_000, 2_000, 500]);
  });

  it("a flow counts from its creation on, at every provider", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program);
    await change(program, "POST", "/api/v1/flows", flow);
    const sell = async (at: Date) => {
      for (const name of VENDOR_NAMES) {
        await sendBody(program, name, saleAt(name, { ref: slug, program: program.id, at }));
      }
    };
    await sell(minutesAgo(1));
    expect((await rowsOf(program)).map((row) => row.rate.source)).toEqual(VENDOR_NAMES.map(() => "program"));
    // Within the vendor's second, a change made before the payment arrived applies.
    await sell(new Date());
    expect((await rowsOf(program)).filter((row) => row.rate.source === "flow")).toHaveLength(VENDOR_NAMES.length);
  });

  it("one made while the partner was active earns, though it was deactivated since", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    await changedAgo(program, 30);
    await change(program, "DELETE", `/api/v1/partners/${partner.id}`);
    await changedAgo(program, 10);
    await sendA(program, sessionCompleted({ ref: partner.slug, created: seconds(minutesAgo(5)) }));
    expect(await rowsOf(program)).toEqual([]);
    await sendA(program, sessionCompleted({ ref: partner.slug, created: seconds(minutesAgo(15)) }));
    expect(await rowsOf(program)).toMatchObject([{ kind: "sale", amount_cents: 2_000 }]);
  });

  it("one made while the partner was deactivated does not earn, though it is active again", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    await changedAgo(program, 30);
    await change(program, "DELETE", `/api/v1/partners/${partner.id}`);
    await changedAgo(program, 20);
    await change(program, "PATCH", `/api/v1/partners/${partner.id}`, { status: "active" });
    await changedAgo(program, 10);
    await sendA(program, sessionCompleted({ ref: partner.slug, created: seconds(minutesAgo(15)) }));
    expect(await rowsOf(program)).toEqual([]);
    const { body } = await program.api<{ data: { id: string; outcome: string }[] }>("GET", "/api/v1/payments");
    expect(body.data).toMatchObject([{ outcome: "partner_deactivated" }]);
    // The owner may decide to reprocess it.
    const asked = await program.api("POST", `/api/v1/payments/${body.data[0]!.id}/reprocess`);
    expect(asked.status).toBe(200);
    expect(await rowsOf(program)).toMatchObject([{ amount_cents: 2_000 }]);
  });
});

describe("two events of one payment, a change of the rules between them (PAY-16, LAW-1)", () => {
  const BOTH = ["session", "invoice"] as const;
  type Change = (program: TestProgram, partner_id: string) => Promise<unknown>;

  /** A program and its partner, whose status was `status` until a change 20 minutes ago. */
  async function shop(status: "active" | "invited" | "deactivated", made: Change) {
    const program = await makeProgram();
    const { id, slug } = await makePartner(program, {}, status);
    await changedAgo(program, 60);
    await made(program, id);
    await changedAgo(program, 20);
    return { program, id, slug };
  }

  /** The session dates the payment 30 minutes ago, and the invoice 10 minutes ago. */
  function eventsOf(slug: string) {
    const of = { subscription: `sub_${slug}`, ref: slug };
    return {
      session: sessionCompleted({ ...of, invoice: `in_${slug}`, created: seconds(minutesAgo(30)) }),
      invoice: invoicePaid({ ...of, id: `in_${slug}`, created: seconds(minutesAgo(10)) }),
    };
  }

  async function earned(first: (typeof BOTH)[number], ...of: Parameters<typeof shop>) {
    const { program, id, slug } = await shop(...of);
    const events = eventsOf(slug);
    await sendA(program, events[first]);
    await sendA(program, events[first === "session" ? "invoice" : "session"]);
    return { program, id };
  }

  it.each(BOTH)(
    "a rate, a flow and a partner's rate are those of the earlier one: the %s comes first",
    async (first) => {
      for (const made of [
        (program) => change(program, "PATCH", "/api/v1/programs/me", { default_commission_pct: 10 }),
        (program, id) => change(program, "PATCH", `/api/v1/partners/${id}`, { commission_pct: 5 }),
        (program) => change(program, "POST", "/api/v1/flows", flow),
      ] satisfies Change[]) {
        const { program } = await earned(first, "active", made);
        expect(await rowsOf(program)).toMatchObject([{ kind: "sale", amount_cents: 2_000 }]);
      }
    },
  );

  it.each(BOTH)("what the partner was then counts: the %s comes first", async (first) => {
    const { program, id } = await earned(first, "invited", (made, partner) =>
      change(made, "DELETE", `/api/v1/partners/${partner}`),
    );
    await change(program, "PATCH", `/api/v1/partners/${id}`, { status: "active" });
    expect(await rowsOf(program)).toMatchObject([{ kind: "sale", amount_cents: 2_000 }]);
  });

  const activeAgain: Change = (made, partner) =>
    change(made, "PATCH", `/api/v1/partners/${partner}`, { status: "active" });

  it.each(BOTH)("one made while they were deactivated earns nothing (PART-4): the %s comes first", async (first) => {
    const { program } = await earned(first, "deactivated", activeAgain);
    expect(await rowsOf(program)).toEqual([]);
    const { body } = await program.api<{ data: Asked[] }>("GET", "/api/v1/payments");
    expect(body.data).toMatchObject([{ outcome: "partner_deactivated" }]);
    // The owner's reprocessing holds for later events of the payment too.
    expect((await program.api("POST", `/api/v1/payments/${body.data[0]!.id}/reprocess`)).status).toBe(200);
    const { slug } = (await program.api<{ slug: string }>("GET", `/api/v1/partners/${body.data[0]!.partner_id}`)).body;
    await sendA(program, chargeRefunded({ invoice: `in_${slug}`, amount: 10_000, refunded: 5_000 }));
    expect(await rowsOf(program)).toMatchObject([{ kind: "sale", amount_cents: 1_000 }]);
  });

  it("what was paid out by the later one's time is taken back, once, by the earlier one's", async () => {
    const { program, id, slug } = await shop("deactivated", activeAgain);
    const { session, invoice } = eventsOf(slug);
    await sendA(program, invoice);
    const [{ id: sale }] = (await program.api<{ data: [{ id: string }] }>("GET", "/api/v1/commissions")).body.data;
    await change(program, "PATCH", `/api/v1/commissions/${sale}`, { status: "approved" });
    await program.api("POST", "/api/v1/payouts/generate", {});
    await sendA(program, session);
    await sendA(program, { ...session, id: `evt_again_${id}` });
    expect((await rowsOf(program)).map(({ kind, amount_cents }) => [kind, amount_cents]).toSorted()).toEqual([
      ["clawback", -2_000],
      ["sale", 2_000],
    ]);
  });
});

interface Asked {
  id: string;
  outcome: string;
  partner_id: string;
}

describe("one made while the partner was invited earns from when they turn active (PART-4)", () => {
  const SENT = ["while invited", "while deactivated", "while active", "when deactivated again"] as const;

  it.each(SENT)("though they were deactivated before and after it: sent %s", async (moment) => {
    const program = await makeProgram();
    const { id, slug } = await makePartner(program, {}, "invited");
    const sell = async (at: (typeof SENT)[number]) => {
      const made = { id: `cs_${slug}`, event_id: `evt_${slug}`, ref: slug, created: seconds(minutesAgo(50)) };
      if (at === moment) await sendA(program, sessionCompleted(made));
    };
    await sell("while invited");
    for (const [status, ago, at] of [
      ["deactivated", 40, "while deactivated"],
      ["active", 30, "while active"],
      ["deactivated", 20, "when deactivated again"],
    ] as const) {
      await change(program, "PATCH", `/api/v1/partners/${id}`, { status });
      await changedAgo(program, ago);
      await sell(at);
    }
    expect(await rowsOf(program)).toMatchObject([{ kind: "sale", amount_cents: 2_000 }]);
  });

  it("until then it waits, though a refund comes while they are deactivated", async () => {
    const program = await makeProgram();
    const { id, slug } = await makePartner(program, {}, "invited");
    const payment_intent = `pi_${slug}`;
    await sendA(program, sessionCompleted({ ref: slug, payment_intent, created: seconds(minutesAgo(50)) }));
    await change(program, "PATCH", `/api/v1/partners/${id}`, { status: "deactivated" });
    await sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 5_000 }));
    const { body } = await program.api<{ data: { outcome: string }[] }>("GET", "/api/v1/payments");
    expect(body.data).toMatchObject([{ outcome: "partner_not_active" }]);
    await change(program, "PATCH", `/api/v1/partners/${id}`, { status: "active" });
    expect(await rowsOf(program)).toMatchObject([{ kind: "sale", amount_cents: 1_000 }]);
  });
});

it("one made while the partner was deactivated waits for nothing where the owner asks before they are active (PART-4)", async () => {
  const program = await makeProgram();
  const { id, slug } = await makePartner(program);
  await change(program, "PATCH", `/api/v1/partners/${id}`, { status: "deactivated" });
  await changedAgo(program, 60);
  await sendA(program, sessionCompleted({ ref: slug, created: seconds(minutesAgo(50)) }));
  await change(program, "PATCH", `/api/v1/partners/${id}`, { status: "invited" });
  const outcome = async () => (await program.api<{ data: Asked[] }>("GET", "/api/v1/payments")).body.data[0]!;
  const ask = async () => program.api("POST", `/api/v1/payments/${(await outcome()).id}/reprocess`);
  await ask();
  expect(await outcome()).toMatchObject({ outcome: "partner_deactivated" });
  await change(program, "PATCH", `/api/v1/partners/${id}`, { status: "active" });
  expect(await rowsOf(program)).toEqual([]);
  await ask();
  expect(await rowsOf(program)).toMatchObject([{ kind: "sale", amount_cents: 2_000 }]);
});

describe("a payment that is paid later is decided by the rules of then (PAY-16, PAY-3, LAW-1)", () => {
  type Event = ReturnType<typeof sessionCompleted>;
  const CHANGES: [string, number | null, (program: TestProgram, partner_id: string) => Promise<unknown>][] = [
    ["the partner is deactivated", null, (program, id) => change(program, "DELETE", `/api/v1/partners/${id}`)],
    ["a rate", 1_000, (program) => change(program, "PATCH", "/api/v1/programs/me", { default_commission_pct: 10 })],
    [
      "a partner's rate",
      500,
      (program, id) => change(program, "PATCH", `/api/v1/partners/${id}`, { commission_pct: 5 }),
    ],
    ["a flow", 700, (program) => change(program, "POST", "/api/v1/flows", flow)],
  ];

  /** The events of a session that began 50 minutes ago and was paid 10 minutes ago. */
  function eventsOf(
    slug: string,
    how: "session" | "intent" | "invoice",
    paidAt = minutesAgo(10),
    ref: string | null = slug,
  ) {
    const ids = { id: `cs_${slug}`, ref, payment_intent: `pi_${slug}` };
    const begun = sessionCompleted({ ...ids, payment_status: "unpaid", created: seconds(minutesAgo(50)) });
    const created = seconds(paidAt);
    const intent = { payment_intent: ids.payment_intent, created };
    const paid: Record<typeof how, Event[]> = {
      session: [sessionAsyncSucceeded({ ...ids, created })],
      intent: [paymentIntentSucceeded({ ...intent, order_reference: ids.id })],
      invoice: [
        invoicePaid({ id: `in_${slug}`, ref, created }),
        invoicePaymentPaid({ ...intent, invoice: `in_${slug}` }),
      ],
    };
    return { begun, paid: paid[how] };
  }

  async function shop() {
    const program = await makeProgram();
    const partner = await makePartner(program);
    await changedAgo(program, 60);
    return { program, ...partner };
  }

  const send = async (program: TestProgram, events: readonly Event[]) => {
    for (const event of events) await sendA(program, event);
  };
  /** Stores events and ends the process before their payments are settled. */
  const crashOn = async (program: TestProgram, events: readonly Event[]) => {
    for (const event of events) {
      const said = understood("provider_a", bodyOfA(event));
      await recordFacts(programContext(program), "provider_a", said, "{}", { before: [], ask: [] });
    }
  };
  const earned = async (program: TestProgram) => (await rowsOf(program)).map(({ amount_cents }) => amount_cents);

  describe.each(["session", "intent", "invoice"] as const)("by its %s", (how) => {
    it.each(CHANGES)("%s is changed between the two, whichever is heard of first", async (_, amount, made) => {
      for (const order of ["begun first", "changed first", "paid first"]) {
        const { program, id, slug } = await shop();
        const { begun, paid } = eventsOf(slug, how);
        if (order === "begun first") await send(program, [begun]);
        await made(program, id);
        await changedAgo(program, 30);
        await send(program, order === "paid first" ? [...paid, begun] : [begun, ...paid]);
        expect([order, await earned(program)]).toEqual([order, amount === null ? [] : [amount]]);
      }
    });

    it("what is changed once it was heard of as paid never decides it, though the provider dates it later", async () => {
      const { program, slug } = await shop();
      const { begun, paid } = eventsOf(slug, how, minutesAgo(-1), null);
      await send(program, [begun, ...paid]);
      await change(program, "PATCH", "/api/v1/programs/me", { default_commission_pct: 10 });
      await send(program, [eventsOf(slug, how).begun]);
      expect(await earned(program)).toEqual([2_000]);
    });

    it("nor does what is changed before it is settled, where the process dies in between", async () => {
      const { program, slug } = await shop();
      const { begun, paid } = eventsOf(slug, how, minutesAgo(-1));
      await send(program, [begun]);
      await crashOn(program, paid);
      await change(program, "PATCH", "/api/v1/programs/me", { default_commission_pct: 10 });
      await settleUnsettled(programContext(program), sql`from payments where program_id = ${program.id}`);
      expect(await earned(program)).toEqual([2_000]);
    });
  });

  it("nor where what took its money was heard of before it", async () => {
    const { program, slug } = await shop();
    const { begun, paid } = eventsOf(slug, "intent", minutesAgo(-1));
    await send(program, paid);
    await crashOn(program, [begun]);
    await change(program, "PATCH", "/api/v1/programs/me", { default_commission_pct: 10 });
    await settleUnsettled(programContext(program), sql`from payments where program_id = ${program.id}`);
    expect(await earned(program)).toEqual([2_000]);
  });

  it("another payment of the customer that is paid does not pay it, though the process dies after it", async () => {
    const { program, slug } = await shop();
    const ids = { id: `cs_${slug}`, customer: "cus_1" };
    const at = (minutes: number) => ({ created: seconds(minutesAgo(minutes)) });
    await send(program, [sessionCompleted({ ...ids, ref: null, payment_status: "unpaid", ...at(50) })]);
    await crashOn(program, [sessionCompleted({ ...ids, id: `cs_other_${slug}`, ref: slug, ...at(51) })]);
    await change(program, "PATCH", "/api/v1/programs/me", { default_commission_pct: 10 });
    await send(program, [sessionAsyncSucceeded({ ...ids, ref: null, ...at(-1) })]);
    await settleUnsettled(programContext(program), sql`from payments where program_id = ${program.id}`);
    expect((await earned(program)).toSorted((a, b) => a - b)).toEqual([1_000, 2_000]);
  });

  it("by those of before the session says that it was begun, where its intent dates it so", async () => {
    const { program, slug } = await shop();
    await change(program, "PATCH", "/api/v1/programs/me", { default_commission_pct: 10 });
    await changedAgo(program, 30);
    const { begun, paid } = eventsOf(slug, "intent", minutesAgo(40));
    await send(program, [...paid, { ...begun, created: seconds(minutesAgo(20)) }]);
    expect(await earned(program)).toEqual([2_000]);
  });

  it("also what was not settled yet when it was paid", async () => {
    const { program, slug } = await shop();
    const { begun, paid } = eventsOf(slug, "session");
    await send(program, [begun]);
    await env.DB.prepare(
      "update payments set outcome = null, decision = null, settled_revision = 0 where program_id = ?",
    )
      .bind(program.id)
      .run();
    await change(program, "PATCH", "/api/v1/programs/me", { default_commission_pct: 10 });
    await changedAgo(program, 30);
    await send(program, paid);
    expect(await earned(program)).toEqual([1_000]);
  });
});

/** Flows use the partner's slug at the time of the payment (PAY-16). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { chargeRefunded } from "../support/provider-a-changes.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const seconds = (time: Date) => Math.floor(time.getTime() / 1_000);

interface Shop {
  program: TestProgram;
  id: string;
}

/** The partner earns 50.00 of 100.00 with the favored slug, and 20.00 with another slug. */
async function shop(favored: string, status: "active" | "invited" = "active"): Promise<Shop> {
  const program = await makeProgram();
  const { id } = await makePartner(program, { slug: "jane" }, status);
  const conditions = [{ field: "partner_slug", op: "eq", value: favored }];
  const flow = { name: "favored", action_type: "percentage", action_value: 50, conditions };
  expect((await program.api("POST", "/api/v1/flows", flow)).status).toBe(201);
  await changedAgo(program, 60);
  return { program, id };
}

async function change({ program, id }: Shop, body: object): Promise<void> {
  expect((await program.api("PATCH", `/api/v1/partners/${id}`, body)).status).toBe(200);
}

/** Moves the program's latest change `minutes` into the past. */
async function changedAgo({ id }: TestProgram, minutes: number): Promise<void> {
  await env.DB.prepare("update past_rules set valid_until = ? where program_id = ? and valid_until > ?")
    .bind(minutesAgo(minutes).toISOString(), id, minutesAgo(1).toISOString())
    .run();
}

/** Each payment's earned amount and the slug that decided it. */
async function earned({ program }: Shop) {
  const { results } = await env.DB.prepare(
    `select c.kind, c.amount_cents, p.decision ->> 'partner_slug' as slug from commissions c
      join payments p on p.id = c.payment_id where c.program_id = ? order by p.provider_transaction_id, c.id`,
  )
    .bind(program.id)
    .all<{ kind: string; amount_cents: number; slug: string }>();
  return results.map(({ kind, amount_cents, slug }) => `${kind} ${amount_cents} as ${slug}`);
}

function paid(minutes: number, name: string) {
  return sessionCompleted({
    id: `cs_${name}`,
    payment_intent: `pi_${name}`,
    ref: "jane",
    created: seconds(minutesAgo(minutes)),
  });
}

const RENAMES = [
  ["out of", "jane", "sale 5000 as jane", "sale 2000 as jane-doe"],
  ["into", "jane-doe", "sale 2000 as jane", "sale 5000 as jane-doe"],
] as const;

describe("a flow asks for the slug of when the payment was made (PAY-16, LAW-1)", () => {
  it("of an invited partner who gets another with the status", async () => {
    for (const changes of [
      [{ slug: "jane-doe", status: "active" }],
      [{ slug: "jane-doe" }, { status: "active" }],
      [{ status: "active" }, { slug: "jane-doe" }],
    ]) {
      const one = await shop("jane", "invited");
      await sendA(one.program, paid(30, "a"));
      expect(await earned(one)).toEqual([]);
      for (const body of changes) await change(one, body);
      expect(await earned(one)).toEqual(["sale 5000 as jane"]);
    }
  });

  it.each(RENAMES)(
    "%s the favored one: payments of before and after, whenever they come",
    async (_, favored, ...of) => {
      const one = await shop(favored);
      await sendA(one.program, paid(30, "a"));
      await change(one, { slug: "jane-doe" });
      await changedAgo(one.program, 20);
      await sendA(one.program, paid(30, "b"));
      await sendA(one.program, paid(10, "c"));
      await change(one, { slug: "jane" });
      await sendA(one.program, paid(10, "d"));
      await sendA(one.program, paid(30, "e"));
      const [before, after] = of;
      expect(await earned(one)).toEqual([before, before, after, after, before]);
      await sendA(one.program, chargeRefunded({ payment_intent: "pi_b", amount: 10_000, refunded: 10_000 }));
      expect((await earned(one))[1]).toBe(before.replace(/[25]000/, "0"));
    },
  );

  it.each(RENAMES)("%s the favored one: two events of one payment, either first", async (_, favored, before) => {
    for (const first of ["session", "invoice"] as const) {
      const one = await shop(favored);
      await change(one, { slug: "jane-doe" });
      await changedAgo(one.program, 20);
      const of = { subscription: "sub_1", ref: "jane" };
      const session = sessionCompleted({ ...of, invoice: "in_1", created: seconds(minutesAgo(30)) });
      const invoice = invoicePaid({ ...of, id: "in_1", created: seconds(minutesAgo(10)) });
      for (const event of first === "session" ? [session, invoice] : [invoice, session])
        await sendA(one.program, event);
      expect([first, await earned(one)]).toEqual([first, [before]]);
    }
  });

  it("one that no flow asks for is said of the same time, whichever event is first", async () => {
    const one = await shop("nobody");
    await change(one, { slug: "jane-doe" });
    await changedAgo(one.program, 20);
    await sendA(
      one.program,
      invoicePaid({ id: "in_1", subscription: "sub_1", ref: "jane", created: seconds(minutesAgo(10)) }),
    );
    await sendA(
      one.program,
      sessionCompleted({ invoice: "in_1", subscription: "sub_1", ref: "jane", created: seconds(minutesAgo(30)) }),
    );
    expect(await earned(one)).toEqual(["sale 2000 as jane"]);
  });

  it("a rate that applies from an earlier time leaves it", async () => {
    const one = await shop("jane-doe");
    await sendA(one.program, paid(30, "a"));
    await change(one, { slug: "jane-doe" });
    await changedAgo(one.program, 20);
    await change(one, { commission_pct: 30, apply_from: minutesAgo(50).toISOString() });
    await sendA(one.program, paid(30, "b"));
    await sendA(one.program, paid(10, "c"));
    expect(await earned(one)).toEqual(["sale 3000 as jane", "sale 3000 as jane", "sale 5000 as jane-doe"]);
  });
});

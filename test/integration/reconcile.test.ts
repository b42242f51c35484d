/** The reconciler (ledger design, "Reconciler"): every kind of difference is planted, found, reported once, shown, and gone. */
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { reconcileStep } from "../../src/core/reconcile/reconcile.ts";
import type { Transfers } from "../../src/providers/connect.ts";
import type { Reconciling } from "../../src/core/reconcile/now.ts";
import { DAY } from "../../src/lib/time.ts";
import { sendA } from "../support/ledger.ts";
import { openMailbox, type Mailbox } from "../support/mailbox.ts";
import { clientOf, makePayingProgram, playOutside, type PaidProgram } from "../support/payouts.ts";
import { callApi, makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, disputeEvent } from "../support/provider-a-changes.ts";
import { sessionCompleted } from "../support/provider-a.ts";

interface Row {
  id: string;
  kind: string;
  status: string;
  amount_cents: number;
  payment_id: string;
  payout_id: string | null;
}

interface Event {
  payload: { check: string; subject: string; expected: Record<string, unknown>; found: Record<string, unknown> };
}

const ADMIN = "test-admin-token";
const NOW = Date.now();

async function run(sql: string, ...values: unknown[]): Promise<void> {
  const { meta } = await env.DB.prepare(sql)
    .bind(...values)
    .run();
  expect([sql, meta.changes > 0]).toEqual([sql, true]);
}

async function one<T>(sql: string, ...values: unknown[]): Promise<T> {
  return (await env.DB.prepare(sql)
    .bind(...values)
    .first<T>())!;
}

/** Runs with a trigger away, as a defect in the code behind it would. */
async function without(trigger: string, work: () => Promise<void>): Promise<void> {
  const { sql } = await one<{ sql: string }>("select sql from sqlite_master where name = ?", trigger);
  await env.DB.prepare(`drop trigger ${trigger}`).run();
  try {
    await work();
  } finally {
    await env.DB.prepare(sql).run();
  }
}

async function rowsOf(program: TestProgram): Promise<Row[]> {
  return (await program.api<{ data: Row[] }>("GET", "/api/v1/commissions?per_page=100")).body.data;
}

/** A sale of 10,000, which earns 2,000; gives its commission. */
async function sell(program: TestProgram, ref: string, payment_intent: string): Promise<Row> {
  const before = new Set((await rowsOf(program)).map(({ id }) => id));
  await sendA(program, sessionCompleted({ ref, amount: 10_000, payment_intent }));
  return (await rowsOf(program)).find(({ id }) => !before.has(id))!;
}

async function decide(program: TestProgram, id: string, status: string): Promise<void> {
  expect((await program.api("PATCH", `/api/v1/commissions/${id}`, { status })).status).toBe(200);
}

async function generate(program: TestProgram): Promise<string[]> {
  const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {});
  return body.payouts.map(({ id }) => id);
}

let world: PaidProgram;
let program: TestProgram;
let slug: string;
let mailbox: Mailbox;

/** The e-mails about a ledger that does not add up, of all that were sent so far. */
async function reports(program_id: string, now?: number): Promise<Mailbox["mails"]> {
  return (await mailbox.deliver(program_id, now)).filter(({ subject }) => subject.startsWith("The ledger of"));
}
let transfers: Transfers;

/** The program under test, and its owner's e-mails. */
async function open(): Promise<void> {
  world = await makePayingProgram();
  program = world.program;
  slug = (await program.api<{ slug: string }>("GET", `/api/v1/partners/${world.partner_id}`)).body.slug;
  mailbox = openMailbox();
  transfers = clientOf(world.vendor);
  playOutside(world.vendor);
}

afterEach(() => {
  vi.restoreAllMocks();
});

let story = 0;

/** Commissions and payouts in every state. */
async function liveThroughEverything(): Promise<{ paid: string; canceled: string; waiting: string; pending: Row }> {
  story += 1;
  const intent = (name: string) => `pi_${story}_${program.id.slice(-12)}_${name}`;
  const refund = (name: string, refunded: number) =>
    sendA(program, chargeRefunded({ payment_intent: intent(name), amount: 10_000, refunded }));
  const sale = await sell(program, slug, intent("paid"));
  await decide(program, sale.id, "approved");
  const [paid] = await generate(program);
  expect((await program.api("POST", `/api/v1/payouts/${paid}/pay`, {})).status).toBe(200);
  // A clawback that is forgiven, and one that waits.
  await refund("paid", 10_000);
  const ofSale = (await rowsOf(program)).filter(({ payment_id }) => payment_id === sale.payment_id);
  const clawback = ofSale.find(({ kind }) => kind === "clawback")!;
  await decide(program, clawback.id, "rejected");
  await decide(program, (await sell(program, slug, intent("canceled"))).id, "approved");
  const [canceled] = await generate(program);
  await refund("canceled", 2_500);
  await program.api("POST", `/api/v1/payouts/${canceled}/cancel`);
  await decide(program, (await sell(program, slug, intent("waiting"))).id, "approved");
  const [waiting] = await generate(program);
  await refund("waiting", 5_000);
  await decide(program, (await sell(program, slug, intent("rejected"))).id, "rejected");
  await decide(program, (await sell(program, slug, intent("approved"))).id, "approved");
  await sell(program, slug, intent("disputed"));
  await sendA(program, disputeEvent("charge.dispute.created", { payment_intent: intent("disputed"), amount: 10_000 }));
  const pending = await sell(program, slug, intent("pending"));
  await program.api("POST", "/api/v1/commissions", { partner_id: world.partner_id, amount_cents: -300, note: "less" });
  return { paid: paid!, canceled: canceled!, waiting: waiting!, pending };
}

/** A whole round at an instant. */
async function round(now = NOW, fromStart = false): Promise<void> {
  for (let more = true, first = fromStart; more; first = false) {
    more = (await reconcileStep(programContext(program, now), transfers, first)).more;
  }
}

async function failures(): Promise<Event["payload"][]> {
  const { body } = await program.api<{ data: Event[] }>(
    "GET",
    "/api/v1/events?type=reconciliation.failed&per_page=100",
  );
  return body.data.map(({ payload }) => payload);
}

async function status() {
  const { body } = await program.api<{ reconciled_at: string | null; differences: number }>(
    "GET",
    "/api/v1/integrations/status",
  );
  return { reconciled_at: body.reconciled_at, differences: body.differences };
}

describe("a healthy program", () => {
  beforeEach(open);

  it("has no difference in any state, in the first round and in those after", async () => {
    await liveThroughEverything();
    expect(await status()).toEqual({ reconciled_at: null, differences: 0 });
    await round();
    expect(await failures()).toEqual([]);
    expect(await status()).toEqual({ reconciled_at: new Date(NOW).toISOString(), differences: 0 });
    await liveThroughEverything();
    for (let day = 1; day <= 3; day++) await round(NOW + day * DAY);
    expect(await failures()).toEqual([]);
    expect(await reports(program.id)).toEqual([]);
    expect(await status()).toEqual({ reconciled_at: new Date(NOW + 3 * DAY).toISOString(), differences: 0 });
  });

  it("has none of a payout that was canceled while another request changed a commission of it, whose clock is ahead", async () => {
    const { id } = await sell(program, slug, `pi_ahead_${program.id.slice(-12)}`);
    await decide(program, id, "approved");
    const [canceled] = await generate(program);
    await run("update commissions set updated_at = ? where id = ?", new Date(Date.now() + 5_000).toISOString(), id);
    expect((await program.api("POST", `/api/v1/payouts/${canceled}/cancel`)).status).toBe(200);
    await round(NOW, true);
    expect(await failures()).toEqual([]);
  });
});

type Made = Awaited<ReturnType<typeof liveThroughEverything>>;

interface Planted {
  check: string;
  plant: (made: Made) => Promise<void>;
  mend: (made: Made) => Promise<void>;
  subject: (made: Made) => string;
}

const shift = (sql: string, ...by: [number, number]) => ({
  plant: (id: string) => run(sql, by[0], id),
  mend: (id: string) => run(sql, by[1], id),
});

const balance = shift(
  `update balances set amount_cents = amount_cents + ?1 where partner_id = ?2 and account = 'payable'`,
  ...([1, -1] as [number, number]),
);
const counted = shift(
  `update balances set commissions = commissions + ?1 where partner_id = ?2 and account = 'pending'`,
  ...([1, -1] as [number, number]),
);
const entered = shift(
  `update balances set entries = entries + ?1 where partner_id = ?2 and account = 'pending'`,
  ...([1, -1] as [number, number]),
);
const own = shift(
  `update balances set amount_cents = amount_cents + ?1 where partner_id = '' and program_id = ?2 and account = 'paid'`,
  ...([1, -1] as [number, number]),
);
const payout = shift("update payouts set amount_cents = amount_cents + ?1 where id = ?2", 1, -1);
const count = shift("update payouts set commission_count = commission_count + ?1 where id = ?2", 1, -1);
const amount = (by: number, id: string) =>
  without("commissions_journal_changed", () =>
    run("update commissions set amount_cents = amount_cents + ?1 where id = ?2", by, id),
  );

/** A wrong entry stands for one that is missing as well: the journal cannot be changed, only added to. */
async function post(id: string, from: string, to: string): Promise<void> {
  await run(
    `insert into entries select program_id, partner_id, 'ent_' || lower(hex(randomblob(13))), currency, commission_id,
      payout_id, ?2, ?3, 1, posted_at, event_id from entries where commission_id = ?1 order by id desc limit 1`,
    ...[id, from, to],
  );
}

/** The sum of the entries that were inserted past the trigger. */
async function recountEntries(): Promise<void> {
  await run(
    `update balances set entries = (select count(*) from entries e where e.partner_id = balances.partner_id
      and e.currency = balances.currency and iif(e.to_account = 'expense', e.from_account, e.to_account) = balances.account)
    where partner_id = ?`,
    world.partner_id,
  );
}

const PLANTED: Record<string, Planted> = {
  "a balance that is off by a cent": {
    check: "balance",
    plant: () => balance.plant(world.partner_id),
    mend: () => balance.mend(world.partner_id),
    subject: () => world.partner_id,
  },
  "a balance that counts a commission too many": {
    check: "balance",
    plant: () => counted.plant(world.partner_id),
    mend: () => counted.mend(world.partner_id),
    subject: () => world.partner_id,
  },
  "a balance that counts an entry too many": {
    check: "balance",
    plant: () => entered.plant(world.partner_id),
    mend: () => entered.mend(world.partner_id),
    subject: () => world.partner_id,
  },
  "a balance of the program that is not its partners'": {
    check: "balance",
    plant: () => own.plant(program.id),
    mend: () => own.mend(program.id),
    subject: () => program.id,
  },
  "an entry too many": {
    check: "journal",
    plant: ({ pending }) => post(pending.id, "expense", "pending"),
    mend: async ({ pending }) => {
      await post(pending.id, "pending", "expense");
      await recountEntries();
    },
    subject: ({ pending }) => pending.id,
  },
  "an entry between the wrong accounts": {
    check: "journal",
    plant: ({ pending }) => post(pending.id, "pending", "payable"),
    mend: async ({ pending }) => {
      await post(pending.id, "payable", "pending");
      await recountEntries();
    },
    subject: ({ pending }) => pending.id,
  },
  "a commission that changed past the journal": {
    check: "journal",
    plant: ({ pending }) => amount(7, pending.id),
    mend: ({ pending }) => amount(-7, pending.id),
    subject: ({ pending }) => pending.id,
  },
  "a payment whose commission is not what its facts come to": {
    check: "entitlement",
    plant: ({ pending }) => run("update commissions set amount_cents = amount_cents + 7 where id = ?", pending.id),
    mend: ({ pending }) => run("update commissions set amount_cents = amount_cents - 7 where id = ?", pending.id),
    subject: ({ pending }) => pending.payment_id,
  },
  "a payout of another amount": {
    check: "payout",
    plant: ({ waiting }) => payout.plant(waiting),
    mend: ({ waiting }) => payout.mend(waiting),
    subject: ({ waiting }) => waiting,
  },
  "a payout of another number of commissions": {
    check: "payout",
    plant: ({ waiting }) => count.plant(waiting),
    mend: ({ waiting }) => count.mend(waiting),
    subject: ({ waiting }) => waiting,
  },
  "a canceled payout that still has an entry": {
    check: "payout",
    plant: async ({ canceled }) => postTo(canceled, "payable", "in_payout"),
    mend: async ({ canceled }) => {
      await postTo(canceled, "in_payout", "payable");
      await recountEntries();
    },
    subject: ({ canceled }) => canceled,
  },
  "a transfer of another amount": {
    check: "transfer",
    plant: async () => void (world.vendor.transfers[0]!.amount += 1),
    mend: async () => void (world.vendor.transfers[0]!.amount -= 1),
    subject: ({ paid }) => paid,
  },
  "a transfer to another account": {
    check: "transfer",
    plant: async () => void (world.vendor.transfers[0]!.destination += "x"),
    mend: async () => void (world.vendor.transfers[0]!.destination = world.account_id),
    subject: ({ paid }) => paid,
  },
  "a transfer that the vendor does not have": {
    check: "transfer",
    plant: async () => void (world.vendor.transfers[0]!.transfer_group += "x"),
    mend: async ({ paid }) => void (world.vendor.transfers[0]!.transfer_group = paid),
    subject: ({ paid }) => paid,
  },
  "a second transfer of one payout": {
    check: "transfer",
    plant: async () => void world.vendor.transfers.push({ ...world.vendor.transfers[0]!, id: "tr_second" }),
    mend: async () => void world.vendor.transfers.pop(),
    subject: ({ paid }) => paid,
  },
};

async function postTo(payout_id: string, from: string, to: string): Promise<void> {
  await run(
    `insert into entries select program_id, partner_id, substr(id, 1, 20) || lower(hex(randomblob(5))), currency,
      commission_id, payout_id, ?2, ?3, 5, posted_at, event_id from entries where payout_id = ?1 order by id limit 1`,
    ...[payout_id, from, to],
  );
}

describe("a difference", () => {
  let made: Made;
  let now = NOW;

  beforeAll(async () => {
    await open();
    made = await liveThroughEverything();
    await round(now);
  });

  it.each(Object.entries(PLANTED))(
    "%s: is found, reported once, shown, and gone when it is gone (LAW-11)",
    async (_, planted) => {
      const before = (await failures()).length;
      const agreed = await status();
      mailbox.mails.length = 0;
      const lines = vi.spyOn(console, "error").mockImplementation(() => {});
      await planted.plant(made);
      await round((now += 2 * DAY), true);
      const found = (await failures()).slice(0, -before || undefined);
      const reported = found.find(({ check, subject }) => check === planted.check && subject === planted.subject(made));
      expect(found).toContainEqual(expect.objectContaining({ check: planted.check, subject: planted.subject(made) }));
      expect(reported!.expected).not.toEqual(reported!.found);
      // Every reader of events sees it (ACCESS-12).
      expect(JSON.stringify(found)).not.toContain(world.account_id);
      const logged = lines.mock.calls.flat().filter((line) => String(line).includes('"reconciliation failed"'));
      expect(logged).toHaveLength(found.length);
      expect(await status()).toEqual({ reconciled_at: agreed.reconciled_at, differences: found.length });
      expect(await reports(program.id, now)).toMatchObject([
        { to: program.program.owner_email, text: expect.stringContaining(reported!.subject) },
      ]);
      await round((now += 2 * DAY));
      await round((now += 2 * DAY), true);
      expect(await failures()).toHaveLength(before + found.length);
      expect(await reports(program.id, now)).toHaveLength(1);
      await planted.mend(made);
      await round((now += 2 * DAY));
      expect(await status()).toEqual({ reconciled_at: new Date(now).toISOString(), differences: 0 });
      expect(await failures()).toHaveLength(before + found.length);
    },
  );
});

describe("POST /admin/reconcile (ACCESS-9)", () => {
  beforeEach(open);
  const reconcile = (body?: object, token = ADMIN) => callApi<Reconciling>(token, "POST", "/admin/reconcile", body);

  it("looks at all of a program, says what differs, and repairs balances only when it is asked to", async () => {
    await liveThroughEverything();
    const clean = (await reconcile({ program_id: program.id })).body;
    expect(clean).toMatchObject({ differences: [], repaired: [], next: null });
    expect(clean.checked.commissions).toBe((await rowsOf(program)).length);
    expect(clean.checked.transfers).toBe(1);
    await run(
      `update balances set amount_cents = amount_cents + 3, entries = entries + 2
        where program_id = ? and partner_id <> ''`,
      program.id,
    );
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { differences } = (await reconcile({ program_id: program.id })).body;
    const off = { program_id: program.id, check: "balance" };
    expect(differences).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...off, subject: world.partner_id }),
        expect.objectContaining({ ...off, subject: program.id }),
      ]),
    );
    expect(differences).toHaveLength(2);
    const balances =
      "select json_group_array(amount_cents || ' ' || commissions) as all_of from balances where program_id = ?";
    const wrong = await one(balances, program.id);
    expect((await reconcile({ program_id: program.id })).body.differences).toHaveLength(2);
    expect(await one(balances, program.id)).toEqual(wrong);
    const repaired = (await reconcile({ program_id: program.id, repair: "balances" })).body;
    expect(repaired).toMatchObject({ differences: [], repaired: [world.partner_id], next: null });
    const { body } = await program.api<{ data: object[] }>("GET", "/api/v1/events?type=reconciliation.repaired");
    expect(body.data).toMatchObject([
      { payload: { what: "balances", partner_ids: [world.partner_id] }, actor: { type: "operator" } },
    ]);
    expect((await status()).differences).toBe(0);
    const counted = `select (select sum(entries) from balances where program_id = ?1) as kept,
      (select count(*) from entries where program_id = ?1) as counted`;
    const { kept, counted: rows } = await one<{ kept: number; counted: number }>(counted, program.id);
    expect([kept, kept > 10]).toEqual([rows, true]);
  });

  it("goes on where the call before ended, over all programs", async () => {
    await makePartner(await makeProgram());
    const seen = new Set<string>();
    let commissions = 0;
    await sell(program, slug, `pi_${program.id.slice(-12)}`);
    for (let next: string | null = null, calls = 0; calls === 0 || next !== null; calls++) {
      const { status: code, body } = await reconcile(next === null ? undefined : { next });
      expect(code).toBe(200);
      expect(calls).toBeLessThan(100);
      commissions += body.checked.commissions;
      if (body.next !== null) seen.add(body.next);
      next = body.next;
    }
    expect(commissions).toBeGreaterThan(0);
    expect((await status()).reconciled_at).not.toBeNull();
  });

  it("refuses what is not its to do", async () => {
    expect((await reconcile({ program_id: program.id }, "wrong")).status).toBe(401);
    expect((await reconcile({ program_id: "prog_00000000000000000000000000" })).status).toBe(404);
    for (const body of [
      { repair: "balances" },
      { program_id: "x" },
      { program_id: program.id, repair: "commissions" },
      { program_id: program.id, next: "prog_00000000000000000000000000" },
    ]) {
      expect([body, (await reconcile(body)).status]).toEqual([body, 422]);
    }
  });
});

/** The reconciler (ledger design, "Reconciler"): every kind of difference is planted, found, reported once, shown, and gone. */
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { DAY } from "../../src/lib/time.ts";
import type { Mailbox } from "../support/mailbox.ts";
import { decide, generate } from "../support/decisions.ts";
import {
  failures,
  liveThroughEverything,
  makeReconciled,
  one,
  round,
  run,
  sell,
  status,
  type Reconciled,
} from "../support/reconciled.ts";

const NOW = Date.now();

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

let at: Reconciled;

const open = async () => void (at = await makeReconciled());

afterEach(() => {
  vi.restoreAllMocks();
});

/** The e-mails about a ledger that does not add up, of all that were sent so far. */
async function reports({ mailbox, program }: Reconciled, now?: number): Promise<Mailbox["mails"]> {
  return (await mailbox.deliver(program.id, now)).filter(({ subject }) => subject.startsWith("The ledger of"));
}

describe("a healthy program", () => {
  beforeEach(open);

  it("has no difference in any state, in the first round and in those after", async () => {
    await liveThroughEverything(at);
    expect(await status(at)).toEqual({ reconciled_at: null, differences: 0 });
    await round(at, NOW);
    expect(await failures(at)).toEqual([]);
    expect(await status(at)).toEqual({ reconciled_at: new Date(NOW).toISOString(), differences: 0 });
    await liveThroughEverything(at);
    for (let day = 1; day <= 3; day++) await round(at, NOW + day * DAY);
    expect(await failures(at)).toEqual([]);
    expect(await reports(at)).toEqual([]);
    expect(await status(at)).toEqual({ reconciled_at: new Date(NOW + 3 * DAY).toISOString(), differences: 0 });
  });

  it("has none of a payout that was canceled while another request changed a commission of it, whose clock is ahead", async () => {
    const { id } = await sell(at.program, at.slug, `pi_ahead_${at.program.id.slice(-12)}`);
    await decide(at.program, id, "approved");
    const [canceled] = await generate(at.program);
    await run("update commissions set updated_at = ? where id = ?", new Date(Date.now() + 5_000).toISOString(), id);
    expect((await at.program.api("POST", `/api/v1/payouts/${canceled!.id}/cancel`)).status).toBe(200);
    await round(at, NOW, true);
    expect(await failures(at)).toEqual([]);
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
    at.partner_id,
  );
}

const PLANTED: Record<string, Planted> = {
  "a balance that is off by a cent": {
    check: "balance",
    plant: () => balance.plant(at.partner_id),
    mend: () => balance.mend(at.partner_id),
    subject: () => at.partner_id,
  },
  "a balance that counts a commission too many": {
    check: "balance",
    plant: () => counted.plant(at.partner_id),
    mend: () => counted.mend(at.partner_id),
    subject: () => at.partner_id,
  },
  "a balance that counts an entry too many": {
    check: "balance",
    plant: () => entered.plant(at.partner_id),
    mend: () => entered.mend(at.partner_id),
    subject: () => at.partner_id,
  },
  "a balance of the program that is not its partners'": {
    check: "balance",
    plant: () => own.plant(at.program.id),
    mend: () => own.mend(at.program.id),
    subject: () => at.program.id,
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
    plant: async () => void (at.vendor.transfers[0]!.amount += 1),
    mend: async () => void (at.vendor.transfers[0]!.amount -= 1),
    subject: ({ paid }) => paid,
  },
  "a transfer to another account": {
    check: "transfer",
    plant: async () => void (at.vendor.transfers[0]!.destination += "x"),
    mend: async () => void (at.vendor.transfers[0]!.destination = at.account_id),
    subject: ({ paid }) => paid,
  },
  "a transfer that the vendor does not have": {
    check: "transfer",
    plant: async () => void (at.vendor.transfers[0]!.transfer_group += "x"),
    mend: async ({ paid }) => void (at.vendor.transfers[0]!.transfer_group = paid),
    subject: ({ paid }) => paid,
  },
  "a second transfer of one payout": {
    check: "transfer",
    plant: async () => void at.vendor.transfers.push({ ...at.vendor.transfers[0]!, id: "tr_second" }),
    mend: async () => void at.vendor.transfers.pop(),
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
    made = await liveThroughEverything(at);
    await round(at, now);
  });

  it.each(Object.entries(PLANTED))(
    "%s: is found, reported once, shown, and gone when it is gone (LAW-11)",
    async (_, planted) => {
      const before = (await failures(at)).length;
      const agreed = await status(at);
      at.mailbox.mails.length = 0;
      const lines = vi.spyOn(console, "error").mockImplementation(() => {});
      await planted.plant(made);
      await round(at, (now += 2 * DAY), true);
      const found = (await failures(at)).slice(0, -before || undefined);
      const reported = found.find(({ check, subject }) => check === planted.check && subject === planted.subject(made));
      expect(found).toContainEqual(expect.objectContaining({ check: planted.check, subject: planted.subject(made) }));
      expect(reported!.expected).not.toEqual(reported!.found);
      // Every reader of events sees it (ACCESS-12).
      expect(JSON.stringify(found)).not.toContain(at.account_id);
      const logged = lines.mock.calls.flat().filter((line) => String(line).includes('"reconciliation failed"'));
      expect(logged).toHaveLength(found.length);
      expect(await status(at)).toEqual({ reconciled_at: agreed.reconciled_at, differences: found.length });
      expect(await reports(at, now)).toMatchObject([
        { to: at.program.program.owner_email, text: expect.stringContaining(reported!.subject) },
      ]);
      await round(at, (now += 2 * DAY));
      await round(at, (now += 2 * DAY), true);
      expect(await failures(at)).toHaveLength(before + found.length);
      expect(await reports(at, now)).toHaveLength(1);
      await planted.mend(made);
      await round(at, (now += 2 * DAY));
      expect(await status(at)).toEqual({ reconciled_at: new Date(now).toISOString(), differences: 0 });
      expect(await failures(at)).toHaveLength(before + found.length);
    },
  );
});

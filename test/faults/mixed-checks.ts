/** The invariants of the database, the receivers and the vendor, given the books of the load. */
import { checkSums } from "./mixed-sums.ts";
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { Webhook } from "standardwebhooks";
import { ALWAYS_SENT } from "../../src/domain/event.ts";
import { BY_HAND, type Books, type Creation } from "./mixed-load.ts";
import { earned, FAILING, SOUND, type MixedWorld } from "./mixed-world.ts";
import { LEFT_TO_ROLL_UP } from "../support/left-to-roll-up.ts";
import type { Call } from "./outside-world.ts";
import type { Visitors } from "./visitors.ts";

type Row = Record<string, string | number | null>;

const SENT = ALWAYS_SENT.map((type) => `'${type}'`).join(", ");

export interface Scene {
  database: DatabaseSync;
  world: MixedWorld;
  books: Books;
  visitors: Visitors;
  calls: Call[];
}

function rows(database: DatabaseSync, sql: string): Row[] {
  return database.prepare(sql).all() as Row[];
}

/** `sql` selects wrong rows. */
function none(database: DatabaseSync, what: string, sql: string): void {
  assert.deepEqual(
    rows(database, sql).map((row) => ({ ...row })),
    [],
    what,
  );
}

/** Rows by the values of a column. */
function by(all: Row[], column: string): Map<string, Row[]> {
  return Map.groupBy(all, (row) => String(row[column]));
}

export function checkClicks({ database, visitors }: Scene): void {
  const landings = rows(database, "select payload ->> 'landing' as at from events where type = 'click'").map(({ at }) =>
    String(at),
  );
  const found = new Set(landings);
  assert.equal(landings.length, found.size, "no click twice");
  assert.deepEqual(
    [...visitors.accepted].filter((landing) => !found.has(landing)),
    [],
    "every 202 is in the log",
  );
  assert.deepEqual(
    landings.filter((landing) => !visitors.sent.has(landing)),
    [],
    "nothing else is",
  );
}

/** Purchases: each acknowledged one earned once by the rules, each other one that or zero. */
export function checkPurchases({ database, books }: Scene): void {
  const KEY = "iif(p.provider = 'provider_a', p.customer_id, p.provider_transaction_id) as key";
  const all = rows(database, `select c.*, ${KEY} from commissions c join payments p on p.id = c.payment_id`);
  const commissions = by(all, "key");
  const payments = by(rows(database, `select ${KEY}, p.* from payments p where outcome is not 'merged'`), "key");
  for (const { provider, partner, key, base_cents, events, refund, dispute } of books.purchases) {
    const isSure = events.some(({ acknowledged }) => acknowledged);
    const made = payments.get(key) ?? [];
    assert.ok(made.length <= 1 && (!isSure || made.length === 1), `payments of ${key}: ${made.length}`);
    if (made.length === 0) continue;
    const own = commissions.get(key) ?? [];
    const [sale, ...more] = own.filter(({ kind }) => kind === "sale");
    assert.ok(sale && more.length === 0, `one sale of ${key}`);
    assert.ok(own.every(({ partner_id }) => partner_id === partner.id));
    const kept = own.filter(({ status }) => status !== "rejected");
    const sum = kept.reduce((total, { amount_cents }) => total + Number(amount_cents), 0);
    const back = refund ?? (dispute?.lost ? { event: dispute.lost, cents: base_cents } : null);
    const possible = back?.event.acknowledged ? [] : [earned(partner, provider, base_cents, 0)];
    if (back) possible.push(earned(partner, provider, base_cents, back.cents));
    // A rejected commission that was never paid is not owed.
    if (sale["status"] === "rejected") possible.splice(0, Infinity, 0);
    assert.ok(possible.includes(sum), `${key} of ${partner.slug} earned ${sum}, not ${possible.join(" or ")}`);
  }
  assert.ok(payments.size <= books.purchases.length, "no payment that nobody made");
}

/** An open dispute holds commissions outside of payouts; an acknowledged decision of the owner stays. */
export function checkDecisions({ database, books }: Scene): void {
  const sales = by(
    rows(
      database,
      `select p.customer_id as key, c.flagged, c.status, c.payout_id from commissions c join payments p on p.id = c.payment_id
        where c.kind = 'sale' and p.provider = 'provider_a'`,
    ),
    "key",
  );
  for (const { key, dispute } of books.purchases) {
    if (!dispute?.opened.acknowledged || dispute.lost) continue;
    const free = (sales.get(key) ?? []).filter(
      ({ status, payout_id }) => payout_id === null && (status === "pending" || status === "approved"),
    );
    assert.ok(
      free.every(({ flagged }) => flagged === 1),
      `the dispute of ${key} holds its commission`,
    );
  }
  const status = new Map(rows(database, "select id, status from commissions").map((row) => [row["id"], row["status"]]));
  for (const [id, isSure] of books.rejected)
    if (isSure) assert.equal(status.get(id), "rejected", `${id} stays rejected`);
  const asked = [...status].filter(([id, is]) => is === "rejected" && !books.rejected.has(String(id)));
  const clawbacks = new Set(rows(database, "select id from commissions where kind = 'clawback'").map(({ id }) => id));
  assert.deepEqual(
    asked.filter(([id]) => !clawbacks.has(id)),
    [],
    "nothing is rejected that nobody rejected",
  );
}

/** The stored data of a payment (JOB-1); messages and the audit log are kept for their own time. */
const ERASED_IN = {
  payments: ["customer_email", "ref", "decision"],
  commissions: ["customer_email"],
  facts: ["data"],
  fact_subjects: ["subject"],
  provider_events: ["body"],
} as const;

/** An erased address is gone, despite any later report of the provider; other addresses stay. */
export function checkErasures({ database, books }: Scene): void {
  const asked = new Map<string, boolean>();
  for (const { kind, mark, answer } of books.creations) {
    if (kind === "erase") asked.set(mark, asked.get(mark) === true || answer?.status === 200);
  }
  for (const { key, email } of books.purchases) {
    if (email === null || asked.get(key) !== true) continue;
    for (const [table, columns] of Object.entries(ERASED_IN)) {
      const holds = columns.map((column) => `instr(lower(${column}), '${email}') > 0`).join(" or ");
      none(database, `${email} in ${table}`, `select * from ${table} where ${holds}`);
    }
  }
  const named = new Set(
    rows(database, "select customer_id from payments where customer_email is not null").map(
      (row) => row["customer_id"],
    ),
  );
  const found = new Set(rows(database, "select customer_id from payments").map((row) => row["customer_id"]));
  for (const { key, email } of books.purchases) {
    if (email !== null && !asked.has(key) && found.has(key)) assert.ok(named.has(key), `${key} keeps its address`);
  }
}

/** Objects requested by the API: once if acknowledged, otherwise at most once; and no others. */
export function checkCreations({ database, books, world }: Scene): void {
  const made = {
    partner: by(rows(database, "select slug, id from partners"), "slug"),
    commission: by(rows(database, "select note, id from commissions where kind = 'manual'"), "note"),
  };
  const wanted = { partner: new Set(world.partners.map(({ slug }) => slug)), commission: new Set<string>() };
  for (const { kind, mark, answer } of books.creations) {
    if (kind !== "partner" && kind !== "commission") continue;
    wanted[kind].add(mark);
    const found = made[kind].get(mark) ?? [];
    assert.ok(found.length <= 1 && (answer === null || found.length === 1), `${kind} ${mark}: ${found.length}`);
    if (answer)
      assert.equal((JSON.parse(answer.body) as { id: string }).id, found[0]!["id"], "the one that was reported");
  }
  for (const kind of ["partner", "commission"] as const) {
    assert.deepEqual(
      [...made[kind].keys()].filter((mark) => !wanted[kind].has(mark)),
      [],
      `no ${kind} of nobody`,
    );
  }
  for (const { id } of world.partners) {
    const own = books.patches.filter(({ partner_id }) => partner_id === id);
    if (own.length === 0) continue;
    const value = rows(database, `select first_name as value from partners where id = '${id}'`)[0]!["value"];
    const last = own.findLastIndex(({ acknowledged }) => acknowledged);
    const at = own.findLastIndex((patch) => patch.value === value);
    assert.ok(at >= last, `the last acknowledged change of ${id} is there, or one after it`);
    const reported = rows(
      database,
      `select 1 from events where type = 'partner.updated' and payload ->> 'partner_id' = '${id}'`,
    ).length;
    // Two of the set-up: activated, and given an account.
    const sure = 2 + own.filter(({ acknowledged }) => acknowledged).length;
    assert.ok(
      reported >= sure && reported <= 2 + own.length,
      `${reported} changes of ${id} reported, ${sure} acknowledged`,
    );
  }
}

/** Every row has its events, each once; their states are the row's history. */
export function checkAuditLog({ database, books }: Scene): void {
  const events = rows(
    database,
    `select id, type, payload ->> 'partner_id' as partner_id, payload ->> 'commission_id' as commission_id,
      payload ->> 'payout_id' as payout_id, payload ->> 'status' as status, payload ->> 'event_id' as event_id,
      payload ->> 'amount_cents' as amount_cents, payload ->> 'withdrawn' as withdrawn
      from events where type <> 'click' order by id`,
  );
  const of = (kind: string, key: string) =>
    by(
      events.filter(({ type }) => String(type).startsWith(kind)),
      key,
    );

  const partners = of("partner.created", "partner_id");
  const ids = rows(database, "select id from partners").map(({ id }) => String(id));
  assert.deepEqual([...partners.keys()].toSorted(), ids.toSorted(), "partner.created of every partner and no other");
  assert.ok(
    [...partners.values()].every((reported) => reported.length === 1),
    "once each",
  );

  checkCommissionEvents(database, of("commission.", "commission_id"));
  checkPayoutEvents(database, of("payout.", "payout_id"));

  const received = of("webhook.provider_", "event_id");
  const sent = new Map(books.events().map((event) => [event.id, event]));
  for (const event of sent.values()) {
    const reported = received.get(event.id)?.length ?? 0;
    assert.ok(reported <= 1 && (!event.acknowledged || reported === 1), `${event.id} is reported ${reported} times`);
  }
  assert.deepEqual(
    [...received.keys()].filter((id) => !sent.has(id)),
    [],
    "no vendor event that nobody sent",
  );
}

const WAY = ["pending", "approved", "paid"];

function checkCommissionEvents(database: DatabaseSync, commissions: Map<string, Row[]>): void {
  for (const { id, status, kind, amount_cents } of rows(database, "select * from commissions")) {
    const reported = commissions.get(String(id)) ?? [];
    commissions.delete(String(id));
    assert.equal(reported.filter(({ type }) => type === "commission.created").length, 1, `${id} is created once`);
    const states = new Set(reported.map((event) => event["status"]));
    if (status === "rejected") {
      assert.equal(reported.at(-1)!["status"], "rejected", `${id} is rejected`);
      // It may have been approved before.
      states.delete("approved");
      assert.deepEqual(states, new Set(["pending", "rejected"]), `the states of ${id}`);
    } else {
      const way = WAY.slice(kind === "clawback" ? 1 : 0, WAY.indexOf(String(status)) + 1);
      assert.deepEqual(states, new Set(way), `the states of ${id}`);
    }
    if (status === "paid")
      assert.equal(reported.filter((event) => event["status"] === "paid").length, 1, `${id} is paid once`);
    assert.ok(
      reported.some((event) => event["amount_cents"] === amount_cents),
      `the amount of ${id} is reported`,
    );
  }
  // Those of which a payout was canceled, and which is one with its differences again.
  const gone = [...commissions].filter(([, reported]) => reported.at(-1)!["withdrawn"] !== 1);
  assert.deepEqual(gone, [], "no event of a commission that is not there");
}

function checkPayoutEvents(database: DatabaseSync, payouts: Map<string, Row[]>): void {
  for (const { id, status, reference } of rows(database, "select * from payouts")) {
    const reported = (payouts.get(String(id)) ?? []).map((event) => `${event["type"]} ${event["status"]}`);
    payouts.delete(String(id));
    const way = {
      pending: [],
      paid: [...(reference === BY_HAND ? [] : ["payout.updated processing"]), "payout.paid paid"],
      canceled: ["payout.updated canceled"],
    }[String(status)];
    assert.deepEqual(reported, ["payout.generated pending", ...(way ?? ["?"])], `the states of ${id}`);
  }
  assert.deepEqual([...payouts.keys()], [], "no event of a payout that is not there");
}

/** Counts and real rows agree. */
function same(database: DatabaseSync, what: string, counted: string, real: string): void {
  none(
    database,
    what,
    `select * from (select * from (${counted}) except select * from (${real}))
      union all select * from (select * from (${real}) except select * from (${counted}))`,
  );
}

export function checkCounters({ database }: Scene): void {
  const differs = (what: string, counted: string, real: string) => same(database, what, counted, real);
  differs(
    "event_counts",
    `select program_id, type, day, sum(count) from (select program_id, type, day, count from event_counts
      union all select program_id, type, substr(created_at, 1, 10), 1 from ${LEFT_TO_ROLL_UP}) group by 1, 2, 3`,
    "select program_id, type, substr(created_at, 1, 10), count(*) from events group by 1, 2, 3",
  );
  differs(
    "event_hours",
    `select program_id, type, hour, sum(count) from (select program_id, type, hour, count from event_hours
      union all select program_id, type, substr(created_at, 1, 13), 1 from ${LEFT_TO_ROLL_UP}) group by 1, 2, 3`,
    "select program_id, type, substr(created_at, 1, 13), count(*) from events group by 1, 2, 3",
  );
  differs(
    "click_counts",
    `select program_id, partner_id, day, sum(count) from (select program_id, partner_id, day, count from click_counts
      union all select program_id, payload ->> 'partner_id', substr(created_at, 1, 10), 1 from ${LEFT_TO_ROLL_UP})
      group by 1, 2, 3`,
    `select program_id, payload ->> 'partner_id', substr(created_at, 1, 10), count(*) from events where type = 'click'
      group by 1, 2, 3`,
  );
  const lists = ["partners", "payments", "commissions", "payouts"].map(
    (list) => `select program_id, '${list}' as list, ${list === "payments" ? "ifnull(outcome, '')" : "status"} as state,
      count(*) as count from ${list} group by 1, 2, 3`,
  );
  lists.push("select program_id, 'flagged', status, count(*) from commissions where flagged = 1 group by 1, 2, 3");
  lists.push(
    "select program_id, 'leads', ifnull(outcome, ''), count(*) from payments where event = 'lead_created' group by 1, 2, 3",
  );
  lists.push(
    "select program_id, 'partner_groups', group_id, count(*) from partners where group_id is not null group by 1, 2, 3",
  );
  differs(
    "list_counts",
    "select program_id, list, state, count from list_counts where count <> 0",
    lists.join(" union all "),
  );
  differs(
    "list_days",
    "select program_id, list, day, state, count from list_days where count <> 0",
    `select program_id, 'payments', substr(created_at, 1, 10), outcome, count(*) from payments
      where outcome is not null group by 1, 3, 4`,
  );
  checkSums(differs);
  differs(
    "commission_count and amount of payouts",
    "select id, commission_count, amount_cents from payouts where status <> 'canceled'",
    "select payout_id, count(*), sum(amount_cents) from commissions where payout_id is not null group by 1",
  );
}

/** Every committed outbound event, and no other, reached every endpoint that answers. */
export function checkDeliveries({ database, world, calls }: Scene): void {
  const messages = new Map(rows(database, "select * from messages").map((row) => [row["event_id"], row]));
  none(
    database,
    "every event that is sent has its message",
    `select id, type from events where type in (${SENT}) and id not in (select event_id from messages)`,
  );
  none(
    database,
    "and every message its event",
    "select event_id from messages where event_id not in (select id from events)",
  );
  for (const { id, url, secret } of world.endpoints) {
    const own = rows(database, `select * from deliveries where endpoint_id = '${id}'`);
    assert.deepEqual(own.map(({ event_id }) => event_id).toSorted(), [...messages.keys()].toSorted(), `once to ${url}`);
    const got = calls.filter((call) => call.url.href === url);
    const webhook = new Webhook(secret);
    for (const { headers, body } of got) {
      assert.equal(body, messages.get(headers.get("webhook-id"))?.["body"], "what was committed is what is sent");
      const timestamp = Number(headers.get("webhook-timestamp")) * 1_000;
      assert.ok(Math.abs(timestamp - Date.now()) < 3_600_000);
      assert.equal(
        headers.get("webhook-signature"),
        webhook.sign(headers.get("webhook-id")!, new Date(timestamp), body),
      );
      const hex = createHmac("sha256", secret).update(body).digest("hex");
      assert.equal(headers.get("x-service-signature"), hex);
    }
    const reached = new Set(got.map(({ headers }) => headers.get("x-service-delivery-id")));
    for (const row of own) {
      if (url === SOUND) assert.equal(row["status"], "succeeded", `a delivery is stuck: ${JSON.stringify(row)}`);
      if (url === FAILING)
        assert.ok(row["status"] === "pending" && row["next_attempt_at"] !== null, JSON.stringify(row));
      if (row["status"] === "succeeded") assert.ok(reached.has(String(row["id"])), `${row["id"]} was never sent`);
    }
  }
}

/** No money appears or goes: rows, payouts, the vendor's transfers and acknowledged answers agree. */
export function checkMoney({ database, world, books }: Scene): void {
  const transfers = Map.groupBy(world.vendor.transfers, ({ transfer_group }) => transfer_group);
  const payouts = rows(database, "select * from payouts");
  for (const { id, status, amount_cents, reference } of payouts) {
    const made = transfers.get(String(id)) ?? [];
    transfers.delete(String(id));
    assert.ok(["pending", "paid", "canceled"].includes(String(status)), `${id} is ${status}`);
    assert.deepEqual(
      made.map(({ id: transfer, amount }) => [transfer, amount]),
      status === "paid" && reference !== BY_HAND ? [[reference, amount_cents]] : [],
      `the transfer of ${id}`,
    );
  }
  assert.deepEqual([...transfers.keys()], [], "no transfer of nothing");
  none(
    database,
    "a commission is paid with its payout",
    `select c.id, c.status, p.status from commissions c left join payouts p on p.id = c.payout_id
      where (c.status = 'paid') <> (ifnull(p.status, '') = 'paid')`,
  );
  const status = new Map(rows(database, "select id, status from commissions").map((row) => [row["id"], row["status"]]));
  const undone = [...books.approved].filter(
    (id) => !["approved", "paid"].includes(String(status.get(id))) && !books.rejected.has(id),
  );
  assert.deepEqual(undone, [], "what was approved stays so");
  const paid = new Map(payouts.map((row) => [row["id"], row["status"]]));
  for (const { kind, mark, answer } of books.creations) {
    const isMove = kind === "pay" || kind === "mark-paid" || kind === "cancel";
    const after = kind === "cancel" ? "canceled" : "paid";
    if (isMove && answer?.status === 200) assert.equal(paid.get(mark), after, `${kind} of ${mark} was acknowledged`);
    for (const { id } of kind === "payouts" ? generatedIn(answer) : [])
      assert.ok(paid.has(id), `${id} was acknowledged`);
  }
}

function generatedIn(answer: Creation["answer"]): { id: string }[] {
  return answer ? (JSON.parse(answer.body) as { payouts: { id: string }[] }).payouts : [];
}

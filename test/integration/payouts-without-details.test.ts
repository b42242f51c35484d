/** Payouts of partners who have no payout details: announced before they are made, and paid to those that are added (OUT-18). */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { updatePartner } from "../../src/core/partners/partners.ts";
import { forProgram } from "../../src/core/kernel/context.ts";
import { openDatabase } from "../../src/db/client.ts";
import { readCsv } from "../support/csv.ts";
import { changeOwnDetails } from "../support/own-change.ts";
import { sendImport } from "../support/imports.ts";
import { API_KEY_A, db, makeCommissions, payoutsOf, playOutside } from "../support/payouts.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { openVendor } from "../support/provider-a-api.ts";
import { signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";
import { watchDatabase } from "../support/watched-database.ts";

interface PayoutBody {
  id: string;
  status: string;
  method: string | null;
  recipient: string | null;
}
interface Generated {
  payouts: PayoutBody[];
  without_details: { partners: number; payouts: number; partner_ids: string[] };
}
interface Partner {
  id: string;
  email: string;
  slug: string;
}

const WALLET = { payout_method: "wallet", payout_email: "wanda@wallet.example" };
const NONE = { partners: 0, payouts: 0, partner_ids: [] };

afterEach(() => vi.restoreAllMocks());

async function generate(program: TestProgram, fields: object = {}): Promise<Generated> {
  const { status, body } = await program.api<Generated>("POST", "/api/v1/payouts/generate", fields);
  expect(status).toBe(200);
  return body;
}

/** A partner with an approved commission in each currency, and their payouts. */
async function waiting(fields: Record<string, unknown> = {}, currencies = ["USD"]) {
  // A hold keeps payouts that take new details: `payout-holds.test.ts`.
  const program = await makeProgram({
    ...{ provider_a_api_key: API_KEY_A, live_only: false, payout_change_hold_days: 0 },
  });
  const partner: Partner = await makePartner(program, fields);
  await makeCommissions(
    program,
    partner.id,
    currencies.map((currency) => ({ currency })),
  );
  const { payouts } = await generate(program);
  return { program, partner, payouts };
}

async function walletFile(program: TestProgram): Promise<string[]> {
  const { body } = await program.api<string>("GET", "/api/v1/payouts/export.csv?format=wallet");
  return readCsv(body)
    .slice(1)
    .map(([to]) => to!);
}

async function form(visitor: Visitor, page: string, fields: Record<string, string>): Promise<void> {
  await visitor.get(page);
  expect((await visitor.post(page, fields)).status).toBe(303);
}

async function movedEvents(program: TestProgram) {
  const { body } = await program.api<{ data: { payload: object; changes: object; actor: { type: string } }[] }>(
    "GET",
    "/api/v1/events?type=payout.updated",
  );
  return body.data;
}

const patch = ({ api }: TestProgram, { id }: Partner, fields: object) => api("PATCH", `/api/v1/partners/${id}`, fields);

describe("a payout without payout details takes the partner's when they are added (OUT-18)", () => {
  const WAYS: Record<string, { actor: string; add: (program: TestProgram, partner: Partner) => Promise<unknown> }> = {
    "by the API": { actor: "api_key", add: (program, partner) => patch(program, partner, WALLET) },
    "in the portal": {
      actor: "partner",
      add: (program, { email }) => changeOwnDetails(program, email, WALLET),
    },
    "in the dashboard": {
      actor: "member",
      add: async (program, { id, email, slug }) =>
        form(await signInOwner(program), `/dashboard/partners/${id}/edit`, {
          email,
          slug,
          status: "active",
          ...WALLET,
        }),
    },
    "by an import": {
      actor: "api_key",
      add: (program, { email, slug }) =>
        sendImport(
          program,
          { kind: "partners", product: "rewardful" },
          `email,token,paypal_email\n${email},${slug},${WALLET.payout_email}\n`,
        ),
    },
  };

  it.each(Object.keys(WAYS))("%s, with an event, and is in the file", async (way) => {
    const { actor, add } = WAYS[way]!;
    const { program, partner, payouts } = await waiting({}, ["EUR", "USD"]);
    expect(payouts.map(({ method, recipient }) => [method, recipient])).toEqual([
      [null, null],
      [null, null],
    ]);
    expect(await walletFile(program)).toEqual([]);
    await add(program, partner);
    expect(await walletFile(program)).toEqual([WALLET.payout_email, WALLET.payout_email]);
    const events = await movedEvents(program);
    expect(events).toHaveLength(2);
    for (const event of events) {
      expect(event).toMatchObject({
        payload: { partner_id: partner.id, method: "wallet", status: "pending" },
        changes: { method: [null, "wallet"], recipient: [null, "w****a@wallet.example"] },
        actor: { type: actor },
      });
    }
    // From then on it is frozen like any recipient (OUT-5).
    await patch(program, partner, { payout_email: "thief@evil.example" });
    expect(await walletFile(program)).toEqual([WALLET.payout_email, WALLET.payout_email]);
    expect(await movedEvents(program)).toHaveLength(2);
  });

  it("also the connected account, by which it is then paid", async () => {
    const { program, partner, payouts } = await waiting({ payout_method: "provider_a" });
    const vendor = openVendor({ keys: [API_KEY_A] });
    playOutside(vendor);
    const pay = () =>
      program.api<PayoutBody & { error?: { code: string } }>("POST", `/api/v1/payouts/${payouts[0]!.id}/pay`);
    expect((await pay()).body.error?.code).toBe("invalid_transition");
    await program.api("POST", `/api/v1/partners/${partner.id}/provider-a-account`);
    const [account_id] = vendor.accounts.keys();
    vendor.accounts.get(account_id!)!.state = "active";
    expect((await pay()).body).toMatchObject({ status: "paid", recipient: expect.stringMatching(/^acct_\*{4}/) });
    expect(vendor.transfers.map(({ destination }) => destination)).toEqual([account_id]);
  });

  it("only once they are complete, of any method", async () => {
    const { program, partner, payouts } = await waiting();
    const now = async () => (await payoutsOf(program)).map(({ method, recipient }) => [method, recipient]);
    const methods = ["wallet", "provider_a", "crypto", "bank_transfer"].map((payout_method) => ({ payout_method }));
    for (const fields of [...methods, { first_name: "Wanda" }]) {
      expect((await patch(program, partner, fields)).status).toBe(200);
      expect([fields, await now()]).toEqual([fields, [[null, null]]]);
    }
    const bank = { account_holder: "Wanda", country: "DE", currency: "EUR", iban: "DE89370400440532013000" };
    const path = `/api/v1/partners/${partner.id}/payout-details`;
    expect((await program.api("PUT", path, { method: "bank_transfer", ...bank })).status).toBe(200);
    const frozen = [["bank_transfer", "DE** **** **** **** **30 00"]];
    expect(await now()).toEqual(frozen);
    await patch(program, partner, WALLET);
    expect(await now()).toEqual(frozen);
    const generic = await program.api<string>("GET", "/api/v1/payouts/export.csv");
    expect(generic.body).toContain(payouts[0]!.id);
    expect(generic.body).toContain("Wanda");
  });

  it("of no other status, partner or program", async () => {
    const { program, partner, payouts } = await waiting({}, ["EUR", "USD", "GBP"]);
    const bystander = await makePartner(program);
    const [paid, canceled, open] = payouts.map(({ id }) => id);
    await makeCommissions(program, bystander.id, [{}]);
    await generate(program);
    await program.api("POST", `/api/v1/payouts/${paid}/mark-paid`);
    await program.api("POST", `/api/v1/payouts/${canceled}/cancel`);
    await patch(program, partner, WALLET);
    const rows = await payoutsOf(program);
    expect(rows.filter(({ recipient }) => recipient !== null).map(({ id }) => id)).toEqual([open]);
  });

  it("however many there are, also beyond what one transaction takes", async () => {
    const { program, partner, payouts } = await waiting();
    await db.run(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200)
      insert into payouts (id, program_id, partner_id, amount_cents, currency, status, recipient_sealed, period_end, due_at,
        commission_count, attempt, created_at, updated_at)
      select id || '-' || i, program_id, partner_id, i, currency, status, recipient_sealed, period_end, due_at, 0, 0,
        created_at, updated_at from n, payouts where id = '${payouts[0]!.id}'`);
    expect((await patch(program, partner, WALLET)).status).toBe(200);
    const rows = await payoutsOf(program);
    expect([rows.length, rows.filter(({ recipient }) => recipient === null).length]).toEqual([1_201, 0]);
    expect(await walletFile(program)).toHaveLength(1_201);
  });
});

describe("details that are added while something else happens to the payout (OUT-18)", () => {
  /** Adds the details, with `meanwhile` right before they are stored. */
  async function addDetails(program: TestProgram, partner: Partner, meanwhile: () => Promise<unknown>) {
    let done = 0;
    const { binding } = watchDatabase(env.DB, {
      before: async (statements) => {
        if (statements.some((sql) => /^update "?partners/.test(sql)) && done++ === 0) await meanwhile();
      },
    });
    const ctx = forProgram({ ...testContext(), db: openDatabase(binding) }, program.program);
    await updatePartner(ctx, partner.id, { payout_method: "wallet", payout_email: WALLET.payout_email });
    expect(done).toBeGreaterThan(0);
  }

  it.each(["mark-paid", "cancel"])("%s wins: it has none, and the details are stored", async (move) => {
    const { program, partner, payouts } = await waiting();
    const at = `/api/v1/payouts/${payouts[0]!.id}`;
    await addDetails(program, partner, () => program.api("POST", `${at}/${move}`));
    const { body } = await program.api<PayoutBody>("GET", at);
    expect(body).toMatchObject({ status: move === "cancel" ? "canceled" : "paid", method: null, recipient: null });
    const stored = await program.api<object>("GET", `/api/v1/partners/${partner.id}`);
    expect(stored.body).toMatchObject(WALLET);
    expect(await walletFile(program)).toEqual([]);
  });

  it("one that is generated at that moment goes there too", async () => {
    const { program, partner } = await waiting();
    await addDetails(program, partner, async () => {
      await makeCommissions(program, partner.id, [{}]);
      expect((await generate(program)).payouts).toMatchObject([{ recipient: null }]);
    });
    expect(await walletFile(program)).toHaveLength(2);
  });

  it("of changes at the same moment one gives all payouts their recipient", async () => {
    const { program, partner } = await waiting({}, ["EUR", "USD"]);
    const addresses = Array.from({ length: 6 }, (_, i) => `w${i}@wallet.example`);
    const replies = await Promise.all(
      addresses.map((payout_email) => patch(program, partner, { payout_method: "wallet", payout_email })),
    );
    expect(replies.map(({ status }) => status)).toEqual(addresses.map(() => 200));
    expect(new Set(await walletFile(program)).size).toBe(1);
    expect(await movedEvents(program)).toHaveLength(2);
  });
});

describe("partners without payout details are named (OUT-18)", () => {
  it("before payouts are made, and in the reply about those that were", async () => {
    const program = await makeProgram();
    const made = await Promise.all([
      ...[{}, { payout_method: "crypto" }, { payout_method: "provider_a" }].map((fields) =>
        makePartner(program, fields),
      ),
      ...[WALLET, { ...WALLET, payout_email: "other@wallet.example" }].map((fields) => makePartner(program, fields)),
    ]);
    for (const { id } of made) await makeCommissions(program, id, [{}, { currency: "EUR" }]);
    const lacking = made.slice(0, 3).map(({ id }) => id);
    const named = { partners: 3, payouts: 6, partner_ids: lacking.toSorted() };
    expect((await generate(program, { dry_run: true })).without_details).toEqual(named);
    const owner = await signInOwner(program);
    await owner.get("/dashboard/payouts/new");
    expect(textOf(owner.html)).toContain("3 partners have no payout details: ask by e-mail, or leave them out.");
    for (const { id, email } of made.slice(0, 3)) {
      expect(owner.html).toContain(`<a href="/dashboard/partners/${id}">${email}</a>`);
    }
    expect((await generate(program)).without_details).toEqual(named);
    expect((await generate(program)).without_details).toEqual(NONE);
    await owner.get("/dashboard/payouts/new");
    expect(textOf(owner.html)).not.toContain("no payout details");
  });

  it("on the payout, and to the partner with the amount that waits", async () => {
    const { program, partner, payouts } = await waiting({}, ["EUR", "USD"]);
    const owner = await signInOwner(program);
    await owner.get(`/dashboard/payouts/${payouts[0]!.id}`);
    expect(textOf(owner.html)).toContain("Unknown: the partner has no payout details yet.");
    const portal = await signInPartner(partner.email);
    await portal.get("/portal");
    expect(textOf(portal.html)).toContain("Add your payout details");
    await portal.get("/portal/payouts");
    const text = textOf(portal.html).replaceAll("\u00a0", " ");
    expect(text).toMatch(/2 payouts \(.*USD.*EUR\) wait for your payout details/);
    await portal.get(`/portal/payouts/${payouts[0]!.id}`);
    expect(textOf(portal.html)).toContain("This payout needs your payout details.");
    await changeOwnDetails(program, partner.email, WALLET);
    await portal.get("/portal/details?done=saved");
    expect(textOf(portal.html)).toContain("So do open payouts without payout details.");
    for (const page of ["/portal", "/portal/payouts", `/portal/payouts/${payouts[0]!.id}`]) {
      await portal.get(page);
      expect(textOf(portal.html)).not.toMatch(/waits? for your payout details/);
    }
  });
});

describe("a payout that goes elsewhere than the one before (OUT-5)", () => {
  it.each([
    ["another address", "zoe@wallet.example", "z****@wallet.example"],
    ["one with the same mask", "wilma@wallet.example", "w****a@wallet.example (a different one)"],
  ])("says so on its page: %s", async (_, payout_email, shown) => {
    const { program, partner } = await waiting(WALLET);
    const owner = await signInOwner(program);
    const next = async () => {
      await makeCommissions(program, partner.id, [{}]);
      const { payouts } = await generate(program);
      await owner.get(`/dashboard/payouts/${payouts[0]!.id}`);
      return textOf(owner.html);
    };
    expect(await next()).not.toContain("Changed:");
    await patch(program, partner, { payout_email });
    const changed = await next();
    expect(changed).toContain(shown);
    expect(changed).toMatch(/Changed: the payout before \(.*\) went to PayPal, w\*{4}a@wallet\.example/);
    expect(await next()).not.toContain("Changed:");
  });
});

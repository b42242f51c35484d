/** A partner's connected account can be removed, so that the partner can connect another (OUT-15). */
import { afterEach, describe, expect, it, vi } from "vitest";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { startOnboarding } from "../../src/core/partners/onboarding.ts";
import { newKey } from "../support/keys.ts";
import { openMailbox } from "../support/mailbox.ts";
import { programContext, type TestProgram } from "../support/program.ts";
import {
  clientOf,
  makePayingProgram,
  makePayout,
  payoutById,
  playOutside,
  type PaidProgram,
} from "../support/payouts.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

interface Reply {
  provider_a_account_id: string | null;
  error?: { code: string; message: string };
}

afterEach(() => {
  vi.restoreAllMocks();
});

async function world() {
  const made = await makePayingProgram();
  playOutside(made.vendor);
  return made;
}

const forget = ({ program, partner_id, account_id }: PaidProgram, account = account_id, headers?: HeadersInit) =>
  program.api<Reply>(
    "POST",
    `/api/v1/partners/${partner_id}/provider-a-account/forget`,
    { account_id: account },
    headers,
  );
const connect = ({ program, partner_id }: PaidProgram) =>
  program.api<Reply>("POST", `/api/v1/partners/${partner_id}/provider-a-account`);
const accountOf = async ({ program, partner_id }: PaidProgram) =>
  (await program.api<Reply>("GET", `/api/v1/partners/${partner_id}`)).body.provider_a_account_id;

/** The newest audit event about a change of a partner. */
async function lastChange(program: TestProgram) {
  const path = "/api/v1/events?type=partner.updated";
  const { body } = await program.api<{ data: { changes: object; actor: object }[] }>("GET", path);
  return body.data[0]!;
}

describe("a connected account that is forgotten (OUT-15)", () => {
  it("is logged and reported, and the partner connects again: each time another account", async () => {
    const made = await world();
    const { vendor, program } = made;
    const forgotten = await forget(made);
    expect([forgotten.status, forgotten.body.provider_a_account_id]).toEqual([200, null]);
    const event = await lastChange(program);
    expect(event.changes).toMatchObject({ provider_a_account_id: [expect.stringContaining("acct_****"), null] });
    expect(event.actor).toMatchObject({ type: "api_key" });
    const subjects = (await openMailbox().deliver(program.id, Date.now() + 60_000)).map(({ subject }) => subject);
    expect(subjects.length).toBeGreaterThan(0);

    // The vendor repeats its reply to an order with the same key for 30 days.
    const accounts = [made.account_id];
    for (let round = 0; round < 3; round++) {
      const started = await connect(made);
      expect(started.status).toBe(201);
      expect(accounts).not.toContain(started.body.provider_a_account_id);
      accounts.push(started.body.provider_a_account_id!);
      expect((await connect(made)).status).toBe(200);
      expect((await forget(made, accounts.at(-1))).status).toBe(200);
    }
    expect(vendor.accounts.size).toBe(4);
  });

  it("after a lost answer it is still one new account", async () => {
    const made = await world();
    await forget(made);
    made.vendor.faults.push("drop_reply");
    expect((await connect(made)).status).toBe(503);
    expect((await connect(made)).status).toBe(201);
    expect(made.vendor.accounts.size).toBe(2);
  });

  it("is the one that is named: a request of before takes no later one away", async () => {
    const made = await world();
    const { program, partner_id } = made;
    await forget(made);
    const later = (await connect(made)).body.provider_a_account_id;
    for (const account of [made.account_id, "acct_x"]) {
      const refused = await forget(made, account);
      expect([refused.status, refused.body.error?.code]).toEqual([409, "invalid_transition"]);
    }
    expect(await accountOf(made)).toBe(later);
    const path = `/api/v1/partners/${partner_id}/provider-a-account/forget`;
    expect((await program.api("POST", path, {})).status).toBe(422);
    const other = await makePayingProgram();
    expect((await other.program.api("POST", path, { account_id: later })).status).toBe(404);
  });

  it("needs the scope `payouts` (ACCESS-11)", async () => {
    const made = await world();
    const { api_key } = await newKey(made.program, ["read", "write"]);
    const refused = await forget(made, made.account_id, { authorization: `Bearer ${api_key}` });
    expect(refused.status).toBe(403);
    expect(await accountOf(made)).toBe(made.account_id);
  });

  it("not while a transfer is open, and payouts that exist keep it (OUT-5)", async () => {
    const made = await world();
    const { vendor, program } = made;
    const payout = await makePayout(made);
    vendor.faults.push("drop_request");
    await payPayout(programContext(program), payout.id, clientOf(vendor));
    const refused = await forget(made);
    expect([refused.status, refused.body.error?.code]).toEqual([409, "invalid_transition"]);
    expect(await accountOf(made)).toBe(made.account_id);

    const other = await world();
    const pending = await makePayout(other);
    expect((await forget(other)).status).toBe(200);
    await other.program.api("POST", `/api/v1/partners/${other.partner_id}/release-hold`);
    const paid = await payPayout(programContext(other.program), pending.id, clientOf(other.vendor));
    expect([paid.status, other.vendor.transfers[0]!.destination]).toEqual(["paid", other.account_id]);
  });

  it("at the same moment as it is forgotten again, connected or paid", async () => {
    const made = await world();
    const { vendor, program } = made;
    const payout = await makePayout(made);
    vendor.latency = () => new Promise((done) => setTimeout(done, 2));
    const [first, second, paid] = await Promise.all([
      forget(made),
      forget(made),
      payPayout(programContext(program), payout.id, clientOf(vendor)).catch((error: unknown) => error),
    ]);
    // At most one succeeds; both fail if the transfer came first.
    expect([first.status, second.status].filter((status) => status === 200).length).toBeLessThanOrEqual(1);
    const { status } = await payoutById(payout.id);
    if (status === "pending") expect([paid, vendor.transfers]).toMatchObject([{ code: "payout_held" }, []]);
    else {
      expect(status).toBe("paid");
      expect(vendor.transfers).toMatchObject([{ destination: made.account_id }]);
    }
    await forget(made);
    const input = { return_url: "https://a.example", refresh_url: "https://a.example" };
    const accounts = clientOf(vendor);
    await Promise.allSettled([
      startOnboarding(programContext(program), made.partner_id, input, accounts),
      startOnboarding(programContext(program), made.partner_id, input, accounts),
    ]);
    expect(vendor.accounts.size).toBe(2);
    expect(vendor.accounts.has((await accountOf(made))!)).toBe(true);
  });

  it("is asked about first on the partner's page", async () => {
    const made = await world();
    const owner = await signInOwner(made.program);
    const at = `/dashboard/partners/${made.partner_id}`;
    await owner.get(at);
    expect(owner.html).toContain(`${at}/forget-account`);
    await owner.get(`${at}/forget-account`);
    expect(textOf(owner.html)).toContain("Prepared payouts keep the old account");
    const wrong = await owner.post(`${at}/forget-account`, { account_id: "acct_other" });
    expect(wrong.status).toBe(422);
    await owner.get(`${at}/forget-account`);
    const done = await owner.post(`${at}/forget-account`, { account_id: made.account_id });
    expect(done.status).toBe(303);
    expect(await accountOf(made)).toBeNull();
    await owner.get(at);
    expect(owner.html).not.toContain("forget-account");
    const event = await lastChange(made.program);
    expect(event.actor).toMatchObject({ type: "member" });
  });
});

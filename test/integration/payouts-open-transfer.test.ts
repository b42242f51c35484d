/** Transfers that are left open, and how each leaves that state (OUT-14). */
import { afterEach, describe, expect, it, vi } from "vitest";
import { eq } from "drizzle-orm";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { partners } from "../../src/db/schema.ts";
import { attemptOf } from "../../src/core/payouts/attempt.ts";
import { eventsOf } from "../support/commissions.ts";
import { openMailbox } from "../support/mailbox.ts";
import { loseSecrets, programContext, setSecrets } from "../support/program.ts";
import {
  API_KEY_A,
  clientOf,
  db,
  makePayingProgram,
  makePayout,
  payoutById,
  playOutside,
  reconcileAt,
  type PayoutBody,
} from "../support/payouts.ts";
import { hideTransfers, openVendor, type Fault, type VendorApi } from "../support/provider-a-api.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

afterEach(() => {
  vi.restoreAllMocks();
});

describe("an open transfer", () => {
  it.each<[Fault, string]>([
    ["drop_request", "processing"],
    ["drop_reply", "processing"],
    ["rate_limit", "processing"],
    ["in_use", "processing"],
    ["gateway", "processing"],
    ["error_stored", "processing"],
    ["garbage", "paid"],
    ["wrong_echo", "paid"],
    ["error_after_effect", "paid"],
  ])(
    "%s leaves it %s, and the cron brings it to paid with one transfer under the first key (OUT-6, OUT-14)",
    async (fault, first) => {
      const world = await makePayingProgram();
      const { program, vendor } = world;
      const payout = await makePayout(world);
      const started = Date.now();
      playOutside(vendor);
      vendor.faults.push(fault);
      const reply = await program.api<PayoutBody>("POST", `/api/v1/payouts/${payout.id}/pay`);
      expect([reply.status, reply.body.status]).toEqual([200, first]);
      if (first === "processing") {
        expect(reply.body.failure_code).toBeTruthy();
        const due = Date.parse((await payoutById(payout.id)).reconcile_at!);
        expect(due).toBeGreaterThanOrEqual(started + MINUTE);
        // Not before its time, then once.
        expect(await reconcileAt(vendor, due - 1)).toBe(0);
        let now = due;
        for (
          let runs = 0;
          runs < 200 && (await payoutById(payout.id)).status === "processing";
          runs++, now += 30 * MINUTE
        ) {
          await reconcileAt(vendor, now);
        }
        // An error that the vendor keeps under the key is over when it forgets the key, not before and not much later.
        expect(now - started > DAY).toBe(fault === "error_stored");
        expect(now - started).toBeLessThan(27 * HOUR);
      }
      expect(await payoutById(payout.id)).toMatchObject({
        status: "paid",
        attempt: 1,
        reconcile_at: null,
        failure_code: null,
        reference: vendor.transfers[0]!.id,
      });
      expect(vendor.transfers).toMatchObject([{ amount: 3_000 }]);
      const keys = vendor.calls.map(({ headers }) => headers.get("idempotency-key")).filter(Boolean);
      expect(new Set(keys)).toEqual(new Set([`${payout.id}:1`]));
      expect(await eventsOf(program, "payout.paid")).toHaveLength(1);
    },
  );

  it("a vendor that hangs is given up on after the time limit, and the payout stays processing", async () => {
    const world = await makePayingProgram();
    const payout = await makePayout(world);
    world.vendor.faults.push("hang");
    const reply = await payPayout(programContext(world.program), payout.id, clientOf(world.vendor, 30));
    expect([reply.status, reply.failure_code]).toEqual(["processing", "no_answer"]);
    expect(await reconcileAt(world.vendor, Date.now() + 5 * MINUTE)).toBe(1);
    expect((await payoutById(payout.id)).status).toBe("paid");
    expect(world.vendor.transfers).toHaveLength(1);
  });

  it("after 24 hours it looks the transfer up before it sends again, and does not send when it cannot look (OUT-14)", async () => {
    const world = await makePayingProgram();
    const { vendor } = world;
    const payout = await makePayout(world);
    vendor.faults.push("drop_reply");
    await payPayout(programContext(world.program), payout.id, clientOf(vendor));
    expect(vendor.transfers).toHaveLength(1);
    const late = Date.now() + 25 * HOUR;
    vendor.calls.length = 0;
    vendor.faults.push("gateway");
    await reconcileAt(vendor, late);
    expect(vendor.calls.map(({ method }) => method)).toEqual(["GET"]);
    expect((await payoutById(payout.id)).status).toBe("processing");
    await reconcileAt(vendor, late + 2 * HOUR);
    expect(vendor.calls.map(({ method }) => method)).toEqual(["GET", "GET"]);
    expect(await payoutById(payout.id)).toMatchObject({ status: "paid", reference: vendor.transfers[0]!.id });
    expect(vendor.transfers).toHaveLength(1);
  });

  it("a refusal that comes after a lost answer does not hide the transfer that was made", async () => {
    const world = await makePayingProgram();
    const { vendor } = world;
    const payout = await makePayout(world);
    vendor.faults.push("drop_reply");
    await payPayout(programContext(world.program), payout.id, clientOf(vendor));
    // The key is revoked meanwhile: the vendor answers look-ups and transfers with 401 only.
    vendor.keys.clear();
    await reconcileAt(vendor, Date.now() + 10 * MINUTE);
    expect(await payoutById(payout.id)).toMatchObject({ status: "processing", failure_code: "api_key_refused" });
    vendor.keys.add(API_KEY_A);
    await reconcileAt(vendor, Date.now() + 3 * HOUR);
    expect((await payoutById(payout.id)).status).toBe("paid");
    expect(vendor.transfers).toHaveLength(1);
  });

  /** A transfer that was made in the program's account, but whose answer and look-up were lost. */
  async function lostTransfer(faults: Fault[] = ["drop_reply"]) {
    const world = await makePayingProgram({ remembersByKey: true });
    const payout = await makePayout(world);
    world.vendor.faults.push(...faults);
    await payPayout(programContext(world.program), payout.id, clientOf(world.vendor));
    expect([world.vendor.transfers.length, (await payoutById(payout.id)).status]).toEqual([1, "processing"]);
    const elsewhere = openVendor({ keys: [OTHERS_KEY], accounts: { [world.account_id]: "active" } });
    return { ...world, payout, elsewhere };
  }

  const OTHERS_KEY = "sk_test_of_another_account";
  const later = (hours: number) => Date.now() + hours * HOUR;
  const sent = ({ calls }: VendorApi) => calls.filter(({ method }) => method === "POST").length;

  it("another account's key never touches it: it waits, says so, and goes on with the first account's (OUT-7)", async () => {
    const { program, vendor, elsewhere, payout } = await lostTransfer();
    await setSecrets(program.id, { provider_a_api_key: OTHERS_KEY });
    // This also holds after the vendor has dropped the idempotency key.
    for (const hours of [1, 3, 30, 60]) await reconcileAt(elsewhere, later(hours));
    expect(elsewhere.calls.map(({ method, path }) => `${method} ${path}`)).toEqual(
      Array.from({ length: 4 }, () => "GET /v1/account"),
    );
    const waiting = await program.api<PayoutBody>("GET", `/api/v1/payouts/${payout.id}`);
    expect(waiting.body).toMatchObject({ status: "processing", failure_code: "other_account" });
    expect(waiting.body.failure_message).toContain(vendor.account);
    const owner = await signInOwner(program);
    await owner.get(`/dashboard/payouts/${payout.id}`);
    expect(textOf(owner.html)).toContain(`It waits for a key of the first account. other_account`);
    await setSecrets(program.id, { provider_a_api_key: API_KEY_A });
    await reconcileAt(vendor, later(62));
    expect(await payoutById(payout.id)).toMatchObject({ status: "paid", reference: vendor.transfers[0]!.id });
    expect([vendor.transfers.length, elsewhere.transfers.length]).toEqual([1, 0]);
  });

  it.each(["sk_test_rolled", "rk_test_restricted"])(
    "another key of the same account (%s) goes on with it",
    async (key) => {
      const { program, vendor, payout } = await lostTransfer();
      vendor.keys = new Set([key]);
      await setSecrets(program.id, { provider_a_api_key: key });
      // If the look-up fails, the service does not send either, because the vendor's idempotency record may be tied to
      // the first key.
      vendor.faults.push(null, "gateway");
      await reconcileAt(vendor, later(1));
      expect(vendor.calls.filter(({ method }) => method === "POST")).toHaveLength(1);
      await reconcileAt(vendor, later(2));
      expect((await payoutById(payout.id)).status).toBe("paid");
      expect(vendor.transfers).toHaveLength(1);
    },
  );

  it("is not sent again while it cannot be looked up, however often that is tried: with another key (LAW-8)", async () => {
    const { program, vendor, payout } = await lostTransfer();
    vendor.keys.add("sk_test_rolled");
    await setSecrets(program.id, { provider_a_api_key: "sk_test_rolled" });
    const show = hideTransfers(vendor);
    for (const hours of [1, 2, 4]) await reconcileAt(vendor, later(hours));
    expect([sent(vendor), (await payoutById(payout.id)).status]).toEqual([1, "processing"]);
    show();
    await reconcileAt(vendor, later(6));
    expect([sent(vendor), (await payoutById(payout.id)).status]).toEqual([1, "paid"]);
  });

  it("nor with the first key, after another of the account has sent it", async () => {
    const world = await makePayingProgram({ remembersByKey: true });
    const { program, vendor } = world;
    const payout = await makePayout(world);
    vendor.faults.push("drop_request");
    await payPayout(programContext(program), payout.id, clientOf(vendor));
    vendor.keys.add("sk_test_rolled");
    await setSecrets(program.id, { provider_a_api_key: "sk_test_rolled" });
    // The account, the look-up, and the transfer that is made.
    vendor.faults.push(null, null, "drop_reply");
    await reconcileAt(vendor, later(1));
    expect([sent(vendor), vendor.transfers.length, (await payoutById(payout.id)).status]).toEqual([2, 1, "processing"]);
    await setSecrets(program.id, { provider_a_api_key: API_KEY_A });
    const show = hideTransfers(vendor);
    for (const hours of [2, 4, 6]) await reconcileAt(vendor, later(hours));
    expect(sent(vendor)).toBe(2);
    show();
    await reconcileAt(vendor, later(8));
    expect([(await payoutById(payout.id)).status, vendor.transfers.length]).toEqual(["paid", 1]);
  });

  it("nor under the key of a second attempt", async () => {
    const world = await makePayingProgram();
    const { program, vendor } = world;
    const payout = await makePayout(world);
    const account = vendor.accounts.get(world.account_id)!;
    account.state = "restricted";
    await payPayout(programContext(program), payout.id, clientOf(vendor));
    account.state = "active";
    const show = hideTransfers(vendor);
    await payPayout(programContext(program), payout.id, clientOf(vendor));
    for (const hours of [1, 2, 4]) await reconcileAt(vendor, later(hours));
    expect(await payoutById(payout.id)).toMatchObject({ status: "processing", attempt: 2 });
    expect(sent(vendor)).toBe(1);
    show();
    await reconcileAt(vendor, later(6));
    expect([(await payoutById(payout.id)).status, vendor.transfers.length]).toEqual(["paid", 1]);
  });

  it("where it is not known which account it was begun in, it waits for the key it was begun with (OUT-7)", async () => {
    const { program, vendor, payout } = await lostTransfer(["drop_reply", "gateway"]);
    vendor.keys.add("sk_test_rolled");
    await setSecrets(program.id, { provider_a_api_key: "sk_test_rolled" });
    vendor.faults.push("gateway");
    await reconcileAt(vendor, later(1));
    expect(await payoutById(payout.id)).toMatchObject({ status: "processing", failure_code: "api_key_replaced" });
    expect(vendor.calls.filter(({ method }) => method === "POST")).toHaveLength(1);
    // The outcome of a found transfer is a fact for any key.
    await reconcileAt(vendor, later(3));
    expect((await payoutById(payout.id)).status).toBe("paid");
  });

  it("an attempt that could not ask for its account waits for its key and then learns the account", async () => {
    const { program, vendor, elsewhere, payout } = await lostTransfer(["drop_reply", "gateway"]);
    expect(attemptOf(await payoutById(payout.id)).account ?? null).toBeNull();
    await setSecrets(program.id, { provider_a_api_key: OTHERS_KEY });
    await reconcileAt(elsewhere, later(30));
    expect(await payoutById(payout.id)).toMatchObject({ status: "processing", failure_code: "api_key_replaced" });
    expect(elsewhere.transfers).toEqual([]);
    await setSecrets(program.id, { provider_a_api_key: API_KEY_A });
    // The look-up is not answered, the question for the account is.
    vendor.faults.push("gateway");
    await reconcileAt(vendor, later(32));
    expect(attemptOf(await payoutById(payout.id)).account).toBe(`${vendor.account} (test)`);
  });

  it.each(["without an API key", "with one that no key of the deployment opens"])(
    "%s it waits for one, and the owner hears of it (OUT-14, MAIL-11)",
    async (how) => {
      const world = await makePayingProgram();
      const { vendor, program } = world;
      const payout = await makePayout(world);
      vendor.faults.push("drop_reply");
      await payPayout(programContext(program), payout.id, clientOf(vendor));
      await (how.startsWith("without")
        ? setSecrets(program.id, { provider_a_api_key: null })
        : loseSecrets(program.id));
      for (const hours of [1, 3]) await reconcileAt(vendor, later(hours));
      const waiting = await payoutById(payout.id);
      expect(waiting).toMatchObject({ status: "processing", failure_code: "provider_not_configured" });
      expect(waiting.reconcile_at).not.toBeNull();
      const mails = await openMailbox().deliver(program.id, later(4));
      expect(mails.map(({ subject }) => subject)).toContain(`1 payout of ${program.program.name} cannot be paid`);
      await setSecrets(program.id, { provider_a_api_key: API_KEY_A });
      await reconcileAt(vendor, later(8));
      expect((await payoutById(payout.id)).status).toBe("paid");
      expect(vendor.transfers).toHaveLength(1);
    },
  );

  it("with a key of test mode it waits where the program takes live payments alone (OUT-6)", async () => {
    const world = await makePayingProgram();
    const { vendor, program } = world;
    const payout = await makePayout(world);
    vendor.faults.push("drop_request");
    await payPayout(programContext(program), payout.id, clientOf(vendor));
    await program.api("PATCH", "/api/v1/programs/me", { live_only: true });
    await reconcileAt(vendor, later(1));
    const waiting = await payoutById(payout.id);
    expect(waiting).toMatchObject({ status: "processing", failure_code: "provider_not_configured" });
    expect(waiting.failure_message).toContain("test-mode key, which moves no money");
    expect([vendor.transfers, await eventsOf(program, "payout.paid")]).toEqual([[], []]);
    await program.api("PATCH", "/api/v1/programs/me", { live_only: false });
    await reconcileAt(vendor, later(3));
    expect([(await payoutById(payout.id)).status, vendor.transfers.length]).toEqual(["paid", 1]);
  });

  it("the frozen request is sent again unchanged, whatever happened to the partner since", async () => {
    const world = await makePayingProgram();
    const { vendor, program } = world;
    const payout = await makePayout(world);
    vendor.faults.push("drop_request");
    await payPayout(programContext(program), payout.id, clientOf(vendor));
    await db.update(partners).set({ provider_a_account_id: "acct_other" }).where(eq(partners.id, world.partner_id));
    await reconcileAt(vendor, Date.now() + 10 * MINUTE);
    const [first, second] = vendor.calls.filter(({ method }) => method === "POST");
    expect(second!.body).toBe(first!.body);
    expect((await payoutById(payout.id)).status).toBe("paid");
  });
});

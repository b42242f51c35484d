/** Open transfers that the service can no longer look up, and the owner's resolution of them (OUT-17). */
import { afterEach, describe, expect, it, vi } from "vitest";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { eventsOf } from "../support/commissions.ts";
import { newKey } from "../support/keys.ts";
import { programContext, setSecrets } from "../support/program.ts";
import {
  API_KEY_A,
  clientOf,
  commissionsOf,
  db,
  makePayingProgram,
  makePayout,
  payoutById,
  playOutside,
  reconcileAt,
} from "../support/payouts.ts";
import { openVendor, type Fault, type VendorApi } from "../support/provider-a-api.ts";
import { signInOwner, textOf } from "../support/visitor.ts";
import { payouts } from "../../src/db/schema.ts";
import { eq } from "drizzle-orm";
import { iso } from "../../src/lib/time.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const OTHERS_KEY = "sk_test_of_another_account";

interface PayoutBody {
  status: string;
  reference: string | null;
  failure_code: string | null;
  error?: { code: string; message: string };
}

afterEach(() => {
  vi.restoreAllMocks();
});

/** Both accounts of the vendor, by the key of the request. */
function playBoth(first: VendorApi, other: VendorApi): void {
  const { fetch } = first;
  first.fetch = (url, init) => {
    const isOther = new Request(url, init).headers.get("authorization") === `Bearer ${OTHERS_KEY}`;
    return isOther ? other.fetch(url, init) : fetch(url, init);
  };
  playOutside(first);
}

/** An open transfer that waits: the stored key is of another account, is refused, or is gone. Some time ago. */
async function waiting(how: "other_account" | "api_key_refused" | "provider_not_configured", fault: Fault) {
  const world = await makePayingProgram();
  const { vendor, program } = world;
  const payout = await makePayout(world);
  const other = openVendor({ keys: [OTHERS_KEY], accounts: { [world.account_id]: "active" } });
  vendor.faults.push(fault);
  await payPayout(programContext(program), payout.id, clientOf(vendor));
  if (how === "api_key_refused") vendor.keys.clear();
  else await setSecrets(program.id, { provider_a_api_key: how === "other_account" ? OTHERS_KEY : null });
  playBoth(vendor, other);
  await reconcileAt(vendor, Date.now() + 5 * MINUTE);
  expect(await payoutById(payout.id)).toMatchObject({ status: "processing", failure_code: how });
  await askedIn(payout.id, 30 * MINUTE);
  const say = (body: object, headers?: HeadersInit) =>
    program.api<PayoutBody>("POST", `/api/v1/payouts/${payout.id}/conclude`, body, headers);
  return { ...world, payout, other, say };
}

/** Sets the time of the job's next look-up. */
async function askedIn(id: string, ms: number): Promise<void> {
  await db
    .update(payouts)
    .set({ reconcile_at: iso(Date.now() + ms) })
    .where(eq(payouts.id, id));
}

const sent = ({ calls }: VendorApi) => calls.filter(({ method }) => method === "POST").length;

describe("an open transfer that the provider cannot be asked about", () => {
  it.each(["other_account", "api_key_refused", "provider_not_configured"] as const)(
    "(%s) is paid where the owner says that it was made, by its id (OUT-17)",
    async (how) => {
      const { vendor, other, program, payout, say } = await waiting(how, "drop_reply");
      const nameless = await say({ made: true });
      expect(nameless.status).toBe(422);
      const { id } = vendor.transfers[0]!;
      const paid = await say({ made: true, reference: id });
      expect(paid.body).toMatchObject({ status: "paid", reference: id, failure_code: null });
      expect((await commissionsOf(program)).map(({ status }) => status)).toEqual(["paid", "paid"]);
      const [event] = await eventsOf(program, "payout.paid");
      expect(event!.payload).toMatchObject({ reference: id, failure_code: "said_made" });
      expect([sent(vendor), sent(other)]).toEqual([1, 0]);
      expect((await say({ made: false })).status).toBe(409);
      await reconcileAt(vendor, Date.now() + 48 * HOUR);
      expect((await payoutById(payout.id)).status).toBe("paid");
    },
  );

  it.each(["other_account", "api_key_refused", "provider_not_configured"] as const)(
    "(%s) fails where the owner says that it was not, and can be paid again (OUT-17)",
    async (how) => {
      const { vendor, other, program, payout, say } = await waiting(how, "drop_request");
      const failed = await say({ made: false });
      expect(failed.body).toMatchObject({ status: "failed", failure_code: "said_not_made" });
      const [event] = await eventsOf(program, "payout.updated");
      expect(event!.payload).toMatchObject({ status: "failed", failure_code: "said_not_made" });
      vendor.keys.add(API_KEY_A);
      if (how === "provider_not_configured") await setSecrets(program.id, { provider_a_api_key: API_KEY_A });
      const again = await program.api<PayoutBody>("POST", `/api/v1/payouts/${payout.id}/pay`);
      expect(again.body.status).toBe("paid");
      expect([vendor.transfers.length, other.transfers.length]).toEqual(how === "other_account" ? [0, 1] : [1, 0]);
    },
  );

  it("that was said not to be there is found before it is sent again, where its account can be asked (LAW-8)", async () => {
    const { vendor, program, payout, say } = await waiting("api_key_refused", "drop_reply");
    await say({ made: false });
    vendor.keys.add(API_KEY_A);
    const again = await program.api<PayoutBody>("POST", `/api/v1/payouts/${payout.id}/pay`);
    expect(again.body).toMatchObject({ status: "paid", reference: vendor.transfers[0]!.id });
    expect(vendor.transfers).toHaveLength(1);
  });
});

describe("the owner's word does not count", () => {
  it("where the provider can be asked meanwhile: it is, and nothing is sent (LAW-8)", async () => {
    for (const [fault, status, made] of [
      ["drop_reply", "paid", 1],
      ["drop_request", "processing", 0],
    ] as const) {
      const { vendor, payout, say } = await waiting("api_key_refused", fault);
      vendor.keys.add(API_KEY_A);
      const before = sent(vendor);
      const answer = await say({ made: false });
      expect([answer.status, answer.body.status]).toEqual([200, status]);
      expect([sent(vendor), vendor.transfers.length]).toEqual([before, made]);
      await reconcileAt(vendor, Date.now() + 2 * HOUR);
      expect([(await payoutById(payout.id)).status, vendor.transfers.length]).toEqual(["paid", 1]);
    }
  });

  it("where it is open for another reason, closed, or somebody may be asking", async () => {
    const { vendor, payout, say, program } = await waiting("api_key_refused", "drop_request");
    for (const wait of [MINUTE, 3 * MINUTE]) {
      await askedIn(payout.id, wait);
      const refused = await say({ made: false });
      expect([refused.status, refused.body.error?.code]).toEqual([409, "invalid_transition"]);
    }
    await askedIn(payout.id, -MINUTE);
    vendor.keys.add(API_KEY_A);
    vendor.faults.push("gateway");
    await reconcileAt(vendor, Date.now());
    await askedIn(payout.id, 30 * MINUTE);
    for (const made of [true, false]) {
      const refused = await say({ made, reference: "tr_1" });
      expect([refused.status, refused.body.error?.code]).toEqual([409, "invalid_transition"]);
    }
    expect((await payoutById(payout.id)).status).toBe("processing");
    const { api_key } = await newKey(program, ["read", "write"]);
    expect((await say({ made: false }, { authorization: `Bearer ${api_key}` })).status).toBe(403);
  });

  it("twice: of two at once one counts, and the job beside them sends nothing", async () => {
    const { vendor, other, program, payout, say } = await waiting("other_account", "drop_reply");
    const { id } = vendor.transfers[0]!;
    other.latency = () => new Promise((done) => setTimeout(done, 3));
    await askedIn(payout.id, -MINUTE);
    const [made, not] = await Promise.all([
      say({ made: true, reference: id }),
      say({ made: false }),
      reconcileAt(vendor, Date.now()),
    ]);
    const { status } = await payoutById(payout.id);
    expect([made.body.status, not.body.status].filter((one) => one === "paid" || one === "failed").length).toBeLessThan(
      2,
    );
    const events = [...(await eventsOf(program, "payout.paid")), ...(await eventsOf(program, "payout.updated"))];
    const ends = events.filter(({ payload }) => payload.status === "paid" || payload.status === "failed");
    expect(ends).toHaveLength(status === "processing" ? 0 : 1);
    expect([sent(vendor), sent(other)]).toEqual([1, 0]);
  });
});

describe("the payout's page (OUT-17)", () => {
  it("offers it with a warning while the provider cannot be asked, and not otherwise", async () => {
    const { program, payout, vendor } = await waiting("other_account", "drop_reply");
    const owner = await signInOwner(program);
    const at = `/dashboard/payouts/${payout.id}`;
    await owner.get(at);
    expect(owner.html).toContain(`${at}/was-made`);
    await owner.get(`${at}/was-not-made`);
    expect(textOf(owner.html)).toContain("the partner is paid twice");
    await owner.get(`${at}/was-made`);
    expect((await owner.post(`${at}/was-made`, {})).status).toBe(422);
    await owner.get(`${at}/was-made`);
    const { id } = vendor.transfers[0]!;
    expect((await owner.post(`${at}/was-made`, { reference: id })).status).toBe(303);
    expect(await payoutById(payout.id)).toMatchObject({ status: "paid", reference: id });
    await owner.get(at);
    expect(owner.html).not.toContain(`${at}/was-made`);

    const second = await waiting("other_account", "drop_request");
    const other = await signInOwner(second.program);
    const there = `/dashboard/payouts/${second.payout.id}`;
    await other.get(`${there}/was-not-made`);
    expect((await other.post(`${there}/was-not-made`, {})).status).toBe(303);
    expect(await payoutById(second.payout.id)).toMatchObject({ status: "failed", failure_code: "said_not_made" });
  });
});

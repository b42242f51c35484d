/**
 * Thieves at every step of a payout: no money moves to one without the owners being notified and the hold running
 * (OUT-9, OUT-24, OUT-25, OUT-26, PROOF-3, ACCESS-12). Arrivals are counted in the files for the wallet's
 * service and at the vendor.
 */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { iso, MINUTE } from "../../src/lib/time.ts";
import { newKey } from "../support/keys.ts";
import { openMailbox, type Mailbox } from "../support/mailbox.ts";
import { changeLinkIn, confirmLink, visitorWithMail } from "../support/own-change.ts";
import { API_KEY_A, makeCommissions, payoutsOf, playOutside } from "../support/payouts.ts";
import {
  callApi,
  makePartner,
  makeProgram,
  testContext,
  type TestPartner,
  type TestProgram,
} from "../support/program.ts";
import { openVendor, type VendorApi } from "../support/provider-a-api.ts";
import { followLink, requestLink, signInMember, signInPartner } from "../support/visitor.ts";

afterEach(() => vi.restoreAllMocks());

const OWN = "wanda@wallet.example";
const THIEF = "thief@evil.example";
const THIEF_ACCOUNT = "acct_thief";
const WALLET = { payout_method: "wallet", payout_email: THIEF };
const EXPORT = { format: "wallet", currency: "USD" };

interface World {
  program: TestProgram;
  partner: TestPartner;
  account_id: string;
  vendor: VendorApi;
  mailbox: Mailbox;
  /** Calls the API with the program's first key, in a deployment with e-mail: the owner's own work. */
  owner: TestProgram["api"];
  files: string[];
}

async function makeWorld(method: "wallet" | "provider_a"): Promise<World> {
  const program = await makeProgram({ provider_a_api_key: API_KEY_A, live_only: false });
  const partner = await makePartner(program, { payout_method: "wallet", payout_email: OWN });
  const account_id = `acct_of_${partner.id.slice(4)}`;
  await env.DB.prepare("update partners set payout_method = ?, provider_a_account_id = ? where id = ?")
    .bind(method, account_id, partner.id)
    .run();
  const vendor = openVendor({ keys: [API_KEY_A], accounts: { [account_id]: "active", [THIEF_ACCOUNT]: "active" } });
  playOutside(vendor);
  const world = { program, partner, account_id, vendor, mailbox: openMailbox(), owner: program.api, files: [] };
  await makeCommissions(program, partner.id, [{ amount_cents: 1_000 }]);
  return world;
}

const generate = ({ owner }: World) => owner("POST", "/api/v1/payouts/generate", {});

/** The owner's usual work: files, transfers, and marking as paid the sent payouts. */
async function payAll(world: World): Promise<void> {
  const { owner, program, files } = world;
  const made = await owner<{ id: string }>("POST", "/api/v1/payouts/exports", EXPORT);
  const open = made.status === 201 ? [made.body.id] : await openExports(world);
  for (const id of open) {
    files.push((await owner<string>("GET", `/api/v1/payouts/exports/${id}/file`)).body);
    await owner("POST", `/api/v1/payouts/exports/${id}/paid`, {});
  }
  files.push((await owner<string>("GET", "/api/v1/payouts/export.csv?format=wallet&currency=USD")).body);
  for (const { id, status, method } of await payoutsOf(program)) {
    if (["pending", "failed"].includes(status) && method === "provider_a")
      await owner("POST", `/api/v1/payouts/${id}/pay`);
  }
}

async function openExports({ owner }: World): Promise<string[]> {
  const { body } = await owner<{ data: { id: string }[] }>("GET", "/api/v1/payouts/exports?status=open");
  return body.data.map(({ id }) => id);
}

const cancelAll = async ({ owner, program }: World) => {
  for (const { id } of await payoutsOf(program)) await owner("POST", `/api/v1/payouts/${id}/cancel`);
};

/** The steps of a payout at which a thief comes, and the way that the payout takes. */
const STEPS: Record<
  string,
  {
    method: "wallet" | "provider_a";
    before: (world: World) => Promise<unknown>;
    after: (world: World) => Promise<unknown>;
  }
> = {
  "before generation": { method: "wallet", before: async () => {}, after: generate },
  generated: { method: "wallet", before: generate, after: async () => {} },
  "in an open export": {
    method: "wallet",
    before: async (world) => {
      await generate(world);
      await world.owner("POST", "/api/v1/payouts/exports", EXPORT);
    },
    after: async () => {},
  },
  "failed, to be retried": {
    method: "provider_a",
    before: async (world) => {
      await generate(world);
      world.vendor.accounts.get(world.account_id)!.state = "restricted";
      await payAll(world);
      world.vendor.accounts.get(world.account_id)!.state = "active";
    },
    after: async () => {},
  },
  "canceled and generated again": {
    method: "wallet",
    before: generate,
    after: async (world) => {
      await cancelAll(world);
      await generate(world);
    },
  },
};

/** The portal of a thief who has the partner's session. */
async function asPartner(world: World): Promise<ReturnType<typeof visitorWithMail>> {
  const portal = await signInPartner(world.partner.email, visitorWithMail(world.mailbox));
  for (const [path, fields] of [
    ["/portal/details", WALLET],
    ["/portal/details/provider-a-account", {}],
    ["/portal/details", WALLET],
  ] as const) {
    await portal.get("/portal/details");
    await portal.post(path, fields);
    // E-mails of one millisecond are sent in any order.
    await world.mailbox.deliver(world.program.id);
  }
  return portal;
}

/** A session of the team whose proof is 16 minutes old. */
async function staleMember({ program, mailbox }: World, email: string) {
  const visitor = await signInMember(program, email, visitorWithMail(mailbox));
  await env.DB.prepare("update sessions set created_at = ? where program_id = ? and email = ?")
    .bind(iso(Date.now() - 16 * MINUTE), program.id, email.toLowerCase())
    .run();
  await visitor.get("/dashboard");
  return visitor;
}

/** Everything that a session of the team can send about this partner and its payouts. */
async function asMember(world: World, email: string): Promise<void> {
  const { program, partner } = world;
  const visitor = await staleMember(world, email);
  const at = `/dashboard/partners/${partner.id}`;
  const { slug } = partner;
  await visitor.post(`${at}/edit`, { email: partner.email, slug, status: "active", ...WALLET });
  await visitor.post("/dashboard/settings/payout-hold", { payout_change_hold_days: "0" });
  await visitor.post(`${at}/release-hold`);
  await visitor.post("/dashboard/settings", { payout_change_hold_days: "0" });
  for (const { id } of await payoutsOf(program)) {
    await visitor.post(`/dashboard/payouts/${id}/pay`);
    await visitor.post(`/dashboard/payouts/${id}/cancel`);
  }
  await visitor.post("/dashboard/payouts/new", {});
  for (const { id } of await payoutsOf(program)) await visitor.post(`/dashboard/payouts/${id}/pay`);
}

/** Each thief, and whether it can change the destination at all. */
const THIEVES: Record<string, { changes: boolean; act: (world: World) => Promise<unknown> }> = {
  "a partner's session": { changes: false, act: asPartner },
  "the partner's mailbox for ten minutes": {
    changes: true,
    act: async (world) => {
      const { program, partner, mailbox } = world;
      const requested = await requestLink(testContext(), partner.email);
      await followLink(visitorWithMail(mailbox), requested!.link.token);
      await asPartner(world);
      await mailbox.deliver(program.id);
      const used = await confirmLink(visitorWithMail(mailbox), changeLinkIn(mailbox.mails, partner.email));
      expect(used.status).toBe(200);
      // A second way: the vendor's page of the account, behind which the bank can be another's.
      const portal = await signInPartner(partner.email, visitorWithMail(mailbox));
      await portal.get("/portal/details");
      await portal.post("/portal/details/provider-a-account", {});
      await mailbox.deliver(program.id);
      await confirmLink(visitorWithMail(mailbox), changeLinkIn(mailbox.mails, partner.email));
      expect(world.vendor.links).toHaveLength(1);
    },
  },
  "a key with the scope write": {
    changes: false,
    act: async ({ program, partner }) => {
      const key = await newKey(program, ["read", "write"]);
      const at = `/api/v1/partners/${partner.id}`;
      const file = `email,token,paypal_email\n${partner.email},${partner.slug},${THIEF}\n`;
      const csv = { "content-type": "text/csv" };
      const replies = [
        await key.api("PATCH", at, WALLET),
        await key.api("PATCH", at, { email: "mallory@evil.example" }),
        await key.api("PUT", `${at}/payout-details`, { method: "wallet", email: THIEF }),
        await key.api("POST", `${at}/provider-a-account`, {}),
        await key.api("POST", `${at}/release-hold`),
        await key.api("PATCH", "/api/v1/programs/me", { payout_change_hold_days: 0 }),
        await callApi(key.api_key, "POST", "/api/v1/imports?kind=partners&product=rewardful", file, csv),
      ];
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 403));
    },
  },
  "a viewer's session": {
    changes: false,
    act: async (world) => {
      await world.owner("POST", "/api/v1/members", {
        email: `viewer-${world.program.id}@shop.example`,
        role: "viewer",
      });
      await asMember(world, `viewer-${world.program.id}@shop.example`);
    },
  },
  "an owner's session older than 15 minutes": {
    changes: true,
    act: (world) => asMember(world, world.program.program.owner_email),
  },
};

const moved = ({ files, vendor }: World) => ({
  inFiles: files.join("").split(THIEF).length - 1,
  transfers: vendor.transfers.map(({ destination }) => destination),
});

describe.each(Object.keys(STEPS))("a payout that is %s", (step) => {
  const { method, before, after } = STEPS[step]!;

  it.each(Object.keys(THIEVES))("sends no money to %s", async (name) => {
    const thief = THIEVES[name]!;
    const world = await makeWorld(method);
    const { program, partner, vendor, mailbox, owner } = world;
    await before(world);
    const sentBefore = vendor.transfers.length;
    await thief.act(world);
    await after(world);
    await payAll(world);
    // The usual cure of any trouble with a payout.
    await cancelAll(world);
    await generate(world);
    await payAll(world);

    const { inFiles, transfers } = moved(world);
    expect([inFiles, transfers.includes(THIEF_ACCOUNT)]).toEqual([0, false]);
    const now = (await owner<Record<string, string | null>>("GET", `/api/v1/partners/${partner.id}`)).body;
    await mailbox.deliver(program.id);
    const notified = mailbox.mails.filter(({ to, text }) => to === program.program.owner_email && /payout/i.test(text));
    if (thief.changes) {
      expect(now["payout_email"]).toBe(THIEF);
      expect(Date.parse(now["payouts_held_until"]!) > Date.now()).toBe(true);
      expect(notified.length).toBeGreaterThan(0);
      // Even the old account is not paid during the hold: the bank behind it may be another's.
      expect(transfers).toHaveLength(sentBefore);
      // Only the payout of an earlier file may be marked as paid, and it went to the partner.
      const paid = (await payoutsOf(program)).filter(({ status }) => status === "paid");
      expect(paid).toHaveLength(step === "in an open export" ? 1 : 0);
      expect(mailbox.mails.some(({ to }) => to === OWN)).toBe(true);
    } else {
      expect([now["payout_email"], now["payouts_held_until"]]).toEqual([OWN, null]);
      const paid = method === "provider_a" ? transfers : world.files.join("").split(OWN).slice(1);
      expect(paid.length).toBeGreaterThan(0);
      if (method === "provider_a") expect(transfers).toEqual([world.account_id]);
    }
  });
});

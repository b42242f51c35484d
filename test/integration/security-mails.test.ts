/** Every owner is e-mailed about each change of access, by anyone and from anywhere (PROOF-4). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import { needsProof, type MemberRole } from "../../src/domain/member.ts";
import { MAIL_KINDS } from "../../src/domain/mail.ts";
import { rightOfRoute } from "../../src/http/pages/rights.tsx";
import { iso, MINUTE } from "../../src/lib/time.ts";
import { addPasskey, makeAuthenticator, removePasskeys } from "../support/authenticator.ts";
import { LIST_KEYS } from "../support/event-lists.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { pageRoutes } from "../support/stocked.ts";
import { uniqueId } from "../support/vendor.ts";
import { openDestinations } from "../support/vendor-destinations.ts";
import { followLink, makeVisitor, signInOwner, type Visitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

const SETTINGS = "/dashboard/settings";
const SECRET = "whsec_bmV2ZXIgdG8gYmUgc2VlbiBpbiBhbnkgZS1tYWls";

beforeEach(() => {
  const vendors = openDestinations();
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) =>
    vendors.fetch(new Request(input, init).url, init ?? {}),
  );
});
afterEach(() => vi.restoreAllMocks());

interface World {
  program: TestProgram;
  /** The e-mails of the two owners, in the order of arrival. */
  owners: string[];
  /** A deployment with e-mail. */
  visitor: Visitor;
  api: <T = { id: string }>(method: string, path: string, body?: object) => Promise<{ status: number; body: T }>;
  /** The e-mails of this kind sent since the last call, by their recipient. */
  sent: () => Promise<Record<string, string>>;
  /** Sends the deliveries that are still due. */
  drain: () => Promise<void>;
}

async function open(settings: object = {}): Promise<World> {
  const program = await makeProgram({ name: "Acme", provider_a_webhook_secret: SECRET, ...settings });
  const mailbox = openMailbox();
  const api: World["api"] = async (method, path, body) => {
    const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    return callWith(mailbox.bindings, `/api/v1${path}`, init);
  };
  const second = `${uniqueId("second")}@shop.example`.toLowerCase();
  await program.api("POST", "/api/v1/members", { email: second, role: "owner" });
  const visitor = makeVisitor((path, init) => callWith<string>(mailbox.bindings, path, init));
  await signInOwner(program, visitor);
  let seen = (await mailbox.deliver(program.id)).length;
  return {
    ...{ program, owners: [program.program.owner_email, second], visitor, api },
    drain: async () => {
      seen = (await mailbox.deliver(program.id)).length;
    },
    sent: async () => {
      const mails = (await mailbox.deliver(program.id)).slice(seen);
      seen += mails.length;
      const own = mails.filter(({ subject }) => subject.startsWith("Security change"));
      expect(own).toHaveLength(new Set(own.map(({ to }) => to)).size);
      return Object.fromEntries(own.map(({ to, text }) => [to, text]));
    },
  };
}

async function add({ api, drain }: World, role: MemberRole, email = `${uniqueId(role)}@shop.example`.toLowerCase()) {
  const { id } = (await api("POST", "/members", { email, role })).body;
  await drain();
  return { id, email };
}

const endpoint = (url: string) => ({ url, events: ["*"], description: "" });

interface Action {
  act: (world: World, made: string) => Promise<{ status: number }>;
  /** Creates the object of the change; gives its id. */
  make?: (world: World) => Promise<string>;
  says: RegExp;
}

const keyOf = async ({ api }: World) =>
  (await api<{ id: string }>("POST", "/api-keys", { name: "Till", scopes: ["read"] })).body.id;
const endpointOf = async ({ api }: World) =>
  (await api("POST", "/webhooks", { url: "https://hooks.shop.example/in?token=hidden", events: ["*"] })).body.id;
const viewerOf = async (world: World) => (await add(world, "viewer")).id;
const added = async ({ visitor }: World) => addPasskey(visitor, await makeAuthenticator()).then(() => "");

/** Each form of the dashboard that needs a fresh proof, sent so that it holds. */
const FORMS: Record<string, Action> = {
  [`${SETTINGS}/team`]: {
    act: ({ visitor }) => visitor.post(`${SETTINGS}/team`, { email: "new@shop.example", role: "owner" }),
    says: /new@shop\.example was added to the team\. Role: Owner\./,
  },
  [`${SETTINGS}/team/:id`]: {
    make: viewerOf,
    act: ({ visitor }, id) => visitor.post(`${SETTINGS}/team/${id}`, { role: "finance" }),
    says: /of the team was changed\. Role: Viewer → Finance\./,
  },
  [`${SETTINGS}/team/:id/remove`]: {
    make: viewerOf,
    act: ({ visitor }, id) => visitor.post(`${SETTINGS}/team/${id}/remove`),
    says: /\(Viewer\) was removed from the team\./,
  },
  [`${SETTINGS}/keys`]: {
    act: ({ visitor }) => visitor.post(`${SETTINGS}/keys`, { name: "Till", scopes: ["read", "keys"], expires_at: "" }),
    says: /The API key “Till”, which ends in .{4}, was created\. It may: read, keys\. It works until it is deleted\./,
  },
  [`${SETTINGS}/keys/:id/rotate`]: {
    make: keyOf,
    act: ({ visitor }, id) => visitor.post(`${SETTINGS}/keys/${id}/rotate`),
    says: /“Till”.* was created/,
  },
  [`${SETTINGS}/keys/:id/delete`]: {
    make: keyOf,
    act: ({ visitor }, id) => visitor.post(`${SETTINGS}/keys/${id}/delete`),
    says: /“Till”.* was deleted/,
  },
  [`${SETTINGS}/api-key`]: {
    act: ({ visitor }) => visitor.post(`${SETTINGS}/api-key`),
    says: /first API key was replaced\. The new one ends in .{4}\./,
  },
  [`${SETTINGS}/payout-hold`]: {
    act: ({ visitor }) => visitor.post(`${SETTINGS}/payout-hold`, { payout_change_hold_days: "0" }),
    says: /Days: 3 → 0\./,
  },
  "/dashboard/partners/:id/release-hold": {
    make: async ({ program }) => {
      const { id } = await makePartner(program, { payout_method: "wallet", payout_email: "old@wallet.example" });
      await program.api("PATCH", `/api/v1/partners/${id}`, { payout_email: "new@wallet.example" });
      return id;
    },
    act: ({ visitor }, id) => visitor.post(`/dashboard/partners/${id}/release-hold`),
    says: /The hold of payouts to the partner .* was released\./,
  },
  [`${SETTINGS}/secrets`]: {
    act: ({ visitor }) =>
      visitor.post(`${SETTINGS}/secrets`, { name: "provider_a_webhook_secret", secret: `${SECRET}2` }),
    says: /Webhook signing secret of Stripe: replaced\./,
  },
  [`${SETTINGS}/secrets/:name/remove`]: {
    act: ({ visitor }) => visitor.post(`${SETTINGS}/secrets/provider_a_webhook_secret/remove`),
    says: /Webhook signing secret of Stripe: removed\./,
  },
  [`${SETTINGS}/sessions/passkeys`]: {
    act: async ({ visitor }) => addPasskey(visitor, await makeAuthenticator()),
    says: /A passkey of .* was added/,
  },
  [`${SETTINGS}/sessions/passkeys/remove`]: {
    make: added,
    act: async ({ visitor }) => removePasskeys(visitor).then(() => ({ status: 303 })),
    says: /A passkey of .* was removed/,
  },
  "/dashboard/integration/:provider/destination": {
    act: ({ visitor }) => visitor.post("/dashboard/integration/provider_b/destination"),
    says: /Webhook signing secret of Paddle: stored\./i,
  },
  "/dashboard/webhooks/new": {
    act: ({ visitor }) => visitor.post("/dashboard/webhooks/new", endpoint("https://new.shop.example/in?token=hidden")),
    says: /endpoint at new\.shop\.example was added\. It is sent: \*\./,
  },
  "/dashboard/webhooks/:id/edit": {
    make: endpointOf,
    act: ({ visitor }, id) => visitor.post(`/dashboard/webhooks/${id}/edit`, endpoint("https://other.shop.example/in")),
    says: /endpoint was changed\. Host: hooks\.shop\.example → other\.shop\.example\./,
  },
  "/dashboard/webhooks/:id/rotate-secret": {
    make: endpointOf,
    act: ({ visitor }, id) => visitor.post(`/dashboard/webhooks/${id}/rotate-secret`),
    says: /signing secret of the endpoint at hooks\.shop\.example was replaced\./,
  },
};

describe("the e-mail about who gets in (PROOF-4)", () => {
  it("is tried for each form that needs a fresh proof", () => {
    const secure = pageRoutes("dashboard").filter(
      ({ method, path }) => method === "POST" && needsProof(rightOfRoute(method, path)),
    );
    expect(Object.keys(FORMS).toSorted()).toEqual(secure.map(({ path }) => path).toSorted());
  });

  it.each(Object.entries(FORMS))("goes to every owner: POST %s", async (_path, { make, act, says }) => {
    const world = await open({ provider_b_api_key: LIST_KEYS.provider_b, provider_b_webhook_secret: null });
    const made = (await make?.(world)) ?? "";
    await world.drain();
    await world.visitor.get(`${SETTINGS}/mails`);
    expect([200, 303]).toContain((await act(world, made)).status);
    const sent = await world.sent();
    expect(Object.keys(sent)).toEqual(expect.arrayContaining(world.owners));
    for (const text of Object.values(sent)) {
      expect(text).toMatch(says);
      expect(text).toContain(`By: ${world.owners[0]}, signed in to the dashboard.`);
      expect(text).toMatch(/At: \d{1,2} \w+ \d{4}, \d\d:\d\d \(UTC\)/);
      expect(text).toContain("If not: sign in, sign out everywhere");
      for (const secret of [SECRET, "sk_", "hidden"]) expect(text).not.toContain(secret);
    }
  });

  it("goes out where a key does it, which needs no proof", async () => {
    const world = await open();
    const { id, email } = await add(world, "finance");
    const key = await keyOf(world);
    const hook = await endpointOf(world);
    await world.drain();
    const calls: [method: string, path: string, body?: object][] = [
      ["PATCH", `/members/${id}`, { role: "owner" }],
      ["DELETE", `/members/${id}`],
      ["DELETE", `/api-keys/${key}`],
      ["PATCH", "/programs/me", { provider_a_webhook_secret: `${SECRET}2` }],
      ["PATCH", `/webhooks/${hook}`, { url: "https://other.shop.example/in" }],
      ["POST", `/webhooks/${hook}/rotate-secret`],
    ];
    for (const [method, path, body] of calls) {
      expect([path, (await world.api(method, path, body)).status]).toEqual([path, 200]);
      const sent = await world.sent();
      const notified = path.startsWith("/members") ? [...world.owners, email] : world.owners;
      expect([path, Object.keys(sent).toSorted()]).toEqual([path, notified.toSorted()]);
      expect(sent[world.owners[1]!]).toContain("By: the program's API key that ends in");
    }
  });

  it("says nothing where nothing of it changes, or the change is refused", async () => {
    const world = await open();
    const hook = await endpointOf(world);
    const [first] = (await world.api<{ data: { id: string }[] }>("GET", "/members")).body.data;
    await world.drain();
    await world.api("PATCH", `/members/${first!.id}`, { role: "owner" });
    await world.api("POST", "/members", { email: world.owners[1]!, role: "viewer" });
    await world.api("PATCH", "/programs/me", { name: "Other name", provider_a_webhook_secret: SECRET });
    await world.api("PATCH", `/webhooks/${hook}`, { description: "Till", events: ["payout.paid"] });
    await world.api("POST", "/api-keys", { name: "x", scopes: [] });
    expect(await world.sent()).toEqual({});
  });

  it("goes to an owner who is removed too, though the program's address has moved by then (TEAM-5)", async () => {
    const world = await open();
    const [former, next] = world.owners as [string, string];
    const [first] = (await world.api<{ data: { id: string }[] }>("GET", "/members")).body.data;
    expect((await world.api("DELETE", `/members/${first!.id}`)).status).toBe(200);
    const sent = await world.sent();
    expect(Object.keys(sent).toSorted()).toEqual([former, next].toSorted());
    expect(sent[former]).toContain(`${former} (Owner) was removed from the team.`);
    expect(sent[former]).toContain(`The program's own address was changed. E-mail: ${former} → ${next}.`);
  });

  it("cannot be switched off", async () => {
    expect(MAIL_KINDS.security.may_be_off).toBe(false);
    const world = await open();
    await world.visitor.get(`${SETTINGS}/mails`);
    await world.visitor.post(`${SETTINGS}/mails`, { security: "off" });
    await world.visitor.get(`${SETTINGS}/mails`);
    await world.visitor.post(`${SETTINGS}/mails`, {});
    await keyOf(world);
    const sent = await world.sent();
    expect(Object.keys(sent).toSorted()).toEqual(world.owners.toSorted());
    expect(Object.values(sent).join()).not.toContain("Unsubscribe");
  });
});

describe("a stolen session of an owner (PROOF-3)", () => {
  it("makes itself no way in, and shuts nobody out", async () => {
    const world = await open();
    const { program, visitor, owners } = world;
    await env.DB.prepare("update sessions set created_at = ? where program_id = ?")
      .bind(iso(Date.now() - 16 * MINUTE), program.id)
      .run();
    const before = (await world.api("GET", "/members")).body;
    const [first] = (before as unknown as { data: { id: string }[] }).data;
    await visitor.get(`${SETTINGS}/mails`);
    const tried: [string, Record<string, string | string[]>?][] = [
      [`${SETTINGS}/team`, { email: "attacker@evil.example", role: "owner" }],
      [`${SETTINGS}/team/${first!.id}/remove`],
      [`${SETTINGS}/api-key`],
      [`${SETTINGS}/keys`, { name: "mine", scopes: ["read", "write", "payouts", "keys"] }],
      [`${SETTINGS}/sessions/passkeys`, { credential: "{}" }],
      ["/dashboard/webhooks/new", { url: "https://evil.example/in", events: "*" }],
    ];
    for (const [path, fields] of tried) {
      const { headers } = await visitor.post(path, fields);
      expect([path, headers.get("location")]).toEqual([path, expect.stringMatching(/^\/sign-in\/again\?/)]);
    }
    // A link requested there goes to the owner's own mailbox.
    await visitor.get("/sign-in/again");
    expect(visitor.html).toContain(`name="email" value="${owners[0]}"`);
    expect((await world.api("GET", "/members")).body).toEqual(before);
    expect((await world.api<{ data: object[] }>("GET", "/api-keys")).body.data).toEqual([]);
    expect(
      await createLinkByHand(testContext(), "attacker@evil.example").catch(({ code }: { code: string }) => code),
    ).toBe("not_found");
    expect(await world.sent()).toEqual({});
    const owner = makeVisitor();
    await followLink(owner, (await createLinkByHand(testContext(), owners[0]!)).token);
    expect((await owner.get(`${SETTINGS}/team`)).status).toBe(200);
  });
});

/** A change that outlives the dashboard session needs a fresh proof of the address (PROOF-3). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { MEMBER_ROLES, needsProof, type MemberRole } from "../../src/domain/member.ts";
import { rightOfRoute } from "../../src/http/pages/rights.tsx";
import { iso, MINUTE } from "../../src/lib/time.ts";
import { openMailbox } from "../support/mailbox.ts";
import {
  everythingOf,
  makeStocked,
  pageAddress,
  pageRoutes,
  type PageRoute,
  type Stocked,
} from "../support/stocked.ts";
import { uniqueId } from "../support/vendor.ts";
import { makeUncountedVisitor, makeVisitor, signInMember, textOf, type Visitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

const ROUTES = pageRoutes("dashboard");
const GETS = ROUTES.filter(({ method }) => method === "GET");

/** Routes that can grant lasting access or lock the owner out: members, keys, secrets, event destinations. */
const SECURE =
  /^POST .*\/(?:settings\/(?:team|keys|api-key|secrets|payout-hold|sessions\/passkeys)|partners\/:id\/release-hold|webhooks\/new|webhooks\/:id\/(?:edit|rotate-secret)|destination)(?:$|\/)/;

const ASKS_BEFORE = /\/(?:new|edit|remove|delete|rotate-secret|api-key)$/;

let stocked: Stocked;
const emails = {} as Record<MemberRole, string>;

beforeAll(async () => {
  stocked = await makeStocked();
  for (const role of MEMBER_ROLES) {
    emails[role] = `${uniqueId(role)}@shop.example`.toLowerCase();
    await stocked.program.api("POST", "/api/v1/members", { email: emails[role], role });
  }
});

describe("what outlives a session (PROOF-3)", () => {
  const [SECURE_ROUTES, OTHERS] = [true, false].map((is) =>
    ROUTES.filter(({ method, path }) => needsProof(rightOfRoute(method, path)) === is),
  ) as [PageRoute[], PageRoute[]];

  /** A session whose proof is 16 minutes old. */
  async function stale(role: MemberRole): Promise<Visitor> {
    const visitor = await signInMember(stocked.program, emails[role], makeUncountedVisitor());
    await env.DB.prepare("update sessions set created_at = ? where program_id = ? and email = ?")
      .bind(iso(Date.now() - 16 * MINUTE), stocked.program.id, emails[role])
      .run();
    return visitor;
  }

  const offeredIn = (body: string, at: string) =>
    [...body.matchAll(/<form\b([^>]*)>/g)]
      .filter(([, form]) => form!.includes('method="post"'))
      .map(([, form]) => (/action="([^"]+)"/.exec(form!)?.[1] ?? at).replaceAll("&amp;", "&"))
      .filter((action) => SECURE_PAGES.some((pattern) => pattern.test(action.split(/[?#]/)[0]!)));
  const SECURE_PAGES = SECURE_ROUTES.filter(({ method }) => method === "POST").map(
    ({ path }) => new RegExp(`^${path.replaceAll(/:[a-z_]+/g, "[^/]+")}$`),
  );

  it("is everything that changes who gets in, and no more", () => {
    const named = ({ method, path }: PageRoute) => `${method} ${path}`;
    expect(SECURE_ROUTES.filter(({ method }) => method === "POST").map(named)).toEqual(
      ROUTES.map(named).filter((route) => SECURE.test(route)),
    );
    expect(OTHERS.length).toBeGreaterThan(50);
    // A confirmation page before such a change requires the proof too.
    const posts = new Set(SECURE_ROUTES.filter(({ method }) => method === "POST").map(({ path }) => path));
    const asking = GETS.filter(({ path }) => posts.has(path) && ASKS_BEFORE.test(path));
    expect(
      asking.every((route) => SECURE_ROUTES.some(({ method, path }) => method === "GET" && path === route.path)),
    ).toBe(true);
  });

  it("asks a session of 16 minutes for a proof on each of its routes, and does nothing before", async () => {
    const visitor = await stale("owner");
    await visitor.get("/dashboard/settings/mails");
    for (const { method, path } of SECURE_ROUTES) {
      const address = pageAddress(path, stocked.ids);
      const before = await everythingOf(stocked.program.id);
      const asked = `${address}?done=x`;
      const reply = method === "GET" ? await visitor.get(asked) : await visitor.post(address, { role: "owner" });
      const to = new URL(reply.headers.get("location") ?? "", "https://service.example");
      const back = to.searchParams.get("to") ?? "";
      expect([address, reply.status, to.pathname]).toEqual([address, 303, "/sign-in/again"]);
      expect([address, await everythingOf(stocked.program.id)]).toEqual([address, before]);
      // A form returns to its page.
      if (method === "GET") expect(back).toBe(asked);
      else
        expect([address, GETS.some((page) => pageAddress(page.path, stocked.ids) === back)]).toEqual([address, true]);
    }
  });

  it("is offered on no page of such a session, but the way to prove it in its place", async () => {
    const old = await stale("owner");
    const fresh = await signInMember(stocked.program, emails.owner, makeUncountedVisitor());
    const instead: string[] = [];
    for (const { path } of GETS.filter(
      (route) => !needsProof(rightOfRoute("GET", route.path)) && !route.path.endsWith(".csv"),
    )) {
      const address = pageAddress(path, stocked.ids);
      const offered = offeredIn((await fresh.get(address)).body, address);
      const { status, body } = await old.get(address);
      expect([address, status, offeredIn(body, address)]).toEqual([address, 200, []]);
      if (offered.length === 0) continue;
      instead.push(path);
      expect([address, body.includes(`/sign-in/again?to=${encodeURIComponent(address)}`)]).toEqual([address, true]);
    }
    expect(instead.toSorted()).toEqual([
      ...["/dashboard/settings/keys", "/dashboard/settings/payouts", "/dashboard/settings/providers"],
      ...["/dashboard/settings/sessions", "/dashboard/settings/team"],
    ]);
  });

  it("asks nobody for a proof who may not do it, and every role for its own passkeys", async () => {
    for (const role of ["finance", "viewer"] as const) {
      const visitor = await stale(role);
      await visitor.get("/switch");
      const { status } = await visitor.post("/dashboard/settings/team", { email: "a@b.example", role: "owner" });
      expect([role, status]).toEqual([role, 403]);
      await visitor.get("/switch");
      const { headers } = await visitor.post("/dashboard/settings/sessions/passkeys/remove", { id: "x" });
      expect([role, headers.get("location")]).toEqual([role, expect.stringContaining("/sign-in/again")]);
    }
  });

  it("goes on where the person was, once the mailed link is used", async () => {
    const visitor = await stale("owner");
    const location = (await visitor.get("/dashboard/settings/api-key")).headers.get("location")!;
    const { body } = await visitor.get(location);
    const [, as] = /name="as" value="([^"]+)"/.exec(body) ?? [];
    const [, to] = /name="to" value="([^"]+)"/.exec(body) ?? [];
    expect([as, to]).toEqual([stocked.program.id, "/dashboard/settings/api-key"]);
    expect(body).toContain(`name="email" value="${emails.owner}"`);
    await env.DB.prepare("delete from sign_in_links where email = ?").bind(emails.owner).run();
    const mailbox = openMailbox();
    const asker = makeVisitor((path, init) => callWith<string>(mailbox.bindings, path, init));
    await asker.get("/sign-in");
    await asker.post("/sign-in", { email: emails.owner, as: as!, to: to! });
    await vi.waitUntil(() => mailbox.mails.length > 0);
    const [path = ""] = /\/sign-in\?token=\S+/.exec(mailbox.mails[0]?.text ?? "") ?? [];
    expect(path).toContain(`&as=${as}`);
    expect(textOf((await visitor.get(path)).body)).toContain(`You sign in as ${emails.owner} : Owner of`);
    const token = new URLSearchParams(path.split("?")[1]).get("token")!;
    const reply = await visitor.post("/sign-in/confirm", { token, as: as! });
    expect(reply.headers.get("location")).toBe(to);
    expect((await visitor.get(to!)).status).toBe(200);
  });

  it("takes no invitation for a proof: its link lay in a mailbox for days", async () => {
    const visitor = await signInMember(stocked.program, emails.owner, makeUncountedVisitor());
    await env.DB.prepare("update sessions set proven_as = program_id where program_id = ? and email = ?")
      .bind(stocked.program.id, emails.owner)
      .run();
    const { headers } = await visitor.get("/dashboard/settings/api-key");
    expect(headers.get("location")).toContain("/sign-in/again");
  });
});

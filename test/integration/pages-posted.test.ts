/** A form ends in a redirect, and is carried out once (PAGE-31); one that came too late for its session is not lost (PAGE-32). */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { sentOf } from "../support/form-fields.ts";
import { makeCommissions } from "../support/payouts.ts";
import { call, makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { FLOW } from "../support/samples.ts";
import { uniqueId } from "../support/vendor.ts";
import {
  makeVisitor,
  signInMember,
  signInOwner,
  signInPartner,
  textOf,
  type Fields,
  type Visitor,
} from "../support/visitor.ts";

let program: TestProgram;
let owner: Visitor;

beforeEach(async () => {
  program = await makeProgram();
  owner = await signInOwner(program);
});

/** The tokens that each form of the page last received has. */
function tokensIn(html: string): Record<string, string> {
  const names = ["csrf", "form", "made_for"];
  const values = names.map((name) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? "");
  return Object.fromEntries(names.map((name, i) => [name, (values[i] ?? "").replaceAll("&quot;", '"')]));
}

/** Sends a form as a browser does, without following redirects. */
async function raw(
  visitor: Visitor,
  path: string,
  fields: Record<string, string | string[]>,
  headers: HeadersInit = {},
) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) for (const one of [value].flat()) body.append(name, one);
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const reply = await call<string>(path, { method: "POST", body, redirect: "manual", headers: { cookie, ...headers } });
  for (const line of reply.headers.getSetCookie()) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (/max-age=0/i.test(line)) visitor.cookies.delete(name);
    else visitor.cookies.set(name, value);
  }
  return { status: reply.status, to: reply.headers.get("location") ?? "", body: reply.body };
}

const keysOf = async () => (await program.api<{ data: object[] }>("GET", "/api/v1/api-keys")).body.data.length;
const secretIn = (text: string) => /\b(?:sk|whsec)_[\w+/=-]{20,}/.exec(text)?.[0];

describe("a form that is sent again (PAGE-31)", () => {
  it("makes one API key, whose page is shown again for a minute to this browser alone", async () => {
    const path = "/dashboard/settings/keys";
    await owner.get(path);
    const fields = { ...tokensIn(owner.html), name: "Shop", scopes: "read", expires_at: "" };
    const sent = await raw(owner, path, fields);
    expect([sent.status, sent.to.startsWith(`${path}?shown=`), secretIn(sent.to)]).toEqual([303, true, undefined]);
    const key = secretIn((await owner.get(sent.to)).body);
    expect(key).toBeDefined();
    // Reloaded, and sent again by the Back button.
    expect(secretIn((await owner.get(sent.to)).body)).toBe(key);
    expect(await raw(owner, path, fields)).toMatchObject({ status: 303, to: sent.to });
    expect(await keysOf()).toBe(1);
    const other = await signInOwner(program);
    expect([(await other.get(sent.to)).status, secretIn(other.html)]).toEqual([404, undefined]);
    const { results } = await env.DB.prepare("select * from kept_texts where program_id = ?").bind(program.id).all();
    expect(JSON.stringify(results)).not.toContain(key ?? "");
    await env.DB.prepare("update kept_texts set kept_until = ? where program_id = ?")
      .bind(new Date(Date.now() - 1).toISOString(), program.id)
      .run();
    const late = await owner.get(sent.to);
    expect([late.status, textOf(late.body).includes("shown only once")]).toEqual([404, true]);
    // Another form creates another.
    await owner.get(path);
    await raw(owner, path, { ...fields, ...tokensIn(owner.html) });
    expect(await keysOf()).toBe(2);
  });

  it("rotates an endpoint's secret once", async () => {
    const { body } = await program.api<{ id: string; secret: string }>("POST", "/api/v1/webhooks", {
      url: "https://receiver.example.com/",
      events: ["*"],
    });
    const path = `/dashboard/webhooks/${body.id}/rotate-secret`;
    await owner.get(path);
    const fields = tokensIn(owner.html);
    const [one, two] = await Promise.all([raw(owner, path, fields), raw(owner, path, fields)]);
    expect([one?.status, two?.to]).toEqual([303, one?.to]);
    const secret = secretIn((await owner.get(one?.to ?? "")).body);
    const { results } = await env.DB.prepare(
      "select payload as type from events where program_id = ? and type = 'webhook_endpoint.updated'",
    )
      .bind(program.id)
      .all<{ type: string }>();
    expect(results.filter(({ type }) => type.includes("secret_rotated"))).toHaveLength(1);
    expect(secret).toBeDefined();
  });

  it("replaces the first key, whose page outlives the session that it ends", async () => {
    const path = "/dashboard/settings/api-key";
    await owner.get(path);
    const sent = await raw(owner, path, tokensIn(owner.html));
    expect([sent.status, sent.to.startsWith("/sign-in/done?shown=")]).toEqual([303, true]);
    const key = secretIn((await owner.get(sent.to)).body);
    expect((await program.api("GET", "/api/v1/partners")).status).toBe(401);
    expect((await call("/api/v1/partners", { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
    expect((await makeVisitor().get(sent.to)).status).toBe(404);
  });

  it("marks payouts as paid once, and says the same when it is reloaded", async () => {
    const { id } = await makePartner(program);
    await makeCommissions(program, id, [{}]);
    const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate");
    const path = "/dashboard/payouts/matching?move=mark_paid";
    const ids = body.payouts.map((payout) => payout.id);
    await owner.get(`${path}&ids=${ids.join()}`);
    const fields = { ...tokensIn(owner.html), seen_at: new Date().toISOString(), ids };
    const sent = await raw(owner, path, fields);
    const said = textOf((await owner.get(sent.to)).body);
    expect(said).toMatch(/1 payout marked as paid: [\d.,]+ USD/);
    expect(textOf((await owner.get(sent.to)).body)).toBe(said);
    expect((await raw(owner, path, fields)).to).toBe(sent.to);
  });

  it("is carried out where the first sending was refused", async () => {
    const path = "/dashboard/partners/new";
    await owner.get(path);
    const fields = { ...tokensIn(owner.html), email: "no address", slug: "ada" };
    expect((await raw(owner, path, fields)).status).toBe(422);
    expect((await raw(owner, path, fields)).status).toBe(422);
    const right = { ...fields, email: `${uniqueId("ada-")}@example.com` };
    const [one, two] = await Promise.all([raw(owner, path, right), raw(owner, path, right)]);
    expect([one?.status, two?.to]).toEqual([303, one?.to]);
  });

  it("is not carried out twice where its answer was lost", async () => {
    const path = "/dashboard/partners/new";
    await owner.get(path);
    const fields = { ...tokensIn(owner.html), email: `${uniqueId("ada-")}@example.com`, slug: "ada" };
    await raw(owner, path, fields);
    // The state between the change and its answer.
    const { results } = await env.DB.prepare("select key, status_code from idempotency_keys where program_id = ?")
      .bind(program.id)
      .all<{ key: string; status_code: number }>();
    expect(results).toEqual([{ key: expect.stringMatching(/^form [0-9a-f]{64}$/), status_code: 303 }]);
  });
});

describe("a POST of a page", () => {
  it("is guarded by what makes it end in a redirect: no route is outside (PAGE-31)", () => {
    const posts = app.routes.filter(
      ({ method, path }) => method === "POST" && !/^\/(api|admin|webhooks|track|click)(\/|$)/.test(path),
    );
    const outside = posts.filter(
      ({ path }) => !/^\/(dashboard|portal|sign-in|sign-out|switch|join|confirm-payout-details|embed)(\/|$)/.test(path),
    );
    expect([...new Set(outside.map(({ path }) => path))]).toEqual(["/unsubscribe/:token"]);
  });
});

describe("a customer who is erased", () => {
  it("is in no page that is kept (JOB-1)", async () => {
    await owner.get("/dashboard/settings/keys");
    await raw(owner, "/dashboard/settings/keys", {
      ...tokensIn(owner.html),
      name: "Shop",
      scopes: "read",
      expires_at: "",
    });
    const count = () =>
      env.DB.prepare("select count(*) as n from kept_texts where program_id = ?").bind(program.id).first("n");
    expect(await count()).toBe(1);
    await program.api("POST", "/api/v1/customers/erase", { email: "jane@shop.example" });
    expect(await count()).toBe(0);
  });
});

describe("a form that is sent after its session has ended (PAGE-32)", () => {
  const NEW = "/dashboard/flows/new";
  const SESSION = "__Host-session";
  const TYPED = {
    name: "Large <b>orders</b> & more",
    event: "transaction_completed",
    action_type: "flat",
    action_value: "12.50",
    priority: "3",
    active: "on",
  };

  async function sendLate(visitor: Visitor, path: string, typed: Record<string, string>, page = path) {
    await visitor.get(page);
    visitor.cookies.delete(SESSION);
    const sent = await raw(visitor, path, { ...tokensIn(visitor.html), ...typed });
    return sent;
  }

  it("is filled in again after signing in, and not carried out", async () => {
    const sent = await sendLate(owner, NEW, TYPED);
    expect([sent.status, sent.to]).toEqual([
      303,
      `/sign-in?${new URLSearchParams({ to: NEW, kept: "yes" }).toString()}`,
    ]);
    expect(textOf((await owner.get(sent.to)).body)).toContain("we fill in your input again, except secrets and files");
    await signInOwner(program, owner);
    const { body } = await owner.get(NEW);
    expect(textOf(body)).toContain("You were signed out before the form was sent, so nothing was saved.");
    const now = sentOf(body);
    for (const [name, value] of Object.entries(TYPED))
      expect([name, now.get(name)?.includes(value)]).toEqual([name, true]);
    expect((await program.api<{ data: object[] }>("GET", "/api/v1/flows")).body.data).toEqual([]);
    const saved = await owner.post(NEW, { ...Object.fromEntries<Fields[string]>(now), ...tokensIn(body) });
    expect(saved.status).toBe(303);
    expect(textOf((await owner.get(NEW)).body)).not.toContain("You were signed out before");
  });

  it("keeps a change of what somebody else has changed since from being saved over it", async () => {
    const flow = (await program.api<{ id: string }>("POST", "/api/v1/flows", FLOW)).body;
    const at = `/dashboard/flows/${flow.id}`;
    const shown = sentOf((await owner.get(at)).body).get("shown")?.[0] ?? "";
    await sendLate(owner, at, { ...TYPED, name: "Mine", shown });
    await program.api("PATCH", `/api/v1/flows/${flow.id}`, { name: "Theirs" });
    await signInOwner(program, owner);
    const { body } = await owner.get(at);
    const reply = await owner.post(at, { ...Object.fromEntries<Fields[string]>(sentOf(body)), ...tokensIn(body) });
    expect([reply.status, textOf(reply.body).includes("Changed to “Theirs”")]).toEqual([422, true]);
  });

  it("is shown to nobody else, in no other program and in no other browser", async () => {
    const second = `${uniqueId("second-")}@example.com`;
    await program.api("POST", "/api/v1/members", { email: second, role: "owner" });
    await sendLate(owner, NEW, TYPED);
    const kept = owner.cookies.get("__Host-kept") ?? "";
    const strangers = [await signInMember(program, second), await signInOwner(await makeProgram())];
    for (const visitor of strangers) {
      visitor.cookies.set("__Host-kept", kept);
      expect((await visitor.get(NEW)).body).not.toContain("12.50");
    }
    expect((await (await signInOwner(program)).get(NEW)).body).not.toContain("12.50");
    await signInOwner(program, owner);
    expect((await owner.get("/dashboard/partners/new")).body).not.toContain("You were signed out before");
    expect((await owner.get(NEW)).body).toContain("12.50");
  });

  it("keeps nothing that another site sent, nor what was made for nobody here, nor secrets", async () => {
    await owner.get(NEW);
    const tokens = tokensIn(owner.html);
    owner.cookies.clear();
    for (const [made_for, headers] of [
      [tokens["made_for"] ?? "", { "sec-fetch-site": "cross-site" }],
      [(tokens["made_for"] ?? "").replace(/^./, "z"), {}],
      ["", {}],
      ["x".repeat(200), {}],
    ] as const) {
      const sent = await raw(owner, NEW, { ...tokens, made_for, ...TYPED }, headers);
      expect([sent.to.includes("kept="), owner.cookies.has("__Host-kept")]).toEqual([false, false]);
    }
    const visitor = await signInOwner(program);
    await sendLate(
      visitor,
      "/dashboard/settings/secrets",
      { name: "provider_a_webhook_secret", secret: "whsec_typed" },
      "/dashboard/settings",
    );
    await signInOwner(program, visitor);
    const { body } = await visitor.get("/dashboard/settings");
    expect([
      body.includes("whsec_typed"),
      textOf(body).includes("Enter secrets, files and very long texts again"),
    ]).toEqual([false, true]);
  });

  it("is bounded, and a partner's too", async () => {
    await sendLate(owner, NEW, { ...TYPED, name: "x".repeat(70_000) });
    await signInOwner(program, owner);
    expect(textOf((await owner.get(NEW)).body)).toContain("very long texts again");
    const { email } = await makePartner(program);
    const partner = await signInPartner(email);
    await sendLate(partner, "/portal/claims", { order_id: "order 77", day: "", email_domain: "" });
    await signInPartner(email, partner);
    expect((await partner.get("/portal/claims")).body).toContain('value="order 77"');
  });
});

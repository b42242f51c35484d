/** A key, id, token or address of one database does not give access in another. */
import { describe, expect, it, vi } from "vitest";
import { programIdOn, tokenOn } from "../../src/domain/shard.ts";
import { sendA } from "../support/ledger.ts";
import { call, callApi, makePartner, SECRET_A, testContext, type TestProgram } from "../support/program.ts";
import { bodyOfA, sessionCompleted, signA } from "../support/provider-a.ts";
import { limitOf, playLimiter } from "../support/rate-limits.ts";
import { ADMIN, away, databaseOn, dump, makeProgramOn } from "../support/shards.ts";
import { followLink, makeVisitor, requestLink, signInOwner, type Visitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

interface Furnished {
  program: TestProgram;
  /** Addresses under /api/v1 of one object of each kind. */
  objects: string[];
}

async function furnish(shard: 0 | 1): Promise<Furnished> {
  const program = await makeProgramOn(shard);
  const partner = await makePartner(program, { slug: "jane" });
  const make = async (path: string, body: object) => (await program.api<{ id: string }>("POST", path, body)).body.id;
  const flow = await make("/api/v1/flows", { name: "f", action_type: "flat", action_value: 500 });
  const endpoint = await make("/api/v1/webhooks", { url: "https://hooks.example/", events: ["*"] });
  await sendA(program, sessionCompleted({ ref: "jane", amount: 5_000 }));
  const first = async (path: string) => {
    const { body } = await program.api<{ data: { id: string }[] }>("GET", path);
    return body.data[0]!.id;
  };
  const commission = await first("/api/v1/commissions");
  const payment = await first("/api/v1/payments");
  await program.api("PATCH", `/api/v1/commissions/${commission}`, { status: "approved" });
  await program.api("POST", "/api/v1/payouts/generate", {});
  const payout = await first("/api/v1/payouts");
  const objects = Object.entries({ partners: partner.id, flows: flow, webhooks: endpoint, commissions: commission });
  return {
    program,
    objects: [...objects, ["payments", payment], ["payouts", payout]].map(([kind, id]) => `/api/v1/${kind}/${id}`),
  };
}

describe("programs of two databases", () => {
  it("reach nothing of each other", async () => {
    const both = [await furnish(0), await furnish(1)] as const;
    for (const [own, other] of [both, [both[1], both[0]]] as const) {
      for (const path of own.objects) expect([path, (await own.program.api("GET", path)).status]).toEqual([path, 200]);
      const before = [await dump(0), await dump(1)];
      for (const path of other.objects) {
        for (const method of ["GET", "PATCH", "DELETE"]) {
          const { status } = await own.program.api(method, path, method === "PATCH" ? {} : undefined);
          expect([method, path, [404, 405].includes(status)]).toEqual([method, path, true]);
        }
      }
      for (const list of ["partners", "flows", "webhooks", "commissions", "payments", "payouts", "events"]) {
        const { body } = await own.program.api<{ data: { id: string }[] }>("GET", `/api/v1/${list}`);
        const foreign = body.data.filter(({ id }) => other.objects.some((path) => path.endsWith(id)));
        expect([list, foreign]).toEqual([list, []]);
      }
      expect([await dump(0), await dump(1)]).toEqual(before);
    }
  });

  it("have keys that open only their own database: another digit is another key", async () => {
    const [zero, one] = [await makeProgramOn(0), await makeProgramOn(1)];
    const random = { zero: zero.api_key.slice(3), one: one.api_key.slice(5) };
    expect(one.api_key).toBe(`sk_1_${random.one}`);
    const forged = [
      `sk_1_${random.zero}`,
      `sk_${random.one}`,
      // Unknown databases and invalid shards.
      `sk_2_${random.one}`,
      `sk_z_${random.zero}`,
      `sk_0_${random.zero}`,
      `sk_1_1_${random.one}`,
      `1_${random.one}`,
    ];
    for (const key of forged) {
      for (const [method, path] of [
        ["GET", "/api/v1/partners"],
        ["POST", "/api/v1/flows"],
        ["GET", "/api/v1/nowhere"],
      ] as const) {
        const { status, body } = await callApi<{ error: { code: string } }>(
          key,
          method,
          path,
          method === "POST" ? {} : undefined,
        );
        expect([key, status, body.error.code]).toEqual([key, 401, "unauthorized"]);
      }
    }
    for (const program of [zero, one]) expect((await program.api("GET", "/api/v1/partners")).status).toBe(200);
  });

  it("count wrong keys of any shard towards the limit of failed authentications", async () => {
    const limit = limitOf("RATE_LIMIT_FAILED_AUTH");
    const limiters = { RATE_LIMIT_FAILED_AUTH: playLimiter(limit) };
    const statuses: number[] = [];
    for (let i = 0; i <= limit; i++) {
      const authorization = `Bearer sk_9_${"x".repeat(41)}${i + 10}`;
      const headers = { "cf-connecting-ip": "192.0.2.77", authorization };
      statuses.push((await callWith(limiters, "/api/v1/partners", { headers })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: limit }, () => 401), 429]);
  });

  it("are not found under an id whose shard was changed, by providers and by the operator", async () => {
    const [zero, one] = [await makeProgramOn(0), await makeProgramOn(1)];
    for (const [program, shard] of [
      [zero, 1],
      [one, 0],
      [zero, 5],
      [one, 31],
    ] as const) {
      const id = programIdOn(shard, program.id);
      const body = bodyOfA(sessionCompleted({ ref: "jane", amount: 5_000 }));
      const headers = { "content-type": "application/json", "Provider-A-Signature": await signA(body, SECRET_A) };
      const inbound = await call<{ error: { code: string } }>(`/webhooks/provider_a?program_id=${id}`, {
        method: "POST",
        headers,
        body,
      });
      expect([id, inbound.status, inbound.body.error.code]).toEqual([id, 404, "not_found"]);
      const operated = await call(`/admin/programs/${id}/api-key`, { method: "POST", headers: ADMIN });
      expect([id, operated.status]).toEqual([id, 404]);
    }
    for (const program of [zero, one]) expect((await program.api("GET", "/api/v1/programs/me")).status).toBe(200);
  });

  it("have sessions and links that are nothing under another digit", async () => {
    vi.spyOn(console, "info").mockImplementation(() => {});
    const [zero, one] = [await makeProgramOn(0), await makeProgramOn(1)];
    for (const program of [zero, one]) {
      const visitor = await signInOwner(program);
      const cookie = visitor.cookies.get("__Host-session")!;
      const random = cookie.slice(-43);
      const others = [0, 1, 2].map((shard) => tokenOn(shard, random)).filter((token) => token !== cookie);
      for (const token of [...others, `0_${random}`]) {
        const thief = makeVisitor();
        thief.cookies.set("__Host-session", token);
        const led = (await thief.get("/dashboard")).headers.get("location")?.split("?")[0];
        expect([token, led]).toEqual([token, "/sign-in"]);
      }
      expect((await visitor.get("/dashboard")).status).toBe(200);
      const { url } = (
        await call<{ url: string }>("/admin/sign-in-links", {
          method: "POST",
          headers: ADMIN,
          body: JSON.stringify({ email: program.program.owner_email }),
        })
      ).body;
      const token = new URL(url).searchParams.get("token")!;
      for (const other of [0, 1, 2].map((shard) => tokenOn(shard, token.slice(-43))).filter((text) => text !== token)) {
        expect([other, (await followLink(makeVisitor(), other)).status]).toEqual([other, 410]);
      }
      expect((await followLink(makeVisitor(), token)).headers.get("location")).toBe("/dashboard");
    }
  });

  it("end the sessions of an address in both, and report it if one is away", async () => {
    const owner_email = `everywhere-${Date.now()}@example.com`;
    const programs = [await makeProgramOn(0, { owner_email }), await makeProgramOn(1, { owner_email })] as const;
    const at = "/dashboard/settings/sessions";
    const signedIn = async (id: string, bindings = {}) => {
      const visitor = makeVisitor((path, init) => callWith<string>(bindings, path, init));
      await followLink(visitor, (await requestLink(testContext(), owner_email))!.link.token, id);
      return visitor;
    };
    const isIn = async (visitor: Visitor) => (await visitor.get("/dashboard")).status === 200;
    const bindings: { DB_1?: D1Database } = {};
    const here = await signedIn(programs[0].id, bindings);
    const [also, there] = [await signedIn(programs[0].id), await signedIn(programs[1].id)];
    await here.get(at);
    expect(here.html.match(/name="id" value="ses_/g)).toHaveLength(2);
    bindings.DB_1 = away(1);
    vi.spyOn(console, "error").mockImplementation(() => {});
    expect((await here.post(`${at}/end-all`)).status).toBe(503);
    expect([await isIn(here), await isIn(also), await isIn(there)]).toEqual([true, false, true]);
    delete bindings.DB_1;
    await here.get(at);
    expect((await here.post(`${at}/end-all`)).headers.get("location")).toBe("/sign-in");
    expect([await isIn(here), await isIn(also), await isIn(there)]).toEqual([false, false, false]);
    const reported = programs.map(({ api }) => api<{ total: number }>("GET", "/api/v1/events?type=session.all_ended"));
    expect((await Promise.all(reported)).map(({ body }) => body.total)).toEqual([2, 1]);
  });

  it("end an owner's sessions with the key in their own database", async () => {
    const one = await makeProgramOn(1);
    const visitor = await signInOwner(one);
    await call(`/admin/programs/${one.id}/api-key`, { method: "POST", headers: ADMIN });
    expect((await visitor.get("/dashboard")).headers.get("location")).toBe("/sign-in?ended=yes");
  });
});

describe("a deployment whose second database is not bound", () => {
  it("knows none of its keys, sessions and programs, and says so as of any other", async () => {
    const one = await makeProgramOn(1);
    const visitor = await signInOwner(one);
    const bindings = { DB_1: undefined };
    const headers = { authorization: `Bearer ${one.api_key}` };
    expect((await callWith(bindings, "/api/v1/partners", { headers })).status).toBe(401);
    const cookie = `__Host-session=${visitor.cookies.get("__Host-session")}`;
    const page = await callWith(bindings, "/dashboard", { headers: { cookie } });
    expect([page.status, page.headers.get("location")]).toEqual([303, "/sign-in?ended=yes"]);
    const body = bodyOfA(sessionCompleted({ ref: "jane", amount: 5_000 }));
    const signed = { "content-type": "application/json", "Provider-A-Signature": await signA(body, SECRET_A) };
    const path = `/webhooks/provider_a?program_id=${one.id}`;
    expect((await callWith(bindings, path, { method: "POST", headers: signed, body })).status).toBe(404);
    const list = await callWith<{ total: number }>(bindings, "/admin/programs", { headers: ADMIN });
    expect(list.body.total).toBe(await databaseOn(0).prepare("select count(*) as n from programs").first<number>("n"));
    expect((await callWith(bindings, "/healthz")).status).toBe(200);
  });
});

/** A request without a verified key is refused on every route: the gate and the types ensure it, not each handler. */
import { env, createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { Hono } from "hono";
import { beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import type { commit } from "../../src/core/kernel/commit.ts";
import type { Ctx, Unproven } from "../../src/core/kernel/context.ts";
import type { AppEnv } from "../../src/env.ts";
import { authenticate } from "../../src/http/authenticate.ts";
import { requestContext } from "../../src/http/context.ts";
import { methodNotAllowedOrNotFound, renderError } from "../../src/http/errors.ts";
import { AppError } from "../../src/lib/errors.ts";
import { iso } from "../../src/lib/time.ts";
import { BASE_URL, makeProgram, type TestProgram } from "../support/program.ts";
import { watchDatabase } from "../support/watched-database.ts";

/** Routes whose author forgot about keys. */
const app = new Hono<AppEnv>();
app.onError(renderError);
app.notFound((c) => renderError(methodNotAllowedOrNotFound(app, c), c));
app.use(requestContext());
app.use("/api/v1/*", authenticate());
app.get("/api/v1/constant", (c) => {
  c.header("X-Private", "something");
  return c.json({ ok: true });
});
app.get("/api/v1/stream", () => new Response(new Blob(["a,b\n"]).stream()));
app.get("/api/v1/refused", () => {
  throw new AppError("validation_failed", "The request is not valid.");
});
app.get("/api/v1/broken", () => {
  throw new Error("a mistake in the code");
});
app.get("/api/v1/read", async (c) => {
  await c.var.ctx.read(c.var.ctx.db.all("select 1"));
  return c.json({ ok: true });
});

async function ask(key: string, path: string, method = "GET") {
  const { binding, roundTrips } = watchDatabase(env.DB);
  const ctx = createExecutionContext();
  const request = new Request(`${BASE_URL}${path}`, { method, headers: { authorization: `Bearer ${key}` } });
  const reply = await app.fetch(request, { ...env, DB: binding }, ctx);
  const text = await reply.text();
  await waitOnExecutionContext(ctx);
  return { status: reply.status, headers: reply.headers, text, trips: roundTrips.length };
}

describe("authentication by construction (ACCESS-1)", () => {
  let program: TestProgram;
  beforeAll(async () => {
    program = await makeProgram({ api_key_last_used_at: iso(Date.now()) });
  });

  it.each([
    ["/api/v1/constant", 200],
    ["/api/v1/stream", 200],
    ["/api/v1/refused", 422],
    ["/api/v1/broken", 500],
    ["/api/v1/nowhere", 404],
    ["/api/v1/read", 200],
  ])(
    "%s is answered with %i to the bearer of a key, in one round trip, and with 401 to anybody else",
    async (path, status) => {
      expect(await ask(program.api_key, path)).toMatchObject({ status, trips: 1 });
      const refused = await ask("sk_unknown", path);
      expect([refused.status, refused.headers.get("x-private"), refused.trips]).toEqual([401, null, 1]);
      expect(JSON.parse(refused.text)).toMatchObject({ error: { code: "unauthorized" } });
      expect(refused.headers.get("www-authenticate")).toBe("Bearer");
    },
  );

  it("shows only the bearer of a key which methods an address takes", async () => {
    const allowed = await ask(program.api_key, "/api/v1/constant", "DELETE");
    expect([allowed.status, allowed.headers.get("allow")]).toEqual([405, "GET"]);
    const refused = await ask("sk_unknown", "/api/v1/constant", "DELETE");
    expect([refused.status, refused.headers.get("allow")]).toEqual([401, null]);
  });

  it("gives a route no program, no actor and nothing to write with, until a read has proven the key", () => {
    expectTypeOf<AppEnv["Variables"]["ctx"]>().not.toHaveProperty("program");
    expectTypeOf<AppEnv["Variables"]["ctx"]>().not.toExtend<Ctx>();
    expectTypeOf<Unproven>().not.toExtend<Parameters<typeof commit>[0]>();
  });
});

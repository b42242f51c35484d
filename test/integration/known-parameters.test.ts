/** The API refuses unknown parameters of its routes; routes for vendors and browsers ignore them (HTTP-6). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/http/routes.ts";
import { callApi, makeProgram, type Reply, type TestProgram } from "../support/program.ts";

interface ErrorBody {
  error?: { code: string; details?: { path: string; message: string }[] };
}

/** Each route of the API and of the operator, with HEAD for each GET. */
const WALKED = ROUTES.flatMap((route) =>
  (route.method === "GET" ? ["GET", "HEAD"] : [route.method]).map((method) => ({
    ...route,
    at: `${method} ${route.path}`,
    method,
  })),
);

const detailsOf = ({ body }: Reply<unknown>) => (body as ErrorBody | null)?.error?.details ?? [];

describe("a parameter that a route does not take (HTTP-6)", () => {
  let program: TestProgram;
  beforeAll(async () => {
    program = await makeProgram();
  });

  it.each(WALKED)("of $at is refused and named", async ({ at: route, method, path, parameters }) => {
    const key = path.startsWith("/admin/") ? env.ADMIN_TOKEN : program.api_key;
    const at = path.replaceAll(/:\w+/g, "x");
    const reply = await callApi(key, method, `${at}?statuss=active&__proto__=1`);
    expect([route, reply.status]).toEqual([route, 422]);
    if (method === "HEAD") return;
    expect(detailsOf(reply)).toEqual([
      { path: "statuss", message: "This parameter is not known." },
      { path: "__proto__", message: "This parameter is not known." },
    ]);
    for (const name of parameters) {
      const once = detailsOf(await callApi(key, method, `${at}?${name}=x`));
      expect(once.filter(({ message }) => message === "This parameter is not known.")).toEqual([]);
      const twice = detailsOf(await callApi(key, method, `${at}?${name}=x&${name}=x`));
      expect(twice).toEqual([{ path: name, message: "This is given more than once." }]);
    }
  });

  it("is reported after the key, the path and the method, and changes nothing", async () => {
    const statusOf = async (key: string | null, method: string, path: string) =>
      (await callApi(key, method, path, { url: "https://receiver.example.com/", events: ["*"] })).status;
    expect([
      await statusOf("sk_nobody", "POST", "/api/v1/webhooks?x=1"),
      await statusOf(program.api_key, "POST", "/api/v1/nowhere?x=1"),
      await statusOf(program.api_key, "DELETE", "/api/v1/webhooks?x=1"),
      await statusOf(program.api_key, "POST", "/api/v1/webhooks?x=1"),
      await statusOf(program.api_key, "POST", "/api/v1/webhooks?"),
    ]).toEqual([401, 404, 405, 422, 201]);
    expect((await program.api<{ data: unknown[] }>("GET", "/api/v1/webhooks")).body.data).toHaveLength(1);
  });

  it.each([
    ["GET", "/healthz"],
    ["GET", "/openapi.json"],
    ["GET", "/service.js"],
    ["GET", "/docs"],
    ["GET", "/sign-in"],
  ])("of %s %s is ignored", async (method, path) => {
    const [plain, more] = [await callApi(null, method, path), await callApi(null, method, `${path}?utm_source=x&x=1`)];
    expect([plain.status, more.status]).toEqual([200, 200]);
  });

  it("of a provider's webhook is ignored", async () => {
    const [plain, more] = await Promise.all(
      ["", "&x=1"].map((search) => callApi(null, "POST", `/webhooks/provider_a?program_id=${program.id}${search}`, {})),
    );
    expect(more?.status).toBe(plain?.status);
    expect(detailsOf(more!)).toEqual(detailsOf(plain!));
  });
});

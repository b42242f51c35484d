/** The platform's rate limiters may fail as well as its storage. */
import { describe, expect, it } from "vitest";
import { makeProgram } from "../support/program.ts";
import { callWith } from "../support/watched-database.ts";

const failing: RateLimit = { limit: () => Promise.reject(new Error("limiter is down")) };
const DOWN = { RATE_LIMIT_API: failing, RATE_LIMIT_FAILED_AUTH: failing, RATE_LIMIT_SIGN_IN: failing };
const FROM_SOMEWHERE = { "cf-connecting-ip": "203.0.113.9" };

describe("a rate limiter that fails", () => {
  it("lets a key pass, and still refuses a wrong one", async () => {
    const { api_key } = await makeProgram();
    const list = (key: string) =>
      callWith(DOWN, "/api/v1/partners", { headers: { ...FROM_SOMEWHERE, authorization: `Bearer ${key}` } });
    expect((await list(api_key)).status).toBe(200);
    expect((await list(`sk_${"x".repeat(43)}`)).status).toBe(401);
  });

  it("lets the sign-in pages be opened", async () => {
    expect((await callWith(DOWN, "/sign-in", { headers: FROM_SOMEWHERE })).status).toBe(200);
  });
});

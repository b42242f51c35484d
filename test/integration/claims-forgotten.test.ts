/** An erasure keeps the stored replies of claim decisions consistent, also if both run at once (CLAIM-7, HTTP-10). */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { makeClaim } from "../support/claims.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const EMAIL = "gone@private.example";
const DAY = "2026-03-02";
const NOTHING = { order_id: null, day: null, email_domain: null };

/** Makes an unattributed sale; returns its order id. */
async function soldTo(program: TestProgram, email: string): Promise<string> {
  const created = Date.parse(`${DAY}T12:00:00Z`) / 1000;
  const session = sessionCompleted({ ref: null, customer: uniqueId("cus_"), email, created });
  await sendA(program, session);
  return session.data.object.id;
}

const erase = (program: TestProgram) => program.api("POST", "/api/v1/customers/erase", { email: EMAIL });

it("are replayed without the order, the day and the domain that were forgotten, and others as they were", async () => {
  const program = await makeProgram();
  const jane = await makePartner(program);
  const [mine, others] = [await soldTo(program, EMAIL), await soldTo(program, "stays@other.example")];
  const byDay = { day: DAY, email_domain: "private.example" };
  const decisions = [
    { action: "grant", input: { order_id: mine }, after: NOTHING },
    { action: "decline", input: byDay, after: NOTHING },
    { action: "decline", input: { day: "2026-01-02", email_domain: "private.example" }, after: null },
    { action: "grant", input: { order_id: others }, after: null },
  ];
  const kept = [];
  for (const { action, input, after } of decisions) {
    const id = await makeClaim(program, jane.id, input);
    const decide = () =>
      program.api<object>("POST", `/api/v1/claims/${id}/${action}`, undefined, { "Idempotency-Key": id });
    const first = await decide();
    expect(first).toMatchObject({ status: 200, body: input });
    kept.push({ decide, expected: { ...first.body, ...after } });
  }
  expect((await erase(program)).status).toBe(200);
  for (const { decide, expected } of kept) {
    const again = await decide();
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.body).toEqual(expected);
  }
});

it.each(["erase", "decline"])("hold nothing forgotten where the other comes in between: %s", async (slow) => {
  const program = await makeProgram();
  const jane = await makePartner(program);
  const order_id = await soldTo(program, EMAIL);
  const id = await makeClaim(program, jane.id, { order_id });
  const authorization = `Bearer ${program.api_key}`;
  const post = (path: string, body: object) => {
    const headers = { authorization, "content-type": "application/json", "Idempotency-Key": path };
    return [path, { method: "POST", headers, body: JSON.stringify(body) }] as const;
  };
  const calls = {
    erase: post("/api/v1/customers/erase", { email: EMAIL }),
    decline: post(`/api/v1/claims/${id}/decline`, {}),
  };
  let between: number | null = null;
  const { binding } = watchDatabase(env.DB, {
    before: async (statements) => {
      if (between !== null || !statements.some((sql) => /^update "?claims"?/.test(sql))) return;
      between = 0;
      between = (await callWith({ DB: env.DB }, ...calls[slow === "erase" ? "decline" : "erase"])).status;
    },
  });
  expect([(await callWith({ DB: binding }, ...calls[slow as "erase"])).status, between]).toEqual([200, 200]);
  expect((await callWith({}, ...calls.decline)).body).toMatchObject({ id, status: "declined", ...NOTHING });
});

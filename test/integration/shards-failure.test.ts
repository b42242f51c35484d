/** "one failing database leaves the others' programs working". */
import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  env,
  getQueueResult,
  waitOnExecutionContext,
} from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { confirmLink } from "../../src/core/sessions/sign-in.ts";
import { shardOfToken } from "../../src/domain/shard.ts";
import type { Bindings } from "../../src/env.ts";
import { baseContext } from "../../src/http/context.ts";
import worker from "../../src/index.ts";
import { makePartner, SECRET_A, SECRET_B, type TestProgram } from "../support/program.ts";
import { bodyOfA, sessionCompleted, signA } from "../support/provider-a.ts";
import { bodyOfB, signB, transactionCompleted } from "../support/provider-b.ts";
import { sendA } from "../support/ledger.ts";
import { ADMIN, away, databaseOn, makeProgramOn } from "../support/shards.ts";
import { makeVisitor, requestLink } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

let logged: string[];
beforeEach(() => {
  logged = [];
  vi.spyOn(console, "error").mockImplementation((line) => void logged.push(String(line)));
  vi.spyOn(console, "info").mockImplementation(() => {});
});
afterEach(() => vi.restoreAllMocks());

const CASES = [
  { broken: 0, whole: 1, bindings: () => ({ DB: away(0) }) },
  { broken: 1, whole: 0, bindings: () => ({ DB_1: away(1) }) },
] as const;

function asked(program: TestProgram, bindings: Partial<Bindings>) {
  return async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
    return (
      await callWith(bindings, path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    ).status;
  };
}

describe.each(CASES)("while the database of shard $broken is away", ({ broken, whole, bindings }) => {
  it("the other's programs take payments, calls and sign-ins; its own get 503 (DEP-3)", async () => {
    const [mine, theirs] = [await makeProgramOn(whole), await makeProgramOn(broken)];
    const partner = await makePartner(mine, { slug: "jane" });
    const call = asked(mine, bindings());
    expect(await call("GET", "/api/v1/partners")).toBe(200);
    expect(await call("PATCH", `/api/v1/partners/${partner.id}`, { first_name: "J" })).toBe(200);
    expect(await call("POST", "/api/v1/flows", { name: "f", action_type: "flat", action_value: 1 })).toBe(201);
    expect(await asked(theirs, bindings())("GET", "/api/v1/partners")).toBe(503);

    const pay = async (program: TestProgram) => {
      const body = bodyOfA(sessionCompleted({ ref: "jane", amount: 5_000 }));
      const headers = { "content-type": "application/json", "Provider-A-Signature": await signA(body, SECRET_A) };
      const path = `/webhooks/provider_a?program_id=${program.id}`;
      const reply = await callWith<{ outcome?: string }>(bindings(), path, { method: "POST", headers, body });
      return [reply.status, reply.body.outcome];
    };
    expect(await pay(mine)).toEqual([200, "commission"]);
    expect(await pay(theirs)).toEqual([503, undefined]);

    const base = baseContext({ ...(env as unknown as Bindings), ...bindings() }, Date.now(), () => {});
    const requested = await requestLink(base, mine.program.owner_email);
    const signedIn = await confirmLink(base, requested!.link.token, null);
    expect(signedIn.outcome).toBe("signed_in");
    const token = signedIn.outcome === "signed_in" ? signedIn.session.token : "";
    expect(shardOfToken(token)).toBe(whole);
    const visitor = makeVisitor((path, init) => callWith<string>(bindings(), path, init));
    visitor.cookies.set("__Host-session", token);
    expect((await visitor.get("/dashboard")).status).toBe(200);
  });

  it("an address is answered alike, whether it is known here, there or nowhere", async () => {
    const [mine, theirs] = [await makeProgramOn(whole), await makeProgramOn(broken)];
    const visitor = makeVisitor((path, init) => callWith<string>(bindings(), path, init));
    const answers: [number, string][] = [];
    for (const email of [mine.program.owner_email, theirs.program.owner_email, "nobody@nowhere.example"]) {
      await visitor.get("/sign-in");
      const reply = await visitor.post("/sign-in", { email });
      answers.push([reply.status, reply.body.replaceAll(email, "").replaceAll(/value="[0-9a-f]{64}"/g, "")]);
    }
    expect(answers[0]![0]).toBe(200);
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    expect(logged.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({ what: "a database did not answer", shard: broken }),
    );
    expect(logged.join()).not.toContain("@");
  });

  it("a link that may be somebody's of the database that is away stays good", async () => {
    const email = `moved-${Date.now()}-${broken}@example.com`;
    const mine = await makeProgramOn(whole, { owner_email: email });
    const elsewhere = await makeProgramOn(broken, { owner_email: email });
    const base = () => baseContext({ ...(env as unknown as Bindings), ...bindings() }, Date.now(), () => {});
    const { token } = (await requestLink(base(), email))!.link;
    await databaseOn(whole)
      .prepare("update programs set owner_email = 'x@example.com' where id = ?")
      .bind(mine.id)
      .run();
    await expect(confirmLink(base(), token, null)).rejects.toThrow();
    const back = baseContext(env, Date.now(), () => {});
    const confirmed = await confirmLink(back, token, null);
    expect(confirmed).toMatchObject({ outcome: "signed_in", session: { audience: "owner" } });
    expect(elsewhere.program.shard).toBe(broken);
  });

  it("the crons do their work in the other, and each failure is logged with its database", async () => {
    const program = await makeProgramOn(whole);
    await makePartner(program, { slug: "jane" });
    await sendA(program, sessionCompleted({ ref: "jane", amount: 5_000 }));
    await program.api("PATCH", "/api/v1/programs/me", { auto_approve_days: 0 });
    await databaseOn(whole)
      .prepare("update commissions set created_at = '2026-01-01T00:00:00.000Z' where program_id = ?")
      .bind(program.id)
      .run();
    const context = createExecutionContext();
    const all = { ...(env as unknown as Bindings), ...bindings() };
    await worker.scheduled(createScheduledController({ cron: "17 3 * * *" }), all, context);
    await waitOnExecutionContext(context);
    const { body } = await program.api<{ data: { status: string }[] }>("GET", "/api/v1/commissions");
    expect(body.data).toMatchObject([{ status: "approved" }]);
    const said = logged.map((line) => JSON.parse(line) as { what: string; shard: number });
    // Kept counts do not include rows that other tests inserted by hand.
    const failed = said.filter(({ what }) => what !== "kept counts were wrong");
    expect(failed.length).toBeGreaterThan(0);
    for (const line of failed) expect(line).toMatchObject({ what: "job failed", shard: broken });
  });

  it("wake-ups of the other are answered for, its own come again", async () => {
    const messages = [0, 1, 0, 1].map((shard, i) => ({
      id: `m${i}`,
      timestamp: new Date(),
      attempts: 1,
      body: { delivery_id: `dlv_${i}`, shard },
    }));
    const all = { ...(env as unknown as Bindings), ...bindings() };
    const of = (shard: number) => messages.filter((_, i) => i % 2 === shard).map(({ id }) => id);
    for (const queue of ["deliveries", "deliveries-dead"]) {
      const batch = createMessageBatch(queue, messages);
      const context = createExecutionContext();
      await worker.queue(batch, all, context);
      const result = await getQueueResult(batch, context);
      const isDead = queue === "deliveries-dead";
      expect(result.explicitAcks.toSorted()).toEqual(isDead ? ["m0", "m1", "m2", "m3"] : of(whole));
      expect(result.retryMessages.map(({ msgId }) => msgId)).toEqual(isDead ? [] : of(broken));
    }
  });

  it("/healthz names it, and the operator's list is refused, for it would be wrong", async () => {
    const health = await callWith<{ error: { message: string } }>(bindings(), "/healthz");
    expect([health.status, health.body.error.message]).toEqual([
      503,
      `The database does not answer: ${broken === 0 ? "DB" : "DB_1"}.`,
    ]);
    expect((await callWith(bindings(), "/admin/programs", { headers: ADMIN })).status).toBe(503);
  });

  it("an event that names only a payment is asked to come again, unless the other knows the payment", async () => {
    const program = await makeProgramOn(whole);
    await makePartner(program, { slug: "jane" });
    const event = transactionCompleted({ ref: "jane", amount: 1_000, program: program.id });
    const send = async (sent: typeof event) => {
      const body = bodyOfB(sent);
      const headers = { "content-type": "application/json", "Provider-B-Signature": await signB(body, SECRET_B) };
      return (await callWith(bindings(), "/webhooks/provider_b", { method: "POST", headers, body })).status;
    };
    expect(await send(event)).toBe(200);
    const unnamed = transactionCompleted({ ref: "jane", amount: 1_000 });
    expect(await send(unnamed)).toBe(503);
  });
});

describe("an event of provider B that names no program", () => {
  it("finds it by its payment or subscription in whichever database that is", async () => {
    for (const shard of [0, 1] as const) {
      const program = await makeProgramOn(shard);
      await makePartner(program, { slug: "jane" });
      const event = transactionCompleted({ ref: "jane", amount: 1_000, program: program.id });
      const send = async (body: string) => {
        const headers = { "content-type": "application/json", "Provider-B-Signature": await signB(body, SECRET_B) };
        return (await callWith({}, "/webhooks/provider_b", { method: "POST", headers, body })).status;
      };
      expect(await send(bodyOfB(event))).toBe(200);
      const unnamed = bodyOfB(transactionCompleted({ ref: "jane", amount: 1_000, id: event.data.id }));
      expect(await send(unnamed)).toBe(200);
      const unknown = bodyOfB(transactionCompleted({ ref: "jane", amount: 1_000 }));
      expect(await send(unknown)).toBe(404);
    }
  });
});

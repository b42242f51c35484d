import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { API } from "../../src/http/routes.ts";
import { sha256Hex } from "../../src/lib/crypto.ts";
import { DAY, iso, MINUTE, SECOND } from "../../src/lib/time.ts";
import { makeProgram, type Reply, type TestProgram } from "../support/program.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

interface Body {
  id: string;
  error: { code: string; details?: { path: string }[] };
}

const FLOWS = "/api/v1/flows";
const STAMP = "2026-01-01T00:00:00.000Z";
const FLOW = { name: "Once", action_type: "flat", action_value: 1 };

function post(program: TestProgram, key: string, body: unknown = FLOW, path = FLOWS): Promise<Reply<Body>> {
  return program.api<Body>("POST", path, body, { "Idempotency-Key": key });
}

async function flowsOf(program: TestProgram): Promise<number> {
  return (await program.api<{ data: unknown[] }>("GET", FLOWS)).body.data.length;
}

/** Makes a stored key older. */
async function age(program: TestProgram, key: string, ms: number): Promise<void> {
  await env.DB.prepare("update idempotency_keys set created_at = ? where program_id = ? and key = ?")
    .bind(iso(Date.now() - ms), program.id, key)
    .run();
}

/** Stores the key of a request without a reply, made `ms` ago. */
async function takenBy(program: TestProgram, key: string, ms: number): Promise<void> {
  const request_hash = await sha256Hex(["POST", FLOWS, JSON.stringify(FLOW)].join("\n"));
  await env.DB.prepare(
    "insert into idempotency_keys (program_id, key, request_hash, claimed_by, created_at) values (?, ?, ?, 'req_dead', ?)",
  )
    .bind(program.id, key, request_hash, iso(Date.now() - ms))
    .run();
}

/**
 * POSTs whose reply is stored after the work instead of in its transaction, with the reason. If the process ends in between,
 * the same request repeats the work once its key is free.
 */
const STORED_AFTERWARDS: Record<string, string> = {
  "/api/v1/applications/bulk": "what was decided is reported as such",
  "/api/v1/customers/erase": "nothing is left to erase",
  "/api/v1/flows/simulate": "changes nothing",
  "/api/v1/imports": "what is there is not added again (IMP-2)",
  "/api/v1/integrations/:provider/destination": "finds the vendor's destination by its address",
  "/api/v1/integrations/:provider/reconcile": "what was read is known by its ids",
  "/api/v1/partners/:id/portal-links": "a link that nobody got expires after five minutes (EMBED-1)",
  "/api/v1/partners/:id/provider-a-account": "the account is kept before its link is asked for",
  "/api/v1/payouts/exports/:id/results": "the same file again changes nothing (OUT-28)",
  "/api/v1/payouts/generate": "what is in a payout is not payable",
  "/api/v1/track/lead": "the same report is one event",
  "/api/v1/track/refund": "the same report is one event",
  "/api/v1/track/sale": "the same report is one event",
};

describe("Idempotency-Key (HTTP-10)", () => {
  it("keeps each reply with the change that it is about, by the `view` of its route, or says why not", () => {
    const posts = API.filter(({ method }) => method === "POST");
    const afterwards = posts.flatMap(({ path, is_stored }) => (is_stored ? [] : [path]));
    expect(afterwards.toSorted()).toEqual(Object.keys(STORED_AFTERWARDS));
  });

  it("makes one object of twenty equal requests at once; the others get its reply or 409", async () => {
    const program = await makeProgram();
    const replies = await Promise.all(Array.from({ length: 20 }, () => post(program, "at once")));
    const created = replies.filter(({ status }) => status === 201);
    const waiting = replies.filter(({ status }) => status === 409);
    expect(created.length + waiting.length).toBe(20);
    expect(new Set(created.map(({ body }) => body.id)).size).toBe(1);
    expect(created.filter(({ headers }) => headers.get("Idempotent-Replayed") === null)).toHaveLength(1);
    expect(waiting.every(({ body }) => body.error.code === "idempotency_conflict")).toBe(true);
    expect(await flowsOf(program)).toBe(1);
    expect((await program.api<{ total: number }>("GET", "/api/v1/events?type=flow.created")).body.total).toBe(1);
    const later = await post(program, "at once");
    expect([later.status, later.headers.get("Idempotent-Replayed")]).toEqual([201, "true"]);
    expect(later.body).toEqual(created[0]?.body);
  });

  it("refuses another body or another path under the same key, and creates nothing", async () => {
    const program = await makeProgram();
    await post(program, "k");
    const partner = { email: "k@example.com", slug: "k" };
    for (const other of [
      await post(program, "k", { ...FLOW, name: "Twice" }),
      await post(program, "k", partner, "/api/v1/partners"),
    ]) {
      expect([other.status, other.body.error.code]).toEqual([422, "validation_failed"]);
      expect(other.body.error.details?.[0]?.path).toBe("Idempotency-Key");
    }
    expect(await flowsOf(program)).toBe(1);
  });

  it("belongs to one program", async () => {
    const [one, other] = [await makeProgram(), await makeProgram()];
    const [first, second] = [await post(one, "shared"), await post(other, "shared")];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body.id).not.toBe(first.body.id);
  });

  it("has 1 to 255 characters", async () => {
    const program = await makeProgram();
    expect((await post(program, "x".repeat(255))).status).toBe(201);
    for (const key of ["x".repeat(256), "", " "]) {
      const reply = await post(program, key);
      expect([reply.status, reply.body.error.details?.[0]?.path]).toEqual([422, "Idempotency-Key"]);
    }
    expect(await flowsOf(program)).toBe(1);
  });

  it("replays a final refusal, and lets a request that can be corrected be sent again", async () => {
    const program = await makeProgram();
    const partner = { email: "taken@example.com", slug: "taken" };
    await program.api("POST", "/api/v1/partners", partner);
    const first = await post(program, "dup", partner, "/api/v1/partners");
    const again = await post(program, "dup", partner, "/api/v1/partners");
    expect([first.status, again.status, again.headers.get("Idempotent-Replayed")]).toEqual([409, 409, "true"]);
    // The stored reply is unchanged and has the first request's id.
    expect(again.body.error).toEqual(first.body.error);
    expect(again.body.error.code).toBe("already_exists");
    expect((await post(program, "typo", { ...FLOW, name: "" })).status).toBe(422);
    expect((await post(program, "typo", "{")).status).toBe(400);
    expect((await post(program, "typo")).status).toBe(201);
    expect((await post(program, "nowhere", FLOW, "/api/v1/nowhere")).status).toBe(404);
    expect((await post(program, "nowhere", FLOW, "/api/v1/nowhere")).headers.get("Idempotent-Replayed")).toBe("true");
  });

  it("is for POST alone", async () => {
    const program = await makeProgram();
    const { body } = await post(program, "k");
    const headers = { "Idempotency-Key": "k" };
    const patched = await program.api<Body>("PATCH", `${FLOWS}/${body.id}`, { name: "New" }, headers);
    expect([patched.status, patched.headers.get("Idempotent-Replayed")]).toEqual([200, null]);
    expect((await program.api("GET", `${FLOWS}/${body.id}`, undefined, headers)).status).toBe(200);
  });

  it("is forgotten after 24 h", async () => {
    const program = await makeProgram();
    const first = await post(program, "old");
    await age(program, "old", DAY - MINUTE);
    expect((await post(program, "old")).body.id).toBe(first.body.id);
    await age(program, "old", DAY + MINUTE);
    const again = await post(program, "old", { ...FLOW, name: "Another" });
    expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([201, null]);
    expect(again.body.id).not.toBe(first.body.id);
    expect((await post(program, "old", { ...FLOW, name: "Another" })).body).toEqual(again.body);
    expect(await flowsOf(program)).toBe(2);
  });

  it("is 409 where no key of the deployment opens the reply any more, and nothing is done again", async () => {
    const program = await makeProgram();
    await post(program, "lost");
    await env.DB.prepare("update idempotency_keys set body = 'v2.00000000.AAAA.AAAA' where program_id = ?")
      .bind(program.id)
      .run();
    await age(program, "lost", DAY - MINUTE);
    const again = await post(program, "lost");
    expect([again.status, again.body.error.code]).toEqual([409, "idempotency_conflict"]);
    expect(await flowsOf(program)).toBe(1);
  });

  it("is taken over from a request that died, a minute after it began and not before", async () => {
    const program = await makeProgram();
    await takenBy(program, "running", MINUTE - 5 * SECOND);
    const running = await post(program, "running");
    expect([running.status, running.body.error.code]).toEqual([409, "idempotency_conflict"]);
    await takenBy(program, "dead", MINUTE + SECOND);
    const replies = await Promise.all(Array.from({ length: 8 }, () => post(program, "dead")));
    const created = replies.filter(({ status }) => status === 201);
    expect(new Set(created.map(({ body }) => body.id)).size).toBe(1);
    expect(await flowsOf(program)).toBe(1);
  });

  it("keeps the reply of a request that lost a race and then found nothing left to do", async () => {
    const program = await makeProgram();
    const partner = await program.api<Body>("POST", "/api/v1/partners", { email: "p@example.com", slug: "p" });
    await program.api("PATCH", `/api/v1/partners/${partner.body.id}`, { status: "active" });
    const manual = { partner_id: partner.body.id, amount_cents: 500, note: "By hand" };
    const { body: commission } = await program.api<Body>("POST", "/api/v1/commissions", manual);
    const approve = { ids: [commission.id], status: "approved" };
    let isFirst = true;
    const { binding } = watchDatabase(env.DB, {
      // Another request approves it between the read and the commit.
      async before(statements) {
        if (!isFirst || !statements.some((sql) => sql.includes("insert into commit_guards"))) return;
        isFirst = false;
        await program.api("PATCH", `/api/v1/commissions/${commission.id}`, { status: "approved" });
      },
    });
    const send = () =>
      callWith<{ data: { ok: boolean }[] }>({ DB: binding }, "/api/v1/commissions/bulk", {
        method: "POST",
        headers: {
          Authorization: `Bearer ${program.api_key}`,
          "Content-Type": "application/json",
          "Idempotency-Key": "lost race",
        },
        body: JSON.stringify(approve),
      });
    const first = await send();
    expect([isFirst, first.status, first.body.data[0]?.ok]).toEqual([false, 200, false]);
    const again = await send();
    expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
    expect(again.body).toEqual(first.body);
  });

  it("never makes a second object where a request taken for dead goes on after all", async () => {
    const program = await makeProgram();
    const { binding } = watchDatabase(env.DB, {
      async before(statements) {
        if (!statements.some((text) => text.includes("insert into events"))) return;
        await age(program, "slow", MINUTE + SECOND);
        expect((await post(program, "slow")).status).toBe(201);
      },
    });
    const slow = await callWith<Body>({ DB: binding }, FLOWS, {
      method: "POST",
      headers: {
        authorization: `Bearer ${program.api_key}`,
        "content-type": "application/json",
        "Idempotency-Key": "slow",
      },
      body: JSON.stringify(FLOW),
    });
    expect([slow.status, slow.body.error.code]).toEqual([409, "idempotency_conflict"]);
    expect(await flowsOf(program)).toBe(1);
    expect((await post(program, "slow")).headers.get("Idempotent-Replayed")).toBe("true");
  });

  it("keeps its reply where the commit had to be tried twice", async () => {
    const program = await makeProgram();
    await env.DB.prepare(
      `insert into flows (id, program_id, name, action_type, action_value, conditions, created_at, updated_at)
       select 'flw_' || value || ?1, ?1, 'x', 'flat', 1, '[]', '${STAMP}', '${STAMP}' from json_each(?2)`,
    )
      .bind(program.id, JSON.stringify(Array.from({ length: 99 }, (_, i) => i)))
      .run();
    const rival = `flw_rival${program.id}`;
    let commits = 0;
    const { binding } = watchDatabase(env.DB, {
      async before(statements) {
        const isCommit = statements.some((text) => text.includes("insert into events"));
        // A rival creates the 100th flow just before the first commit and removes it before the second.
        if (isCommit) commits++;
        const change = !isCommit
          ? env.DB.prepare("delete from flows where id = ?").bind(rival)
          : env.DB.prepare(
              `insert into flows (id, program_id, name, action_type, action_value, conditions, created_at, updated_at)
               select ?, ?, 'x', 'flat', 1, '[]', '${STAMP}', '${STAMP}' where ? = 1`,
            ).bind(rival, program.id, commits);
        await change.run();
      },
    });
    const made = await callWith<Body>({ DB: binding }, FLOWS, {
      method: "POST",
      headers: {
        authorization: `Bearer ${program.api_key}`,
        "content-type": "application/json",
        "Idempotency-Key": "twice",
      },
      body: JSON.stringify(FLOW),
    });
    expect([commits, made.status]).toEqual([2, 201]);
    const replayed = await post(program, "twice");
    expect([replayed.status, replayed.headers.get("Idempotent-Replayed")]).toEqual([201, "true"]);
    expect(replayed.body).toEqual(made.body);
    expect(await flowsOf(program)).toBe(100);
  });

  it("is judged only after the key of the program", async () => {
    const program = await makeProgram();
    const reply = await program.api<Body>("POST", FLOWS, FLOW, {
      authorization: "Bearer sk_wrong",
      "Idempotency-Key": "x",
    });
    expect(reply.status).toBe(401);
    const kept = await env.DB.prepare("select count(*) as n from idempotency_keys where key = 'x'").first<number>("n");
    expect(kept).toBe(0);
  });
});

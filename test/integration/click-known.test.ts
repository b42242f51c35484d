/**
 * TRACK-10: the reply to a click states whether the reference leads to an active partner (`{"known": true}`). The answer
 * comes from a short-lived memory, or from the database in parallel with the durable write.
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { visit } from "../support/clicks.ts";
import { makePartner, makeProgram, programOfPartner } from "../support/program.ts";
import { holdClock } from "../support/time.ts";
import { watchDatabase } from "../support/watched-database.ts";

interface Taken {
  known: boolean | null;
}

/** Sends one click; `again` repeats it if the database took longer than a visitor waits. */
async function click(body: object, database: D1Database = env.DB, query = "", again = database === env.DB) {
  for (;;) {
    const reply = await visit<Taken>(`/click${query}`, {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: JSON.stringify({ landing: "/", ...body }),
      env: { DB: database },
    });
    const isLate = reply.status === 202 && reply.body.known === null;
    if (!isLate || !again) return reply;
  }
}

/** A database whose reads all end as `answer` does. */
function reading(answer: () => Promise<never>): D1Database {
  const statement = { bind: () => statement, raw: answer, all: answer, run: answer, first: answer };
  return { prepare: () => statement, batch: answer } as unknown as D1Database;
}

describe("the reply to a click (TRACK-10)", () => {
  it("says whether the reference leads to an active partner, by any slug it ever had and whatever its case", async () => {
    const [program, noah] = await programOfPartner({}, { slug: "Noah" });
    await makePartner(program, { slug: "invited" }, "invited");
    await makePartner(program, { slug: "gone" }, "deactivated");
    await program.api("PATCH", `/api/v1/partners/${noah.id}`, { slug: "noah-2" });
    const known = async (ref: string) => {
      const { status, body, headers } = await click({ program_id: program.id, ref });
      expect([status, headers.get("content-type")]).toEqual([202, "application/json"]);
      return body;
    };
    expect(await known("noah")).toEqual({ known: true });
    expect(await known("NOAH")).toEqual({ known: true });
    expect(await known("noah-2")).toEqual({ known: true });
    for (const ref of ["producthunt", "invited", "gone"])
      expect([ref, await known(ref)]).toEqual([ref, { known: false }]);
  });

  it("knows no partner of another program, and no program that does not exist", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    await makePartner(other, { slug: "theirs" });
    expect((await click({ program_id: program.id, ref: "theirs" })).body).toEqual({ known: false });
    const program_id = "prog_01h2xcejqtf2nbrexx3vqjhp41";
    expect((await click({ program_id, ref: "theirs" })).body).toEqual({ known: false });
  });

  it("with first-click attribution says no where the one that the visitor has is known", async () => {
    const program = await makeProgram();
    for (const slug of ["noah", "joe"]) await makePartner(program, { slug });
    const asked = async (ref: string, query: string) =>
      (await click({ program_id: program.id, ref }, env.DB, query)).body;
    expect(await asked("joe", "?kept=noah&first")).toEqual({ known: false });
    expect(await asked("noah", "?kept=noah&first")).toEqual({ known: false });
    expect(await asked("joe", "?kept=producthunt&first")).toEqual({ known: true });
    expect(await asked("producthunt", "?kept=nobody&first")).toEqual({ known: false });
    for (const query of [
      "?kept=null&first",
      "?kept=noah&undefined",
      "?kept=noah&last",
      "?first",
      "?kept=a%20b&first",
    ]) {
      expect([query, await asked("joe", query)]).toEqual([query, { known: true }]);
    }
  });

  it("comes from memory after the first time, known or not", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "noah" });
    holdClock();
    const { binding, roundTrips } = watchDatabase(env.DB);
    const known = async (ref: string) => (await click({ program_id: program.id, ref }, binding, "", true)).body;
    expect([await known("noah"), await known("nobody")]).toEqual([{ known: true }, { known: false }]);
    const asked = roundTrips.length;
    for (let i = 0; i < 4; i++) {
      expect([await known("noah"), await known("nobody")]).toEqual([{ known: true }, { known: false }]);
    }
    expect(roundTrips.length).toBe(asked);
  });

  it("is one query for many visitors at once, whatever they make up", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "noah" });
    const { binding, roundTrips } = watchDatabase(env.DB);
    const refs = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? "noah" : `made-up-${i}`));
    const replies = await Promise.all(refs.map((ref) => click({ program_id: program.id, ref }, binding)));
    expect(replies.map(({ status }) => status)).toEqual(refs.map(() => 202));
    expect(roundTrips.length).toBeLessThanOrEqual(3);
    for (const { sql, values } of roundTrips.flat()) {
      const { results } = await env.DB.prepare(`explain query plan ${sql}`)
        .bind(...values)
        .all<{ detail: string }>();
      expect(results.filter(({ detail }) => /^SCAN (?!r VIRTUAL)/.test(detail))).toEqual([]);
    }
  });

  it("does not say where the database fails, and the click is durable anyway", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "noah" });
    const failing = reading(() => Promise.reject(new Error("the database is away")));
    const reply = await click({ program_id: program.id, ref: "noah" }, failing);
    expect([reply.status, reply.body]).toEqual([202, { known: null }]);
  });
});

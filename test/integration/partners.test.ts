import { describe, expect, it } from "vitest";
import { makePartner, makeProgram } from "../support/program.ts";

interface PartnerBody {
  id: string;
  status: string;
  slug: string;
  email: string;
  stats: Record<string, number>;
}

describe("partners", () => {
  it("creates as invited, lists newest first with an exact total, finds by any part of the name (PART-5)", async () => {
    const program = await makeProgram();
    const jane = await makePartner(program, { first_name: "Jané", last_name: "Doe" }, "invited");
    const bob = await makePartner(program, {}, "active");
    expect(jane.status).toBe("invited");
    expect(bob.status).toBe("active");
    const list = await program.api<{ data: PartnerBody[]; total: number; next_cursor: string | null }>(
      "GET",
      "/api/v1/partners?per_page=1",
    );
    expect(list.status).toBe(200);
    expect(list.body.total).toBe(2);
    expect(list.body.data[0]?.id).toBe(bob.id);
    const rest = await program.api<{ data: PartnerBody[]; next_cursor: null }>(
      "GET",
      `/api/v1/partners?per_page=1&cursor=${list.body.next_cursor}`,
    );
    expect(rest.body.data[0]?.id).toBe(jane.id);
    expect(rest.body.next_cursor).toBeNull();
    const found = await program.api<{ data: PartnerBody[] }>(
      "GET",
      `/api/v1/partners?search=${encodeURIComponent("JANÉ d")}`,
    );
    expect(found.body.data.map((p) => p.id)).toEqual([jane.id]);
  });

  it("409 names the field that is taken, ignoring case, and keeps old slugs reserved for their partner (PART-1, PART-2)", async () => {
    const program = await makeProgram();
    const jane = await makePartner(program, { slug: "Jane", email: "jane@example.com" });
    const other = { email: "JANE@example.com", slug: "other" };
    const taken = await program.api<{ error: { details: { path: string }[] } }>("POST", "/api/v1/partners", other);
    expect([taken.status, taken.body.error.details[0]?.path]).toEqual([409, "email"]);
    const renamed = await program.api("PATCH", `/api/v1/partners/${jane.id}`, { slug: "janet" });
    expect(renamed.status).toBe(200);
    const reuse = await program.api<{ error: { details: { path: string }[] } }>("POST", "/api/v1/partners", {
      email: "new@example.com",
      slug: "JANE",
    });
    expect([reuse.status, reuse.body.error.details[0]?.path]).toEqual([409, "slug"]);
    expect((await program.api("PATCH", `/api/v1/partners/${jane.id}`, { slug: "jane" })).status).toBe(200);
  });

  it("answers an unknown key 401 before anything else that is wrong with the request", async () => {
    const program = await makeProgram();
    for (const [method, path, body] of [
      ["GET", "/api/v1/partners?page=x", undefined],
      ["POST", "/api/v1/partners", "{broken"],
      ["POST", "/api/v1/partners", {}],
      ["GET", "/api/v1/nowhere", undefined],
    ] as const) {
      const wrong = await program.api(method, path, body, { authorization: "Bearer sk_wrong" });
      expect([path, wrong.status]).toEqual([path, 401]);
      const right = await program.api(method, path, body);
      expect(right.status).not.toBe(401);
    }
  });

  it("replays the stored reply for the same Idempotency-Key", async () => {
    const program = await makeProgram();
    const body = { email: "once@example.com", slug: "once" };
    const headers = { "Idempotency-Key": "k1" };
    const first = await program.api<PartnerBody>("POST", "/api/v1/partners", body, headers);
    const again = await program.api<PartnerBody>("POST", "/api/v1/partners", body, headers);
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.headers.get("Idempotent-Replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    const other = await program.api("POST", "/api/v1/partners", { ...body, slug: "twice" }, headers);
    expect(other.status).toBe(422);
  });

  it("loses no change and answers no 500 where one partner is changed twenty times at once", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program, {}, "invited");
    const fields = { first_name: "A", last_name: "B", commission_pct: 7, payout_email: "p@example.com" };
    const names = Object.keys(fields) as (keyof typeof fields)[];
    const patches = Array.from({ length: 20 }, (_, i) => names[i % names.length]!);
    const replies = await Promise.all(
      patches.map((name) => program.api("PATCH", `/api/v1/partners/${id}`, { [name]: fields[name] })),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect((await program.api("GET", `/api/v1/partners/${id}`)).body).toMatchObject(fields);
    const { body } = await program.api<{ total: number }>("GET", "/api/v1/events?type=partner.updated");
    expect(body.total).toBe(20);
  });

  it("registers one of several with the same address or slug at once", async () => {
    const program = await makeProgram();
    const bodies = Array.from({ length: 8 }, (_, i) =>
      i % 2 === 0 ? { email: "same@example.com", slug: `s${i}` } : { email: `s${i}@example.com`, slug: "same" },
    );
    const replies = await Promise.all(bodies.map((body) => program.api("POST", "/api/v1/partners", body)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 201, 409, 409, 409, 409, 409, 409]);
    const list = await program.api<{ total: number }>("GET", "/api/v1/partners");
    const events = await program.api<{ total: number }>("GET", "/api/v1/events?type=partner.created");
    expect([list.body.total, events.body.total]).toEqual([2, 2]);
  });

  it("takes metadata up to 8 KiB of JSON, an object only, and keeps every field of it (PART-6)", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    const patch = (metadata: string) => program.api("PATCH", `/api/v1/partners/${id}`, `{"metadata":${metadata}}`);
    const sized = (bytes: number) => JSON.stringify({ a: "x".repeat(bytes - '{"a":""}'.length) });
    const umlauts = JSON.stringify({ a: "ü".repeat(4_092) });
    for (const good of [sized(8_192), umlauts, "{}", "null", '{"__proto__":{"x":1},"constructor":null}']) {
      const { status, body } = await patch(good);
      expect([status, JSON.stringify(body["metadata"])]).toEqual([200, good]);
    }
    const tooDeep = `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    for (const bad of [sized(8_193), JSON.stringify({ a: "ü".repeat(4_093) }), "[]", '"x"', "1", "true", tooDeep]) {
      const { status, body } = await patch(bad);
      const { error } = body as unknown as { error: { details: { path: string }[] } };
      expect([bad.slice(0, 20), status, error.details.map(({ path }) => path)]).toEqual([
        bad.slice(0, 20),
        422,
        ["metadata"],
      ]);
    }
  });
});

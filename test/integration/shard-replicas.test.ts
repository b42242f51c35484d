/** Lists are read through replicas with a bookmark; writes and authentication stay on the primary (HTTP-28). */
import fc from "fast-check";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { BOOKMARK_HEADER, BOOKMARK_PATTERN } from "../../src/http/bookmark.ts";
import { iso } from "../../src/lib/time.ts";
import { operations } from "../support/openapi.ts";
import { newKey } from "../support/keys.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { bookmarkNumber, callAt, catchUp, catchUpToKey, leaveBehind, replicate } from "../support/replicas.ts";
import { ADMIN } from "../support/shards.ts";
import { callWith } from "../support/watched-database.ts";

interface List {
  data: { slug: string }[];
  total: number;
  error?: { code: string; details?: { path: string }[] };
}

const PARTNERS = "/api/v1/partners";

/** A program whose copy has one partner, `old`, and not yet the other, `new`. */
async function behind() {
  const program = await makeProgram({ api_key_last_used_at: iso(Date.now()) });
  await makePartner(program, { slug: "old" });
  await catchUp(program);
  await makePartner(program, { slug: "new" });
  leaveBehind();
  return program;
}

const slugs = (body: List) => body.data.map(({ slug }) => slug);

describe("with READ_REPLICATION off", () => {
  it("nothing changes: one round trip, no session, no bookmark", async () => {
    const program = await behind();
    for (const value of [undefined, "", "off", "true", "ON"]) {
      const world = replicate();
      const { DB } = world.bindings;
      const bindings = { DB: DB!, ...(value === undefined ? {} : { READ_REPLICATION: value }) };
      for (const headers of [{}, { [BOOKMARK_HEADER]: bookmarkNumber(1) }]) {
        const reply = await callAt<List>({ bindings }, program.api_key, "GET", PARTNERS, headers);
        expect([slugs(reply.body), reply.headers.get(BOOKMARK_HEADER)]).toEqual([["new", "old"], null]);
      }
      const written = await callAt(
        { bindings },
        program.api_key,
        "PATCH",
        "/api/v1/programs/me",
        {},
        { name: `N ${value}` },
      );
      expect([written.status, written.headers.get(BOOKMARK_HEADER)]).toEqual([200, null]);
      expect([world.primary.length, world.copy.length, world.sessions]).toEqual([4, 0, []]);
    }
  });
});

describe("with READ_REPLICATION on", () => {
  it("a list is read at a copy while the key is looked up on the primary, and gives its bookmark", async () => {
    const program = await behind();
    // Both are queried before either answers: they run concurrently.
    const both = Promise.withResolvers<void>();
    let asked = 0;
    const before = () => {
      if (++asked === 2) both.resolve();
      return both.promise;
    };
    const world = replicate({ primary: { before }, copy: { before } });
    const reply = await callAt<List>(world, program.api_key, "GET", PARTNERS);
    expect([reply.status, slugs(reply.body)]).toEqual([200, ["old"]]);
    expect(reply.headers.get(BOOKMARK_HEADER)).toMatch(BOOKMARK_PATTERN);
    expect(world.sessions.toSorted()).toEqual(["first-primary", "first-unconstrained"]);
    expect([world.primary.length, world.copy.length]).toEqual([1, 1]);
    expect(world.primary[0]).toHaveLength(1);
    expect(world.primary[0]![0]!.sql).toMatch(/from "programs" where .*api_key_hash/);
  });

  it("every list and get is one round trip to each of them, at the same time", async () => {
    const program = await behind();
    const gets = app.routes.filter(({ method, path }) => method === "GET" && path.startsWith("/api/v1/"));
    expect(gets.length).toBeGreaterThanOrEqual(10);
    for (const { path } of gets) {
      const world = replicate();
      const at = path.replace(/:\w+/, "none_00000000000000000000000000");
      const { status, headers } = await callAt(world, program.api_key, "GET", at);
      // The reply is the program's own row, which the key's look-up has already read.
      const isOwnRow = path === "/api/v1/programs/me";
      // A file writes an event; the primary lists the unpaid payouts for a payout service.
      const isExport = path.endsWith("/export.csv");
      const copies = isOwnRow || isExport ? 0 : 1;
      expect([path, [200, 404].includes(status), world.primary.length, world.copy.length]).toEqual([
        path,
        true,
        isExport ? 2 : 1,
        copies,
      ]);
      expect([path, headers.has(BOOKMARK_HEADER)]).toEqual([path, true]);
    }
  });

  it("a caller reads what it wrote by passing the bookmark on", async () => {
    const program = await behind();
    const world = replicate();
    const { api_key } = program;
    const made = await callAt<{ slug: string }>(
      world,
      api_key,
      "POST",
      PARTNERS,
      {},
      { email: "x@p.example", slug: "x" },
    );
    const bookmark = made.headers.get(BOOKMARK_HEADER);
    expect([made.status, bookmark]).toEqual([201, expect.stringMatching(BOOKMARK_PATTERN)]);
    expect(slugs((await callAt<List>(world, api_key, "GET", PARTNERS)).body)).toEqual(["old"]);
    const read = await callAt<List>(world, api_key, "GET", PARTNERS, { [BOOKMARK_HEADER]: bookmark! });
    expect(slugs(read.body)).toEqual(["x", "new", "old"]);
    expect(world.sessions).toContain(bookmark);
    expect(read.headers.get(BOOKMARK_HEADER)! > bookmark!).toBe(true);
  });

  it("writes stay on the primary, each of their transactions, and give the bookmark of the last", async () => {
    const program = await behind();
    const world = replicate();
    const partner = (await program.api<List & { data: { id: string }[] }>("GET", PARTNERS)).body.data[0]!;
    const writes: [string, string, unknown][] = [
      ["POST", "/api/v1/flows", { name: "f", action_type: "flat", action_value: 1 }],
      ["PATCH", `${PARTNERS}/${partner.id}`, { first_name: "N" }],
      ["DELETE", `${PARTNERS}/${partner.id}`, undefined],
      ["POST", "/api/v1/payouts/generate", {}],
      ["POST", "/api/v1/customers/erase", { email: "c@example.com" }],
    ];
    for (const [method, path, body] of writes) {
      const reply = await callAt(world, program.api_key, method, path, { "Idempotency-Key": path }, body);
      expect([path, reply.status < 300, BOOKMARK_PATTERN.test(reply.headers.get(BOOKMARK_HEADER) ?? "")]).toEqual([
        path,
        true,
        true,
      ]);
    }
    expect(world.copy).toEqual([]);
    expect(new Set(world.sessions)).toEqual(new Set(["first-primary"]));
    // A second try of the same request is a read of its stored reply; it is answered by the primary too.
    const again = await callAt(
      world,
      program.api_key,
      "POST",
      "/api/v1/payouts/generate",
      { "Idempotency-Key": writes[3]![1] },
      {},
    );
    expect([again.headers.get("Idempotent-Replayed"), world.copy.length]).toEqual(["true", 0]);
  });

  it("an unknown key is 401 with no row, whatever the copy knows", async () => {
    const program = await behind();
    await program.api("GET", PARTNERS);
    // The copy does not contain the replaced key yet.
    const admin = { method: "POST", headers: ADMIN };
    const { body } = await callWith<{ api_key: string }>({}, `/admin/programs/${program.id}/api-key`, admin);
    for (const key of [program.api_key, "sk_wrong", `${program.api_key}x`, `sk_1_${program.api_key.slice(3)}`]) {
      for (const path of [PARTNERS, "/api/v1/events", "/api/v1/programs/me", `${PARTNERS}/par_x`]) {
        const reply = await callAt<List>(replicate(), key, "GET", path, { [BOOKMARK_HEADER]: "bad" });
        expect([key, path, reply.status, reply.body.error?.code]).toEqual([key, path, 401, "unauthorized"]);
        expect(JSON.stringify(reply.body)).not.toContain("old");
        const plain = await callAt<List>(replicate(), key, "GET", path);
        expect([plain.status, "data" in plain.body]).toEqual([401, false]);
      }
    }
    // The copy does not contain the new key: the request reads the primary.
    const world = replicate();
    const reply = await callAt<List>(world, body.api_key, "GET", PARTNERS);
    expect([reply.status, slugs(reply.body)]).toEqual([200, ["new", "old"]]);
    // The use of the key is also recorded, after the reply.
    const reads = world.primary.filter(([first]) => !first!.sql.startsWith("update"));
    expect([reads.length, world.copy.length]).toEqual([2, 1]);
  });

  it("a further key is looked up on the primary too: what it lacks or that it is deleted, whatever the copy knows (ACCESS-10)", async () => {
    const program = await makeProgram();
    const [reading, writing] = [await newKey(program, ["read"]), await newKey(program, ["write"])];
    await makePartner(program, { slug: "old" });
    await catchUp(program);
    const reply = await callAt<List>(replicate(), reading.api_key, "GET", PARTNERS);
    expect([reply.status, slugs(reply.body)]).toEqual([200, ["old"]]);
    const refused = await callAt<List>(replicate(), writing.api_key, "GET", PARTNERS);
    expect([refused.status, Object.keys(refused.body)]).toEqual([403, ["error"]]);
    await program.api("DELETE", `/api/v1/api-keys/${reading.id}`);
    const dead = await callAt<List>(replicate(), reading.api_key, "GET", PARTNERS);
    expect([dead.status, Object.keys(dead.body)]).toEqual([401, ["error"]]);
  });

  it("a copy that fails is passed over; a primary that fails is 503 whatever the copy says", async () => {
    const program = await behind();
    const before = () => {
      throw new Error("away");
    };
    const reply = await callAt<List>(replicate({ copy: { before } }), program.api_key, "GET", PARTNERS);
    expect([reply.status, slugs(reply.body)]).toEqual([200, ["new", "old"]]);
    vi.spyOn(console, "error").mockImplementation(() => {});
    const refused = await callAt<List>(replicate({ primary: { before } }), program.api_key, "GET", PARTNERS);
    expect([refused.status, "data" in refused.body]).toEqual([503, false]);
    vi.restoreAllMocks();
  });

  describe("a bookmark is no older than what its reply showed (HTTP-28)", () => {
    const away = () => {
      throw new Error("away");
    };

    /** Reads on with the bookmark of the reply before, at a copy that is well again. */
    async function readOn(key: string, first: { headers: Headers }) {
      const bookmark = first.headers.get(BOOKMARK_HEADER);
      expect(bookmark).toMatch(BOOKMARK_PATTERN);
      return callAt<List>(replicate(), key, "GET", PARTNERS, { [BOOKMARK_HEADER]: bookmark! });
    }

    it("where the copy does not know the key, and the rows are the primary's", async () => {
      const program = await behind();
      const { body } = await callWith<{ api_key: string }>({}, `/admin/programs/${program.id}/api-key`, {
        method: "POST",
        headers: ADMIN,
      });
      const reply = await callAt<List>(replicate(), body.api_key, "GET", PARTNERS);
      expect(slugs(reply.body)).toEqual(["new", "old"]);
      await catchUpToKey(program);
      expect(slugs((await readOn(body.api_key, reply)).body)).toEqual(["new", "old"]);
    });

    it("where the copy fails", async () => {
      const program = await behind();
      const reply = await callAt<List>(replicate({ copy: { before: away } }), program.api_key, "GET", PARTNERS);
      expect([reply.status, slugs(reply.body)]).toEqual([200, ["new", "old"]]);
      expect(slugs((await readOn(program.api_key, reply)).body)).toEqual(["new", "old"]);
    });

    it("where a reply shows the program itself, which is the primary's", async () => {
      const program = await behind();
      await program.api("PATCH", "/api/v1/programs/me", { name: "Renamed" });
      const reply = await callAt<List & { name: string }>(replicate(), program.api_key, "GET", "/api/v1/programs/me");
      expect(reply.body.name).toBe("Renamed");
      expect(slugs((await readOn(program.api_key, reply)).body)).toEqual(["new", "old"]);
    });

    it("nor newer than it has to be: what the copy showed is read on there", async () => {
      const program = await behind();
      const reply = await callAt<List>(replicate(), program.api_key, "GET", PARTNERS);
      expect(slugs(reply.body)).toEqual(["old"]);
      expect(slugs((await readOn(program.api_key, reply)).body)).toEqual(["old"]);
    });

    it("so that who passes bookmarks on never goes back in time, whatever fails", async () => {
      const step = fc.constantFrom("read", "copy fails", "key unknown", "program", "write", "catch up" as const);
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
          const program = await behind();
          let { api_key } = program;
          let bookmark: string | null = null;
          let seen = 0;
          for (const [i, what] of steps.entries()) {
            const bookmarked = (): Record<string, string> => (bookmark === null ? {} : { [BOOKMARK_HEADER]: bookmark });
            let reply: { status: number; headers: Headers; body: List };
            if (what === "catch up") {
              await catchUp(program);
              continue;
            }
            if (what === "key unknown") {
              const admin = { method: "POST", headers: ADMIN };
              api_key = (await callWith<{ api_key: string }>({}, `/admin/programs/${program.id}/api-key`, admin)).body
                .api_key;
            }
            if (what === "write") {
              const made = { email: `w${i}@p.example`, slug: `w${i}` };
              reply = await callAt<List>(replicate(), api_key, "POST", PARTNERS, bookmarked(), made);
              seen += 1;
            } else if (what === "program") {
              reply = await callAt<List>(replicate(), api_key, "GET", "/api/v1/programs/me", bookmarked());
            } else {
              const faults = what === "copy fails" ? { copy: { before: away } } : {};
              reply = await callAt<List>(replicate(faults), api_key, "GET", PARTNERS, bookmarked());
              expect(reply.body.data.length).toBeGreaterThanOrEqual(seen);
              seen = reply.body.data.length;
            }
            expect([what, reply.status < 300, reply.headers.has(BOOKMARK_HEADER)]).toEqual([what, true, true]);
            bookmark = reply.headers.get(BOOKMARK_HEADER);
          }
        }),
        { numRuns: Math.max(10, Math.ceil(Number(env.PROPERTY_RUNS) / 3)) },
      );
    });
  });

  it("a bookmark that cannot be one is 422 on reads and writes, in force or not, and opens no session", async () => {
    const program = await behind();
    const good = bookmarkNumber(7);
    for (const bad of [
      "first-primary",
      "first-unconstrained",
      "x",
      good.toUpperCase().replace("0", "A"),
      `${good}0`,
      good.slice(1),
      `${good}, ${good}`,
      good.replaceAll("-", "_"),
      "'; drop table partners; --",
    ]) {
      for (const [method, path, body] of [
        ["GET", PARTNERS, undefined],
        ["GET", `${PARTNERS}/par_x`, undefined],
        ["POST", PARTNERS, { email: "y@p.example", slug: "y" }],
      ] as const) {
        const world = replicate();
        const { DB } = world.bindings;
        for (const bindings of [world.bindings, { DB: DB! }]) {
          const reply = await callAt<List>(
            { bindings },
            program.api_key,
            method,
            path,
            { [BOOKMARK_HEADER]: bad },
            body,
          );
          expect([bad, method, reply.status, reply.body.error?.details?.[0]?.path]).toEqual([
            bad,
            method,
            422,
            BOOKMARK_HEADER,
          ]);
        }
        expect([bad, world.sessions.filter((constraint) => !constraint.startsWith("first-"))]).toEqual([bad, []]);
      }
    }
    expect((await program.api<List>("GET", PARTNERS)).body.total).toBe(2);
  });

  it("the document has the header on each route of the API and nowhere else", () => {
    for (const { path, operation } of operations()) {
      const reported = operation.parameters?.some(({ name }) => name === BOOKMARK_HEADER) ?? false;
      expect([path, reported, "422" in operation.responses || !reported]).toEqual([
        path,
        path.startsWith("/api/v1/"),
        true,
      ]);
    }
  });

  it("works with the platform's own sessions, whose bookmarks have the form that is asked for", async () => {
    const program = await makeProgram();
    const world = { bindings: { READ_REPLICATION: "on" } };
    const made = await callAt(world, program.api_key, "POST", PARTNERS, {}, { email: "x@p.example", slug: "x" });
    const bookmark = made.headers.get(BOOKMARK_HEADER);
    expect(bookmark).toMatch(BOOKMARK_PATTERN);
    const read = await callAt<List>(world, program.api_key, "GET", PARTNERS, { [BOOKMARK_HEADER]: bookmark! });
    expect([read.status, slugs(read.body)]).toEqual([200, ["x"]]);
    const next = read.headers.get(BOOKMARK_HEADER)!;
    expect(next).toMatch(BOOKMARK_PATTERN);
    expect(next >= bookmark!).toBe(true);
    const head = await callAt(world, program.api_key, "HEAD", PARTNERS, { [BOOKMARK_HEADER]: next });
    expect([head.status, head.headers.has(BOOKMARK_HEADER)]).toEqual([200, true]);
  });
});

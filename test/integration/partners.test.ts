import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldSearchTexts } from "../../src/core/partners/search.ts";
import { SEARCHED_COLUMNS } from "../../src/domain/partner.ts";
import { serveAll } from "../support/jobs.ts";
import { meterDatabase, meterRowsRead } from "../support/metered-database.ts";
import { makePartner, makeProgram, testContext } from "../support/program.ts";
import { PARTNER } from "../support/samples.ts";
import { callWith } from "../support/watched-database.ts";

interface Refused {
  error: { details: { path: string }[] };
}

interface PartnerBody {
  id: string;
  status: string;
  slug: string;
  email: string;
  stats: Record<string, number>;
}

describe("partners", () => {
  it("searches without accents and case, any part of any length (PART-5)", async () => {
    const program = await makeProgram();
    const elise = await makePartner(program, { first_name: "Élise", last_name: "Müller-Ångström", slug: "em" });
    const plain = await makePartner(program, { first_name: "Elise", last_name: "Miller", slug: "x_" });
    const found = async (search: string) => {
      const path = `/api/v1/partners?search=${encodeURIComponent(search)}`;
      const { body } = await program.api<{ data: PartnerBody[]; total: number }>("GET", path);
      expect(body.total).toBe(body.data.length);
      return body.data.map((partner) => partner.id).toSorted();
    };
    const both = [elise.id, plain.id].toSorted();
    for (const search of ["elise", "ÉLISE", "e\u0301lis", "lis", "se m"])
      expect([search, await found(search)]).toEqual([search, both]);
    for (const search of ["MULLER", "muller-ang", "öm", "elise mü", "em\n"]) {
      expect([search, await found(search)]).toEqual([search, [elise.id]]);
    }
    for (const search of ["x_", "_", "miller"]) expect([search, await found(search)]).toEqual([search, [plain.id]]);
    for (const search of ["elisem", "eli%", "zzz", "se  m"])
      expect([search, await found(search)]).toEqual([search, []]);

    await program.api("PATCH", `/api/v1/partners/${plain.id}`, { first_name: "Zoë" });
    expect([await found("elise"), await found("zoe")]).toEqual([[elise.id], [plain.id]]);
    // A row of an older version, stored before its grams.
    await env.DB.batch([
      env.DB.prepare("update partners set search_text = 'zoë miller' where id = ?").bind(plain.id),
      env.DB.prepare("delete from partner_grams where partner_id = ?").bind(plain.id),
    ]);
    expect([await found("mill"), await found("zoe")]).toEqual([[plain.id], []]);
    await serveAll(foldSearchTexts(testContext()));
    expect([await found("mill"), await found("zoe")]).toEqual([[plain.id], [plain.id]]);
    const { results } = await env.DB.prepare("select search_text from partners where id = ?").bind(plain.id).all();
    expect(results).toEqual([{ search_text: `\n${plain.email}\nx_\nzoe miller` }]);
    expect(await serveAll(foldSearchTexts(testContext()))).toBe(0);
  });

  it.each(SEARCHED_COLUMNS)(
    "finds by each column that is searched, also once it is changed (PART-5): %s",
    async (column) => {
      const program = await makeProgram();
      const { id } = await makePartner(program);
      const value = PARTNER[column] ?? "";
      const found = async () =>
        (await program.api<{ data: PartnerBody[] }>("GET", `/api/v1/partners?search=${value}`)).body.data.map(
          (row) => row.id,
        );
      expect(await found()).toEqual([]);
      await program.api("PATCH", `/api/v1/partners/${id}`, { [column]: value });
      expect(await found()).toEqual([id]);
      await env.DB.prepare("update partners set search_text = '' where id = ?").bind(id).run();
      expect(await found()).toEqual([]);
      await serveAll(foldSearchTexts(testContext()));
      expect(await found()).toEqual([id]);
    },
  );

  it("writes few rows for a new partner, who is found at once, and still is once the job has been there (PART-5)", async () => {
    const program = await makeProgram();
    let written = 0;
    const DB = meterDatabase(env.DB, ({ rows_written }) => (written += rows_written));
    const input = { email: "renee.quilt@partners.example", slug: "renee-q", first_name: "Renée", last_name: "Quilt" };
    const made = await callWith<PartnerBody>({ DB }, "/api/v1/partners", {
      method: "POST",
      headers: { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" },
      body: JSON.stringify(input),
    });
    expect(made.status).toBe(201);
    expect(written).toBeLessThan(18);
    const { id } = made.body;
    const found = async (...searches: string[]) =>
      Promise.all(
        searches.map(async (search) => {
          const path = `/api/v1/partners?search=${encodeURIComponent(search)}`;
          const { body } = await program.api<{ data: PartnerBody[] }>("GET", path);
          return body.data.map((partner) => partner.id);
        }),
      );
    const grams = async () =>
      env.DB.prepare("select count(*) as n from partner_grams where partner_id = ?").bind(id).first<number>("n");
    const [mine, other] = [
      ["RENÉE", "renee q", "e", "quilt@p"],
      ["new", "NEW", "reneeq"],
    ];
    expect([await grams(), await found(...mine), await found(...other)]).toEqual([
      0,
      mine.map(() => [id]),
      [[], [], []],
    ]);
    // A change of unsearched columns leaves the row to the job as well.
    await program.api("PATCH", `/api/v1/partners/${id}`, { status: "active" });
    expect([await grams(), await found(...mine)]).toEqual([0, mine.map(() => [id])]);
    await serveAll(foldSearchTexts(testContext()));
    expect(await grams()).toBeGreaterThan(20);
    expect([await found(...mine), await found(...other)]).toEqual([mine.map(() => [id]), [[], [], []]]);
    expect(await serveAll(foldSearchTexts(testContext()))).toBe(0);

    const renamed = await makePartner(program, { last_name: "Before" });
    await program.api("PATCH", `/api/v1/partners/${renamed.id}`, { last_name: "Äfter" });
    expect(await found("before", "after")).toEqual([[], [renamed.id]]);
  });

  it("finds one among many by the rarest part of what is asked for, in few rows", async () => {
    const program = await makeProgram();
    const one = await makePartner(program, { slug: "one", email: "one.quilt@partners.example" });
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 600)
      insert into partners (id, program_id, email, slug, search_text, created_at, updated_at)
      select 'par_' || printf('%016d', i) || substr(?1, -10), ?1, 'one' || i || '@partners.example', 'one' || i,
        char(10) || 'one' || i || '@partners.example' || char(10) || 'one' || i || char(10), '', '' from n`,
    )
      .bind(program.id)
      .run();
    const meter = meterRowsRead(env.DB);
    const { body } = await callWith<{ data: PartnerBody[]; total: number }>(
      { DB: meter.binding },
      "/api/v1/partners?search=one.quilt@partners.example",
      { headers: { authorization: `Bearer ${program.api_key}` } },
    );
    expect([body.total, body.data.map(({ id }) => id)]).toEqual([1, [one.id]]);
    const { rows, most } = meter.taken();
    expect(rows, most.join("\n")).toBeLessThan(400);
  });

  it("keeps the grams of a text through any changes", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    const gramsOf = (text: string) => {
      const characters = Array.from(text);
      return [...new Set(characters.map((_, i) => characters.slice(i, i + 3).join("")))].toSorted();
    };
    const character = fc.constantFrom("a", "b", "\n", "é", "👍", "'", "%");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: character, maxLength: 12 }), { minLength: 1, maxLength: 4 }),
        async (texts) => {
          for (const text of texts) {
            await env.DB.prepare("update partners set search_text = ? where id = ?").bind(text, id).run();
            const { results } = await env.DB.prepare("select gram from partner_grams where partner_id = ?")
              .bind(id)
              .all<{ gram: string }>();
            expect(results.map(({ gram }) => gram).toSorted()).toEqual(gramsOf(text));
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  it("409 names the field that is taken, ignoring case, and keeps old slugs reserved for their partner (PART-1, PART-2)", async () => {
    const program = await makeProgram();
    const jane = await makePartner(program, { slug: "Jane", email: "jane@example.com" });
    const other = { email: "JANE@example.com", slug: "other" };
    const taken = await program.api<Refused>("POST", "/api/v1/partners", other);
    expect([taken.status, taken.body.error.details[0]?.path]).toEqual([409, "email"]);
    const bob = await makePartner(program);
    const changed = await program.api<Refused>("PATCH", `/api/v1/partners/${bob.id}`, { email: "Jane@Example.com" });
    expect([changed.status, changed.body.error.details[0]?.path]).toEqual([409, "email"]);
    const renamed = await program.api("PATCH", `/api/v1/partners/${jane.id}`, { slug: "janet" });
    expect(renamed.status).toBe(200);
    const reuse = await program.api<Refused>("POST", "/api/v1/partners", {
      email: "new@example.com",
      slug: "JANE",
    });
    expect([reuse.status, reuse.body.error.details[0]?.path]).toEqual([409, "slug"]);
    expect((await program.api("PATCH", `/api/v1/partners/${jane.id}`, { slug: "jane" })).status).toBe(200);
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

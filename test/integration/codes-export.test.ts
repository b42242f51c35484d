/** The export of the partners' promotion codes (CODE-9). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { exportCodes } from "../../src/core/partners/export-codes.ts";
import { giveCode } from "../support/codes.ts";
import { readCsv } from "../support/csv.ts";
import { call, makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { signInOwner } from "../support/visitor.ts";

const HEADER = [
  ...["code_id", "code", "provider", "provider_code_id", "partner_id", "partner_slug", "partner_email", "created_at"],
];

async function fileOf(program: TestProgram): Promise<string[][]> {
  const reply = await program.api<string>("GET", "/api/v1/codes/export.csv");
  expect(reply.status).toBe(200);
  expect(reply.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
  expect(reply.headers.get("content-disposition")).toBe('attachment; filename="codes.csv"');
  return readCsv(reply.body);
}

describe("codes/export.csv (CODE-9)", () => {
  it("has a line for each code that a partner has, by provider and code, and none of another program", async () => {
    const program = await makeProgram();
    expect(await fileOf(program)).toEqual([HEADER]);
    const jane = await makePartner(program, { slug: "jane", email: "jane@partners.example" });
    const joe = await makePartner(program, { slug: "joe", email: "joe@partners.example" });
    const b = await giveCode(program, joe.id, { code: "zebra", provider: "provider_b", provider_code_id: "dsc_1" });
    await giveCode(program, jane.id, { code: "Moved", provider: "provider_a" });
    const moved = await giveCode(program, joe.id, { code: "MOVED", provider: "provider_a", move: true });
    const a = await giveCode(program, jane.id, { code: "jane20", provider: "provider_a" });
    const gone = await giveCode(program, jane.id, { code: "GONE", provider: "provider_a" });
    await program.api("DELETE", `/api/v1/codes/${gone.id}`);
    const other = await makeProgram();
    await giveCode(other, (await makePartner(other)).id, { code: "OTHER", provider: "provider_a" });
    expect(await fileOf(program)).toEqual([
      HEADER,
      [a.id, "jane20", "provider_a", "", jane.id, "jane", "jane@partners.example", a.created_at],
      [moved.id, "MOVED", "provider_a", "", joe.id, "joe", "joe@partners.example", moved.created_at],
      [b.id, "zebra", "provider_b", "dsc_1", joe.id, "joe", "joe@partners.example", b.created_at],
    ]);
    const owner = await signInOwner(program);
    expect((await owner.get("/dashboard/payments/codes")).body).toContain(
      'href="/dashboard/payments/codes/export.csv"',
    );
    expect(readCsv((await owner.get("/dashboard/payments/codes/export.csv")).body)).toEqual(await fileOf(program));
  });

  it("is safe in a spreadsheet", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    for (const code of ['=HYPERLINK("https://x.example")', "+1", "20 % off, today"]) {
      await giveCode(program, id, { code, provider: "provider_b" });
    }
    const codes = (await fileOf(program)).slice(1).map(([, code]) => code);
    expect(codes.toSorted()).toEqual(['\'=HYPERLINK("https://x.example")', "20 % off, today", "'+1"].toSorted());
  });

  it("is read in pieces, and whole", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    const many = `insert into partner_codes (id, program_id, partner_id, provider, code, code_key, created_at)
      select 'cod_' || ?1 || value, ?1, ?2, iif(value % 2, 'provider_a', 'provider_b'), 'C' || value, 'c' || value,
        '2026-01-01T00:00:00.000Z'
      from (with recursive n (value) as (select 1 union all select value + 1 from n where value < 2500) select value from n)`;
    await env.DB.prepare(many).bind(program.id, id).run();
    const pieces: string[] = [];
    for await (const piece of await exportCodes(programContext(program))) pieces.push(piece);
    expect(pieces.map((piece) => readCsv(piece).length)).toEqual([1, 1_000, 1_000, 500]);
    const codes = readCsv(pieces.join(""))
      .slice(1)
      .map(([, code]) => code);
    expect(new Set(codes).size).toBe(2_500);
  });

  it("needs the program's key", async () => {
    expect((await call("/api/v1/codes/export.csv")).status).toBe(401);
  });
});

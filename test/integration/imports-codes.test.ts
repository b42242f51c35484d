/** The import of partners' promotion codes from a file (IMP-5). */
import { describe, expect, it } from "vitest";
import { settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { MAX_CODES } from "../../src/domain/code.ts";
import { giveCode, promotionCode } from "../support/codes.ts";
import { countsOf, sendImport } from "../support/imports.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type TestProgram, programOfPartner } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { textOf, programOfOwner } from "../support/visitor.ts";

const QUERY = { kind: "partners", provider: "provider_a" };
const NOW = Date.now();

const fileOf = (...lines: string[]) => ["email,code,promotion_codes", ...lines].join("\n");

/** Each partner's codes, by slug. */
async function codesOf(program: TestProgram): Promise<Record<string, string[]>> {
  const { body } = await program.api<{ data: { id: string; slug: string }[] }>("GET", "/api/v1/partners?per_page=100");
  const all = await Promise.all(
    body.data.map(async ({ id, slug }) => {
      const held = await program.api<{ data: { provider: string; code: string }[] }>(
        "GET",
        `/api/v1/partners/${id}/codes`,
      );
      return [slug, held.body.data.map(({ provider, code }) => `${provider}:${code}`).toSorted()] as const;
    }),
  );
  return Object.fromEntries(all);
}

describe("the column promotion_codes", () => {
  const FILE = fileOf(
    "ann@x.example,ann,ANN 20; provider_b:ann10 | Ann 20",
    "bob@x.example,bob,BOB",
    "cid@x.example,cid,",
  );

  it("gives partners their codes, and the same file again changes nothing (IMP-5)", async () => {
    const program = await makeProgram();
    const preview = await sendImport(program, { ...QUERY, dry_run: "true" }, FILE);
    expect([countsOf(preview.body), await codesOf(program)]).toEqual([[3, 0, 0, 0, 0], {}]);
    const { body } = await sendImport(program, QUERY, FILE);
    expect([countsOf(body), body.problems]).toEqual([[3, 0, 0, 0, 0], []]);
    const given = { ann: ["provider_a:Ann 20", "provider_b:ann10"], bob: ["provider_a:BOB"], cid: [] };
    expect(await codesOf(program)).toEqual(given);
    const again = await sendImport(program, QUERY, FILE);
    expect([countsOf(again.body), await codesOf(program)]).toEqual([[0, 0, 3, 0, 0], given]);
    const events = await program.api<{ total: number }>("GET", "/api/v1/events?type=code.created");
    expect(events.body.total).toBe(3);
  });

  it("completes a partner who is there, and refuses the line of a code that is somebody else's (IMP-5)", async () => {
    const [program, { id }] = await programOfPartner({}, { slug: "ann", email: "ann@x.example" });
    await giveCode(program, id, { code: "Held", provider: "provider_a" });
    const file = fileOf(
      "ann@x.example,,held;NEW",
      "bob@x.example,bob,HELD",
      "cid@x.example,cid,TWO",
      "dan@x.example,dan,two",
    );
    for (const dry_run of ["true", "false"]) {
      const { body } = await sendImport(program, { ...QUERY, dry_run }, file);
      expect(countsOf(body)).toEqual([0, 1, 0, 0, 3]);
      expect(body.problems).toMatchObject([
        { line: 3, column: "promotion_codes", message: "Another partner has HELD." },
        { line: 4, column: "promotion_codes", message: "TWO is on line 5 for another partner." },
        { line: 5, column: "promotion_codes", message: "two is on line 4 for another partner." },
      ]);
    }
    expect(await codesOf(program)).toEqual({ ann: ["provider_a:Held", "provider_a:NEW"] });
  });

  it("decides the payments that waited for the code, once they are settled (IMP-5, CODE-3)", async () => {
    const program = await makeProgram();
    const discounts = [{ promotion_code: promotionCode({ id: "promo_1", code: "Ann 20" }), coupon: null }];
    await sendA(program, sessionCompleted({ object: { discounts } }));
    await sendImport(program, { ...QUERY, status: "active" }, FILE);
    await serveAll(settleUnsettled(testContext(NOW + 10 * 60_000)));
    expect((await ledgerOf(program)).payments.map(({ outcome }) => outcome)).toEqual(["commission"]);
  });

  it("gives a partner no more codes than one can have", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "ann", email: "ann@x.example" });
    const lines = Array.from({ length: MAX_CODES / 20 }, (_, i) => {
      return `ann@x.example,,${Array.from({ length: 20 }, (__, n) => `C${i}-${n}`).join(";")}`;
    });
    expect(countsOf((await sendImport(program, QUERY, fileOf(...lines))).body)).toEqual([0, 5, 0, 0, 0]);
    const { body } = await sendImport(program, QUERY, fileOf("ann@x.example,,ONE MORE"));
    expect(body.problems).toMatchObject([
      { column: "promotion_codes", message: "A partner has at most 100 promotion codes." },
    ]);
  });

  it.each([
    [
      "without a provider",
      "ANN",
      { kind: "partners" },
      /^Choose the provider of the codes, or write it before each: provider_a:ANN\. Left out\.$/,
    ],
    ["that is too long", "x".repeat(201), QUERY, /200.* Left out\.$/],
    ["that is empty behind its provider", "provider_b:", QUERY, / Left out\.$/],
    [
      "of a crowd",
      Array.from({ length: 21 }, (_, i) => `C${i}`).join(";"),
      QUERY,
      /^At most 20 codes per line are allowed\. Left out\.$/,
    ],
  ])("leaves out a code %s, with a note, and takes its line (IMP-7)", async (_, cell, query, message) => {
    const program = await makeProgram();
    const { status, body } = await sendImport(program, query, fileOf(`ann@x.example,ann,${cell}`));
    expect([status, countsOf(body), body.notes]).toEqual([
      ...[200, [1, 0, 0, 0, 0]],
      [{ line: 2, column: "promotion_codes", message: expect.stringMatching(message) as string }],
    ]);
  });
});

describe("what an import gives beside the first slug", () => {
  const payloadsOf = async (program: TestProgram, type: string) => {
    const { body } = await program.api<{ data: { payload: Record<string, unknown> }[] }>(
      "GET",
      `/api/v1/events?type=${type}&per_page=100`,
    );
    return body.data.map(({ payload: { slug, further_slugs } }) => [slug, further_slugs]);
  };

  it("is in the log: further slugs with their partner, each once (IMP-6)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "ann", email: "ann@x.example" }, "invited");
    const file = fileOf(
      "ann@x.example,Ann2;ann3,",
      "bob@x.example,bob;bob2,",
      "bob@x.example,BOB3,",
      "cid@x.example,cid,",
    );
    for (let i = 0; i < 2; i++) await sendImport(program, QUERY, file);
    expect((await payloadsOf(program, "partner.created")).toSorted()).toEqual([
      ["ann", undefined],
      ["bob", ["bob2", "bob3"]],
      ["cid", undefined],
    ]);
    expect(await payloadsOf(program, "partner.updated")).toEqual([["ann", ["ann2", "ann3"]]]);
  });

  it("is counted on the page that says what was done (IMP-6)", async () => {
    const [, owner] = await programOfOwner();
    const at = "/dashboard/partners/import";
    await owner.get(at);
    const csv = fileOf("ann@x.example,ann;ann2,A;B", "ann@x.example,ANN3,b;C", "bob@x.example,bob,");
    const send = async () => textOf((await owner.post(at, { csv, provider: "provider_a", confirmed: "yes" })).body);
    expect(await send()).toContain("2 partners added, 0 completed. 2 further slugs and 3 promotion codes given.");
    expect(await send()).not.toContain("given.");
  });
});

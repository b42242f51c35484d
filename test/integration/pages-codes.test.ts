/** The pages of promotion codes: a partner's codes, unassigned codes and the partner's own view (PAGE-7, PAGE-8). */
import { beforeEach, describe, expect, it } from "vitest";
import { suggestedSlugs } from "../../src/domain/code.ts";
import { giveCode } from "../support/codes.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";

let program: TestProgram;
let jane: { id: string; email: string };
let owner: Visitor;

beforeEach(async () => {
  program = await makeProgram();
  jane = await makePartner(program, {
    slug: "jane",
    first_name: "Jane",
    email: `${uniqueId("jane")}@partners.example`,
  });
  owner = await signInOwner(program);
});

const UNKNOWN = "/dashboard/payments/codes";

describe("a partner's codes", () => {
  it("are added, refused where somebody has one, moved and removed", async () => {
    const at = `/dashboard/partners/${jane.id}/codes`;
    await owner.get(at);
    const fields = { code: "JANE20", provider: "provider_a", provider_code_id: "promo_1" };
    expect((await owner.post(at, fields)).status).toBe(303);
    const shown = textOf((await owner.get(`${at}?done=given`)).body);
    for (const text of ["JANE20", "promo_1", "Waiting payments with it"]) expect(shown).toContain(text);
    const joe = await makePartner(program, { slug: "joe" });
    const other = `/dashboard/partners/${joe.id}/codes`;
    await owner.get(other);
    const refused = await owner.post(other, { ...fields, provider_code_id: "" });
    expect(refused.status).toBe(422);
    expect(textOf(refused.body)).toContain("This value is taken.");
    expect((await owner.post(other, { ...fields, move: "on" })).status).toBe(303);
    expect(textOf((await owner.get(at)).body)).toContain("No codes yet");
    const [, id] = /codes\/(cod_\w+)\/remove/.exec((await owner.get(other)).body) ?? [];
    expect((await owner.post(`${other}/${id}/remove`, {})).status).toBe(303);
    expect(textOf((await owner.get(other)).body)).toContain("No codes yet");
  });

  it("are said to go before or after another partner's link, as the program has it (CODE-1)", async () => {
    const at = `/dashboard/partners/${jane.id}/codes`;
    expect(textOf((await owner.get(at)).body)).toContain("unless another partner's link led to it");
    await program.api("PATCH", "/api/v1/programs/me", { code_precedence: "code" });
    expect(textOf((await owner.get(at)).body)).toContain("this partner, even if another partner's link led to it");
  });

  it("are shown to the partner, and to no other", async () => {
    await giveCode(program, jane.id, { code: "JANE20", provider: "provider_a" });
    const joe = await makePartner(program, { email: `${uniqueId("joe")}@partners.example` });
    expect(textOf((await (await signInPartner(jane.email)).get("/portal/assets")).body)).toContain("JANE20");
    expect(textOf((await (await signInPartner(joe.email)).get("/portal/assets")).body)).not.toContain("JANE20");
  });
});

describe("codes that nobody has", () => {
  it("are listed with the partners that they resemble, and one click gives one away", async () => {
    expect(textOf((await owner.get(UNKNOWN)).body)).toContain("No unknown codes");
    const discounts = [{ promotion_code: { id: "promo_1", code: "JANE20" }, coupon: null }];
    for (let i = 0; i < 2; i++) await sendA(program, sessionCompleted({ object: { discounts } }));
    await sendB(program, transactionCompleted({ data: { discount_id: "dsc_1" } }));
    const { body } = await owner.get(UNKNOWN);
    expect(textOf(body)).toContain("Give JANE20 to Jane");
    expect(textOf(body)).toContain("dsc_1");
    const given = await owner.post(`${UNKNOWN}/give`, { code: "JANE20", provider: "provider_a", slug: "jane" });
    expect(given.status).toBe(303);
    const after = textOf((await owner.get(UNKNOWN)).body);
    expect([after.includes("Give JANE20"), after.includes("dsc_1")]).toEqual([false, true]);
    // A code without a name is given by its id at the vendor.
    await owner.post(`${UNKNOWN}/give`, { code: "dsc_1", provider: "provider_b", slug: "JANE" });
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ partner_id }) => partner_id)).toEqual([jane.id, jane.id, jane.id]);
  });

  it("are suggested by first and last names too, whatever accents and case they have (CODE-7)", async () => {
    await makePartner(program, { slug: "p1", first_name: "Élise", last_name: "Núñez" });
    await makePartner(program, { slug: "p2", first_name: "Bo", last_name: "Müller" });
    const codes = ["ELISE10", "summer-munez", "Nunez_5", "MÜLLER", "BO20"];
    for (const [i, code] of codes.entries()) {
      const discounts = [{ promotion_code: { id: `promo_${i}`, code }, coupon: null }];
      await sendA(program, sessionCompleted({ object: { discounts } }));
    }
    const shown = textOf((await owner.get(UNKNOWN)).body);
    for (const text of ["Give ELISE10 to Élise Núñez", "Give Nunez_5 to Élise Núñez", "Give MÜLLER to Bo Müller"]) {
      expect(shown).toContain(text);
    }
    expect(shown).not.toContain("Give summer-munez to");
    // A name of two letters is in too many codes.
    expect(shown).not.toContain("Give BO20 to");
  });

  it("are offered with the slug and the address, so that nobody passes for another by the name (CODE-7)", async () => {
    const email = `${uniqueId("other")}@partners.example`;
    await makePartner(program, { slug: "other-jane", first_name: "Jane", email });
    const discounts = [{ promotion_code: { id: "promo_1", code: "JANE20" }, coupon: null }];
    await sendA(program, sessionCompleted({ object: { discounts } }));
    const shown = textOf((await owner.get(UNKNOWN)).body);
    expect(shown).toContain(`Give JANE20 to Jane (jane, ${jane.email})`);
    expect(shown).toContain(`Give JANE20 to Jane (other-jane, ${email})`);
  });

  it("are listed beside a reference that leads to nobody, all of one payment, and each is given away by one click", async () => {
    const promotion = { promotion_code: { id: "promo_1", code: "JANE20" }, coupon: null };
    const coupon = { promotion_code: null, coupon: { id: "Z4OV", name: "Podcast" } };
    await sendA(program, sessionCompleted({ ref: "cart-7", object: { discounts: [promotion, coupon] } }));
    await sendA(program, sessionCompleted({ object: { discounts: [promotion] } }));
    const rowsOf = async () => {
      const shown = textOf((await owner.get(UNKNOWN)).body);
      return [...shown.matchAll(/(\S+) Stripe (\d+) /g)].map(([, code, count]) => `${code} ${count}`);
    };
    expect((await rowsOf()).toSorted()).toEqual(["JANE20 2", "Podcast 1"]);
    await owner.post(`${UNKNOWN}/give`, { code: "Podcast", provider: "provider_a", slug: "jane" });
    const outcomes = async () => (await ledgerOf(program)).payments.map(({ outcome }) => outcome);
    expect([await rowsOf(), (await outcomes()).toSorted()]).toEqual([["JANE20 1"], ["commission", "unknown_code"]]);
    await owner.post(`${UNKNOWN}/give`, { code: "JANE20", provider: "provider_a", slug: "jane" });
    expect([await rowsOf(), await outcomes()]).toEqual([[], ["commission", "commission"]]);
  });

  it("are given as the provider writes them, blanks around the name included", async () => {
    const discounts = [{ promotion_code: null, coupon: { id: "Z4OV", name: "Podcast " } }];
    await sendA(program, sessionCompleted({ object: { discounts } }));
    const [, code = ""] = /name="code" value="([^"]+)"/.exec((await owner.get(UNKNOWN)).body) ?? [];
    const given = await owner.post(`${UNKNOWN}/give`, { code, provider: "provider_a", slug: "jane" });
    expect([code, given.status]).toEqual(["Podcast ", 303]);
    expect((await ledgerOf(program)).payments.map(({ outcome }) => outcome)).toEqual(["commission"]);
    expect(textOf((await owner.get(UNKNOWN)).body)).toContain("No unknown codes");
  });

  it("are refused to a slug that nobody has", async () => {
    await owner.get(UNKNOWN);
    const reply = await owner.post(`${UNKNOWN}/give`, { code: "X", provider: "provider_a", slug: "nobody" });
    expect(reply.status).toBe(422);
    expect(textOf(reply.body)).toContain("No partner has this slug.");
  });

  it("resemble slugs by their letters", () => {
    expect(suggestedSlugs("JANE-DOE20")).toEqual(["jane-doe20", "jane-doe", "janedoe", "jane", "doe"]);
    expect(suggestedSlugs("20%")).toEqual([]);
    expect(suggestedSlugs("É")).toEqual([]);
  });
});

/** Further links with names of the partner's choice (PART-16). */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { addOwnSlug } from "../../src/core/partners/own-links.ts";
import { click, recorded } from "../support/clicks.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { invoicePaid, sessionAsyncSucceeded, sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";

const AT = "/portal/assets";

let program: TestProgram;
let jane: { id: string; email: string };
let portal: Visitor;

beforeEach(async () => {
  program = await makeProgram({ domain: "shop.example", partner_links: true });
  jane = await makePartner(program, { slug: "jane", email: `${uniqueId("jane")}@partners.example` });
  portal = await signInPartner(jane.email);
  await portal.get(AT);
});

const add = (slug: string, visitor = portal) => visitor.post(`${AT}/links`, { slug });
const slugsOf = async (id = jane.id) =>
  (await program.api<{ slugs: string[] }>("GET", `/api/v1/partners/${id}`)).body.slugs;

describe("a further link (PART-16)", () => {
  it("is the partner's: its clicks and sales count, everybody who may sees it, and the log names it", async () => {
    const added = await add("News-Letter");
    expect([added.status, added.headers.get("location")]).toEqual([303, `${AT}?done=added`]);
    expect((await portal.get(AT)).body).toContain('data-copy="https://shop.example/?ref=news-letter"');
    expect(await slugsOf()).toEqual(["jane", "news-letter"]);
    const owner = await signInOwner(program);
    expect(textOf((await owner.get(`/dashboard/partners/${jane.id}`)).body)).toContain(
      "Links with these names lead to the partner too: news-letter",
    );
    await click({ program_id: program.id, ref: "news-letter", landing: "/", referrer: "" });
    await recorded();
    await sendA(program, sessionCompleted({ ref: "news-letter", amount: 10_000 }));
    const [commission] = (await ledgerOf(program)).commissions;
    expect(commission).toMatchObject({ partner_id: jane.id, amount_cents: 2_000 });
    const partner = await program.api<{ stats: { clicks: number }; slug: string }>(
      "GET",
      `/api/v1/partners/${jane.id}`,
    );
    expect([partner.body.slug, partner.body.stats.clicks]).toEqual(["jane", 1]);
    const event = await env.DB.prepare(
      `select payload ->> '$.further_slugs' as slugs, actor ->> 'type' as by from events
        where program_id = ? and type = 'partner.updated' order by id desc limit 1`,
    )
      .bind(program.id)
      .first();
    expect(event).toEqual({ slugs: '["news-letter"]', by: "partner" });
  });

  it.each([
    ["a b", "Use 1 to 64 letters, digits, - or _."],
    ["x".repeat(65), "Use 1 to 64 letters, digits, - or _."],
    ["", "Use 1 to 64 letters, digits, - or _."],
    ["JOE", "This name is taken."],
    ["jane", "This name is taken."],
    ["undefined", "Choose another name."],
    ["2026", "Choose another name."],
    ["producthunt", "Choose another name."],
  ])("cannot be named %j, and the form keeps it", async (slug, problem) => {
    await makePartner(program, { slug: "joe" });
    await sendA(program, sessionCompleted({ ref: "producthunt" }));
    const reply = await add(slug);
    expect([reply.status, textOf(reply.body).includes(problem)]).toEqual([422, true]);
    if (slug !== "") expect(reply.body).toContain(`value="${slug}"`);
    expect(await slugsOf()).toEqual(["jane"]);
  });

  it("cannot be named as a sale whose money is still to come: the partner would earn on it", async () => {
    const [id, subscription] = [uniqueId("cs_"), uniqueId("sub_")];
    await sendA(program, sessionCompleted({ id, ref: "slow", payment_status: "unpaid" }));
    await sendA(program, invoicePaid({ amount: 0, ref: "Trial", subscription }));
    await sendA(program, sessionCompleted({ ref: "jane", amount: 0 }));
    for (const slug of ["slow", "trial"]) {
      const reply = await add(slug);
      expect([reply.status, textOf(reply.body).includes("Choose another name.")]).toEqual([422, true]);
    }
    await sendA(program, sessionAsyncSucceeded({ id, ref: "slow" }));
    await sendA(program, invoicePaid({ ref: "Trial", subscription }));
    expect((await ledgerOf(program)).commissions).toEqual([]);
  });

  it("takes a former slug of no other partner", async () => {
    const { id } = await makePartner(program, { slug: "joe" });
    await program.api("PATCH", `/api/v1/partners/${id}`, { slug: "joseph" });
    expect((await add("joe")).status).toBe(422);
    expect(await slugsOf(id)).toEqual(["joe", "joseph"]);
  });

  it("is one of ten at most, former slugs included", async () => {
    for (let i = 2; i <= 10; i++) expect((await add(`jane-${i}-x`)).status).toBe(303);
    const full = await portal.get(AT);
    expect(textOf(full.body)).toContain("You have 10 links, the most that are possible.");
    expect((await add("eleventh")).status).toBe(422);
    expect(await slugsOf()).toHaveLength(10);
  });

  it("is of one partner if two add it at the same moment, and the other sees why not", async () => {
    const joe = await makePartner(program, { slug: "joe", email: `${uniqueId("joe")}@partners.example` });
    const other = await signInPartner(joe.email);
    await other.get(AT);
    const replies = await Promise.all([add("spring"), add("spring", other)]);
    expect(replies.map(({ status }) => status).toSorted()).toEqual([303, 422]);
    expect(replies.map(({ body }) => textOf(body)).join(" ")).toContain("This name is taken.");
    expect([...(await slugsOf()), ...(await slugsOf(joe.id))].filter((slug) => slug === "spring")).toHaveLength(1);
  });

  it("is refused unless the program offers it, and to a partner who is not active", async () => {
    const ctx = programContext(program);
    await program.api("PATCH", "/api/v1/programs/me", { partner_links: false });
    expect((await portal.get(AT)).body).not.toContain("Add link");
    expect((await add("spring")).status).toBeGreaterThanOrEqual(400);
    await program.api("PATCH", "/api/v1/programs/me", { partner_links: true });
    await program.api("DELETE", `/api/v1/partners/${jane.id}`);
    const open = { ...ctx, program: { ...ctx.program, partner_links: true } };
    await expect(addOwnSlug(open, jane.id, "spring")).rejects.toMatchObject({ code: "forbidden" });
    expect(await slugsOf()).toEqual(["jane"]);
  });
});

/** The owner's bulk decisions on commissions, and the ways out of former dead ends. */
import { beforeAll, describe, expect, it } from "vitest";
import { commissionsOf, db, makeCommissions } from "../support/payouts.ts";
import { eq } from "drizzle-orm";
import { partners } from "../../src/db/schema.ts";
import { SEARCHED_WORDS } from "../../src/domain/partner.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, setSecrets, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { signInOwner, textOf, type Visitor } from "../support/visitor.ts";

const AT = "/dashboard/commissions";

let program: TestProgram;
let owner: Visitor;
let ada: Awaited<ReturnType<typeof makePartner>>;

beforeAll(async () => {
  program = await makeProgram();
  owner = await signInOwner(program);
  ada = await makePartner(program, { first_name: "Ada", last_name: "Lovelace", email: "ada@lovelace.example" });
});

async function newMonth(): Promise<{ month: TestProgram; boss: Visitor; partner_id: string }> {
  const month = await makeProgram();
  return { month, boss: await signInOwner(month), partner_id: (await makePartner(month)).id };
}

const statuses = async (of: TestProgram) =>
  (await commissionsOf(of)).map(({ status, flagged }) => (flagged ? `${status}!` : status)).toSorted();

/** The form of a page that posts to an address, with the values of its hidden fields. */
function formOf(html: string, action: RegExp): { action: string; fields: Record<string, string> } {
  const form = [...html.matchAll(/<form method="post" action="([^"]*)".*?<\/form>/gs)].find(([, to = ""]) =>
    action.test(to),
  );
  const hidden = (form?.[0] ?? "").matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  const fields = Object.fromEntries([...hidden].map(([, name = "", value = ""]) => [name, value]));
  return { action: (form?.[1] ?? "").replaceAll("&amp;", "&"), fields };
}

describe("flagged commissions", () => {
  it("look like warnings in the list: an icon and a word, stronger than a state, and their box is not ticked along", async () => {
    const { month, boss, partner_id } = await newMonth();
    await makeCommissions(month, partner_id, [
      { status: "pending" },
      { status: "pending", flagged: true, review_reason: "self_referral" },
    ]);
    const { body } = await boss.get(AT);
    expect(body.match(/<span class="badge flag"><svg[^>]*aria-hidden="true">/g)).toHaveLength(1);
    expect(textOf(body)).toContain("flagged The customer's e-mail address is the partner's own.");
    expect(body.match(/<input type="checkbox" name="ids"[^>]*data-flagged/g)).toHaveLength(1);
    expect(textOf(body)).toContain("All on this page that are not flagged");
  });

  it("look so on their own page, and behind the overview's count", async () => {
    const { month, boss, partner_id } = await newMonth();
    const [plain, flagged] = await makeCommissions(month, partner_id, [
      { status: "pending" },
      { status: "pending", flagged: true, review_reason: "self_referral" },
    ]);
    expect((await boss.get(`${AT}/${plain?.id}`)).body).not.toContain("badge flag");
    expect((await boss.get(`${AT}/${flagged?.id}`)).body).toMatch(/<h1>.*<span class="badge flag">.*<\/h1>/s);
    const link = /<a href="([^"]+)"[^>]*><span class="badge flag">/.exec((await boss.get("/dashboard")).body)?.[1];
    expect(link).toBe(`${AT}?status=pending&amp;flagged=true`);
  });

  it("that are ticked are left out, and go along where the next page asks for it", async () => {
    const { month, boss, partner_id } = await newMonth();
    const rows = await makeCommissions(month, partner_id, [
      { status: "pending" },
      { status: "pending", flagged: true, review_reason: "manual" },
      { status: "pending", flagged: true, review_reason: "manual" },
    ]);
    await boss.get(AT);
    const ids = rows.map(({ id }) => id);
    const reply = await boss.post(`${AT}/bulk`, { ids, status: "approved", back: "status=pending" });
    expect(reply.status).toBe(200);
    expect(textOf(reply.body)).toContain("1 commission approved");
    expect(textOf(reply.body)).toContain("2 flagged They were left out");
    for (const { id } of rows.slice(1)) expect(reply.body).toContain(`href="${AT}/${id}"`);
    expect(await statuses(month)).toEqual(["approved", "pending!", "pending!"]);
    const { action, fields } = formOf(reply.body, /bulk$/);
    const more = await boss.post(action, { ...fields, ids: ids.slice(1) });
    expect(more.headers.get("location")).toBe(`${AT}?status=pending&bulk=approved&count=2`);
    expect(await statuses(month)).toEqual(["approved", "approved!", "approved!"]);
    await boss.get(AT);
    const asked = await boss.post(`${AT}/bulk`, { ids, status: "rejected", include_flagged: "on", back: "" });
    expect(asked.status).toBe(303);
    expect(await statuses(month)).toEqual(["rejected", "rejected!", "rejected!"]);
  });
});

describe("a decision on a page that was opened earlier (PAGE-40)", () => {
  it("is refused for a commission that has changed since, whichever button sends it", async () => {
    const { month, boss, partner_id } = await newMonth();
    const rows = await makeCommissions(month, partner_id, [{ status: "pending" }, { status: "pending" }]);
    const [changed, other] = rows.map(({ id }) => id);
    const list = formOf((await boss.get(AT)).body, /bulk$/).fields;
    const page = formOf((await boss.get(`${AT}/${changed}`)).body, new RegExp(`${changed}$`)).fields;
    await month.api("PATCH", `/api/v1/commissions/${changed}`, { status: "approved" });
    const refused = [
      await boss.post(`${AT}/${changed}`, { ...list, status: "rejected" }),
      await boss.post(`${AT}/${changed}`, { ...page, status: "rejected" }),
      await boss.post(`${AT}/bulk`, { ...list, ids: [changed!, other!], status: "rejected" }),
    ];
    for (const { status, body } of refused) {
      const text = "The commission has changed in the meantime: it is now approved.";
      expect([status, textOf(body)]).toEqual([422, expect.stringContaining(text)]);
    }
    expect(await statuses(month)).toEqual(["approved", "rejected"]);
    const again = formOf((await boss.get(AT)).body, /bulk$/).fields;
    expect((await boss.post(`${AT}/bulk`, { ...again, ids: [changed!], status: "rejected" })).status).toBe(303);
    expect(await statuses(month)).toEqual(["rejected", "rejected"]);
  });
});

describe("all that match (PAGE-7)", () => {
  it("are approved over all pages after a page that says how many, how much, and what is left out", async () => {
    const { month, boss, partner_id } = await newMonth();
    const at = (day: number) => `2026-03-${String(day).padStart(2, "0")}T12:00:00.000Z`;
    await makeCommissions(
      month,
      partner_id,
      Array.from({ length: 45 }, (_, i) => ({
        status: "pending" as const,
        created_at: at(1 + (i % 31)),
        currency: i % 3 === 0 ? "JPY" : "USD",
        flagged: i % 15 === 0,
        review_reason: i % 15 === 0 ? "manual" : null,
      })),
    );
    await makeCommissions(month, partner_id, [{ status: "pending" }]);
    const query = "status=pending&from=2026-03-01&to=2026-03-31";
    const list = await boss.get(`${AT}?${query}`);
    const href = /href="([^"]*matching[^"]*)"[^>]*>Approve all that match/
      .exec(list.body)?.[1]
      ?.replaceAll("&amp;", "&");
    expect(href).toBe(`${AT}/matching?move=approve&${query}`);
    const asked = await boss.get(href ?? "");
    const shown = textOf(asked.body);
    expect(shown).toContain("Status Pending From 1 Mar 2026 To 31 Mar 2026");
    expect(shown).toContain("Match 45 commissions To approve 42 commissions Together 300.00 USD 12,000 JPY");
    expect(shown).toContain("Approve the flagged ones too: 3 commissions, 3,000 JPY");
    expect(await statuses(month)).not.toContain("approved");
    const { action, fields } = formOf(asked.body, /matching/);
    const done = await boss.post(action, fields);
    expect(done.headers.get("location")).toBe(`${AT}?${query}&bulk=approved&count=42`);
    expect(textOf((await boss.get(done.headers.get("location") ?? "")).body)).toContain("42 commissions approved.");
    expect((await statuses(month)).filter((status) => status === "approved")).toHaveLength(42);
    const again = await boss.get(href ?? "");
    expect(textOf(again.body)).toContain("Approve 3 flagged commissions");
    const flagged = formOf(again.body, /matching/);
    await boss.post(flagged.action, flagged.fields);
    expect((await statuses(month)).toSorted()).toEqual([
      ...Array.from({ length: 42 }, () => "approved"),
      ...Array.from({ length: 3 }, () => "approved!"),
      "pending",
    ]);
    expect(textOf((await boss.get(href ?? "")).body)).toContain("No commission matches");
  });

  it("leave as it is what was changed after the numbers were shown", async () => {
    const { month, boss, partner_id } = await newMonth();
    await makeCommissions(month, partner_id, [{ status: "pending" }, { status: "pending" }]);
    const asked = await boss.get(`${AT}/matching?status=pending`);
    const late = new Date(Date.now() + 60_000).toISOString();
    await makeCommissions(month, partner_id, [{ status: "pending", updated_at: late }]);
    const { action, fields } = formOf(asked.body, /matching/);
    await boss.post(action, fields);
    expect(await statuses(month)).toEqual(["approved", "approved", "pending"]);
  });

  it("are never more than were shown: then nothing changes, and the page shows the numbers again (COM-5)", async () => {
    const { month, boss, partner_id } = await newMonth();
    const flagged = { status: "pending" as const, flagged: true, review_reason: "manual" };
    await makeCommissions(month, partner_id, [{ status: "pending" }, { status: "pending" }, flagged]);
    const asked = await boss.get(`${AT}/matching?status=pending`);
    const { action, fields } = formOf(asked.body, /matching/);
    // The request began before the page was opened, and was stored after it.
    await makeCommissions(month, partner_id, [{ status: "pending" }]);
    for (const sent of [fields, { ...fields, include_flagged: "on" }]) {
      const refused = await boss.post(action, sent);
      expect(refused.status).toBe(422);
      expect(textOf(refused.body)).toContain(
        "More commissions match now than you were shown. Please check the numbers again.",
      );
      expect(textOf(refused.body)).toContain("Approve 3 commissions");
      expect(await statuses(month)).toEqual(["pending", "pending", "pending", "pending!"]);
    }
    for (const wrong of [{ plain: "" }, { plain: "-1" }, { plain: "many" }, { flagged: "1.5" }]) {
      expect((await boss.post(action, { ...fields, ...wrong })).status).toBe(422);
    }
    expect(await statuses(month)).toEqual(["pending", "pending", "pending", "pending!"]);
    const again = formOf(boss.html, /matching/);
    expect((await boss.post(again.action, again.fields)).headers.get("location")).toContain("count=3");
    expect(await statuses(month)).toEqual(["approved", "approved", "approved", "pending!"]);
  });

  it("are fewer where others decided on some meanwhile, and those stay (COM-5)", async () => {
    const { month, boss, partner_id } = await newMonth();
    const [first] = await makeCommissions(month, partner_id, [{ status: "pending" }, { status: "pending" }]);
    const asked = await boss.get(`${AT}/matching?status=pending`);
    await month.api("PATCH", `/api/v1/commissions/${first?.id}`, { status: "rejected" });
    const { action, fields } = formOf(asked.body, /matching/);
    expect((await boss.post(action, fields)).headers.get("location")).toContain("count=1");
    expect(await statuses(month)).toEqual(["approved", "rejected"]);
  });

  it("are rejected with a reason, and a form without its time changes nothing", async () => {
    const { month, boss, partner_id } = await newMonth();
    await makeCommissions(month, partner_id, [{ status: "pending" }, { status: "approved" }]);
    const asked = await boss.get(`${AT}/matching?move=reject`);
    expect(textOf(asked.body)).toContain("No filter is set: this includes every commission.");
    const { action, fields } = formOf(asked.body, /matching/);
    const refused = await boss.post(action, { ...fields, seen_at: "yesterday" });
    expect(refused.status).toBe(422);
    expect((await boss.post(action, { ...fields, reason: "x".repeat(501) })).status).toBe(422);
    expect(await statuses(month)).toEqual(["approved", "pending"]);
    await boss.post(action, { ...fields, reason: "The season is over" });
    const rows = await commissionsOf(month);
    expect(rows.map(({ status, rejected_reason }) => [status, rejected_reason])).toEqual([
      ["rejected", "The season is over"],
      ["rejected", "The season is over"],
    ]);
  });
});

describe("a partner who was deactivated", () => {
  it("is made active again from their page, which says what to do about payments refused meanwhile", async () => {
    const { slug, id } = await makePartner(program, { first_name: "Bob" });
    const path = `/dashboard/partners/${id}`;
    await owner.get(`${path}/deactivate`);
    await owner.post(`${path}/deactivate`);
    await sendA(program, sessionCompleted({ ref: slug, amount: 5_000 }));
    const page = await owner.get(path);
    expect(textOf(page.body)).toContain("Reactivate");
    const { action } = formOf(page.body, /activate$/);
    const done = await owner.post(action);
    const after = await owner.get(done.headers.get("location") ?? "");
    expect(textOf(after.body)).toContain("Payments while the partner was deactivated earned nothing");
    const refused = `/dashboard/payments?outcome=partner_deactivated&amp;partner_id=${id}`;
    expect(after.body).toContain(refused);
    expect(textOf(after.body)).not.toContain("Activate");
    const list = await owner.get(refused.replaceAll("&amp;", "&"));
    const payment = /href="(\/dashboard\/payments\/pmt_[^"]+|\/dashboard\/payments\/[a-z]+_[^"]+)"/.exec(
      list.body,
    )?.[1];
    const shown = await owner.get(payment ?? "");
    expect(textOf(shown.body)).toContain("Recalculate");
    await owner.post(formOf(shown.body, /reprocess$/).action);
    const [commission] = (await commissionsOf(program)).filter(({ partner_id }) => partner_id === id);
    expect(commission).toMatchObject({ status: "pending", amount_cents: 1_000 });
  });

  it("an invited one is made active from their page too, and payments that waited earn", async () => {
    const { slug, id } = await makePartner(program, {}, "invited");
    await sendA(program, sessionCompleted({ ref: slug, amount: 5_000 }));
    const page = await owner.get(`/dashboard/partners/${id}`);
    const done = await owner.post(formOf(page.body, /activate$/).action);
    expect(textOf((await owner.get(done.headers.get("location") ?? "")).body)).toContain(
      "Waiting payments earn their commissions within minutes.",
    );
    expect((await commissionsOf(program)).filter(({ partner_id }) => partner_id === id)).toHaveLength(1);
  });
});

describe("a commission by hand", () => {
  it("is for a partner found by a search, without a script and without an id", async () => {
    await makePartner(program, { first_name: "Gone", last_name: "Lovelace" }, "deactivated");
    for (const search of ["lovelace", "ada love", "ADA@LOVELACE", ada.slug]) {
      const { body } = await owner.get(`${AT}/new?search=${encodeURIComponent(search)}`);
      const found = [...body.matchAll(/href="([^"]*new\?partner_id=[^"]*)"/g)].map(([, href]) => href);
      expect([search, found]).toEqual([search, [`${AT}/new?partner_id=${ada.id}`]]);
      expect(body).not.toContain('name="partner_id"');
    }
    expect(textOf((await owner.get(`${AT}/new?search=nobody`)).body)).toContain("No active partner matches “nobody”");
    const chosen = await owner.get(`${AT}/new?partner_id=${ada.id}`);
    expect(textOf(chosen.body)).toContain("Ada Lovelace");
    const { action, fields } = formOf(chosen.body, /new$/);
    expect(fields["partner_id"]).toBe(ada.id);
    const made = await owner.post(action, { ...fields, amount: "12.50", note: "Bonus" });
    expect(textOf((await owner.get(made.headers.get("location") ?? "")).body)).toContain("Commission of 12.50 USD");
  });

  it("is offered from the partner's page, with the partner chosen", async () => {
    const { body } = await owner.get(`/dashboard/partners/${ada.id}`);
    expect(body).toContain(`href="${AT}/new?partner_id=${ada.id}"`);
  });

  it("for an id that is nobody's asks for the partner", async () => {
    const { body, status } = await owner.get(`${AT}/new?partner_id=par_00000000000000000000000000`);
    expect(status).toBe(200);
    expect(textOf(body)).toContain(`Partner: ${SEARCHED_WORDS}`);
    const { id } = await makePartner(program, {}, "invited");
    await owner.get(`${AT}/new?partner_id=${id}`);
    const refused = await owner.post(`${AT}/new`, { partner_id: id, amount: "1", note: "x" });
    expect(refused.status).toBe(422);
    expect(textOf(refused.body)).toContain("Only active partners get commissions.");
  });
});

describe("paying through provider A", () => {
  async function payoutOf(fields: Parameters<typeof makePartner>[1], account: string | null): Promise<Paid> {
    const { month, boss } = await newMonth();
    const { id } = await makePartner(month, fields);
    await db.update(partners).set({ provider_a_account_id: account }).where(eq(partners.id, id));
    await makeCommissions(month, id, [{ amount_cents: 5_000 }]);
    await month.api("POST", "/api/v1/payouts/generate", {});
    const { data } = (await month.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts")).body;
    return { month, boss, path: `/dashboard/payouts/${data[0]?.id}`, ids: data.map((payout) => payout.id) };
  }

  interface Paid {
    month: TestProgram;
    boss: Visitor;
    path: string;
    ids: string[];
  }

  /** Whether it is offered anywhere: on the payout's page, in the list, and by the form that asks. */
  async function offers({ boss, path }: Paid): Promise<boolean[]> {
    const page = await boss.get(path);
    const list = await boss.get("/dashboard/payouts");
    const asked = await boss.get(`${path}/pay`);
    return [
      page.body.includes(`href="${path}/pay"`),
      list.body.includes('name="move" value="pay"'),
      textOf(asked.body).includes("Send the money"),
    ];
  }

  it("is offered where the method, the account and the program's key allow it", async () => {
    const paid = await payoutOf({ payout_method: "provider_a" }, "acct_1");
    await setSecrets(paid.month.id, { provider_a_api_key: "sk_test_key" });
    expect(await offers(paid)).toEqual([true, true, true]);
  });

  it("without the program's key says so and where to paste it", async () => {
    const paid = await payoutOf({ payout_method: "provider_a" }, "acct_1");
    expect(await offers(paid)).toEqual([false, false, false]);
    const { body } = await paid.boss.get(paid.path);
    expect(textOf(body)).toContain("The program has no API key of Stripe yet. Paste it in the settings, then pay.");
    expect(body).toContain('href="/dashboard/settings/providers#provider_a"');
    const chosen = await paid.boss.get(`/dashboard/payouts/matching?move=pay&ids=${paid.ids.join()}`);
    expect(textOf(chosen.body)).toContain("Paste it in the settings");
  });

  it("without the partner's account says so", async () => {
    const paid = await payoutOf({ payout_method: "provider_a" }, null);
    await setSecrets(paid.month.id, { provider_a_api_key: "sk_test_key" });
    expect(await offers(paid)).toEqual([false, false, false]);
    expect(textOf((await paid.boss.get(`${paid.path}/pay`)).body)).toContain("has no connected account at Stripe yet");
  });

  it("is not offered for a payout that goes elsewhere", async () => {
    const paid = await payoutOf({ payout_method: "wallet", payout_email: "w@example.com" }, "acct_1");
    await setSecrets(paid.month.id, { provider_a_api_key: "sk_test_key" });
    expect(await offers(paid)).toEqual([false, false, false]);
    expect(textOf((await paid.boss.get(paid.path)).body)).not.toContain("has no API key");
  });
});

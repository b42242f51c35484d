/** The filters above a list, and the content and buttons of its rows. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { iso } from "../../src/lib/time.ts";
import { monthIn } from "../../src/domain/time-zone.ts";
import { makeApplication } from "../support/applications.ts";
import { sendA } from "../support/ledger.ts";
import { commissionsOf, makeCommissions } from "../support/payouts.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { programOfOwner, signInMember, signInOwner, textOf, type Visitor } from "../support/visitor.ts";

const COMMISSIONS = "/dashboard/commissions";
const DAY = 86_400_000;

/** The links above a list: an active filter, which its link removes, or an offered one. */
async function chipsOf(visitor: Visitor, address: string): Promise<{ on: string[][]; offered: string[][] }> {
  const { status, body } = await visitor.get(address);
  expect([address, status]).toEqual([address, 200]);
  const chips = [...body.matchAll(/<a class="(chip[^"]*)" href="([^"]*)">(.*?)<\/a>/g)];
  const of = (wanted: string) =>
    chips.flatMap(([, kind, href = "", html = ""]) =>
      kind === wanted ? [[textOf(html).replaceAll(/\s+/g, " ").trim(), href.replaceAll("&amp;", "&")]] : [],
    );
  return { on: of("chip on"), offered: of("chip") };
}

async function memberOf(program: TestProgram, role: string): Promise<Visitor> {
  const email = `${role}-${program.id.slice(-8)}@shop.example`;
  await program.api("POST", "/api/v1/members", { email, role });
  return signInMember(program, email);
}

describe("the filters above a list (PAGE-20)", () => {
  it("are links: each active one removes itself and keeps the rest, others are one click away", async () => {
    const [program, owner] = await programOfOwner({ time_zone: "Pacific/Auckland" });
    const { id } = await makePartner(program, { first_name: "Ada", last_name: "Lovelace", slug: "ada" });
    const { from, to } = monthIn("Pacific/Auckland", Date.now(), 0);
    const last = monthIn("Pacific/Auckland", Date.now(), 1);
    const { on, offered } = await chipsOf(
      owner,
      `${COMMISSIONS}?status=pending&partner_id=ada&from=${from}&to=${to}&sort=created_at&per_page=50`,
    );
    const kept = "sort=created_at&per_page=50";
    // The form's order: the filter, then the display.
    const pending = "status=pending";
    const days = `from=${from}&to=${to}`;
    const sorted = (rows: string[][]) =>
      rows.map(([text, href = ""]) => [text, new URLSearchParams(href.split("?")[1]).toString().split("&").toSorted()]);
    const query = (...parts: string[]) => parts.join("&").split("&").toSorted();
    expect(sorted(on)).toEqual([
      ["Remove the filter Status: Pending ×", query(`partner_id=${id}`, days, kept)],
      ["Remove the filter Partner: Ada Lovelace ×", query(pending, days, kept)],
      ["Remove the filter This month ×", query(pending, `partner_id=${id}`, kept)],
    ]);
    expect(sorted(offered)).toEqual([
      ["Clear all", query(kept)],
      ["Flagged", query(pending, `partner_id=${id}`, days, kept, "flagged=true")],
      ["Last month", query(pending, `partner_id=${id}`, `from=${last.from}&to=${last.to}`, kept)],
    ]);
    const since = await chipsOf(owner, "/dashboard/payments?from=2026-03-01");
    expect(since.on).toEqual([["Remove the filter Since 1 Mar 2026 ×", "/dashboard/payments"]]);
    // The case of ids counts: a search is shown as typed.
    const typed = await chipsOf(owner, "/dashboard/payments?search=pi_a&outcome=no_ref");
    expect(typed.on.map(([text]) => text)).toEqual([
      "Remove the filter Search: pi_a ×",
      "Remove the filter Outcome: No partner named ×",
    ]);
    for (const list of ["payments", "customers"]) {
      const shown = textOf((await owner.get(`/dashboard/${list}`)).body);
      expect(shown).toContain("Order, customer's full e-mail, or partner");
    }
    for (const address of ["/dashboard/payouts", "/dashboard/claims", "/dashboard/payments"]) {
      const options = [...(await owner.get(address)).body.matchAll(/<option[^>]*>(\p{L}[^<]*)</gu)].map(
        ([, text]) => text!,
      );
      expect(options.filter((text) => text[0] !== text[0]!.toUpperCase())).toEqual([]);
    }
  });

  it("offer the calendar months of the program's zone", () => {
    const now = Date.parse("2026-12-31T23:30:00.000Z");
    expect(monthIn("UTC", now, 0)).toEqual({ from: "2026-12-01", to: "2026-12-31" });
    expect(monthIn("Europe/Berlin", now, 0)).toEqual({ from: "2027-01-01", to: "2027-01-31" });
    expect(monthIn("Europe/Berlin", now, 1)).toEqual({ from: "2026-12-01", to: "2026-12-31" });
    expect(monthIn("UTC", Date.parse("2028-03-31T12:00:00.000Z"), 1)).toEqual({ from: "2028-02-01", to: "2028-02-29" });
  });
});

describe("decisions in the rows of a list (PAGE-40)", () => {
  it("approve and reject a pending commission, and lead back to the same list with a note", async () => {
    const [program, owner] = await programOfOwner();
    const { id } = await makePartner(program, { first_name: "Ada" });
    const [one, two, flagged, held, approved] = await makeCommissions(program, id, [
      { status: "pending", amount_cents: 1_100 },
      { status: "pending", amount_cents: 1_200 },
      { status: "pending", flagged: true, review_reason: "disputed" },
      { status: "pending", hold_until: iso(Date.now() + DAY) },
      {},
    ]);
    const query = "status=pending&sort=created_at";
    const { body } = await owner.get(`${COMMISSIONS}?${query}`);
    const target = (row = one) => `formaction="${COMMISSIONS}/${row?.id}" name="status" value="approved"`;
    expect([one, two].map((row) => body.includes(target(row)))).toEqual([true, true]);
    expect(textOf(body)).toContain("Approve 11.00 USD for Ada");
    for (const row of [flagged, held, approved]) expect(body).not.toContain(target(row));
    const review = (row = one) => new RegExp(`<a href="${COMMISSIONS}/${row?.id}">Review<`).test(body);
    expect([one, flagged, held, approved].map((row) => review(row))).toEqual([false, true, true, false]);
    const done = await owner.post(`${COMMISSIONS}/${one!.id}`, {
      status: "approved",
      back: query,
      reason: "",
      ids: [],
    });
    expect([done.status, done.headers.get("location")]).toEqual([303, `${COMMISSIONS}?${query}&done=approved`]);
    const after = await owner.get(done.headers.get("location")!);
    expect(textOf(after.body)).toContain("Approved.");
    expect(after.body).not.toContain(target());
    // A reason that is typed for the chosen ones belongs to a rejection only.
    await owner.post(`${COMMISSIONS}/${two!.id}`, { status: "rejected", back: query, reason: "Wrong customer" });
    const rows = new Map((await commissionsOf(program)).map((row) => [row.id, row]));
    expect(rows.get(one!.id)).toMatchObject({ status: "approved", rejected_reason: null });
    expect(rows.get(two!.id)).toMatchObject({ status: "rejected", rejected_reason: "Wrong customer" });
    const beyond = await owner.post(`${COMMISSIONS}/${one!.id}`, { status: "rejected", back: "//evil.example/?a=b" });
    expect(beyond.headers.get("location")).toMatch(/^\/dashboard\/commissions\?/);
  });

  it("approve no commission that was flagged or put on hold since the list was shown: its page is next", async () => {
    const [program, owner] = await programOfOwner();
    const { id } = await makePartner(program);
    const [flagged, held] = await makeCommissions(program, id, [
      { status: "pending", flagged: true, review_reason: "disputed" },
      { status: "pending", hold_until: iso(Date.now() + DAY) },
    ]);
    for (const [row, text] of [
      [flagged, "It is flagged by now."],
      [held, "It is on hold by now."],
    ] as const) {
      const { status, body } = await owner.post(`${COMMISSIONS}/${row!.id}`, { status: "approved", back: "" });
      expect([status, textOf(body)]).toEqual([422, expect.stringContaining(text)]);
    }
    expect((await commissionsOf(program)).map(({ status }) => status)).toEqual(["pending", "pending"]);
    // On its page it is decided as ever.
    expect((await owner.post(`${COMMISSIONS}/${flagged!.id}`, { status: "approved" })).status).toBe(303);
    const unknown = await owner.post(`${COMMISSIONS}/${id.replace("par", "com")}`, { status: "approved", back: "" });
    expect(unknown.status).toBe(404);
  });

  it("approve a pending application", async () => {
    const [program, owner] = await programOfOwner();
    const application = await makeApplication(program, { name: "Ann" });
    const at = "/dashboard/partners/applications";
    const { body } = await owner.get(`${at}?status=pending`);
    expect(body).toContain(`formaction="${at}/${application}/approve"`);
    const done = await owner.post(`${at}/${application}/approve`, { back: "status=pending" });
    expect([done.status, done.headers.get("location")]).toEqual([303, `${at}?status=pending&done=approved`]);
    const after = await owner.get(done.headers.get("location")!);
    expect(textOf(after.body)).toContain("Application approved.");
    expect(after.body).not.toContain("formaction");
  });

  it("are not made by Enter in a field: the first button of the form sends no decision", async () => {
    const [program, owner] = await programOfOwner();
    const { id } = await makePartner(program);
    const [row] = await makeCommissions(program, id, [{ status: "pending" }]);
    const application = await makeApplication(program);
    for (const [address, action, ids] of [
      [COMMISSIONS, `${COMMISSIONS}/bulk`, row!.id],
      ["/dashboard/partners/applications", "/dashboard/partners/applications/chosen", application],
    ] as const) {
      const { body } = await owner.get(address);
      const form = body.slice(body.indexOf(`<form method="post" action="${action}"`));
      const [first = ""] = /<button[^>]*>/.exec(form) ?? [];
      expect([address, /formaction|name=/.test(first), first.includes('type="submit"')]).toEqual([
        address,
        false,
        true,
      ]);
      const sent = await owner.post(action, { ids, reason: "Wrong customer" });
      expect([sent.status, textOf(sent.body)]).toEqual([
        422,
        expect.stringContaining("Press the button of your decision."),
      ]);
    }
    expect((await commissionsOf(program))[0]!.status).toBe("pending");
  });

  it("are offered to nobody who may not make them", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    await makeCommissions(program, id, [{ status: "pending" }]);
    await makeApplication(program);
    const viewer = await memberOf(program, "viewer");
    for (const address of [COMMISSIONS, "/dashboard/partners/applications"]) {
      const { status, body } = await viewer.get(address);
      expect([status, body.includes("formaction")]).toEqual([200, false]);
    }
  });
});

describe("the health of an endpoint (PAGE-41)", () => {
  it("is a word, with since when it fails and the last success, in the list and on its page", async () => {
    const [program, owner] = await programOfOwner();
    const { id } = (
      await program.api<{ id: string }>("POST", "/api/v1/webhooks", { url: "https://a.example/", events: ["*"] })
    ).body;
    const health = async () => {
      const pages = [await owner.get("/dashboard/webhooks"), await owner.get(`/dashboard/webhooks/${id}`)];
      return pages.map(({ body }) => {
        const [cell = ""] = /<span class="badge \w+">(?:[^<]*)<\/span>.*?(?:<\/td>|<\/dd>)/.exec(body) ?? [];
        return textOf(cell.replace(/<form.*/, ""))
          .replaceAll(/\s+/g, " ")
          .trim();
      });
    };
    const set = (sql: string, ...values: string[]) =>
      env.DB.prepare(`update ${sql} = ?`)
        .bind(...values, id)
        .run();
    expect(await health()).toEqual(["no deliveries yet", "no deliveries yet"]);
    await makePartner(program);
    await set("deliveries set status = 'succeeded', completed_at = ? where endpoint_id", "2026-03-01T10:00:00.000Z");
    expect(await health()).toEqual(Array(2).fill("healthy last success 1 Mar 2026, 10:00"));
    await set("webhook_endpoints set failure_count = 3, failing_since = ? where id", "2026-03-02T11:00:00.000Z");
    expect(await health()).toEqual(Array(2).fill("failing since 2 Mar 2026, 11:00 last success 1 Mar 2026, 10:00"));
    await set("webhook_endpoints set active = 0 where id");
    expect(await health()).toEqual(["disabled", "disabled"]);
    await set("webhook_endpoints set disabled_at = ? where id", "2026-03-07T11:00:00.000Z");
    expect(await health()).toEqual(["disabled by us", "disabled by us"]);
  });
});

describe("the events in the log (PAGE-27)", () => {
  it("are sentences with the names of people and providers, with the type below", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, { first_name: "Tara", last_name: "Ivanov", slug: "tara" });
    await sendA(program, sessionCompleted({ ref: "tara", amount: 49_000 }));
    const [commission] = await commissionsOf(program);
    await program.api("PATCH", `/api/v1/commissions/${commission!.id}`, { status: "approved" });
    await program.api("POST", `/api/v1/partners/${partner.id}/codes`, { code: "TARA20", provider: "provider_a" });
    await program.api("POST", "/api/v1/flows", { name: "Large", action_type: "percentage", action_value: 5 });
    const { body } = await (await signInOwner(program)).get("/dashboard/events");
    const said = [...body.matchAll(/<summary>(.*?)<span class="visually-hidden">/g)].map(([, html = ""]) =>
      textOf(html).replaceAll(/\s+/g, " ").trim(),
    );
    for (const sentence of [
      /^Commission of 98\.00 USD for Tara Ivanov commission\.created$/,
      /^Commission of 98\.00 USD for Tara Ivanov: approved commission\.updated$/,
      /^Event checkout\.session\.completed from Stripe: commission webhook\.provider_a$/,
      /^Promotion code TARA20 given to Tara Ivanov code\.created$/,
      /^Flow Large added flow\.created$/,
      /^Partner Tara Ivanov added partner\.created$/,
    ]) {
      expect([sentence, said.some((one) => sentence.test(one))]).toEqual([sentence, true]);
    }
  });
});

describe("a partner with an invitation that is still valid (PAGE-40)", () => {
  it("has no next step: the page says when the invitation was sent, and can resend it", async () => {
    const [program, owner] = await programOfOwner();
    const { id } = await makePartner(program, {}, "invited");
    const at = `/dashboard/partners/${id}`;
    const before = (await owner.get(at)).body;
    expect(before).toMatch(/class="primary">Send invitation</);
    await owner.post(`${at}/invite`);
    const { body } = await owner.get(at);
    expect(textOf(body)).toMatch(/Invitation sent [\w ]+, \d\d:\d\d\s*Resend/);
    expect(body).not.toMatch(/class="[^"]*primary/);
    expect(body).toMatch(/<summary class="button">More<\/summary>.*Activate.*Deactivate/s);
    await env.DB.prepare("update sign_in_links set expires_at = ? where partner_id = ?")
      .bind(iso(Date.now()), id)
      .run();
    expect((await owner.get(at)).body).toMatch(/class="primary">Send invitation</);
  });
});

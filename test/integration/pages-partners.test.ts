import { beforeAll, describe, expect, it } from "vitest";
import { sendA } from "../support/ledger.ts";
import { openMailbox } from "../support/mailbox.ts";
import { visitorWithMail } from "../support/own-change.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { signInOwner, signInPartner, textOf, type Visitor, programOfOwner } from "../support/visitor.ts";

let program: TestProgram;
let owner: Visitor;

beforeAll(async () => {
  program = await makeProgram();
  owner = await signInOwner(program);
});

async function partnersOf(of: TestProgram) {
  const list = await of.api<{ data: Record<string, unknown>[]; total: number }>("GET", "/api/v1/partners?per_page=100");
  return list.body;
}

describe("adding a partner", () => {
  it("shows every mistake beside its field, keeps what was typed, and adds nothing", async () => {
    await owner.get("/dashboard/partners/new");
    const before = (await partnersOf(program)).total;
    const typed = {
      email: "nonsense",
      slug: "not a slug",
      first_name: "Zoë",
      commission_pct: "120",
      payout_email: "x",
    };
    const reply = await owner.post("/dashboard/partners/new", typed);
    expect(reply.status).toBe(422);
    for (const value of Object.values(typed)) expect(reply.body).toContain(`value="${value}"`);
    for (const field of ["email", "slug", "commission_pct", "payout_email"]) {
      expect(reply.body).toMatch(new RegExp(`id="f-${field}"[^>]*aria-invalid="true"[^>]*f-${field}-problem`));
    }
    expect(textOf(reply.body)).toContain("A slug is 1 to 64 letters, digits, - or _.");
    expect((await partnersOf(program)).total).toBe(before);
  });

  it("leads to the partner; the same again names the field that is taken", async () => {
    await owner.get("/dashboard/partners/new");
    const typed = { email: "ada@example.com", slug: "Ada", commission_pct: "12.5", payout_method: "wallet" };
    const reply = await owner.post("/dashboard/partners/new", typed);
    expect(reply.status).toBe(303);
    const page = await owner.get(reply.headers.get("location") ?? "");
    expect(textOf(page.body)).toContain("Partner added.");
    expect(page.body).toContain("https://shop.example/?ref=Ada");
    const twice = await owner.post("/dashboard/partners/new", { ...typed, slug: "ADA" });
    expect(twice.status).toBe(422);
    expect(textOf(twice.body)).toContain("This value is taken.");
  });

  it("takes an address alone and invites it, with a slug that is free (PAGE-22, JOIN-6)", async () => {
    const [shop, boss] = await programOfOwner();
    expect((await boss.get("/dashboard")).body).toContain('action="/dashboard/partners/new"');
    const invite = (email: string) => boss.post("/dashboard/partners/new", { email, invite: "yes" });
    const reply = await invite("Jane.Roe@partners.example");
    const page = await boss.get(reply.headers.get("location") ?? "");
    expect(textOf(page.body)).toContain("We sent an invitation");
    expect((await partnersOf(shop)).data).toMatchObject([{ slug: "jane-roe", status: "invited" }]);
    expect((await invite("jane.roe@other.example")).status).toBe(303);
    expect((await partnersOf(shop)).data).toMatchObject([{ slug: "jane-roe-2" }, { slug: "jane-roe" }]);
    const same = await invite("jane.roe@partners.example");
    expect([same.status, textOf(same.body).includes("already has this email")]).toEqual([422, true]);
    expect(same.body).toContain('value="jane.roe@partners.example"');
    expect((await invite("nonsense")).status).toBe(422);
    expect((await partnersOf(shop)).total).toBe(2);
  });

  it("makes no slug that others carry already; what is typed is the owner's choice (JOIN-6)", async () => {
    const [shop, boss] = await programOfOwner();
    await boss.get("/dashboard");
    await sendA(shop, sessionCompleted({ ref: "newsletter" }));
    const slugOf = async (typed: Record<string, string>) => {
      await boss.post("/dashboard/partners/new", typed);
      return (await partnersOf(shop)).data[0]?.["slug"];
    };
    for (const name of ["1042", "null", "newsletter"]) {
      expect(await slugOf({ email: `${name}@p.example`, invite: "yes" })).toMatch(new RegExp(`^${name}-[\\w-]{8}$`));
    }
    expect(await slugOf({ email: "own@p.example", slug: "1042" })).toBe("1042");
  });

  it("shows the metadata, without the mark of sample data", async () => {
    const read = async (metadata: Record<string, unknown>) => {
      const { id } = await makePartner(program, { metadata });
      return textOf((await owner.get(`/dashboard/partners/${id}`)).body);
    };
    expect(await read({ sample_until: "2026-11-30" })).not.toContain("Metadata");
    expect(await read({ tier: "gold", sample_until: "2026-11-30" })).toContain('Metadata {"tier":"gold"}');
    expect(await read({})).toContain("Metadata {}");
  });

  it("changes only what is edited, and clears what is emptied", async () => {
    const partner = await makePartner(program, { first_name: "Old", commission_pct: 5, metadata: { kept: true } });
    const path = `/dashboard/partners/${partner.id}`;
    await owner.get(`${path}/edit`);
    const fields = { email: partner.email, slug: partner.slug, first_name: "New", commission_pct: "" };
    expect((await owner.post(`${path}/edit`, fields)).headers.get("location")).toBe(`${path}?done=saved`);
    const { body } = await program.api("GET", `/api/v1/partners/${partner.id}`);
    expect(body).toMatchObject({ first_name: "New", commission_pct: null, metadata: { kept: true }, status: "active" });
  });

  it("deactivates only after a page that says what it means, and can be undone", async () => {
    const partner = await makePartner(program);
    const path = `/dashboard/partners/${partner.id}`;
    const status = async () => (await program.api("GET", `/api/v1/partners/${partner.id}`)).body;
    const asked = await owner.get(`${path}/deactivate`);
    expect(textOf(asked.body)).toContain("signed out and cannot sign in");
    expect(await status()).toMatchObject({ status: "active" });
    const reply = await owner.post(`${path}/deactivate`);
    expect(await status()).toMatchObject({ status: "deactivated" });
    const done = await owner.get(reply.headers.get("location") ?? "");
    expect(done.body).toContain(`action="${path}/activate"`);
    await owner.post(`${path}/activate`);
    expect(await status()).toMatchObject({ status: "active" });
  });

  it("undoes the deactivation of an invited partner to invited: payments go on waiting (PART-3)", async () => {
    const { id, slug } = await makePartner(program, {}, "invited");
    const path = `/dashboard/partners/${id}`;
    await sendA(program, sessionCompleted({ ref: slug }));
    await owner.get(`${path}/deactivate`);
    const reply = await owner.post(`${path}/deactivate`);
    const done = await owner.get(reply.headers.get("location") ?? "");
    expect(textOf(done.body)).toContain("Undo: back to invited");
    const undo = new RegExp(`action="(${path}/activate)"[^]*?name="status" value="(\\w+)"`).exec(done.body);
    const after = await owner.post(undo?.[1] ?? "", { status: undo?.[2] ?? "" });
    expect(textOf((await owner.get(after.headers.get("location") ?? "")).body)).toContain("is invited again");
    const { body } = await program.api("GET", `/api/v1/partners/${id}`);
    expect(body).toMatchObject({ status: "invited", stats: { total_commissions: 0 } });
    const { body: waiting } = await program.api("GET", `/api/v1/payments?partner_id=${id}`);
    expect(waiting).toMatchObject({ data: [{ outcome: "partner_not_active" }] });
    // A bulk action on a deactivated partner does not change other partners.
    await owner.post(`${path}/activate`);
    await owner.post(`${path}/activate`, { status: "invited" });
    expect((await program.api("GET", `/api/v1/partners/${id}`)).body).toMatchObject({ status: "active" });
  });
});

describe("the list of partners (PAGE-7)", () => {
  it("is searched and paged with the filter kept", async () => {
    const [big, visitor] = await programOfOwner();
    for (let i = 0; i < 23; i++) await makePartner(big, { last_name: "Many" }, "invited");
    await makePartner(big, { first_name: "Only", last_name: "One" });
    const first = await visitor.get("/dashboard/partners?search=many");
    expect(textOf(first.body)).toContain("1–20 of 23");
    expect(first.body).toContain('href="/dashboard/partners?search=many&amp;page=2"');
    expect(textOf((await visitor.get("/dashboard/partners?search=many&page=2")).body)).toContain("21–23 of 23");
    expect(textOf((await visitor.get("/dashboard/partners?search=ONLY+o")).body)).toContain("1–1 of 1");
    expect(textOf((await visitor.get("/dashboard/partners?status=active")).body)).toContain("1–1 of 1");
    expect(textOf((await visitor.get("/dashboard/partners?search=nobody")).body)).toContain("No partner matches");
  });

  it("has no dead ends: what an address says and nobody understands is left out", async () => {
    for (const query of [
      "page=0",
      "page=x",
      "status=nonsense",
      "per_page=1000",
      "cursor=x",
      "search=%00",
      "page=99999",
    ]) {
      const { status } = await owner.get(`/dashboard/partners?${query}`);
      expect([query, status]).toEqual([query, 200]);
    }
  });

  it("says what to do next where there is nobody yet", async () => {
    const visitor = await signInOwner(await makeProgram());
    const { body } = await visitor.get("/dashboard/partners");
    expect(textOf(body)).toContain("No partners yet");
    expect(body).toContain('href="/dashboard/partners/import"');
  });
});

describe("the import of partners (PAGE-7)", () => {
  const CSV = [
    "email,slug,first_name,commission_pct",
    "one@import.example,one,One,",
    "two@import.example,two,Two,25",
    "broken,three,Three,",
    "four@import.example,four,Four,300",
    "ONE@import.example,five,Double,",
    "six@import.example,Same,Six,",
    "seven@import.example,same,Seven,",
  ].join("\r\n");

  async function freshProgram() {
    const [imported, visitor] = await programOfOwner();
    await visitor.get("/dashboard/partners/import");
    return { imported, visitor };
  }

  it("shows what each line will do and does nothing yet", async () => {
    const { imported, visitor } = await freshProgram();
    const { body, status } = await visitor.post("/dashboard/partners/import", { csv: CSV });
    expect(status).toBe(200);
    const shown = textOf(body);
    expect(shown).toContain("3 new partners, 1 updated, 0 lines unchanged, 3 lines with errors.");
    expect(shown).toContain("4 error email: This must be an e-mail address.");
    expect(shown).toMatch(
      /5 will be added commission_pct: .*at most 100. Left out. A new partner earns the program's rate/,
    );
    expect(shown).toContain("Cells that cannot be read are left out: commission_pct (1).");
    expect(shown).toContain("1 commission rate cannot be read: a new partner without a rate of their own earns");
    expect(shown).toContain("6 completes a partner ONE@import.example five");
    expect(shown).toContain("7 error slug: Same is on line 8 for another partner.");
    expect(shown).toContain("8 error slug: same is on line 7 for another partner.");
    expect(shown).toContain("4 of 4 columns matched");
    expect((await partnersOf(imported)).total).toBe(0);
  });

  it("adds the good lines once; a rerun changes nothing", async () => {
    const { imported, visitor } = await freshProgram();
    await visitor.post("/dashboard/partners/import", { csv: CSV });
    const done = await visitor.post("/dashboard/partners/import", { csv: CSV, confirmed: "yes" });
    expect(textOf(done.body)).toContain("3 partners added, 0 completed.");
    expect(textOf(done.body)).toContain("Cells that cannot be read were left out: commission_pct (1).");
    const { data } = await partnersOf(imported);
    expect(data).toHaveLength(3);
    const two = data.find(({ slug }) => slug === "two");
    expect(two).toMatchObject({
      email: "two@import.example",
      first_name: "Two",
      commission_pct: 25,
      status: "invited",
    });
    const types = await imported.api<{ total: number }>("GET", "/api/v1/events?type=partner.created");
    expect(types.body.total).toBe(3);
    await imported.api("PATCH", `/api/v1/partners/${String(two?.["id"])}`, { first_name: "Renamed" });

    const again = await visitor.post("/dashboard/partners/import", { csv: CSV });
    expect(textOf(again.body)).toContain("0 new partners, 0 updated, 4 lines unchanged");
    await visitor.post("/dashboard/partners/import", { csv: CSV, confirmed: "yes" });
    const after = await partnersOf(imported);
    expect(after.total).toBe(3);
    expect(after.data.find(({ slug }) => slug === "two")).toMatchObject({ first_name: "Renamed", commission_pct: 25 });
  });

  it("takes a file, of five thousand lines at most, in one page of bounded size", async () => {
    const { imported, visitor } = await freshProgram();
    const csv = (count: number) =>
      ["email;slug", ...Array.from({ length: count }, (_, i) => `p${i}@many.example;p${i}`)].join("\n");
    const tooMany = await visitor.post("/dashboard/partners/import", { file: new File([csv(5001)], "p.csv") });
    expect([tooMany.status, textOf(tooMany.body).includes("the limit is 5000 at a time")]).toEqual([422, true]);
    const preview = await visitor.post("/dashboard/partners/import", { file: new File([csv(1000)], "p.csv") });
    expect(textOf(preview.body)).toContain("1,000 new partners");
    expect(preview.body.length).toBeLessThan(150_000);
    const done = await visitor.post("/dashboard/partners/import", { csv: csv(1000), confirmed: "yes" });
    expect(textOf(done.body)).toContain("1,000 partners added, 0 completed.");
    expect((await partnersOf(imported)).total).toBe(1000);
  });

  it("refuses a file as a whole, and shows why", async () => {
    const { visitor } = await freshProgram();
    const reply = await visitor.post("/dashboard/partners/import", { csv: "email,slug,E-mail\na@b.co,x,1" });
    expect(reply.status).toBe(422);
    expect(textOf(reply.body)).toContain("The column email occurs twice.");
  });

  it("refuses what is too large without reading on", async () => {
    const { visitor } = await freshProgram();
    const reply = await visitor.post("/dashboard/partners/import", { csv: "x".repeat(1_100 * 1024) });
    expect(reply.status).toBe(413);
    const elsewhere = await visitor.post("/dashboard/partners/new", { email: "x".repeat(600 * 1024) });
    expect(elsewhere.status).toBe(413);
  });

  it("lets the owner say what a column holds, and shows the script tag that keeps old links working", async () => {
    const { imported, visitor } = await freshProgram();
    const csv = "promoter,handle,clicks\nann@import.example,ann,7\n";
    const sent = { csv, product: "firstpromoter", kind: "partners" };
    const first = await visitor.post("/dashboard/partners/import", sent);
    expect([first.status, textOf(first.body).includes("No column has the partner's e-mail address")]).toEqual([
      422,
      true,
    ]);
    const chosen = { ...sent, column_0: "email", column_1: "code", column_2: "" };
    const second = await visitor.post("/dashboard/partners/import", chosen);
    expect(textOf(second.body)).toContain("1 new partner,");
    expect(second.body).toContain('<option value="code" selected');
    const done = await visitor.post("/dashboard/partners/import", { ...chosen, confirmed: "yes" });
    expect(textOf(done.body)).toContain(`data-program="${imported.id}" data-param="fpr|ref"`);
    expect((await partnersOf(imported)).data[0]).toMatchObject({ email: "ann@import.example", slug: "ann" });
    const integration = async (query: string) => textOf((await visitor.get(`/dashboard/integration${query}`)).body);
    expect(await integration("?links=post_affiliate_pro")).toContain('data-param="a_aid|ref"');
    for (const query of ["", "?links=rewardful", "?links=constructor"]) {
      expect(await integration(query)).not.toContain('data-param="');
    }
  });

  it("binds customers, and shows markup in a cell as text", async () => {
    const { imported, visitor } = await freshProgram();
    await makePartner(imported, { slug: "ann" });
    const csv = "customer_id,partner_code\ncus_1,ann\n<b>x</b>,ann\n";
    const preview = await visitor.post("/dashboard/partners/import", { csv, kind: "customers" });
    expect(textOf(preview.body)).toContain("1 customer to assign to partners");
    expect(preview.body).not.toContain("<b>x</b>");
    const done = await visitor.post("/dashboard/partners/import", { csv, kind: "customers", confirmed: "yes" });
    expect(textOf(done.body)).toContain("1 customer assigned.");
    const events = await imported.api<{ total: number }>("GET", "/api/v1/events?type=customers.imported");
    expect(events.body.total).toBe(1);
  });

  it("says of lines what was done once it is, and which links end with their product", async () => {
    const { imported, visitor } = await freshProgram();
    const csv = "email,partner_key,paypal,wise email\nann@i.example,ann,a@pay.example,b@pay.example\n";
    const at = "/dashboard/partners/import";
    const preview = await visitor.post(at, { csv, product: "partnerstack" });
    expect(textOf(preview.body)).toContain("2 will be added Payouts go to the address in paypal");
    const done = textOf((await visitor.post(at, { csv, product: "partnerstack", confirmed: "yes" })).body);
    expect(done).toContain("2 added Payouts go to the address in paypal");
    expect(done).not.toContain("will be added");
    expect(done).toContain("Links of PartnerStack end with it");
    expect(done).not.toContain("Old links keep working");
    expect((await partnersOf(imported)).total).toBe(1);
    expect((await visitor.get(at)).body).toContain("<h2>Old links that keep working</h2>");
  });

  it("reads a file as spreadsheets save it, and shows one that is none", async () => {
    const { imported, visitor } = await freshProgram();
    const latin = Uint8Array.from("email;code;first_name\r\nzoe@import.example;zoe;Zoë\r\n", (char) =>
      char.charCodeAt(0),
    );
    await visitor.post("/dashboard/partners/import", { file: new File([latin], "p.csv"), confirmed: "yes" });
    expect((await partnersOf(imported)).data[0]).toMatchObject({ first_name: "Zoë" });
    const sheet = await visitor.post("/dashboard/partners/import", { file: new File(["PK\u0003\u0004"], "p.xlsx") });
    expect([sheet.status, textOf(sheet.body).includes("This is not a CSV file.")]).toEqual([422, true]);
  });
});

describe("the partner's payout details", () => {
  it("are checked beside the field", async () => {
    const partner = await makePartner(program);
    const visitor = await signInPartner(partner.email, visitorWithMail(openMailbox()));
    await visitor.get("/portal/details");
    for (const payout_email of ["", "nonsense"]) {
      const reply = await visitor.post("/portal/details", { payout_method: "wallet", payout_email });
      expect(reply.status).toBe(422);
      expect(reply.body).toMatch(/id="f-payout_email"[^>]*aria-invalid="true"/);
    }
    expect((await visitor.post("/portal/details", { payout_method: "gold" })).status).toBe(422);
    const reply = await visitor.post("/portal/details", { payout_method: "crypto" });
    expect([reply.status, reply.body]).toEqual([422, expect.stringMatching(/id="f-network"[^>]*aria-invalid="true"/)]);
    expect((await visitor.post("/portal/details", { payout_method: "" })).status).toBe(303);
  });

  it("offer an account at provider A only where the program has its key, and show what goes wrong", async () => {
    const partner = await makePartner(program);
    const visitor = await signInPartner(partner.email, visitorWithMail(openMailbox()));
    const { body } = await visitor.get("/portal/details");
    expect(body).not.toContain("/portal/details/provider-a-account");
    const reply = await visitor.post("/portal/details/provider-a-account");
    expect(reply.status).toBe(422);
    const wrong = await visitor.post("/portal/details/provider-a-account", { country: "Germany" });
    expect(wrong.status).toBe(422);
  });
});

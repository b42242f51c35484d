/** Partners from another product's CSV export (IMP-1 to IMP-3). */
import { describe, expect, it } from "vitest";
import { countsOf, eventsOf, PARTNER_FILES, partnersOf, sendImport } from "../support/imports.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import type { Partner } from "../../src/core/kernel/rows.ts";
import type { PartnerInput } from "../../src/core/partners/partners.ts";
import type { ImportField } from "../../src/http/import/columns.ts";
import { percent } from "../../src/domain/money.ts";
import { PARTNER_TEXTS, type PartnerText } from "../../src/resources/partner.ts";

/** The holder of a link's code. The link leads to the program's domain even if the code is free. */
async function holderOf(program: TestProgram, code: string): Promise<string | null> {
  const ctx = programContext(program);
  const rows = await ctx.db.$client
    .prepare(
      "select p.email from partner_slugs s join partners p on p.id = s.partner_id where s.program_id = ? and s.slug_key = ?",
    )
    .bind(program.id, code.toLowerCase())
    .all<{ email: string }>();
  return rows.results[0]?.email ?? null;
}

const EACH_TEXT = Object.fromEntries(PARTNER_TEXTS.map((column) => [column, `Each ${column}`])) as Record<
  PartnerText,
  string
>;

/** A cell for each field of a file, and its stored value. A new field, or a new column that lines can set, needs both. */
const EACH_CELL: Record<ImportField<"partners">, string> = {
  email: "each@old.example",
  // Only used if a file has no first and no last name.
  name: "",
  ...EACH_TEXT,
  code: "each",
  // `imports-codes.test.ts` tests these.
  promotion_codes: "",
  // The default group.
  group: "",
  status: "active",
  commission_pct: "33.125",
  payout_method: "wallet",
  payout_email: "each@pay.example",
  // `payout-details.test.ts` tests these.
  ...{ account_holder: "", country: "", currency: "", iban: "", bic: "", account_number: "", routing_number: "" },
};
const EACH_COLUMN: Required<Omit<PartnerInput, "metadata" | "group_id">> & Pick<Partner, "status"> = {
  email: "each@old.example",
  slug: "each",
  ...EACH_TEXT,
  commission_pct: percent(33.125),
  payout_method: "wallet",
  payout_email: "each@pay.example",
  status: "active",
};

describe("a file of partners (IMP-1)", () => {
  it.each(Object.entries(PARTNER_FILES))("of %s brings them with the codes of their links", async (product, file) => {
    const program = await makeProgram();
    const query = { kind: "partners", product };
    const preview = await sendImport(program, { ...query, dry_run: "true" }, file);
    expect([preview.status, countsOf(preview.body)]).toEqual([200, [3, 0, 0, 0, 0]]);
    expect(await partnersOf(program)).toEqual([]);

    const { status, body } = await sendImport(program, query, file);
    expect([status, countsOf(body), body.problems]).toEqual([200, [3, 0, 0, 0, 0], []]);
    const before = await partnersOf(program);
    expect(before.map(({ email, slug, first_name }) => [email, slug, first_name])).toEqual([
      ["adam@old.example", "adam", "Adam"],
      ["max@old.example", "MAX_1", "Max"],
      ["zoe@old.example", "zoe-m", "Zoë"],
    ]);
    expect(before[2]?.last_name).toBe("Miller, Jr.");
    expect(await eventsOf(program, "partner.created")).toBe(3);

    const again = await sendImport(program, query, file);
    expect([again.status, countsOf(again.body)]).toEqual([200, [0, 0, 3, 0, 0]]);
    expect(await partnersOf(program)).toEqual(before);
    expect([await eventsOf(program, "partner.created"), await eventsOf(program, "partner.updated")]).toEqual([3, 0]);
  });

  it("reads the states in the product's words, and both codes of Post Affiliate Pro", async () => {
    for (const product of ["firstpromoter", "post_affiliate_pro", "dub"]) {
      const program = await makeProgram();
      await sendImport(program, { kind: "partners", product }, PARTNER_FILES[product] ?? "");
      const statuses = (await partnersOf(program)).map(({ status }) => status);
      expect([product, statuses]).toEqual([product, ["active", "deactivated", "invited"]]);
      if (product !== "post_affiliate_pro") continue;
      expect(await holderOf(program, "5a5a7670")).toBe("zoe@old.example");
      expect(await holderOf(program, "zoe-m")).toBe("zoe@old.example");
    }
  });

  it("without a state makes them invited, or active where that is asked", async () => {
    const file = PARTNER_FILES["rewardful"] ?? "";
    for (const status of ["invited", "active"]) {
      const program = await makeProgram();
      await sendImport(program, { kind: "partners", product: "rewardful", status }, file);
      expect((await partnersOf(program)).map((partner) => partner.status)).toEqual([status, status, status]);
    }
  });

  it("takes an address for payouts as the wallet's", async () => {
    const program = await makeProgram();
    await sendImport(program, { kind: "partners", product: "rewardful" }, PARTNER_FILES["rewardful"] ?? "");
    expect((await partnersOf(program)).map(({ payout_method, payout_email }) => [payout_method, payout_email])).toEqual(
      [
        ["wallet", "adam@pay.example"],
        [null, null],
        ["wallet", "zoe@wise.example"],
      ],
    );
  });

  it("makes several lines of one address one partner with all the codes", async () => {
    const program = await makeProgram();
    const file =
      "email,code\nann@old.example,ann\nbob@old.example,bob\nANN@old.example,ann-yt;ann-blog\nann@old.example,ANN\n";
    const { body } = await sendImport(program, { kind: "partners" }, file);
    expect(countsOf(body)).toEqual([2, 1, 1, 0, 0]);
    expect((await partnersOf(program)).map(({ slug }) => slug)).toEqual(["ann", "bob"]);
    for (const code of ["ann", "ANN-YT", "ann-blog"]) expect(await holderOf(program, code)).toBe("ann@old.example");
  });

  it("brings each field to a new partner, and what one lacks to one who is there (IMP-1, IMP-3)", async () => {
    const program = await makeProgram();
    await makePartner(program, { email: "known@old.example", slug: "known" }, "invited");
    for (const own of [{}, { email: "known@old.example", code: "known" }]) {
      const cells = { ...EACH_CELL, ...own };
      const file = [Object.keys(cells).join(","), Object.values(cells).join(",")].join("\n");
      expect((await sendImport(program, { kind: "partners" }, file)).body.problems).toEqual([]);
    }
    const { results } = await programContext(program)
      .db.$client.prepare("select * from partners where program_id = ? order by email")
      .bind(program.id)
      .all();
    const [added, known] = results;
    expect(added).toMatchObject(EACH_COLUMN);
    // An existing partner keeps these.
    const kept = { email: "known@old.example", slug: "known", commission_pct: null, status: "invited" };
    expect(known).toMatchObject({ ...EACH_COLUMN, ...kept });
  });

  it("keeps who is there and fills in only what is missing (IMP-3)", async () => {
    const program = await makeProgram();
    const ann = await makePartner(program, {
      email: "Ann@old.example",
      slug: "anna",
      first_name: "Anna",
      commission_pct: 5,
    });
    const gone = await makePartner(
      program,
      { email: "gone@old.example", slug: "gone", last_name: "Goner" },
      "deactivated",
    );
    const file = [
      "email,code,first_name,last_name,commission_pct,paypal_email,status",
      "ann@OLD.example,ann,Ann,Lee,50,ann@pay.example,denied",
      "gone@old.example,gone,,,,,approved",
    ].join("\n");
    const { body } = await sendImport(program, { kind: "partners" }, file);
    expect(countsOf(body)).toEqual([0, 1, 1, 0, 0]);
    const [after, stillGone] = await partnersOf(program);
    expect(after).toMatchObject({
      ...{ id: ann.id, slug: "anna", status: "active", first_name: "Anna", last_name: "Lee", commission_pct: 5 },
      ...{ payout_method: "wallet", payout_email: "ann@pay.example" },
    });
    expect(stillGone).toMatchObject({ id: gone.id, status: "deactivated", first_name: null, last_name: "Goner" });
    expect(await holderOf(program, "ann")).toBe("Ann@old.example");
    const found = await program.api<{ total: number }>("GET", "/api/v1/partners?search=lee");
    expect(found.body.total).toBe(1);
    expect(await eventsOf(program, "partner.created")).toBe(2);
    const updates = await program.api<{ data: { payload: object }[]; total: number }>(
      "GET",
      "/api/v1/events?type=partner.updated",
    );
    expect(updates.body.data[0]?.payload).toMatchObject({ partner_id: ann.id, slug: "anna" });
  });

  it("reports each bad line with its column and reason, and takes the good ones (IMP-2)", async () => {
    const program = await makeProgram();
    await makePartner(program, { email: "taken@old.example", slug: "taken" });
    const file = [
      "Email,Link,First name,Commission rate,State,PayPal",
      'good@old.example,https://shop.example/?via=good,Good,"12,5 %",Approved,',
      "nonsense,x1,,,,",
      "two@old.example,two.dots,,,,",
      "three@old.example,TAKEN,,,,",
      "four@old.example,both,,,,",
      "five@old.example,per cent,,,,",
      "seven@old.example,https://shop.example/?other=seven,,,,",
      "eight@old.example,,,,,",
      "ten@old.example,Both,,,,",
      'eleven@old.example,eleven,"El "even"",,,',
      "twelve@old.example,twelve,Lee, Jr.,5,active,pay@old.example",
    ].join("\r\n");
    const { status, body } = await sendImport(program, { kind: "partners" }, file);
    expect([status, countsOf(body)]).toEqual([200, [1, 0, 0, 0, 10]]);
    expect(
      body.problems.map(({ line, column, outcome, message }) => `${line} ${column} ${outcome} ${message}`),
    ).toEqual([
      "3 Email refused This must be an e-mail address.",
      "4 Link refused “two.dots” cannot be a slug, which is 1 to 64 letters, digits, - or _.",
      "5 Link refused Another partner has or had TAKEN.",
      "6 Link refused both is on line 10 for another partner.",
      "7 Link refused “per cent” cannot be a slug, which is 1 to 64 letters, digits, - or _.",
      "8 Link refused “https://shop.example/?other=seven” is a link without ?ref=, ?via=.",
      "9 Link refused A new partner needs the code in its links.",
      "10 Link refused Both is on line 6 for another partner.",
      "11 null refused A quote inside a quoted cell is not doubled.",
      "12 null refused This line has more cells than there are columns.",
    ]);
    expect((await partnersOf(program)).map(({ email, commission_pct }) => [email, commission_pct])).toEqual([
      ["good@old.example", 12.5],
      ["taken@old.example", null],
    ]);
  });

  it("leaves out each optional cell that cannot be read, says so, and takes the line (IMP-7)", async () => {
    const program = await makeProgram();
    const long = "x".repeat(201);
    const file = [
      "email,code,First name,Commission rate,State,Payout method,PayPal email,Wise email,Coupon",
      "ann@x.example,ann,Ann,$30,suspicious,Store credit,ann@pay.example,,ANN20",
      `bob@x.example,bob,${long},150,approved,Bank transfer,not an address,bob@wise.example,BOB; ${long}`,
      "cid@x.example,cid,Cid,12.34567,,none,n/a,-,N/A",
    ].join("\n");
    const query = { kind: "partners", status: "active", provider: "provider_a" };
    for (const dry_run of ["true", "false"]) {
      const { body } = await sendImport(program, { ...query, dry_run }, file);
      expect([countsOf(body), body.problems]).toEqual([[3, 0, 0, 0, 0], []]);
      expect(body.notes.map(({ line, column, message }) => `${line} ${column}: ${message}`)).toEqual([
        "2 Payout method: “Store credit” is not a known payout method. Use one of wallet, provider_a, bank_transfer, crypto, or a common word for it. Left out. The address is used for wallet payouts.",
        "2 Commission rate: “$30” is not a percentage. Left out. A new partner earns the program's rate, not one of their own.",
        "2 State: “suspicious” is not a known state: write active, invited or deactivated. Left out. A new partner is invited.",
        expect.stringMatching(/^3 PayPal email: .*e-mail address. Left out.$/),
        "3 Wise email: Payouts go to the address in Wise email.",
        expect.stringMatching(/^3 First name: .* Left out.$/),
        expect.stringMatching(/^3 Commission rate: .*at most 100. Left out. A new partner earns the program's rate/),
        expect.stringMatching(/^3 Coupon: .* Left out.$/),
        expect.stringMatching(/^4 Commission rate: .*four decimals. Left out. /),
      ]);
      expect(body.columns.map(({ column, unread }) => [column, unread])).toEqual([
        ...[
          ["email", 0],
          ["code", 0],
          ["First name", 1],
          ["Commission rate", 3],
          ["State", 1],
        ],
        ...[
          ["Payout method", 1],
          ["PayPal email", 1],
          ["Wise email", 0],
          ["Coupon", 1],
        ],
      ]);
    }
    expect(
      (await partnersOf(program)).map((one) => [one.status, one.commission_pct, one.payout_method, one.payout_email]),
    ).toEqual([
      // An unreadable state may be any state, so the partner is not made active.
      ["invited", null, "wallet", "ann@pay.example"],
      ["active", null, "bank_transfer", "bob@wise.example"],
      ["active", null, null, null],
    ]);
  });

  it("is read without invisible characters, and from the column that has the code (IMP-7, IMP-8)", async () => {
    const program = await makeProgram();
    const file = [
      "\u200bEmail,Default Ref ID,Link,First name",
      "\u200bann@x.example\u00a0,,\u2060https://shop.example/?fpr=a\u00adnn,മോഹന്\u200d\u200e",
      "bob@x.example,bo\ufeffb,https://elsewhere.example,\u200b",
      "cid@x.example,,https://elsewhere.example,",
    ].join("\n");
    const { body } = await sendImport(program, { kind: "partners", product: "firstpromoter" }, file);
    expect((await partnersOf(program)).map(({ email, slug, first_name }) => [email, slug, first_name])).toEqual([
      ["ann@x.example", "ann", "മോഹന്\u200d"],
      ["bob@x.example", "bob", null],
    ]);
    expect(body.problems).toMatchObject([{ line: 4, message: "A new partner needs the code in its links." }]);
    expect(body.notes).toMatchObject([{ line: 4, column: "Link" }]);
  });

  it("is read as its owner says", async () => {
    const program = await makeProgram();
    const file = "email,Tracking ID,Team,code\nann@old.example,https://shop.example/?aff=ann,red,ignored\n";
    const columns = JSON.stringify({ "tracking id": "code", CODE: null });
    const { body } = await sendImport(program, { kind: "partners", param: "aff", columns }, file);
    expect(body.columns).toEqual([
      { column: "email", taken_as: "email", unread: 0 },
      { column: "Tracking ID", taken_as: "code", unread: 0 },
      { column: "Team", taken_as: null, unread: 0 },
      { column: "code", taken_as: null, unread: 0 },
    ]);
    expect(body.data_param).toBe("aff|ref");
    expect((await partnersOf(program))[0]?.slug).toBe("ann");
  });

  it("keeps markup and formulas as the texts they are", async () => {
    const program = await makeProgram();
    const name = '<script>alert("x")</script>';
    const file = `email,code,first_name,last_name\nann@old.example,ann,"${name.replaceAll('"', '""')}",=1+1\n`;
    await sendImport(program, { kind: "partners" }, file);
    expect((await partnersOf(program))[0]).toMatchObject({ first_name: name, last_name: "=1+1" });
  });

  it("belongs to the program of the key alone", async () => {
    const [own, other] = await Promise.all([makeProgram(), makeProgram()]);
    await makePartner(other, { email: "ann@old.example", slug: "ann" });
    const { body } = await sendImport(own, { kind: "partners" }, "email,code\nann@old.example,ann\n");
    expect(countsOf(body)).toEqual([1, 0, 0, 0, 0]);
    expect(await partnersOf(other)).toHaveLength(1);
    expect(await eventsOf(other, "partner.created")).toBe(1);
    const nobody = await sendImport({ api_key: "sk_nobody" }, { kind: "partners" }, "email,code\nx@old.example,x\n");
    expect([nobody.status, nobody.body.error?.code]).toEqual([401, "unauthorized"]);
  });

  it("of two at once makes every partner once (IMP-2)", async () => {
    const program = await makeProgram();
    const lines = (from: number, to: number, suffix = "") =>
      Array.from({ length: to - from }, (_, i) => `p${from + i}@race.example,p${from + i}${suffix}`);
    const file = (...all: string[][]) => ["email,code", ...all.flat()].join("\n");
    const replies = await Promise.all([
      sendImport(program, { kind: "partners" }, file(lines(0, 60))),
      sendImport(program, { kind: "partners" }, file(lines(30, 90), lines(0, 10, "-b"))),
      sendImport(program, { kind: "partners" }, file(lines(0, 90, "-c"))),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { total } = (await program.api<{ total: number }>("GET", "/api/v1/partners")).body;
    expect([total, await eventsOf(program, "partner.created")]).toEqual([90, 90]);
    expect(await holderOf(program, "p5-b")).toBe("p5@race.example");
    expect(await holderOf(program, "p89-c")).toBe("p89@race.example");
  });
});

it("give a new partner the group of this slug, else the default one; a line with an unknown slug is refused (IMP-9)", async () => {
  const program = await makeProgram();
  const create = (body: unknown) => program.api<{ id: string }>("POST", "/api/v1/groups", body);
  const { id: vip } = (await create({ name: "Best", slug: "VIP" })).body;
  await create({ name: "Club", slug: "club" });
  const known = await makePartner(program, { email: "known@old.example", slug: "known" });
  const lines = [
    "email,code,Partner group",
    "a@old.example,aa,vip",
    "b@old.example,bb,",
    "c@old.example,cc,nowhere",
    "known@old.example,known,vip",
    "d@old.example,dd,VIP",
    "d@old.example,dd2,club",
    "e@old.example,ee,",
    "e@old.example,ee2,VIP",
  ];
  const { body } = await sendImport(program, { kind: "partners" }, lines.join("\n"));
  expect(body.problems).toMatchObject([
    { line: 4, column: "Partner group", outcome: "refused", message: "No group has the slug nowhere." },
    { line: 6, column: "Partner group", message: "Lines 6 and 7 differ in this for the same partner." },
    { line: 7, column: "Partner group", outcome: "refused" },
  ]);
  const { body: list } = await program.api<{ data: { email: string; group_id: string }[] }>("GET", "/api/v1/partners");
  const usual = `grp_${program.id.slice(5)}`;
  expect(new Map(list.data.map(({ email, group_id }) => [email, group_id]))).toEqual(
    new Map([
      ["a@old.example", vip],
      ["b@old.example", usual],
      ["e@old.example", vip],
      [known.email, usual],
    ]),
  );
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeCsv } from "../../src/domain/csv-encoding.ts";
import { isReferred, readCodes, readPercentage, readStatus, splitName } from "../../src/domain/import-cell.ts";
import { importFields, IMPORT_KINDS, matchColumns, type ImportKind } from "../../src/domain/import-columns.ts";
import { dataParam, importProduct, IMPORT_PRODUCT_IDS, type ImportProductId } from "../../src/domain/import-product.ts";
import { SLUG_PATTERN } from "../../src/domain/partner.ts";
import { providerOfCustomer, type ListedVendor } from "../../src/providers/registry.ts";

function matched(kind: ImportKind, product: ImportProductId, ...columns: string[]) {
  return matchColumns(kind, importProduct(product).columns, columns);
}

function fieldsOf(kind: ImportKind, product: ImportProductId, ...columns: string[]) {
  const { columns: all, problem } = matched(kind, product, ...columns);
  expect(problem).toBeNull();
  return Object.fromEntries(all.filter(({ field }) => field !== null).map(({ column, field }) => [column, field]));
}

/** What other products call its customer ids: one that the list has more does not compile without its own. */
const CUSTOMER_COLUMN: Record<ListedVendor, string> = {
  provider_a: "Stripe Customer ID",
  provider_b: "Paddle Customer ID",
};

describe("the columns of a file", () => {
  it.each(Object.entries(CUSTOMER_COLUMN))("are known by the customer ids of %s", (_, column) => {
    const { columns } = matchColumns("customers", {}, [column, "partner code"]);
    expect(columns).toContainEqual({ column, field: "customer_id" });
  });

  it.each<[ImportProductId, Record<string, string | null>]>([
    // help.rewardful.com, "How do I import data into Rewardful?"
    [
      "rewardful",
      {
        first_name: "first_name",
        last_name: "last_name",
        email: "email",
        paypal_email: "payout_email",
        wise_email: "payout_email",
        token: "code",
      },
    ],
    // docs.firstpromoter.com, promoters API
    [
      "firstpromoter",
      { email: "email", first_name: "first_name", ref_id: "code", status: "status", cust_id: null, promo_code: null },
    ],
    // The export of Dub, with the key of the link that has to be added to it
    [
      "dub",
      {
        ID: null,
        Name: "name",
        Email: "email",
        Country: null,
        Status: "status",
        "Enrolled at": null,
        Commissions: null,
        code: "code",
      },
    ],
    // affonso.io, "How do I import data into Affonso"
    ["affonso", { Name: "name", Email: "email", "Tracking Parameter": "code", "PayPal Email": "payout_email" }],
    // help.leaddyno.com, "Affiliate Imports"
    [
      "leaddyno",
      {
        email: "email",
        first_name: "first_name",
        affiliate_code: "code",
        paypal_email: "payout_email",
        affiliate_type: null,
      },
    ],
    // support.qualityunit.com, "How to import/export data"
    [
      "post_affiliate_pro",
      {
        "!USERID": "code",
        "!REFID": "code",
        "!USERNAME": "email",
        "!FIRSTNAME": "first_name",
        "!RSTATUS": "status",
        "!DATA1": null,
      },
    ],
    ["tapfiliate", { Firstname: "first_name", Lastname: "last_name", Email: "email", "Referral code": "code" }],
    ["other", { "E-Mail": "email", SLUG: "code", "Commission %": "commission_pct", Website: null, Commission: null }],
  ])("of partners of %s are known by its names", (product, expected) => {
    const { columns, problem } = matched("partners", product, ...Object.keys(expected));
    expect(problem).toBeNull();
    expect(Object.fromEntries(columns.map(({ column, field }) => [column, field]))).toEqual(expected);
  });

  it("of customers say whose address is whose", () => {
    expect(fieldsOf("customers", "rewardful", "stripe_customer_id", "first_name", "email", "token")).toEqual({
      stripe_customer_id: "customer_id",
      email: "partner_email",
      token: "code",
    });
    expect(fieldsOf("customers", "rewardful", "Email", "Affiliate Email", "Customer ID")).toEqual({
      Email: "customer_email",
      "Affiliate Email": "partner_email",
      "Customer ID": "customer_id",
    });
    expect(fieldsOf("customers", "firstpromoter", "email", "uid", "state", "promoter_email")).toEqual({
      email: "customer_email",
      uid: "customer_id",
      state: "status",
      promoter_email: "partner_email",
    });
    expect(fieldsOf("customers", "other", "Customer E-mail", "Partner code")).toEqual({
      "Customer E-mail": "customer_email",
      "Partner code": "code",
    });
  });

  it("are what the owner says before what they look like", () => {
    const names = importProduct("other").columns;
    const columns = ["email", "Team", "Tracking ID"];
    const chosen = matchColumns("partners", names, columns, [undefined, null, "code"]);
    expect(chosen.columns.map(({ field }) => field)).toEqual(["email", null, "code"]);
    expect(chosen.problem).toBeNull();
    expect(matchColumns("partners", names, columns, ["code", undefined, undefined]).problem).toContain("e-mail");
    expect(matchColumns("partners", names, columns, ["email", "email", "code"]).problem).toContain(
      "Both email and Team",
    );
  });

  it("are refused where one is missing, or its name occurs twice", () => {
    expect(matched("partners", "other", "code", "name").problem).toContain("the partner's e-mail address");
    expect(matched("partners", "dub", "Email", "Name").problem).toContain("call one code");
    expect(matched("partners", "other", "email", "code", "E-Mail").problem).toBe("The column email is there twice.");
    expect(matched("partners", "other", "email", "code", "Note", "note").problem).toBeNull();
    expect(matched("customers", "other", "status", "code").problem).toContain("the customer");
    expect(matched("customers", "other", "customer_id").problem).toContain("the partner");
  });

  it("give each field one column and each column one field, whatever the file calls them", () => {
    const names = IMPORT_KINDS.flatMap((kind) => importFields(kind)).flatMap((name) => [
      name,
      name.toUpperCase(),
      `x ${name}`,
    ]);
    fc.assert(
      fc.property(
        fc.constantFrom(...IMPORT_KINDS),
        fc.constantFrom(...IMPORT_PRODUCT_IDS),
        fc.array(fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 12 })), { maxLength: 12 }),
        (kind, product, columns) => {
          const { columns: all, problem } = matched(kind, product, ...columns);
          expect(all.map(({ column }) => column)).toEqual(columns);
          const taken = all.flatMap(({ field }) => field ?? []);
          expect(taken.every((field) => importFields(kind).includes(field))).toBe(true);
          if (problem === null) {
            const single = taken.filter((field) => field !== "code" && field !== "payout_email");
            expect(new Set(single).size).toBe(single.length);
          }
        },
      ),
    );
  });
});

describe("the cells of a file", () => {
  it.each([
    ["adam", ["adam"]],
    ["adam, adam-yt;Adam|ADAM_2", ["adam", "adam-yt", "ADAM_2"]],
    ["https://www.example.com/?via=adam", ["adam"]],
    ["example.com/pricing?utm_source=x&fpr=joe13", ["joe13"]],
    ["http://shop.example/#a_aid=4f37f8fe", ["4f37f8fe"]],
    ["", []],
  ])("give the codes in %j", (cell, codes) => {
    expect(readCodes(cell, ["via", "fpr", "a_aid"])).toEqual({ ok: true, value: codes });
  });

  it.each([
    ["4860654.25c305", "cannot be a slug"],
    ["a".repeat(65), "cannot be a slug"],
    ["https://example.com/?other=adam", "is a link without ?via="],
    ["https://example.com/?via=", "is a link without ?via="],
    ["https://", "is a link without ?via="],
    ["adam bj%C3%B6rn", "cannot be a slug"],
    [Array.from({ length: 21 }, (_, i) => `code-${i}`).join(" "), "At most 20 codes"],
  ])("refuse the code %j", (cell, message) => {
    expect(readCodes(cell, ["via"])).toMatchObject({ ok: false, message: expect.stringContaining(message) as string });
  });

  it("never give a code that is no slug", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.webUrl({ withQueryParameters: true })), (cell) => {
        const codes = readCodes(cell, ["via"]);
        if (codes.ok) for (const code of codes.value) expect(code).toMatch(SLUG_PATTERN);
      }),
    );
  });

  it("give the state in the product's words", () => {
    const { statuses = {} } = importProduct("post_affiliate_pro");
    const read = (cell: string, own = {}) => {
      const status = readStatus(cell, own, "invited");
      return status.ok ? status.value : status.message;
    };
    expect(["A", "P", "D"].map((cell) => read(cell, statuses))).toEqual(["active", "invited", "deactivated"]);
    expect(["Approved", "pending", "Denied", "banned", ""].map((cell) => read(cell))).toEqual([
      ...["active", "invited", "deactivated", "deactivated", "invited"],
    ]);
    expect(read("A")).toContain("no state that is known");
    expect(read("constructor", statuses)).toContain("no state that is known");
    expect(["active", "cancelled", "lead", ""].every(isReferred)).toBe(true);
    expect(["Visitor", "moved", "Denied"].some(isReferred)).toBe(false);
  });

  it("give rates and names", () => {
    expect(["", "30", "30%", "12,5 %", "0.25"].map(readPercentage)).toEqual([null, 30, 30, 12.5, 0.25]);
    expect(["x", "-5", "1.2.3", "$30", "1e2"].map(readPercentage)).toEqual(Array.from({ length: 5 }, () => Number.NaN));
    expect(splitName("Ada King Lovelace")).toEqual({ first_name: "Ada", last_name: "King Lovelace" });
    expect(splitName("Ada")).toEqual({ first_name: "Ada", last_name: null });
    expect(splitName("")).toEqual({ first_name: null, last_name: null });
  });

  it("give the provider by the form of its customer ids", () => {
    expect(["cus_N1", "ctm_01h", "42", "cus_", "xcus_1", "cus_ä"].map(providerOfCustomer)).toEqual([
      ...["provider_a", "provider_b", null, null, null, null],
    ]);
  });
});

describe("the bytes of a file", () => {
  const utf8 = new TextEncoder();

  it.each([
    ["UTF-8", utf8.encode("Zoë;€")],
    ["UTF-8 with a byte order mark", utf8.encode("\ufeffZoë;€")],
    ["Windows-1252", Uint8Array.from([0x5a, 0x6f, 0xeb, 0x3b, 0x80])],
    ["UTF-16, little end first", Uint8Array.from([0xff, 0xfe, 0x5a, 0, 0x6f, 0, 0xeb, 0, 0x3b, 0, 0xac, 0x20])],
    ["UTF-16, big end first", Uint8Array.from([0xfe, 0xff, 0, 0x5a, 0, 0x6f, 0, 0xeb, 0, 0x3b, 0x20, 0xac])],
  ])("in %s are the same text", (_, bytes) => {
    expect(decodeCsv(bytes)).toEqual({ ok: true, text: "Zoë;€" });
  });

  it("of a spreadsheet, or with a NUL, are no CSV", () => {
    for (const text of ["PK\u0003\u0004rest", "email\0,code"]) {
      expect(decodeCsv(utf8.encode(text))).toMatchObject({
        ok: false,
        message: expect.stringContaining("CSV") as string,
      });
    }
  });
});

describe("data-param", () => {
  it("is explained for links the script does not read unasked, and always keeps this service's own", () => {
    const products = ["rewardful", "firstpromoter", "leaddyno", "post_affiliate_pro", "refersion", "other"] as const;
    expect(products.map((id) => dataParam(id))).toEqual([null, "fpr|ref", "afmc|ref", "a_aid|ref", null, null]);
    expect([dataParam("tolt", "aff"), dataParam("firstpromoter", "via")]).toEqual(["aff|ref", null]);
  });
});

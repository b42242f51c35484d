import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeCsv } from "../../src/domain/csv-encoding.ts";
import {
  cellText,
  isReferred,
  readCodes,
  readPayoutMethod,
  readPercentage,
  readStatus,
  splitName,
  splitPromotionCodes,
} from "../../src/domain/import-cell.ts";
import {
  importFields,
  IMPORT_KINDS,
  isFurtherCode,
  matchColumns,
  type ImportField,
  type ImportKind,
} from "../../src/http/import/columns.ts";
import { dataParam, importProduct, IMPORT_PRODUCT_IDS, type ImportProductId } from "../../src/http/import/product.ts";
import { trimText } from "../../src/domain/invisible.ts";
import { SLUG_PATTERN } from "../../src/domain/partner.ts";
import { providerOfCustomer, VENDORS } from "../../src/providers/registry.ts";
import { ALL_FILLED } from "../support/import-cells.ts";

function matched(kind: ImportKind, product: ImportProductId, ...columns: string[]) {
  return matchColumns(kind, importProduct(product).columns, columns, ALL_FILLED);
}

function fieldsOf(kind: ImportKind, product: ImportProductId, ...columns: string[]) {
  const { columns: all, problem } = matched(kind, product, ...columns);
  expect(problem).toBeNull();
  return Object.fromEntries(all.filter(({ field }) => field !== null).map(({ column, field }) => [column, field]));
}

describe("the columns of a file", () => {
  it.each(VENDORS)("are known by the customer ids of $name", ({ text }) => {
    const column = `${text} Customer ID`;
    const { columns } = matchColumns("customers", {}, [column, "partner code"], ALL_FILLED);
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
      {
        ...{ email: "email", first_name: "first_name", ref_id: "code", status: "status", cust_id: null },
        promo_code: "promotion_codes",
      },
    ],
    // The export of Dub, with the key of the link that has to be added to it
    [
      "dub",
      {
        ID: null,
        Name: "name",
        Email: "email",
        Country: "country",
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
    const chosen = matchColumns("partners", names, columns, ALL_FILLED, [undefined, null, "code"]);
    expect(chosen.columns.map(({ field }) => field)).toEqual(["email", null, "code"]);
    expect(chosen.problem).toBeNull();
    expect(matchColumns("partners", names, columns, ALL_FILLED, ["code", undefined, undefined]).problem).toContain(
      "e-mail",
    );
    expect(matchColumns("partners", names, columns, ALL_FILLED, ["email", "email", "code"]).problem).toContain(
      "Both email and Team",
    );
  });

  it.each<{ kind: ImportKind; product: ImportProductId; columns: string[]; filled: string[]; code: string[] }>([
    // A product's own column, or a common one, that is empty does not hide another.
    {
      ...{ kind: "partners", product: "firstpromoter", filled: ["Email", "Link"], code: ["Default Ref ID", "Link"] },
      columns: ["Email", "Default Ref ID", "Link"],
    },
    {
      ...{ kind: "partners", product: "other", filled: ["email", "link", "ref"], code: ["link"] },
      columns: ["email", "code", "link", "ref"],
    },
    {
      ...{ kind: "customers", product: "partnerstack", filled: ["customer key", "link"], code: ["link"] },
      columns: ["customer key", "partner_key", "link"],
    },
    // The first, if all are empty.
    { kind: "partners", product: "other", columns: ["email", "link", "code"], filled: [], code: ["code"] },
  ])("of $product are chosen by what is in them: $columns (IMP-8)", ({ kind, product, columns, filled, code }) => {
    const isFilled = (i: number) => filled.includes(columns[i] ?? "");
    const match = matchColumns(kind, importProduct(product).columns, columns, {
      adds: (i, others) => isFilled(i) && !others.some(isFilled),
      holdsIds: () => false,
    });
    expect(match.problem).toBeNull();
    expect(match.columns.flatMap(({ column, field }) => (field === "code" ? column : []))).toEqual(code);
  });

  it("of customers are those that hold ids of the vendors' form, wherever they are (IMP-8)", () => {
    const columns = ["customer_key", "name", "email", "partner_key", "provider_key", "stripe id"];
    const read = (...ids: string[]) =>
      matchColumns("customers", importProduct("partnerstack").columns, columns, {
        ...ALL_FILLED,
        holdsIds: (i) => ids.includes(columns[i] ?? ""),
      }).columns.flatMap(({ column, field }) => (field === "customer_id" ? column : []));
    expect(read("provider_key")).toEqual(["provider_key"]);
    expect(read("customer_key")).toEqual(["customer_key"]);
    expect(read("provider_key", "stripe id")).toEqual(["provider_key", "stripe id"]);
    expect(read()).toEqual(["customer_key"]);
  });

  it.each(["Coupon", "coupons", "coupon code", "Discount Code", "Promo code", "promotion_codes", "Voucher"])(
    "of partners called %s hold promotion codes (IMP-5)",
    (column) => {
      expect(fieldsOf("partners", "refersion", "email", "code", column)).toMatchObject({ [column]: "promotion_codes" });
    },
  );

  it("with common names of codes count only for lines without another", () => {
    const own = importProduct("firstpromoter").columns;
    expect(["Link", "ref_id", "Handle"].map((column) => isFurtherCode(own, column))).toEqual([true, false, false]);
  });

  it("are refused where one is missing, or its name occurs twice", () => {
    expect(matched("partners", "other", "code", "name").problem).toContain("the partner's e-mail address");
    expect(matched("partners", "dub", "Email", "Name").problem).toContain("name one code");
    expect(matched("partners", "other", "email", "code", "E-Mail").problem).toBe("The column email occurs twice.");
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
            const several = new Set<ImportField>(["code", "promotion_codes", "payout_email", "customer_id"]);
            const single = taken.filter((field) => !several.has(field));
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
    ["adam, adam-yt;Adam|ADAM_2\r\nadam-3", ["adam", "adam-yt", "ADAM_2", "adam-3"]],
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
    ["bj%C3%B6rn", "cannot be a slug"],
    // A blank would be part of a code, and codes do not contain blanks: half of it would be an unintended slug.
    ["per cent", "“per cent” cannot be a slug"],
    ["adam, per\u00a0cent", "cannot be a slug"],
    ["https://example.com/?via=adam https://example.com/?via=eve", "cannot be a slug"],
    [Array.from({ length: 21 }, (_, i) => `code-${i}`).join(","), "At most 20 codes"],
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
      const status = readStatus(cell, own);
      return status.ok ? status.value : status.message;
    };
    expect(["A", "P", "D"].map((cell) => read(cell, statuses))).toEqual(["active", "invited", "deactivated"]);
    expect(["Approved", "pending_approval", "Denied", "banned", "Not approved", ""].map((cell) => read(cell))).toEqual([
      ...["active", "invited", "deactivated", "deactivated", "deactivated", null],
    ]);
    expect(read("A")).toContain("is not a known state");
    expect(read("constructor", statuses)).toContain("is not a known state");
    expect(["active", "cancelled", "lead", ""].every(isReferred)).toBe(true);
    expect(["Visitor", "moved", "Denied"].some(isReferred)).toBe(false);
  });

  it.each<[string, string | null, ...string[]]>([
    [
      "wallet",
      "wallet",
      "PayPal",
      "paypal",
      "PAYPAL (USD)",
      "PayPal email",
      "Wise",
      "TransferWise",
      "Payoneer",
      "wallet",
    ],
    ["a bank", "bank_transfer", "Bank transfer", "bank", "ACH", "wire", "Wire Transfer", "SEPA", "bank_transfer"],
    ["a bank, decorated", "bank_transfer", "US bank (ACH)", "International wire", "Direct deposit", "SWIFT/IBAN"],
    ["the vendor", "provider_a", "Vendor", "vendor connect", "Vendor Express account", "provider_a"],
    ["crypto", "crypto", "Crypto", "BTC", "USDT", "crypto"],
    ["no method", null, "", "none", "N/A", "-", "–", "n/a", "Manual", "null", "(none)", "not set", "NA"],
    [
      "what is not known",
      "not known",
      "Store credit",
      "PayPal or bank",
      "not PayPal",
      "transfer",
      "constructor",
      "check",
    ],
  ])("give the payout method by the word for %s (IMP-7)", (_, expected, ...cells) => {
    const own = new Map(["vendor", "provider_a"].map((name) => [name, "provider_a" as const]));
    for (const cell of cells) {
      const method = readPayoutMethod(cellText(cell), own);
      expect([cell, method.ok ? method.value : "not known"]).toEqual([cell, expected]);
    }
  });

  it("give promotion codes, which may have blanks", () => {
    expect(splitPromotionCodes("ANN 20; BOB,CID|DAN\nEVE")).toEqual({
      ok: true,
      value: ["ANN 20", "BOB", "CID", "DAN", "EVE"],
    });
  });

  it("are read without the characters that people cannot see, and names keep those that mean something (IMP-7)", () => {
    const unseen = [
      "\u200b",
      "\u200d",
      "\ufeff",
      "\u00ad",
      "\u202a",
      "\u2066",
      "\u2060",
      "\u061c",
      "\u0007",
      "\u{e0001}",
    ];
    for (const one of unseen) {
      expect(cellText(`${one}a${one}b@x.example${one}`)).toBe("ab@x.example");
    }
    expect(["n/a", "N/A", "-", "—", "none", "\u200b-\u200b"].map(cellText)).toEqual(["", "", "", "", "", ""]);
    expect(["na", "nona", "a-b", "Nil"].map(cellText)).toEqual(["na", "nona", "a-b", "Nil"]);
    const names = [
      "മോഹന്\u200d",
      "👩\u200d💻",
      "❤\ufe0f",
      "نام\u200cخانوادگی",
      "🏴\u{e0067}\u{e0062}\u{e007f}",
      "Ann\u00adLee",
    ];
    for (const name of names) expect(trimText(`\u200b\u00a0\ufeff${name}\u200e \u2069`)).toBe(name);
  });

  it("give rates and names", () => {
    expect(["", "30", "30%", "12,5 %", "0.25", "% 7", "20 percent"].map(readPercentage)).toEqual([
      ...[null, 30, 30, 12.5, 0.25, 7, 20],
    ]);
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

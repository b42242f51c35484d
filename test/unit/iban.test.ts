/** Payout details as typed are checked and normalized (OUT-23). */
import { describe, expect, it } from "vitest";
import { ibanProblem, tidyIban } from "../../src/domain/iban.ts";
import { maskDetails, maskFields, readDetails, type PayoutDetails } from "../../src/domain/payout-details.ts";

type Given = Parameters<typeof readDetails>[0];

/** The registry's examples. */
const IBANS = [
  ...["DE89370400440532013000", "GB29NWBK60161331926819", "NO9386011117947", "MT84MALT011000012345MTLCAST001S"],
  ...["FR1420041010050500013M02606", "NL91ABNA0417164300", "SA0380000000608010167519", "CH9300762011623852957"],
];

/** The registry's example for each country. */
const OF_EACH_COUNTRY = (
  "AD1200012030200359100100 AE070331234567890123456 AL47212110090000000235698741 AT611904300234573201 " +
  "AZ21NABZ00000000137010001944 BA391290079401028494 BE68539007547034 BG80BNBG96611020345678 " +
  "BH67BMAG00001299123456 BI4210000100010000332045181 BR1800360305000010009795493C1 " +
  "BY13NBRB3600900000002Z00AB00 CH9300762011623852957 CR05015202001026284066 CY17002001280000001200527600 " +
  "CZ6508000000192000145399 DE89370400440532013000 DJ2100010000000154000100186 DK5000400440116243 " +
  "DO28BAGR00000001212453611324 EE382200221020145685 EG380019000500000000263180002 ES9121000418450200051332 " +
  "FI2112345600000785 FK88SC123456789012 FO6264600001631634 FR1420041010050500013M02606 GB29NWBK60161331926819 " +
  "GE29NB0000000101904917 GI75NWBK000000007099453 GL8964710001000206 GR1601101250000000012300695 " +
  "GT82TRAJ01020000001210029690 HN88CABF00000000000250005469 HR1210010051863000160 HU42117730161111101800000000 " +
  "IE29AIBK93115212345678 IL620108000000099999999 IQ98NBIQ850123456789012 IS140159260076545510730339 " +
  "IT60X0542811101000000123456 JO94CBJO0010000000000131000302 KW81CBKU0000000000001234560101 " +
  "KZ86125KZT5004100100 LB62099900000001001901229114 LC55HEMM000100010012001200023015 LI21088100002324013AA " +
  "LT121000011101001000 LU280019400644750000 LV80BANK0000435195001 LY83002048000020100120361 " +
  "MC5811222000010123456789030 MD24AG000225100013104168 ME25505000012345678951 MK07250120000058984 " +
  "MN121234123456789123 MR1300020001010000123456753 MT84MALT011000012345MTLCAST001S " +
  "MU17BOMM0101101030300200000MUR NI45BAPR00000013000003558124 NL91ABNA0417164300 NO9386011117947 " +
  "OM810180000001299123456 PK36SCBL0000001123456702 PL61109010140000071219812874 PS92PALS000000000400123456702 " +
  "PT50000201231234567890154 QA58DOHB00001234567890ABCDEFG RO49AAAA1B31007593840000 RS35260005601001611379 " +
  "RU0304452522540817810538091310419 SA0380000000608010167519 SC18SSCB11010000000000001497USD " +
  "SD8811123456789012 SE4550000000058398257466 SI56263300012039086 SK3112000000198742637541 " +
  "SM86U0322509800000000270100 SO211000001001000100141 ST23000100010051845310146 SV62CENR00000000000000700025 " +
  "TL380080012345678910157 TN5910006035183598478831 TR330006100519786457841326 UA213223130000026007233566001 " +
  "VA59001123000012345678 VG96VPVG0000012345678901 XK051212012345678906 YE15CBYE0001018861234567891234"
).split(" ");

describe("IBANs (OUT-23)", () => {
  it("are accepted with spaces and in any case", () => {
    for (const iban of IBANS) expect(ibanProblem(iban)).toBeNull();
    expect(ibanProblem(tidyIban(" de89 3704 0044 0532 0130 00\u00a0"))).toBeNull();
  });

  it.each(OF_EACH_COUNTRY)("have the length of their country: %s", (iban) => {
    expect(ibanProblem(iban)).toBeNull();
  });

  it("are refused after any change of one digit or swap of two neighbors", () => {
    for (const iban of IBANS) {
      for (let i = 2; i < iban.length; i++) {
        const other = iban[i] === "9" ? "8" : "9";
        expect(ibanProblem(iban.slice(0, i) + other + iban.slice(i + 1))).not.toBeNull();
        const swapped = iban.slice(0, i) + (iban[i + 1] ?? "") + iban[i] + iban.slice(i + 2);
        if (i + 1 < iban.length && swapped !== iban) expect(ibanProblem(swapped)).not.toBeNull();
      }
    }
  });

  it("are refused with another country's length, and for a country without IBANs", () => {
    expect(ibanProblem("DE8937040044053201300")).toContain("22 characters");
    expect(ibanProblem("US89370400440532013000")).toContain("has no IBANs");
    expect(ibanProblem("DE89-3704")).toContain("two letters");
  });
});

const holder = { account_holder: "Jane Doe", country: "de", currency: "eur" };
const bank = { method: "bank_transfer", ...holder, iban: "de89 3704 0044 0532 0130 00" } as const;

describe("details (OUT-23)", () => {
  it("are normalized", () => {
    expect(readDetails({ ...bank, bic: "cobadeffxxx", sort_code: "" })).toEqual({
      ok: true,
      value: {
        ...{ method: "bank_transfer", account_holder: "Jane Doe", country: "DE", currency: "EUR" },
        ...{ iban: "DE89370400440532013000", bic: "COBADEFFXXX" },
      },
    });
    const number = { account_number: "1234 5678", sort_code: "12-34-56" };
    expect(readDetails({ method: "bank_transfer", ...holder, ...number })).toMatchObject({
      value: { account_number: "12345678", sort_code: "123456" },
    });
  });

  const us = { method: "bank_transfer", ...holder, country: "US", account_number: "000123456789" } as const;
  it.each<[string, Given]>([
    ["email", { method: "wallet" }],
    ["iban", { ...bank, iban: "DE89370400440532013001" }],
    ["iban", { method: "bank_transfer", ...holder }],
    ["account_holder", { ...bank, account_holder: " " }],
    ["country", { ...bank, country: "Germany" }],
    ["bic", { ...bank, bic: "COBA" }],
    ["account_number", { ...bank, account_number: "12345678" }],
    ["sort_code", { ...bank, sort_code: "123456" }],
    ["routing_number", us],
    ["routing_number", { ...us, routing_number: "021000022" }],
    ["bsb", { ...us, routing_number: "021000021", bsb: "123456" }],
    ["network", { method: "crypto", address: "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq" }],
    ["address", { method: "crypto", network: "bitcoin", address: "a b" }],
    ["iban", { method: "wallet", email: "a@b.example", iban: "DE89370400440532013000" }],
    ["account", { method: "provider_a", account: "1234" }],
  ])("are refused, naming %s", (path, given) => {
    expect(readDetails(given)).toMatchObject({ ok: false, problem: { path } });
  });

  it("are accepted with an account number and a code of the bank", () => {
    expect(readDetails({ ...us, routing_number: "021000021" }).ok).toBe(true);
  });

  it("are masked so that two accounts look different", () => {
    const read = (given: Given): PayoutDetails => {
      const details = readDetails(given);
      if (!details.ok) throw new Error(details.problem.message);
      return details.value;
    };
    expect(maskDetails(read(bank))).toBe("DE** **** **** **** **30 00");
    expect(maskFields(read(bank))).toMatchObject({ account_holder: "Ja****oe", iban: "DE** **** **** **** **30 00" });
    expect(maskDetails(read({ ...us, routing_number: "021000021" }))).toBe("US: 00****89");
    const address = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq";
    expect(maskDetails(read({ method: "crypto", network: "bitcoin", address }))).toBe("bitcoin: bc****dq");
    expect(maskDetails(read({ method: "provider_a", account: "acct_1RTa2bXyZ" }))).toBe("acct_****bXyZ");
  });
});

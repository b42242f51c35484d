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

describe("IBANs (OUT-23)", () => {
  it("are accepted with spaces and in any case", () => {
    for (const iban of IBANS) expect(ibanProblem(iban)).toBeNull();
    expect(ibanProblem(tidyIban(" de89 3704 0044 0532 0130 00\u00a0"))).toBeNull();
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

/** The length of an IBAN by its country (SWIFT, IBAN Registry). */
const LENGTHS = new Map(
  (
    "NO15 BE16 DK18 FI18 FO18 FK18 GL18 NL18 SD18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 MN20 XK20 CH21 HR21 LI21 LV21 " +
    "BG22 BH22 CR22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 AE23 GI23 IL23 IQ23 OM23 SO23 TL23 AD24 CZ24 ES24 MD24 PK24 RO24 " +
    "SA24 SE24 SK24 TN24 VG24 LY25 PT25 ST25 IS26 TR26 BI27 DJ27 FR27 GR27 IT27 MC27 MR27 SM27 AL28 AZ28 BY28 CY28 DO28 " +
    "GT28 HN28 HU28 LB28 NI28 PL28 SV28 BR29 EG29 PS29 QA29 UA29 JO30 KW30 MU30 YE30 MT31 SC31 LC32 RU33"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** A tidy BIC: 8 or 11 letters and digits. */
export const BIC_PATTERN = /^[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/;

/** An IBAN or BIC as it is stored: without spaces, in upper case. */
export function tidyIban(text: string): string {
  return text.replaceAll(/\s/g, "").toUpperCase();
}

/** The problem with a tidy IBAN's form, country, length or checksum (ISO 13616: mod 97 is 1); null if it is right. */
export function ibanProblem(iban: string): string | null {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]+$/.test(iban)) return "An IBAN is two letters, two digits and the account.";
  const country = iban.slice(0, 2);
  const length = LENGTHS.get(country);
  if (length === undefined) return `${country} has no IBANs: give the account number.`;
  if (iban.length !== length) return `An IBAN of ${country} has ${length} characters, this has ${iban.length}.`;
  return remainder(iban.slice(4) + iban.slice(0, 4)) === 1
    ? null
    : "This IBAN has a typing error: its check digits do not fit.";
}

function remainder(text: string): number {
  const digits = Array.from(text, (character) => String(Number.parseInt(character, 36))).join("");
  return Array.from(digits, Number).reduce((rest, digit) => (rest * 10 + digit) % 97, 0);
}

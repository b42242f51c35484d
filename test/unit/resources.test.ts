/** The compiler refuses these entries: `npm run typecheck` fails once a line under `@ts-expect-error` compiles. */
import { expect, it } from "vitest";
import * as z from "zod";
import { columnsWith, exampleOf, resource } from "../../src/resources/field.ts";
import { PAYOUT_DETAILS } from "../../src/resources/partner.ts";
import type { Sealed } from "../../src/lib/seal.ts";

interface Row {
  name: string;
  iban: string | null;
  method: "bank" | "card" | null;
  secret: Sealed | null;
}

const text = () => z.string().nullable();
const name = { audit: "plain", read: () => z.string(), example: "Ann", write: z.string(), needed: true } as const;
const iban = { audit: "account", payout_detail: true, read: text, example: null } as const;
const method = { audit: "plain", payout_detail: true } as const;
const secret = { audit: "secret" } as const;
const FIELDS = resource<Row>()({ name, iban, method, secret });

export const refused = () => [
  // @ts-expect-error a column without an entry
  resource<Row>()({ name, iban, method }),
  // @ts-expect-error an entry without a column
  resource<Row>()({ name, iban, method, secret, other: name }),
  // @ts-expect-error a sealed column in replies
  resource<Row>()({ name, iban, method, secret: { ...secret, read: text } }),
  // @ts-expect-error a sealed column in requests
  resource<Row>()({ name, iban, method, secret: { ...secret, write: z.string() } }),
  // @ts-expect-error a sealed column in clear in the audit log
  resource<Row>()({ name, iban, method, secret: { audit: "plain" } }),
  // @ts-expect-error a payout detail in clear
  resource<Row>()({ name, iban: { ...iban, audit: "plain" }, method, secret }),
  // @ts-expect-error a payout detail that no notice reports
  resource<Row>()({ name, iban: { ...iban, audit: null }, method, secret }),
  // @ts-expect-error a masked column that is no payout detail
  resource<Row>()({ name, iban: { audit: "account" }, method, secret }),
  // @ts-expect-error a reply of another type than the column
  resource<Row>()({ name: { ...name, read: () => z.number() }, iban, method, secret }),
];

it("shows a column only where its entry says so", () => {
  expect(exampleOf(FIELDS)).toEqual({ name: "Ann", iban: null });
  expect(columnsWith(FIELDS, "write")).toEqual(["name"]);
});

it("has the payout details of partners", () => {
  expect(PAYOUT_DETAILS).toEqual([
    "payout_method",
    "payout_email",
    "provider_a_account_id",
    "bank_account",
    "crypto_address",
  ]);
});

import type { Table } from "drizzle-orm";
import type { Sealed } from "../lib/seal.ts";
import type * as schema from "./schema.ts";

type Tables = {
  [
    K in keyof typeof schema as (typeof schema)[K] extends Table ? (typeof schema)[K]["_"]["name"] : never
  ]: (typeof schema)[K];
};

/** The columns of a table that hold sealed values, by their type in the schema. */
type SealedColumn<Row> = { [C in keyof Row & string]: NonNullable<Row[C]> extends Sealed ? C : never }[keyof Row &
  string];

type ByTable = { [N in keyof Tables]: SealedColumn<Tables[N]["$inferSelect"]> };

/** The place of a sealed value in the database (`lib/seal.ts`); `row` is made by `rowOf`. */
export type SealedPlace = {
  [N in keyof ByTable]: [ByTable[N]] extends [never] ? never : { table: N; column: ByTable[N]; row: string };
}[keyof ByTable];

/** `<table>.<column>` */
export type SealedField = { [N in keyof ByTable]: `${N}.${ByTable[N]}` }[keyof ByTable];

/** The columns that identify a row: its program's, and its own. */
interface RowKey {
  program: string;
  own: string;
  /** Rows of two programs may have the same own key. */
  isWithinProgram?: true;
}

const CONNECTION: RowKey = { program: "program_id", own: "provider", isWithinProgram: true };
const OWNED: RowKey = { program: "program_id", own: "id" };

/** Every column with sealed values. It compiles only if it names exactly the schema's columns of that type. */
export const SEALED: Readonly<Record<SealedField, RowKey>> = {
  "provider_connections.webhook_secret": CONNECTION,
  "provider_connections.webhook_secret_previous": CONNECTION,
  "provider_connections.api_key": CONNECTION,
  "partners.bank_account_sealed": OWNED,
  "partners.crypto_address_sealed": OWNED,
  "tax_data.sealed": OWNED,
  "payouts.recipient_sealed": OWNED,
  "payout_exports.debtor_sealed": OWNED,
  "programs.debtor_iban_sealed": { program: "id", own: "id" },
  "pending_destinations.content": { program: "program_id", own: "partner_id" },
  "webhook_endpoints.secret": OWNED,
  "webhook_endpoints.secret_previous": OWNED,
  "mails.content": OWNED,
  "kept_texts.text": { program: "program_id", own: "id", isWithinProgram: true },
  "idempotency_keys.body": { program: "program_id", own: "key", isWithinProgram: true },
};

export function rowOf({ isWithinProgram }: RowKey, program_id: string, own: string): string {
  return isWithinProgram ? `${program_id} ${own}` : own;
}

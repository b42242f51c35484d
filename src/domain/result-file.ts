/** Result files of PayPal and banks, which report the payments of a file of payouts (OUT-28). */
import { readCsvTable } from "./csv-table.ts";
import { readXml, xmlAt, xmlAttribute, xmlText, type XmlElement } from "./xml.ts";

/** The status that a line reports; `open` is not final. */
export type Reported = "paid" | "failed" | "returned" | "open";

export interface ResultLine {
  /** Its number in the file, counted from 1. */
  line: number;
  /** The payout's id as the file has it; null if the line is about every payout that no other line names. */
  reference: string | null;
  /** The status as the file has it. */
  status: string;
  /** Null for a status that is not known. */
  reported: Reported | null;
  reason: string | null;
  /** A decimal, if the file has one. */
  amount: string | null;
  currency: string | null;
}

/** `message_id`: the id of the file that a pain.002 is about. */
export type ResultFile =
  | { ok: true; lines: ResultLine[]; message_id: string | null }
  | { ok: false; line: number | null; message: string };

export const MAX_RESULT_LINES = 10_000;

const words = (text: string, reported: Reported) => text.split(" ").map((word) => [word, reported] as const);

/**
 * The statuses of PayPal's payouts, of ISO 20022 and of plain words, in capitals without blanks. A transfer that a bank has
 * only accepted is not yet paid.
 */
const STATUSES = new Map<string, Reported>([
  ...words("SUCCESS SUCCEEDED COMPLETED PAID EXECUTED SETTLED ACSC ACCC", "paid"),
  ...words("FAILED FAILURE DENIED BLOCKED REJECTED REFUSED CANCELED EXPIRED ERROR RJCT CANC", "failed"),
  ...words("RETURNED REFUNDED REVERSED", "returned"),
  ...words("PENDING PROCESSING PROCESSED UNCLAIMED ONHOLD HELD NEW ACCEPTED RECEIVED", "open"),
  ...words("ACCP ACSP ACTC ACWC ACWP ACFC PATC PDNG RCVD PART", "open"),
]);

function reportedBy(status: string): Reported | null {
  // The table has one of the two spellings of "canceled".
  const word = status
    .toUpperCase()
    .replaceAll(/[^A-Z]/g, "")
    .replace("LLED", "LED");
  return STATUSES.get(word) ?? null;
}

/** Reads a CSV with a header, or a pain.002. The generator yields so that other work can run in between. */
export function* readResultFile(text: string): Generator<void, ResultFile, void> {
  if (/^\uFEFF?\s*</.test(text)) return readStatusReport(text);
  const table = yield* readCsvTable(text, MAX_RESULT_LINES);
  if (!table.ok) return { ok: false, line: null, message: table.message };
  if (table.count > MAX_RESULT_LINES) return tooLong();
  const at = columnsIn(table.columns);
  if (at.reference === -1)
    return { ok: false, line: 1, message: `A column with the payout's id is missing: ${named("reference")}.` };
  if (at.status === -1)
    return { ok: false, line: 1, message: `A column with the status is missing: ${named("status")}.` };
  const lines: ResultLine[] = [];
  for (const { line, cells, problem } of table.lines) {
    if (problem !== null) return { ok: false, line, message: problem };
    const cell = (column: Column) => cells[at[column]] || null;
    const status = cell("status") ?? "";
    lines.push({
      ...{ line, status, reported: reportedBy(status), reference: cell("reference") ?? "" },
      ...{ reason: cell("reason"), amount: cell("amount"), currency: cell("currency") },
    });
  }
  return { ok: true, lines, message_id: null };
}

type Column = keyof typeof COLUMNS;

/** The names of the columns, the best one first: without blanks and signs, in small letters. */
const COLUMNS = {
  reference: ["payout_id", "unique_id", "sender_item_id", "end_to_end_id", "payment_reference", "reference"],
  status: ["status", "item_status", "transaction_status"],
  reason: ["reason", "reason_code", "error_message", "error", "failure_reason", "status_reason"],
  amount: ["amount", "gross_amount", "payment_amount", "gross"],
  currency: ["currency", "currency_code", "target_currency"],
} as const;

function named(column: Column): string {
  return COLUMNS[column].join(", ");
}

function columnsIn(columns: readonly string[]): Record<Column, number> {
  const key = (name: string) => name.toLowerCase().replaceAll(/[^a-z]/g, "");
  const given = columns.map(key);
  const place = (names: readonly string[]) =>
    names.map((name) => given.indexOf(key(name))).find((index) => index !== -1) ?? -1;
  return {
    ...{ reference: place(COLUMNS.reference), status: place(COLUMNS.status), reason: place(COLUMNS.reason) },
    ...{ amount: place(COLUMNS.amount), currency: place(COLUMNS.currency) },
  };
}

function tooLong(): ResultFile {
  return { ok: false, line: null, message: `The file has more than ${MAX_RESULT_LINES} lines.` };
}

/** A bank's answer to a SEPA file: the form pain.002 of ISO 20022, in any version. */
function readStatusReport(text: string): ResultFile {
  const read = readXml(text);
  if (!read.ok) return read;
  const [report] = read.root.name === "Document" ? xmlAt(read.root, "CstmrPmtStsRpt") : [];
  if (!report) return { ok: false, line: read.root.line, message: "This is not a pain.002." };
  const [group] = xmlAt(report, "OrgnlGrpInfAndSts");
  const batches = xmlAt(report, "OrgnlPmtInfAndSts");
  const single = [report, ...batches].flatMap((one) => xmlAt(one, "TxInfAndSts"));
  if (single.length > MAX_RESULT_LINES) return tooLong();
  const lines: ResultLine[] = [];
  for (const one of single) {
    const reference = xmlText(one, "OrgnlEndToEndId");
    const status = xmlText(one, "TxSts");
    if (reference === null) return { ok: false, line: one.line, message: "A TxInfAndSts has no OrgnlEndToEndId." };
    const [amount] = xmlAt(one, "OrgnlTxRef", "Amt", "InstdAmt");
    lines.push({
      ...lineOf(one, reference, status ?? "PART"),
      ...{ amount: amount?.text ?? null, currency: amount ? xmlAttribute(amount, "Ccy") : null },
    });
  }
  // The status of the batch is more exact than that of the group; both count for the payouts that no line names.
  const whole = [
    ...batches.map((batch) => [batch, "PmtInfSts"] as const),
    ...(group ? [[group, "GrpSts"] as const] : []),
  ];
  const final = whole.flatMap(([element, name]) => {
    const status = xmlText(element, name);
    const line = status === null ? null : lineOf(element, null, status);
    return line === null || line.reported === "open" ? [] : [line];
  });
  return { ok: true, lines: [...lines, ...final.slice(0, 1)], message_id: group ? xmlText(group, "OrgnlMsgId") : null };
}

function lineOf(element: XmlElement, reference: string | null, status: string): ResultLine {
  const reasons = xmlAt(element, "StsRsnInf").flatMap((info) => [
    xmlText(info, "Rsn", "Cd") ?? xmlText(info, "Rsn", "Prtry"),
    ...xmlAt(info, "AddtlInf").map(({ text }) => text),
  ]);
  return {
    ...{ line: element.line, reference, status, reported: reportedBy(status), amount: null, currency: null },
    reason: reasons.filter(Boolean).join(" ") || null,
  };
}

/**
 * A decimal of a result file in smallest units, without its sign: `1,234.56`, `1.234,56` or `1234.5`; null if it is not
 * one. The last separator separates the decimals, if as many digits as the currency has, or fewer, follow it.
 */
export function amountIn(decimal: string, exponent: number): number | null {
  const text = decimal.replaceAll(/[\s'\u00A0]/g, "").replace(/^[-+]/, "");
  const [, whole = "", part = ""] = new RegExp(`^(.*?)(?:[.,](\\d{1,${Math.max(exponent, 2)}}))?$`).exec(text) ?? [];
  const digits = whole.replaceAll(/[.,](?=\d{3}(?:\D|$))/g, "");
  if (!/^\d{1,13}$/.test(digits) || !/^0*$/.test(part.slice(exponent))) return null;
  return Number(digits + part.slice(0, exponent).padEnd(exponent, "0"));
}

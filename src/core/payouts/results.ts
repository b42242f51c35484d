/** Result files of the wallet's service and of banks: a preview of each line, then its effect (OUT-28). */
import { currencyExponent } from "../../domain/currency.ts";
import { RESULT_OUTCOMES, type ResultOutcome } from "../../domain/payout-export.ts";
import { amountIn, readResultFile, type Reported, type ResultLine } from "../../domain/result-file.ts";
import { sepaId } from "../../domain/sepa-text.ts";
import { wiseReference } from "../../domain/wise.ts";
import { AppError, invalidField } from "../../lib/errors.ts";
import { runInSlices } from "../../lib/slices.ts";
import { commit } from "../kernel/commit.ts";
import { type Caller } from "../kernel/context.ts";
import { untilWon } from "../kernel/races.ts";
import type { PayoutExport } from "../kernel/rows.ts";
import {
  changeExport,
  failStep,
  firstStep,
  payStep,
  readFileState,
  type FileState,
  type Listed,
} from "./export-steps.ts";
import { FORMATS } from "./file-formats.ts";
import { returnPayout, roomForMany } from "./payouts.ts";

/** A line and its effect. */
export interface LineResult {
  line: number;
  /** Null for a payout that is not in the file. */
  payout_id: string | null;
  /** The status as the file has it. */
  said: string;
  outcome: ResultOutcome;
  /** The reason that the file has, or the problem. */
  message: string | null;
}

export interface FileResults {
  dry_run: boolean;
  /** The number of lines with each outcome. */
  counts: Record<ResultOutcome, number>;
  lines: LineResult[];
  /** How many payouts that came back were not reached; the same file again does the rest. */
  remaining: number;
}

/** Each is a change of its own, of 15 statements. */
const MAX_RETURNED = 30;
const MAX_MESSAGE = 200;

/**
 * Applies the report of a service or bank to the payouts of a file: open ones become paid or failed, paid ones returned.
 * `dry_run` only shows the effects. Lines that contradict the stored rows, or are about payouts of other files, are
 * skipped. The work is done in steps, each complete: after an interruption the same file does the rest, and a repeated
 * file has no effect. @throws `validation_failed` for a file that cannot be read, naming the line; `not_found`
 */
export async function applyResults(
  caller: Caller,
  id: string,
  text: string,
  { dry_run }: { dry_run: boolean },
): Promise<FileResults> {
  const file = await runInSlices(readResultFile(text));
  if (!file.ok) throw invalidField("body", `${file.line === null ? "" : `Line ${file.line}: `}${file.message}`);
  const isOwn = file.message_id === id || file.message_id === sepaId(id);
  if (!isOwn && (file.message_id !== null || file.lines.some(({ reference }) => reference === null))) {
    throw invalidField("body", `This is not the result of this file: its OrgnlMsgId would be ${sepaId(id)}.`);
  }
  const first = planOf(await readFileState(caller, id), file.lines);
  if (dry_run) return report(first, { dry_run, remaining: 0 });
  const done = new Map<string, ResultOutcome>();
  for (;;) {
    const step = await untilWon(() => takeStep(caller, id, file.lines));
    if (step.length === 0) break;
    for (const { payout_id, outcome } of step) done.set(payout_id, outcome);
  }
  const last = planOf(await readFileState(caller, id), file.lines);
  const remaining = await returnPaid(caller, last, done);
  return report(
    first.map((line, i) => asDone(line, last[i]!, done)),
    { dry_run, remaining },
  );
}

interface Planned extends LineResult {
  item: Listed | null;
}

/** One line for each of the file, or for each payout that a line about the whole file covers. */
function planOf({ before, items }: FileState, lines: readonly ResultLine[]): Planned[] {
  const byReference = new Map(items.flatMap((item) => referencesOf(item.payout_id).map((key) => [key, item] as const)));
  const itemOf = ({ reference }: ResultLine) => byReference.get(reference?.toLowerCase() ?? "") ?? null;
  const single = lines.filter(({ reference }) => reference !== null).map((line) => ({ line, item: itemOf(line) }));
  const reported = reportsOf(single);
  const rest = items.filter(({ payout_id }) => !reported.has(payout_id));
  const whole = lines.filter(({ reference }) => reference === null);
  const all = [...single, ...whole.flatMap((line) => rest.map((item) => ({ line, item })))];
  const seen = new Set<string>();
  return all.map(({ line, item }) => {
    const decided = item === null ? NOT_IN_FILE : decide(before, line, item, reported.get(item.payout_id));
    const isRepeated = item !== null && MOVES.has(decided.outcome) && seen.has(item.payout_id);
    if (item && MOVES.has(decided.outcome)) seen.add(item.payout_id);
    return {
      ...{ line: line.line, payout_id: item?.payout_id ?? null, said: line.status.slice(0, MAX_MESSAGE), item },
      ...(isRepeated ? { outcome: "unchanged" as const, message: null } : decided),
    };
  });
}

type Decided = Pick<LineResult, "outcome" | "message">;

const NOT_IN_FILE: Decided = { outcome: "problem", message: "The file does not contain this payout." };
const MOVES = new Set<ResultOutcome>(["paid", "failed", "returned"]);

/** The payout's id as the formats write it. */
function referencesOf(payout_id: string): string[] {
  return [payout_id, sepaId(payout_id), wiseReference(payout_id)];
}

/** The final reports about each payout. */
function reportsOf(lines: readonly { line: ResultLine; item: Listed | null }[]): Map<string, Set<Reported>> {
  const found = new Map<string, Set<Reported>>();
  for (const { line, item } of lines) {
    if (item === null) continue;
    const reports = found.get(item.payout_id) ?? new Set();
    if (line.reported !== null && line.reported !== "open") reports.add(line.reported);
    found.set(item.payout_id, reports);
  }
  return found;
}

function decide(
  { format, currency }: PayoutExport,
  line: ResultLine,
  { status, amount_cents, payout_status }: Listed,
  reports: ReadonlySet<Reported> | undefined,
): Decided {
  const problem = (message: string): Decided => ({ outcome: "problem", message });
  const unchanged: Decided = { outcome: "unchanged", message: reasonOf(line) };
  if (line.reported === null) return problem("This status is not known.");
  if (line.reported === "open") return unchanged;
  if ((reports?.size ?? 0) > 1) return problem("Several lines about this payout contradict each other.");
  if (line.currency !== null && line.currency.toUpperCase() !== currency) return problem("The currency differs.");
  const exponent = currencyExponent(currency);
  const inFile = amountIn(FORMATS[format].amount(amount_cents, currency), exponent);
  if (line.amount !== null && amountIn(line.amount, exponent) !== inFile) return problem("The amount differs.");
  const isPaid = line.reported === "paid";
  switch (status) {
    case "open":
      return isPaid ? { outcome: "paid", message: null } : { outcome: "failed", message: reasonOf(line) };
    case "paid":
      return isPaid || payout_status !== "paid" ? unchanged : { outcome: "returned", message: reasonOf(line) };
    case "failed":
      return isPaid ? problem("An earlier result says that this payout failed.") : unchanged;
    case "back":
      return isPaid ? problem("This payout was put back, and can be in another file.") : unchanged;
  }
}

/** The reason in the file, as it can be stored. */
function reasonOf({ reason }: ResultLine): string | null {
  return reason === null ? null : Array.from(reason.toWellFormed().replaceAll("\0", "")).slice(0, MAX_MESSAGE).join("");
}

type Taken = { payout_id: string; outcome: ResultOutcome };

/** Changes the first open payouts that the file decides, in one transaction. The result is empty after the last ones. */
async function takeStep(caller: Caller, id: string, lines: readonly ResultLine[]): Promise<Taken[]> {
  const state = await readFileState(caller, id);
  const { ctx, before, items } = state;
  if (before.status !== "open") return [];
  const decided = planOf(state, lines).flatMap(({ item, ...line }) =>
    item?.status === "open" && MOVES.has(line.outcome) ? [{ ...item, ...line, payout_id: item.payout_id }] : [],
  );
  const step = firstStep(decided);
  if (step.length === 0) return [];
  const [paid, failed] = [step.filter((one) => one.outcome === "paid"), step.filter((one) => one.outcome === "failed")];
  const isLast = items.filter(({ status }) => status === "open").length === step.length;
  const isAnyPaid = paid.length > 0 || items.some(({ status }) => status === "paid");
  const { write } = changeExport(ctx, before, { status: !isLast ? "open" : isAnyPaid ? "paid" : "canceled" });
  const [paying, failing] = [
    payStep(ctx, id, paid, before.reference),
    failStep(
      ctx,
      id,
      failed.map(({ payout_id, message, said }) => ({ payout_id, message: message ?? said })),
    ),
  ];
  await commit(ctx, {
    writes: [write, ...paying.writes, ...failing.writes],
    occurrences: [],
    selected: [...paying.selected, ...failing.selected],
    mailsAbout: [...paying.mailsAbout, ...failing.mailsAbout],
  });
  return step;
}

/** Returns the paid payouts whose money came back; the result is how many were not reached. */
async function returnPaid(caller: Caller, plan: readonly Planned[], done: Map<string, ResultOutcome>): Promise<number> {
  const returned = plan.filter(({ outcome }) => outcome === "returned");
  const room = roomForMany();
  for (const { item, message, said } of returned.slice(0, MAX_RETURNED)) {
    try {
      await returnPayout(caller, item!.payout_id, { message: message ?? said }, room);
      done.set(item!.payout_id, "returned");
    } catch (error) {
      // It was returned by another process meanwhile.
      if (!(error instanceof AppError) || error.code !== "invalid_transition") throw error;
      done.set(item!.payout_id, "unchanged");
    }
  }
  return Math.max(returned.length - MAX_RETURNED, 0);
}

/** A line that was to change its payout, as this call or a concurrent one has left it. */
function asDone(first: Planned, last: Planned, done: ReadonlyMap<string, ResultOutcome>): Planned {
  const outcome = first.item === null ? undefined : done.get(first.item.payout_id);
  if (!MOVES.has(first.outcome)) return first;
  return outcome === undefined ? last : { ...first, outcome };
}

function report(
  plan: readonly Planned[],
  { dry_run, remaining }: Pick<FileResults, "dry_run" | "remaining">,
): FileResults {
  const counts = Object.fromEntries(
    RESULT_OUTCOMES.map((one) => [one, plan.filter(({ outcome }) => outcome === one).length]),
  ) as FileResults["counts"];
  return { dry_run, counts, lines: plan.map(({ item: _, ...line }) => line), remaining };
}

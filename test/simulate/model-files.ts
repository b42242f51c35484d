/** Files by which payouts are paid, and the holds of partners' payouts (OUT-22, OUT-24, OUT-28) in the model. */
import { isByTransfer, isHeld, movePayout, putPayout } from "./model-payouts.ts";
import type { PayoutFile, State } from "./model-state.ts";

const DAY = 86_400_000;
/** The program's `payout_change_hold_days`. */
const HOLD = 3 * DAY;

/** A file of the pending payouts in a currency, or of the failed ones; false without any. */
export function makeFile(
  state: State,
  { currency, retry }: { currency: string; retry: boolean },
  now: number,
): boolean {
  const items = [...state.payouts.entries()].flatMap(([payout, one]) =>
    one.currency === currency &&
    one.status === (retry ? "failed" : "pending") &&
    !isByTransfer(one.slug) &&
    !isHeld(state, one.slug, now)
      ? [{ payout, status: "open" as const }]
      : [],
  );
  if (items.length === 0) return false;
  for (const { payout } of items) putPayout(state, payout, "processing", now);
  state.files.push({ currency, status: "open", items });
  return true;
}

/** Marks a file as paid but for some payouts, which are pending again; false if the rules refuse it. */
export function payFile(state: State, index: number, except: readonly number[], now: number): boolean {
  const file = state.files[index]!;
  const isExcept = ({ payout }: PayoutFile["items"][number]) => except.includes(payout);
  const open = file.items.filter(({ status }) => status === "open");
  const paid = file.items.filter(({ status }) => status === "paid");
  const isLeft = paid.length > 0 || open.some((item) => !isExcept(item));
  if (file.status !== "open" || paid.some(isExcept) || !isLeft) return false;
  for (const item of open) endItem(state, item, isExcept(item) ? "back" : "paid", now);
  file.status = "paid";
  return true;
}

/** Puts the payouts of a file back; false if the rules refuse it. */
export function cancelFile(state: State, index: number, now: number): boolean {
  const file = state.files[index]!;
  if (file.status !== "open" || file.items.some(({ status }) => status === "paid")) return false;
  for (const item of file.items) if (item.status === "open") endItem(state, item, "back", now);
  file.status = "canceled";
  return true;
}

/** The last statement of a result file about each payout. */
export type Results = ReadonlyMap<number, "paid" | "failed" | "pending">;

/** Applies a result file, except lines that contradict an earlier one. */
export function applyResults(state: State, index: number, results: Results, now: number): void {
  const file = state.files[index]!;
  const paidBefore = file.items.filter(({ status }) => status === "paid");
  if (file.status === "open") {
    for (const item of file.items) {
      const result = results.get(item.payout);
      if (item.status === "open" && (result === "paid" || result === "failed")) endItem(state, item, result, now);
    }
    if (file.items.every(({ status }) => status !== "open")) {
      file.status = file.items.some(({ status }) => status === "paid") ? "paid" : "canceled";
    }
  }
  for (const { payout } of paidBefore) {
    if (results.get(payout) === "failed") movePayout(state, payout, "returned", now);
  }
}

function endItem(state: State, item: PayoutFile["items"][number], to: "back" | "paid" | "failed", now: number): void {
  item.status = to;
  putPayout(state, item.payout, to === "back" ? "pending" : to, now);
}

/** A change of a partner's payout destination holds the partner's payouts; it never shortens a hold. */
export function changeDestination(state: State, slug: string, now: number): void {
  state.held = { ...state.held, [slug]: Math.max(state.held[slug] ?? 0, now + HOLD) };
}

/** False without a hold in force. */
export function releaseHold(state: State, slug: string, now: number): boolean {
  if (!isHeld(state, slug, now)) return false;
  const { [slug]: _, ...others } = state.held;
  state.held = others;
  return true;
}

import type { Child } from "../../jsx.ts";
import { dateText, numberText, timeText, usePageZone } from "../locale.ts";
import type { Amount, Amounts } from "../../../domain/amount.ts";
import { decimalAmount } from "../../../domain/currency.ts";
import type { Action } from "../../../domain/commission.ts";
import type { Cents } from "../../../domain/money.ts";
import { providerName } from "../../../providers/registry.ts";

/** An amount in its currency's format, with a real minus sign. */
export function Money({ of }: { of: Amount }) {
  return <span class={of.amount_cents < 0 ? "money negative" : "money"}>{moneyText(of)}</span>;
}

export function moneyText({ amount_cents, currency }: Amount): string {
  return `${numberText(decimalAmount(amount_cents, currency))}\u00a0${currency}`;
}

/** Every currency of a sum, each on a line of its own; with `most` the first ones, and the number of the others. */
export function Sums({ of, most = of.length }: { of: Amounts; most?: number | undefined }) {
  return (
    <span class={of.length > 1 ? "sums several" : "sums"}>
      {of.slice(0, most).map((amount) => (
        <Money of={amount} />
      ))}
      {of.length > most ? <span class="second">+{of.length - most} more</span> : null}
    </span>
  );
}

/** "120.00 USD and 5,000 JPY": every currency of a sum in a sentence. */
export function sumsText(of: Amounts): string {
  const texts = of.map(moneyText);
  const last = texts.pop() ?? "";
  return texts.length === 0 ? last : `${texts.join(", ")} and ${last}`;
}

/** An instant in the time zone of the page (PAGE-23); on hover in the form of the API and of files. */
export function When({ at, only }: { at: string | null; only?: "day" | undefined }) {
  if (at === null) return <span class="muted">–</span>;
  return <Instant at={at} only={only} />;
}

function Instant({ at, only }: { at: string; only: "day" | undefined }) {
  const zone = usePageZone();
  return (
    <time datetime={at} title={at}>
      {only === "day" ? dateText(at, zone) : timeText(at, zone)}
    </time>
  );
}

export function Count({ of }: { of: number }) {
  return <span class="number">{countText(of)}</span>;
}

export function countText(count: number): string {
  return numberText(String(count));
}

/** "1 partner", "2 partners". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

const TONES: Record<string, "good" | "warn" | "bad" | "calm" | "done"> = {
  active: "good",
  approved: "good",
  granted: "good",
  succeeded: "good",
  commission: "good",
  invited: "warn",
  pending: "warn",
  open: "warn",
  processing: "warn",
  delivering: "warn",
  partner_not_active: "warn",
  unpaid: "warn",
  failed: "bad",
  declined: "bad",
  rejected: "bad",
  returned: "bad",
  blocked: "bad",
  unknown_ref: "bad",
  paid: "done",
};

/** A status as a word on a tint; never the tint alone. */
export function Badge({ state, label }: { state: string; label?: string | undefined }) {
  return <span class={`badge ${TONES[state] ?? "calm"}`}>{label ?? stateText(state)}</span>;
}

/** A warning that an object waits for a person. Stronger than any status. */
export function Flag({ label }: { label: string }) {
  return (
    <span class="badge flag">
      <svg viewBox="0 0 12 12" aria-hidden="true">
        <path d="M6 .8 11.6 11H.4Z" fill="currentColor" />
        <path d="M6 4.4v3.1M6 8.9v.6" class="flag-mark" />
      </svg>
      <span>{label}</span>
    </span>
  );
}

function stateText(state: string): string {
  return state.replaceAll("_", " ");
}

/** A figure with its name, for the head of a page. Money is `Sums`. */
export function Stat({ label, value, note }: { label: Child; value: Child; note?: Child }) {
  return (
    <div class="stat">
      <dt>{label}</dt>
      <dd>
        <span class="stat-value">{value}</span>
        {note ? <span class="stat-note">{note}</span> : null}
      </dd>
    </div>
  );
}

/** Formats a number of smallest units in a fixed currency. */
export type MoneyFormat = (amount_cents: Cents) => string;

/** A percentage: "12.5 %". */
export function percentText(value: number): string {
  return `${numberText(String(value))}\u00a0%`;
}

/** A share in percent: "12.5 %"; empty if the whole is zero. */
export function shareText(part: number, whole: number): string {
  return whole === 0 ? "–" : `${numberText(((part / whole) * 100).toFixed(1))}\u00a0%`;
}

/** Changes from this factor on are shown as a factor. */
const SAID_IN_TIMES = 11;

/** The change of a figure: "+12.5 %", or "×24"; empty without a previous value. */
export function changeText(now: number, before: number): string {
  if (before <= 0) return "";
  if (now / before >= SAID_IN_TIMES) return `×${countText(Math.round(now / before))}`;
  const text = shareText(now - before, before);
  return now > before ? `+${text}` : text;
}

/** "vs. previous 30 days: 642 (+37.1 %)". */
export function beforeText(days: number, value: string, change: string): string {
  return `vs. previous ${days === 1 ? "day" : `${days} days`}: ${value}${change === "" ? "" : ` (${change})`}`;
}

/** Formats a rate: "20 %", "5.00 USD flat". A flat amount is in the payment's currency. */
export function rateText(rate: Action, money: MoneyFormat): string {
  return rate.action_type === "percentage" ? percentText(rate.action_value) : `${money(rate.action_value)} flat`;
}

/** A provider's name at the start of a text. */
export function providerText(provider: string | null): string {
  if (provider === null) return "By hand";
  return capitalized(providerName(provider));
}

/** A word as the value of a fact or the start of a sentence. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

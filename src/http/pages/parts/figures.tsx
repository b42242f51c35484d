import type { Child } from "hono/jsx";
import { formatMoney } from "../../../domain/currency.ts";
import type { Rate } from "../../../domain/commission.ts";

/** An amount in the currency's own form; the minus is a real one. */
export function Money({ cents, currency }: { cents: number; currency: string }) {
  return <span class={cents < 0 ? "money negative" : "money"}>{moneyText(cents, currency)}</span>;
}

export function moneyText(cents: number, currency: string): string {
  return formatMoney(cents, currency).replace("-", "\u2212").replace(" ", "\u00a0");
}

/** An instant: UTC in the page and on hover; the script turns the text into the visitor's zone. */
export function When({ at, only }: { at: string | null; only?: "day" }) {
  if (at === null) return <span class="muted">–</span>;
  const utc = `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
  return (
    <time datetime={at} title={utc} data-only={only}>
      {only === "day" ? at.slice(0, 10) : utc}
    </time>
  );
}

export function Count({ of }: { of: number }) {
  return <span class="number">{countText(of)}</span>;
}

export function countText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** "1 partner", "2 partners". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

const TONES: Record<string, "good" | "warn" | "bad" | "calm" | "done"> = {
  active: "good",
  approved: "good",
  succeeded: "good",
  commission: "good",
  invited: "warn",
  pending: "warn",
  processing: "warn",
  delivering: "warn",
  partner_not_active: "warn",
  unpaid: "warn",
  failed: "bad",
  rejected: "bad",
  blocked: "bad",
  unknown_ref: "bad",
  paid: "done",
};

/** A state as a word on a tint; never by the tint alone. */
export function Badge({ state, label }: { state: string; label?: string }) {
  return <span class={`badge ${TONES[state] ?? "calm"}`}>{label ?? stateText(state)}</span>;
}

function stateText(state: string): string {
  return state.replaceAll("_", " ");
}

/** A figure with its name, for the head of a page. */
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

/** A rate as people say it: "20 %", "5.00 USD flat". A flat amount is of the payment's currency. */
export function rateText(rate: Pick<Rate, "action_type" | "action_value">, currency: string): string {
  return rate.action_type === "percentage"
    ? `${rate.action_value}\u00a0%`
    : `${moneyText(rate.action_value, currency)} flat`;
}

const PROVIDERS: Record<string, string> = { provider_a: "Provider A", provider_b: "Provider B" };

export function providerText(provider: string | null): string {
  return provider === null ? "By hand" : (PROVIDERS[provider] ?? provider);
}

/** The dated steps of the sample's year. */
import type { Chance } from "../chance.ts";
import { CAST, customerEmail, emailOf, LANDINGS, LEFT, VISITORS, type Member } from "./cast.ts";
import { PLANS, TAX, type SampleCurrency } from "./program.ts";
import type { Paid } from "./vendor-events.ts";

/** A sale, at a payment provider or reported by the owner's server. */
export interface Sale extends Paid {
  at_provider: "provider_a" | "provider_b" | "api";
  product: string;
}

export interface Visit {
  ref: string;
  landing: string;
  referrer: string | null;
  country: string;
}

export type Step = { at: number } & (
  | { is: "join"; member: Member }
  | { is: "visit"; visit: Visit }
  | { is: "sale"; sale: Sale }
  | { is: "renewal"; sale: Sale }
  | { is: "refund"; sale: Sale; amount: number }
  | { is: "dispute"; sale: Sale }
  | { is: "lead"; ref: string; email: string; id: string }
  | { is: "claim"; ref: string; order_id: string; grant: boolean }
  | { is: "bonus"; ref: string; amount_cents: number; note: string }
  | { is: "apply" | "invite" | "leave" }
  | { is: "cron"; cron: string }
  /** Pays the pending payouts, or those by one method. */
  | { is: "pay"; reference: string; only: "wallet" | null }
);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LENGTH = 365;
const CHURN = 0.09;

/** Makes the steps of the year that ends at `end` (ms), in their order. The same chance makes the same year. */
export function yearBefore(end: number, chance: Chance, program: string): Step[] {
  const begin = end - LENGTH * DAY;
  const maker = new Maker(chance, program, begin, end);
  const days = Array.from({ length: LENGTH }, (_, day) => begin + day * DAY);
  const steps: Step[] = [
    ...CAST.map((member): Step => ({ is: "join", member, at: end - member.joined * DAY + 2 * HOUR })),
    ...days.flatMap((day) => maker.day(day)),
    ...maker.stories(),
    ...crons(begin, end),
  ];
  return steps.filter(({ at }) => at > begin && at < end).toSorted((a, b) => a.at - b.at);
}

/** The daily jobs before the monthly ones and at the end; the payouts are paid on the fifth, but the last bank transfers. */
function crons(begin: number, end: number): Step[] {
  const steps: Step[] = [{ is: "cron", cron: DAILY, at: end - HOUR }];
  const first = new Date(begin);
  for (let month = 1; month <= 12; month++) {
    const at = Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + month, 1, 0, 23);
    const next = Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + month + 1, 1, 0, 23);
    // After midnight: earlier, the daily jobs would still pay the month before.
    steps.push({ is: "cron", cron: DAILY, at: at - 10 * MINUTE }, { is: "cron", cron: MONTHLY, at });
    const name = new Date(at - DAY).toISOString().slice(0, 7);
    const only = next < end ? null : "wallet";
    steps.push({ is: "pay", reference: `Batch ${name}`, only, at: at + 4 * DAY + 10 * HOUR });
  }
  return steps;
}

const DAILY = "17 3 * * *";
const MONTHLY = "23 0 1 * *";

class Maker {
  readonly #chance: Chance;
  readonly #program: string;
  readonly #begin: number;
  readonly #end: number;
  /** Ids of a provider are of one deployment each. */
  readonly #key: string;
  #sales = 0;

  constructor(chance: Chance, program: string, begin: number, end: number) {
    this.#chance = chance;
    this.#program = program;
    this.#begin = begin;
    this.#end = end;
    this.#key = program.slice(-6);
  }

  /** Visits and new customers of a day: more each month, fewer at weekends. */
  day(day: number): Step[] {
    const grown = (day - this.#begin) / (this.#end - this.#begin);
    const pace = (0.25 + 1.1 * grown) * ([0, 6].includes(new Date(day).getUTCDay()) ? 0.65 : 1);
    const active = CAST.filter((one) => this.#joined(one) < day && (one.slug !== LEFT || day < this.#end - 30 * DAY));
    const minute = (from: number, to: number) => day + this.#chance.whole(from * 60, to * 60) * MINUTE;
    // Visits that arrive together are stored together, in a third of the time.
    const moments = [minute(6, 11), minute(12, 17), minute(18, 22)];
    const visits = Array.from({ length: active.length && this.#chance.arrivals(16 * pace) }, (): Step => {
      const at = this.#chance.of(moments) + this.#chance.whole(0, 12_000);
      return { is: "visit", visit: this.#visit(this.#chance.weighted(active)), at };
    });
    const sales = Array.from({ length: this.#chance.arrivals(0.75 * pace) }, () => {
      const isTheirs = active.length > 0 && this.#chance.happens(0.88);
      return this.#bought(isTheirs ? this.#chance.weighted(active) : null, minute(7, 22));
    });
    return [...visits, ...sales.flat()];
  }

  #joined(member: Member): number {
    return this.#end - member.joined * DAY + DAY;
  }

  #visit(member: Member): Visit {
    const isHome = this.#chance.happens(0.45);
    const home = VISITORS.find(({ country }) => country === member.country);
    const { country } = isHome && home ? home : this.#chance.weighted(VISITORS);
    const referrer = this.#chance.happens(0.8) ? member.referrer : null;
    return { ref: member.slug, landing: this.#chance.weighted(LANDINGS).path, referrer, country };
  }

  /** A first payment, followed by renewals until the customer leaves, or by a refund. */
  #bought(member: Member | null, at: number): Step[] {
    const chance = this.#chance;
    const isYearly = chance.happens(0.2);
    const isSubscription = !isYearly && chance.happens(0.55);
    const sale = this.#sale({ at, member, isYearly, isSubscription });
    const steps: Step[] = [{ is: "sale", sale, at }];
    if (sale.subscription) {
      for (let due = at + 30 * DAY, n = 2; due < this.#end && !chance.happens(CHURN); due += 30 * DAY, n++) {
        steps.push({ is: "renewal", sale: { ...sale, id: `${sale.id}x${n}`, at: due, code: null }, at: due });
      }
    } else if (chance.happens(0.1)) {
      const amount = chance.happens(0.5) ? sale.amount : Math.round(sale.amount / 2);
      steps.push({ is: "refund", sale, amount, at: at + chance.whole(2, 12) * DAY });
    }
    return steps;
  }

  /** Chance decides the rest. */
  #sale(given: Given): Sale {
    const chance = this.#chance;
    const n = this.#sales++;
    const { at, member } = given;
    const currency = given.currency ?? this.#currencyOf(member);
    const plan = given.plan ?? chance.weighted(PLANS);
    const at_provider = given.at_provider ?? chance.weighted(PROVIDERS[currency]).name;
    const net = plan.price[currency] * (given.isYearly ? 10 : 1);
    const tax = at_provider === "api" ? 0 : Math.round((net * TAX[currency]) / 100);
    const hasCode = member?.code !== undefined && at_provider !== "api" && chance.happens(0.25);
    const id = `${this.#key}${String(n).padStart(4, "0")}`;
    return {
      ...{ id, at, amount: net + tax, tax, currency, at_provider, product: plan.id, program: this.#program },
      ...{ email: given.email ?? customerEmail(n % 360), customer: `${CUSTOMER[at_provider]}${id}` },
      ref: given.ref ?? (member && !hasCode ? member.slug : null),
      code: hasCode ? codeId(at_provider, member) : null,
      subscription: given.isSubscription && at_provider !== "api" ? `sub_${id}` : null,
    };
  }

  #currencyOf(member: Member | null): SampleCurrency {
    const home = member && HOME[member.country];
    return home && this.#chance.happens(0.6) ? home : this.#chance.weighted(SHARES).currency;
  }

  /** The cases that a newcomer looks for: a clawback, flags, a claim, an application, leads. */
  stories(): Step[] {
    const [end, ago] = [this.#end, (days: number, hours = 0) => this.#end - days * DAY - hours * HOUR];
    const [starter, team, business] = PLANS as [Plan, Plan, Plan];
    const of = (slug: string) => CAST.find((member) => member.slug === slug)!;
    const once = { isYearly: false, isSubscription: false, currency: "USD", at_provider: "provider_a" } as const;
    const sale = (given: Partial<Given> & { at: number; member: Member | null }) => this.#sale({ ...once, ...given });
    const refunded = sale({ at: ago(100), member: of("priya"), plan: starter, isYearly: true });
    const own = sale({ at: ago(9), member: of("hannah"), plan: business, email: emailOf(of("hannah")) });
    const again = sale({ at: ago(16), member: of("lucas"), plan: starter, email: emailOf(of("lucas")) });
    const disputed = sale({ at: ago(20), member: of("maya"), plan: business });
    const missed = sale({ at: ago(5), member: null, plan: team, at_provider: "api" });
    const credited = sale({ at: ago(70), member: null, plan: starter, at_provider: "api" });
    const misspelled = sale({ at: ago(11), member: null, plan: starter, ref: "maja" });
    const sales = [refunded, own, again, disputed, missed, credited, misspelled];
    const leads = Array.from({ length: 18 }, (_, i): Step => {
      const ref = ["claire", "northlight", "ingrid"][i % 3]!;
      return { is: "lead", ref, email: customerEmail(340 + i), id: `trial-${i + 1}`, at: ago(200 - i * 11, 2) };
    });
    return [
      ...sales.map((one): Step => ({ is: "sale", sale: one, at: one.at })),
      { is: "refund", sale: refunded, amount: refunded.amount, at: ago(6) },
      { is: "dispute", sale: disputed, at: ago(12) },
      { is: "claim", ref: "northlight", order_id: orderOf(credited), grant: true, at: ago(66) },
      { is: "claim", ref: "emilytran", order_id: orderOf(missed), grant: false, at: ago(2) },
      { is: "bonus", ref: "maya", amount_cents: 5_000, note: "Bonus for the launch review", at: ago(50) },
      { is: "leave", at: ago(30) },
      { is: "invite", at: ago(3) },
      { is: "apply", at: end - 26 * HOUR },
      ...leads,
    ];
  }
}

type Plan = (typeof PLANS)[number];

interface Given {
  at: number;
  member: Member | null;
  isYearly: boolean;
  isSubscription: boolean;
  currency?: SampleCurrency;
  plan?: Plan;
  at_provider?: Sale["at_provider"];
  email?: string;
  ref?: string;
}

const SHARES: { currency: SampleCurrency; weight: number }[] = [
  { currency: "USD", weight: 5 },
  { currency: "EUR", weight: 3 },
  { currency: "GBP", weight: 2 },
  { currency: "JPY", weight: 1 },
];

/** The currency of most customers of a partner. */
const HOME: Record<string, SampleCurrency> = { JP: "JPY", GB: "GBP", DE: "EUR", FR: "EUR", AT: "EUR", NL: "EUR" };

type Seller = { name: Sale["at_provider"]; weight: number };
const [A, B, OWN] = [6, 3, 2].map((weight, i): Seller => ({
  name: (["provider_a", "provider_b", "api"] as const)[i]!,
  weight,
})) as [Seller, Seller, Seller];
const PROVIDERS: Record<SampleCurrency, Seller[]> = { USD: [A, B, OWN], EUR: [A, B], GBP: [A, B], JPY: [B] };

const CUSTOMER: Record<Sale["at_provider"], string> = { provider_a: "cus_", provider_b: "ctm_", api: "user-" };

/** The id of an order that the owner's server reports. */
export function orderOf({ id }: Sale): string {
  return `order-${id}`;
}

/** The provider's id of a partner's promotion code. */
export function codeId(provider: string, { slug }: Member): string {
  return `${provider === "provider_a" ? "promo" : "dsc"}_${slug}`;
}

/**
 * Customers' actions, as each vendor reports them: events wait here until a step sends them, late, doubled or in any
 * order.
 */
import { byVendor, VENDOR_NAMES, vendorNamed, type ListedVendor } from "../../src/providers/registry.ts";
import type { Chance } from "../../src/dev/chance.ts";
import { TEST_VENDORS } from "../support/vendors/index.ts";
import type { Outbox, Report, Reported, Reporter, Version } from "../support/vendors/test-vendor.ts";
import { adjust, type Purchase } from "./model-facts.ts";
import { customerOf, keptAddress } from "./model-erasure.ts";
import { settle } from "./model.ts";
import { time } from "./played-globals.ts";
import type { State } from "./model-state.ts";
import { linesOf, type Sold } from "./sold.ts";

export interface VendorEvent {
  id: string;
  provider: ListedVendor;
  text: string;
  body: string;
  /** The purchase that it is about, or one of the subscription that ends. */
  sale: string;
  /** The model's facts of it; repeating them has no effect. */
  learn: (state: State, now: number) => void;
}

const REFS = ["ann", "ann", "ANN", "bob", "bob", "cara", "ivy", "dan", "nobody", null, null];
const SELLERS = VENDOR_NAMES.flatMap((name) => Array.from({ length: TEST_VENDORS[name].share }, () => name));
const CURRENCIES = ["usd", "usd", "usd", "eur", "jpy"];
/** Its id in the form of the provider's: an import reads whose it is from that. */
function customerAt(provider: ListedVendor, n: number): string {
  return `${vendorNamed(provider)!.customers.id_prefix}${n}`;
}

export class Vendors {
  readonly sold: Sold[] = [];
  readonly waiting: VendorEvent[] = [];
  readonly sent: VendorEvent[] = [];
  /** Purchases that wait for their money, and the result of its arrival. */
  readonly #unpaid: (() => string)[] = [];
  readonly #reporters: Record<ListedVendor, Reporter>;
  #made = 0;

  constructor(program: string) {
    const outbox: Outbox = {
      ...{ program, refs: REFS, number: () => ++this.#made, now: () => time.now },
      isWaiting: (wanted) => this.waiting.some(({ text }) => text === wanted),
      report: (...reported) => this.#report(...reported),
      adjust: (...adjusted) => this.#adjust(...adjusted),
      later: (act) => void this.#unpaid.push(act),
    };
    this.#reporters = byVendor((name) => TEST_VENDORS[name].reporter(outbox));
  }

  /** Possible first-time buyers. */
  nextCustomer(chance: Chance): Pick<Sold, "provider" | "customer"> {
    const provider = chance.of(SELLERS);
    return { provider, customer: customerAt(provider, this.#made + 1) };
  }

  /** A late purchase, often one of which an event has not arrived yet. */
  recent(chance: Chance): Pick<Sold, "provider" | "customer" | "email"> | null {
    const open = this.sold.filter(({ key }) => this.waiting.some(({ sale }) => sale === key));
    const from = open.length > 0 && chance.happens(0.6) ? open : this.sold;
    return from.length > 0 ? chance.of(from.slice(-12)) : null;
  }

  /** The purchases that an event may change: its own first, then others of the customer. */
  touchedBy({ sale }: VendorEvent): string[] {
    const own = this.sold.find(({ key }) => key === sale)!;
    const others = this.sold.filter(
      ({ key, customer, subscription, email }) =>
        key !== sale &&
        (customer === own.customer ||
          (email !== null && email === own.email) ||
          (subscription !== null && subscription === own.subscription)),
    );
    return [sale, ...others.map(({ key }) => key)];
  }

  /** A new action between customers and vendors, often about one of these purchases; described in words. */
  happen(chance: Chance, about: readonly string[]): string {
    if (this.#unpaid.length > 0 && chance.happens(0.3)) {
      return this.#unpaid.splice(chance.whole(0, this.#unpaid.length - 1), 1)[0]!();
    }
    const chosen = this.sold.filter(({ key }) => about.includes(key));
    const from = chosen.length > 0 && chance.happens(0.4) ? chosen : this.sold.slice(-8);
    const sold = from.length > 0 ? chance.of(from) : null;
    if (!sold || chance.happens(0.25)) return this.#sell(chance, sold && chance.happens(0.4) ? sold : null);
    if (sold.subscription !== null && chance.happens(0.25)) {
      return chance.happens(0.7) ? this.#renew(chance, sold) : this.#end(sold);
    }
    return this.#reporters[sold.provider].giveBack(chance, sold);
  }

  #new(chance: Chance, provider: Sold["provider"], of: Sold | null, isSubscription: boolean): Sold {
    const n = ++this.#made;
    const net = chance.whole(1, chance.happens(0.2) ? 20 : 30_000);
    const sold: Sold = {
      key: `${this.#reporters[provider].key(isSubscription)}_${n}`,
      provider,
      customer: of?.customer ?? customerAt(provider, n),
      subscription: isSubscription ? `sub_${n}` : null,
      email: of?.email ?? (chance.happens(0.15) ? "ann@partners.example" : `buyer${n}@example.com`),
      gross: net,
      tax: 0,
      lines: linesOf(chance, net),
      currency: chance.of(CURRENCIES),
      payment_intent: `pi_${n}`,
      charge: `ch_${n}`,
      refunded: 0,
      adjustments: [],
      dispute: null,
    };
    if (chance.happens(0.5)) {
      sold.tax = chance.whole(0, Math.ceil(net / 4));
      sold.gross += sold.tax;
    }
    if (!vendorNamed(provider)!.customers.has_email) sold.email = null;
    this.sold.push(sold);
    return sold;
  }

  #sell(chance: Chance, before: Sold | null): string {
    const provider = before?.provider ?? chance.of(SELLERS);
    const isSubscription = chance.happens(0.4) && this.#reporters[provider].renews;
    const sold = this.#new(chance, provider, before, isSubscription);
    const ref = before && chance.happens(0.4) ? null : chance.of(REFS);
    this.#reporters[provider].sell(chance, sold, ref);
    return `${sold.key} is sold: ${sold.gross} (tax ${sold.tax}) ${sold.currency} by ${ref ?? "nobody"} to ${sold.customer}`;
  }

  #renew(chance: Chance, of: Sold): string {
    const sold = this.#new(chance, of.provider, of, true);
    sold.subscription = of.subscription;
    this.#reporters[sold.provider].renew(sold);
    return `${sold.key} renews ${of.subscription}: ${sold.gross} (tax ${sold.tax}) ${sold.currency}`;
  }

  #end(sold: Sold): string {
    const { subscription: id, provider } = sold;
    const ended = `${provider} ${id}`;
    this.#wait({
      ...this.#reporters[provider].end(sold, id!),
      provider,
      text: `the end of ${id}`,
      sale: sold.key,
      learn: (state, now) => {
        if (!state.ended.includes(ended)) state.ended = [...state.ended, ended];
        for (const [key, purchase] of Object.entries(state.purchases)) {
          if (`${purchase.provider} ${purchase.subscription}` === ended) settle(state, key, now);
        }
      },
    });
    return `${id} ends`;
  }

  #wait(event: VendorEvent): void {
    const learn: VendorEvent["learn"] = (state, now) => {
      if (!state.learned.includes(event.id)) state.learned = [...state.learned, event.id];
      event.learn(state, now);
    };
    this.waiting.push({ ...event, learn });
  }

  #report(sold: Sold, event: Report, { has_lines, ...said }: Reported): void {
    const { id } = event;
    const { provider, customer, subscription, email, gross, tax } = sold;
    const lines = has_lines ? sold.lines : null;
    const base = said.source === "intent" ? gross : gross - tax;
    const whole = { ...said, id, currency: sold.currency.toUpperCase(), base, gross, email, lines };
    const learn = (state: State, now: number) => {
      const before = purchaseOf(state, sold);
      const isKnown = before.said.some((one) => one.id === id);
      const kept = isKnown ? null : keptAddress(state, customerOf(sold), email, said.at);
      const purchase = isKnown ? before : { ...before, said: [...before.said, { ...whole, email: kept }] };
      state.purchases[sold.key] = purchase;
      const slug = Object.keys(state.partners).find((one) => one === said.ref?.toLowerCase());
      if (slug && !state.remembered.some((one) => one.id === id)) {
        const keeper = said.source === "session" ? null : subscription;
        state.remembered = [...state.remembered, { id, provider, at: said.at, slug, customer, subscription, keeper }];
      }
      settle(state, sold.key, now);
      for (const [key, other] of Object.entries(state.purchases)) {
        const isServed = other.customer === customer || (subscription !== null && other.subscription === subscription);
        if (slug && other !== purchase && isServed) settle(state, key, now);
      }
    };
    this.#wait({ ...event, provider, sale: sold.key, learn });
  }

  #adjust(sold: Sold, event: Report, version: Version): void {
    const learn = (state: State, now: number) => {
      const purchase = purchaseOf(state, sold);
      state.purchases[sold.key] = adjust(purchase, { open: false, gives: false, reversible: false, ...version });
      settle(state, sold.key, now);
    };
    this.#wait({ ...event, provider: sold.provider, sale: sold.key, learn });
  }
}

function purchaseOf(state: State, { key, provider, customer, subscription, payment_intent: intent }: Sold): Purchase {
  return state.purchases[key] ?? { provider, customer, subscription, intent, said: [], adjustments: [] };
}

/** Shared by the played vendors of `money-world.ts`: the clock, the customer's credit, and the true story. */
import type { ReportKind } from "../../src/providers/provider.ts";
import * as api from "./api-bodies.ts";
import type { Carried, Said, Truth } from "./money-truth.ts";
import type { Bought, Chapter, Lead, Life } from "./money-life.ts";

const T0 = 1_780_000_000;
const TWO_DAYS = 172_800;

type Of<Do extends Chapter["do"]> = Extract<Chapter, { do: Do }>;

/** A report of the owner's server. */
export interface ApiEvent {
  kind: ReportKind;
  body: api.LeadBody | api.SaleBody | api.RefundBody;
}

/** A payment with the vendor's own data of it. */
export interface Sale {
  truth: Truth;
  /** Charged and not yet given back, nor held by a dispute. */
  left: number;
  left_tax: number;
}

export abstract class PlayedVendor<Event, Kind extends Sale = Sale> {
  readonly events: Event[] = [];
  /** The owner's server's reports of the vendor's customer, beside the vendor's events. */
  readonly leads: ApiEvent[] = [];
  readonly said: Said[] = [];
  /** Keys of payments that are only tests. */
  readonly tests: string[] = [];
  protected readonly sales: Kind[] = [];
  protected readonly life: Life;
  protected readonly n: string;
  protected subscription: string | null = null;
  protected readonly customer: string;
  /** The vendor's debt to the customer, which pays for purchases first. */
  protected credit = 0;
  protected chapter = 0;
  #clock: number;
  #made = 0;

  constructor(life: Life, n: string, customerPrefix: string) {
    this.life = life;
    this.n = n;
    this.customer = `${customerPrefix}${n}`;
    this.#clock = life.begins ?? T0;
  }

  get truths(): Truth[] {
    return this.sales.map(({ truth }) => truth);
  }

  /** `seconds`: when it happens. Chapters are more than an hour apart, in the order of their numbers. */
  live(next: Chapter, at: number, seconds = T0 + at * TWO_DAYS): void {
    this.chapter = at;
    this.#clock = seconds;
    switch (next.do) {
      case "buy":
        return this.buy(next);
      case "subscribe":
        this.subscription = this.id("sub_");
        return this.subscribe(next, this.subscription);
      case "renew":
        return this.subscription === null ? undefined : this.renew(next, this.subscription);
      case "upgrade":
        return this.subscription === null ? undefined : this.upgrade(next, this.subscription);
      case "downgrade":
        return this.subscription === null ? undefined : this.downgrade(next, this.subscription);
      case "credit":
        return this.giveCredit(next);
      case "refund":
        return this.withSale(next.pick, (sale) => this.refund(next, sale));
      case "dispute":
        return this.withSale(next.pick, (sale) => this.dispute(next, sale, Math.ceil((sale.left * next.share) / 100)));
      case "say":
        return next.ref === null ? undefined : this.say(next.ref, next.of === "customer" ? null : this.subscription);
      case "lead":
        return this.lead(next);
      case "cancel":
        return this.subscription === null ? undefined : this.cancel(this.subscription);
      case "test":
        return this.test(next, this.sales[next.pick % Math.max(this.sales.length, 1)]);
    }
  }

  protected abstract buy(what: Bought): void;
  protected abstract subscribe(what: Bought, subscription: string): void;
  protected abstract renew(what: Bought, subscription: string): void;
  protected abstract upgrade(what: Bought, subscription: string): void;
  protected abstract downgrade(what: Of<"downgrade">, subscription: string): void;
  protected abstract giveCredit(what: Of<"credit">): void;
  protected abstract refund(what: Of<"refund">, sale: Kind): void;
  protected abstract dispute(what: Of<"dispute">, sale: Kind, amount: number): void;
  protected abstract say(ref: string, subscription: string | null): void;
  protected abstract test(what: Of<"test">, sale: Kind | undefined): void;

  protected lead({ ref, by }: Lead): void {
    const [id, email] = [by === "email" ? null : this.customer, by === "id" ? null : this.life.email];
    if (id === null && email === null) return;
    const at = this.at(1);
    const customer = { ...(id === null ? {} : { id }), ...(email === null ? {} : { email }) };
    const occurred_at = new Date(at * 1_000).toISOString();
    this.leads.push({ kind: "lead", body: api.lead({ external_id: this.id("lead_"), ref, customer, occurred_at }) });
    const { provider } = this.life;
    const whose = { customer: id, subscription: null, lead: { email } };
    this.said.push({ provider, chapter: this.chapter, at, slugs: [ref], codes: [], ...whose });
  }

  protected cancel(subscription: string): void {
    for (const { truth } of this.sales) if (truth.subscription === subscription) truth.canceled = true;
    this.subscription = null;
  }

  /** A sale with a refundable remainder and without an open dispute. */
  private withSale(pick: number, then: (sale: Kind) => void): void {
    const some = this.sales.filter(({ left, truth }) => left > 0 && !truth.open);
    const sale = some[pick % Math.max(some.length, 1)];
    if (sale) then(sale);
  }

  /** When the next event of the chapter happens, in seconds: at least `least` after the one before. */
  protected at(least = 0): number {
    return (this.#clock += Math.max(this.life.tick, least));
  }

  protected id(prefix: string): string {
    return `${prefix}${this.n}x${this.#made++}`;
  }

  /** The tax in an amount that includes it. */
  protected taxIn(amount: number): number {
    return Math.floor((amount * this.life.tax_pct) / (100 + this.life.tax_pct));
  }

  /** Takes an amount from the customer, credit first: returns the amount to charge. */
  protected charge(total: number): number {
    const used = Math.min(this.credit, Math.max(total, 0));
    this.credit -= used;
    return Math.max(total, 0) - used;
  }

  protected remember(
    at: number,
    refs: (string | null)[],
    customer: string | null,
    subscription: string | null,
    codes: string[] = [],
    keeper: string | null = null,
  ): void {
    const slugs = refs.filter((ref) => ref !== null);
    if (slugs.length + codes.length === 0) return;
    const { provider } = this.life;
    this.said.push({ provider, chapter: this.chapter, at, slugs, codes, customer, subscription, keeper });
  }

  protected truth(fields: Pick<Truth, "key" | "total" | "charged" | "customer"> & Partial<Truth>): Truth {
    const { provider, currency, email } = this.life;
    return {
      ...{ provider, currency, email, tax: this.taxIn(fields.total), paid: true, back: 0, net_back: null },
      ...{
        open: false,
        canceled: false,
        carried: [],
        codes: [],
        subscription: null,
        chapter: this.chapter,
        at: this.#clock,
      },
      ...fields,
    };
  }
}

/** The promotion codes of a purchase. */
export function codesOf({ discount }: Pick<Bought, "discount">): string[] {
  return discount ? [discount.code] : [];
}

/** The given references. */
export function carriedAt(...found: [Carried["place"], string | null][]): Carried[] {
  return found.flatMap(([place, slug]) => (slug === null ? [] : [{ place, slug }]));
}

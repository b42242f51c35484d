/** A generator of customers: their purchases from trial to end, their provider, and the partner's link. */
import { VENDOR_NAMES, type ListedProvider } from "../../src/providers/registry.ts";
import type { Chance } from "../../src/dev/chance.ts";
import type { Bought, Chapter, Lead, Life } from "../support/money-life.ts";
import { TEST_VENDORS } from "../support/vendors/index.ts";
import { CODES, PARTNERS } from "./story-program.ts";

const DAY = 86_400;
const MONTH = 30;

/** A customer's life, each chapter at its second. */
export interface CustomerLife {
  life: Life;
  chapters: { at: number; next: Chapter }[];
}

/** Prices in smallest units: of a currency without decimals, with two and with three. */
const PRICES: Record<string, readonly [low: number, high: number]> = {
  USD: [500, 49_900],
  EUR: [900, 29_900],
  JPY: [300, 60_000],
  KWD: [1_000, 150_000],
  BHD: [900, 90_000],
};
/** Those of the owner's server. */
const CURRENCIES = ["USD", "EUR", "JPY", "KWD", "BHD"];
/** Other products' slugs, and a shop's own numbers. */
const UNKNOWN = ["other-product", "cart-77"];

/** The lives of so many customers, each of which begins some time within the days from `from` (seconds) on. */
export function makeLives(chance: Chance, customers: number, from: number, days: number): CustomerLife[] {
  return Array.from({ length: customers }, (_, n) => new LifeMaker(chance, n, from, days).make());
}

class LifeMaker {
  readonly #chance: Chance;
  readonly #life: Life;
  readonly #chapters: CustomerLife["chapters"] = [];
  readonly #home: string | null;
  /** The code that the customer types at checkout; for a subscription it may last every month. */
  readonly #code: string | null;
  readonly #recurs: boolean;
  readonly #end: number;
  #day: number;
  readonly #from: number;
  #price: number;

  constructor(chance: Chance, n: number, from: number, days: number) {
    this.#chance = chance;
    this.#from = from;
    this.#end = days;
    this.#day = chance.whole(0, Math.max(days - MONTH, 1));
    const provider = chance.of<ListedProvider>([...VENDOR_NAMES.flatMap((name) => [name, name]), "api"]);
    const currency = chance.of(provider === "api" ? CURRENCIES : TEST_VENDORS[provider].currencies);
    this.#home = chance.happens(0.25) ? null : this.#slug();
    this.#code = provider !== "api" && TEST_VENDORS[provider].codes && chance.happens(0.25) ? chance.of(CODES) : null;
    this.#recurs = chance.happens(0.5);
    this.#price = this.#amount(currency);
    this.#life = {
      ...{ provider, currency, tax_pct: chance.of([0, 0, 8, 19, 25]), begins: this.#second(this.#day) },
      ...{ email: this.#email(n), guest: chance.happens(0.15), tick: chance.of([0, 1, 40]) },
      refunds: chance.of(["charge", "refund", "both"] as const),
    };
  }

  make(): CustomerLife {
    if (this.#chance.happens(0.15)) this.#say();
    if (this.#chance.happens(0.15)) this.#lead();
    if (this.#chance.happens(0.25)) this.#shop();
    else this.#subscribe();
    return { life: this.#life, chapters: this.#chapters };
  }

  /** Buys now and then. */
  #shop(): void {
    for (let left = this.#chance.whole(1, 6); left > 0 && this.#isOn; left--) {
      this.#put(this.#buy());
      this.#aside(0.25);
      this.#wait(3, 90);
    }
  }

  /** Subscribes, most often after a trial, pays every month, and goes; some come back. */
  #subscribe(): void {
    const trial = this.#chance.happens(0.35);
    const how = trial ? "free" : this.#how();
    this.#put({ ...this.#discounted(this.#bought(this.#price)), do: "subscribe", how });
    while (this.#isOn) {
      const due = this.#day + MONTH;
      this.#aside(0.3);
      this.#day = Math.max(due, this.#day + 1);
      if (this.#chance.happens(0.06)) {
        this.#put({ do: "cancel" });
        this.#aside(0.3);
        if (this.#chance.happens(0.7)) return;
        this.#wait(10, 90);
        return this.#subscribe();
      }
      const what = this.#bought(this.#price);
      this.#put({ ...(this.#recurs ? this.#discounted(what) : what), do: "renew", ref: null, how: this.#how() });
    }
  }

  /** Events between two payments. */
  #aside(probability: number): void {
    while (this.#chance.happens(probability) && this.#isOn) {
      this.#wait(1, 9);
      this.#put(this.#between());
    }
  }

  #between(): Chapter {
    const chance = this.#chance;
    const roll = chance.next();
    if (roll < 0.28) {
      const ends = chance.of(["holds", "holds", "holds", "fails", "fails later", "waits"] as const);
      return { do: "refund", pick: chance.whole(0, 9), share: chance.of([10, 33, 50, 51, 100, 100]), ends };
    }
    if (roll < 0.45) {
      const ends = chance.of(["open", "won", "lost", "lost", "reinstated", "partly back", "inquiry"] as const);
      return { do: "dispute", pick: chance.whole(0, 9), share: chance.of([20, 50, 100]), ends };
    }
    if (roll < 0.6) {
      this.#price += chance.whole(1, this.#price);
      return { ...this.#bought(chance.whole(1, this.#price)), do: "upgrade", ref: null };
    }
    if (roll < 0.7) {
      this.#price = Math.max(Math.floor(this.#price / 2), 1);
      return { do: "downgrade", amount: chance.whole(1, this.#price), ref: this.#ref() };
    }
    if (roll < 0.78) return { do: "credit", amount: chance.whole(1, this.#price * 2) };
    if (roll < 0.85) return this.#buy();
    if (roll < 0.89) return this.#led();
    if (roll < 0.94)
      return { do: "say", ref: this.#slug(), of: chance.happens(0.5) ? "customer" : "subscription" } as const;
    return { do: "test", pick: chance.whole(0, 9), amount: this.#amount(), ref: this.#ref() };
  }

  #say(): void {
    this.#put({ do: "say", ref: this.#slug(), of: "customer" });
    this.#wait(1, 10);
  }

  /** The owner's server reports the customer's partner, before or between payments. */
  #lead(): void {
    this.#put(this.#led());
    this.#wait(1, 10);
  }

  #led(): Lead {
    // A partner's own address is that of several customers.
    const isOwn = this.#life.email?.endsWith("@mail.example") === true;
    return { do: "lead", ref: this.#slug(), by: isOwn ? this.#chance.of(["id", "email", "both"]) : "id" };
  }

  /** An intent alone knows no code. */
  #buy(): Chapter {
    const what = this.#bought(this.#amount());
    return { ...(what.via === "intent" ? what : this.#discounted(what)), do: "buy" };
  }

  #bought(amount: number): Omit<Bought, "do"> {
    const chance = this.#chance;
    return {
      ...{ amount, ref: this.#ref(), other: this.#ref(), how: this.#how() },
      place: chance.of(["subscription", "subscription", "line", "invoice"] as const),
      shape: chance.of(["new", "new", "repeated", "old"] as const),
      via: chance.of(["session", "session", "intent", "both"] as const),
    };
  }

  /** A percentage or an amount by the customer's code. */
  #discounted(what: Omit<Bought, "do">): Omit<Bought, "do"> {
    if (this.#code === null) return what;
    const { amount: price } = what;
    const off = this.#recurs ? Math.floor((price * 20) / 100) : Math.min(500, price - 1);
    return { ...what, amount: price - off, discount: { code: this.#code, off } };
  }

  #how(): Bought["how"] {
    return this.#chance.of<Bought["how"]>([...Array<"paid">(14).fill("paid"), "free", "late", "held", "never"]);
  }

  #slug(): string {
    const slug = this.#chance.happens(0.07) ? this.#chance.of(UNKNOWN) : this.#chance.of(PARTNERS).slug;
    return this.#chance.happens(0.1) ? slug.toUpperCase() : slug;
  }

  /** The customer's own partner's code, seldom another's, or no code. */
  #ref(): string | null {
    if (this.#chance.happens(0.08)) return this.#slug();
    return this.#chance.happens(0.3) ? null : this.#home;
  }

  #email(n: number): string | null {
    if (this.#chance.happens(0.05)) return null;
    if (this.#chance.happens(0.03)) return `${this.#chance.of(PARTNERS).slug}@partners.example`;
    return `customer-${n}@mail.example`;
  }

  /** Mostly round, sometimes of the least or of a very large sum. */
  #amount(currency = this.#life.currency): number {
    const [low, high] = PRICES[currency]!;
    if (this.#chance.happens(0.03)) return this.#chance.whole(1, 9);
    if (this.#chance.happens(0.01)) return this.#chance.whole(1, 900_000_000);
    return this.#chance.whole(low, high);
  }

  get #isOn(): boolean {
    return this.#day < this.#end;
  }

  #wait(least: number, most: number): void {
    this.#day += this.#chance.whole(least, most);
  }

  #put(next: Chapter): void {
    if (this.#isOn) this.#chapters.push({ at: this.#second(this.#day), next });
  }

  /** Some time of a day, never near midnight, when the owner changes the rules. */
  #second(day: number): number {
    return this.#from + day * DAY + this.#chance.whole(3_600, 20 * 3_600);
  }
}

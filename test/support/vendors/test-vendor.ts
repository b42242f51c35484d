/** A payment provider for the tests, in one record. `index.ts` has one for each provider of `src/providers/list.ts`. */
import type { Chance } from "../../../src/dev/chance.ts";
import type { Adjustment, Said } from "../../simulate/model-facts.ts";
import type { Sold } from "../../simulate/sold.ts";
import type { Life } from "../money-life.ts";
import type { Truth } from "../money-truth.ts";
import type { PlayedVendor } from "../money-vendor.ts";

/** Events are plain values; `bodyOf` makes the bytes that are sent. */
export interface TestVendor {
  /** The webhook secret of test programs, in the vendor's form, which the log leaves out. */
  secret: string;
  /** The signature header of these bytes at a time in seconds. */
  sign: (body: string | Uint8Array, secret: string, at: number) => Promise<string>;
  /** The parts of the signature header: its time, the name of a signature, the separator. */
  header: readonly [time: string, name: string, separator: string];
  /** The field with an event's id. */
  id_field: string;
  bodyOf: (event: object) => string;
  /** The event as the vendor's test mode, sandbox or simulator sends it (PAY-13, PAY-19). */
  inTestMode: (event: object) => object;
  /** The thin event of the same occurrence, which names the full one if `snapshot`. Null if the vendor has only full events. */
  thinOf: ((event: object, snapshot: boolean) => object) | null;
  /** A sample of each event that it sends, of the fuzz's program and partner. `registry.test.ts` has the requirements. */
  samples: readonly object[];
  /** A paid sale in USD. */
  sale: (sale: Required<Sale>) => object;
  /** The reports of a sale, its refund and its dispute, for the mixed load. */
  purchase: (sale: Bought, chance: Chance) => Purchase;
  /** A customer's events in order: the name of each, and the most rows that it may write. */
  story: (ref: string, now: () => number) => readonly [what: string, event: object, rows_written: number][];
  /** The events that a grown program repeats; `name` is in the customers' addresses. */
  history: (ref: string, program: string, name: string) => readonly object[];
  /** Null if its payments carry no promotion codes. */
  codes: VendorCodes | null;
  /** The number of customers, of 20 in the simulation, who buy from it; `reporter` reports their purchases. */
  share: number;
  reporter: (outbox: Outbox) => Reporter;
  /** The currencies of the stories' customers; one that is named twice is as frequent. */
  currencies: readonly string[];
  /** The vendor of one customer's life; `n` is in its ids. */
  played: (life: Life, n: string) => Played;
  /** The charged amount of a payment, net of tax (PAY-1), if more than 0 was charged. */
  netOf: (truth: Truth) => number;
}

export interface Sale {
  /** The reference that it carries. */
  ref: string | null;
  /** The program that it claims, if its provider's events claim one. */
  program: string;
  /** Smallest units, tax included: 100.00 without tax by default. */
  amount?: number;
  tax?: number;
  /** When it was paid: now by default. */
  at?: Date;
}

export interface Bought {
  ref: string;
  program: string;
  amount: number;
  /** Its number. */
  n: number;
}

export interface Purchase {
  /** Provider's id by which the service's rows are found: of the customer, or of the payment. */
  key: string;
  email: string | null;
  /** Each of them describes the whole purchase. */
  events: object[];
  refund: (cents: number) => object;
  /** Null if the provider does not report it apart from refunds. */
  dispute: { opened: object; lost: object } | null;
}

export interface VendorCodes {
  /** The vendor's ids of a code: its own and its coupon's. */
  idsOf: (code: string) => { id: string };
  /** The report of a code that was created at a time in seconds. */
  created: (code: string, at: number) => object;
  /** Whether a code keeps its id when its name changes; otherwise it is created again under another id. */
  keeps_id: boolean;
  /** The reports of a code that has another name for some days, and of sales with it and their renewals. */
  story: (sales: readonly CodeSale[], days: CodeDays) => object[];
}

export interface CodeSale {
  /** The day of the sale; never a day on which the owner changes the code. */
  day: number;
  /** Whether a renewal without the code follows, in the subscription that the sale began. */
  renewal: boolean;
  refund: number;
}

export interface CodeDays {
  renamed: number;
  as_before: number;
  /** The time of a day in seconds. */
  at: (day: number) => number;
}

export interface Played {
  vendor: PlayedVendor<unknown>;
  /** The bodies of its events so far. */
  bodies: () => string[];
}

/** A provider's reports of its sales in the simulation. */
export interface Reporter {
  /** How its keys of payments begin. */
  key: (isSubscription: boolean) => string;
  sell: (chance: Chance, sold: Sold, ref: string | null) => void;
  /** Whether it has subscriptions; otherwise `renew` and `end` are never called. */
  renews: boolean;
  renew: (sold: Sold) => void;
  end: (sold: Sold, subscription: string) => { id: string; body: string };
  /** A refund or dispute, described in words. */
  giveBack: (chance: Chance, sold: Sold) => string;
}

/** The place where reports wait until a step of the simulation sends them. */
export interface Outbox {
  program: string;
  /** References that a sale may carry. */
  refs: readonly (string | null)[];
  /** A new number for an id. */
  number: () => number;
  /** ms */
  now: () => number;
  isWaiting: (text: string) => boolean;
  report: (sold: Sold, event: Report, said: Reported) => void;
  adjust: (sold: Sold, event: Report, version: Version) => void;
  /** Something that happens at a later time, described in words. */
  later: (act: () => string) => void;
}

export interface Reported extends Pick<Said, "source" | "paid" | "ref" | "at"> {
  /** Whether the report has the lines of the payment. */
  has_lines: boolean;
}

export interface Report {
  id: string;
  text: string;
  body: string;
}

export type Version = Omit<Adjustment, "open" | "gives" | "reversible"> & Partial<Adjustment>;

/**
 * Customers' actions, as each vendor reports them: events wait here until a step sends them, late, doubled or in any
 * order.
 */
import { VENDOR_NAMES, vendorNamed, type ListedVendor } from "../../src/providers/registry.ts";
import type { Chance } from "../../src/dev/chance.ts";
import {
  bodyOfA,
  chargeRefunded,
  disputeEvent,
  invoicePaid,
  paymentIntentSucceeded,
  sessionAsyncSucceeded,
  sessionCompleted,
  subscriptionDeleted,
  type EventA,
} from "../support/provider-a.ts";
import { adjustmentCreated, adjustmentUpdated, bodyOfB, subscriptionCanceled } from "../support/provider-b.ts";
import { transactionCompleted, type EventB } from "../support/provider-b.ts";
import { adjust, type Adjustment, type Purchase, type Said } from "./model-facts.ts";
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
/** How often each is bought from, in 20. */
const SHARES: Record<ListedVendor, number> = { provider_a: 13, provider_b: 7 };
const SELLERS = VENDOR_NAMES.flatMap((name) => Array.from({ length: SHARES[name] }, () => name));
const CURRENCIES = ["usd", "usd", "usd", "eur", "jpy"];
/** An invoice may have an earlier payment time than the session of the same payment. */
const PAID_BEFORE = 1_800_000;

/** Its id in the form of the provider's: an import reads whose it is from that. */
function customerAt(provider: ListedVendor, n: number): string {
  return `${vendorNamed(provider)!.customers.id_prefix}${n}`;
}

/** A provider's reports of its sales: another provider does not compile without its own. */
interface Reporter {
  /** How its keys of payments begin. */
  key: (isSubscription: boolean) => string;
  /** Whether its payments have the customer's address. */
  has_email: boolean;
  sell: (chance: Chance, sold: Sold, ref: string | null) => void;
  renew: (sold: Sold) => void;
  end: (sold: Sold, subscription: string) => { id: string; body: string };
  giveBack: (chance: Chance, sold: Sold) => string;
}

export class Vendors {
  readonly sold: Sold[] = [];
  readonly waiting: VendorEvent[] = [];
  readonly sent: VendorEvent[] = [];
  /** Purchases that wait for their money, and the result of its arrival. */
  readonly #unpaid: (() => string)[] = [];
  readonly #program: string;
  #made = 0;
  readonly #reporters: Record<ListedVendor, Reporter> = {
    provider_a: {
      key: (isSubscription) => (isSubscription ? "in" : "cs"),
      has_email: true,
      sell: (...sale) => this.#sellA(...sale),
      renew: (sold) => this.#invoice(sold, null),
      end: (...ended) => this.#endA(...ended),
      giveBack: (...given) => this.#giveBackA(...given),
    },
    provider_b: {
      key: () => "txn",
      has_email: false,
      sell: (_chance, sold, ref) => this.#transaction(sold, ref),
      renew: (sold) => this.#transaction(sold, null),
      end: (...ended) => this.#endB(...ended),
      giveBack: (...given) => this.#giveBackB(...given),
    },
  };

  constructor(program: string) {
    this.#program = program;
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
    if (!this.#reporters[provider].has_email) sold.email = null;
    this.sold.push(sold);
    return sold;
  }

  #sell(chance: Chance, before: Sold | null): string {
    const provider = before?.provider ?? chance.of(SELLERS);
    const isSubscription = chance.happens(0.4);
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

  #stampA(ago = 0) {
    return { event_id: `evt_a${++this.#made}`, created: Math.floor((time.now - ago) / 1_000) };
  }

  #stampB() {
    return { event_id: `evt_b${++this.#made}`, occurred_at: new Date(time.now).toISOString() };
  }

  #sellA(chance: Chance, sold: Sold, ref: string | null): void {
    if (chance.happens(0.5)) this.#intent(sold);
    if (sold.subscription === null && chance.happens(0.2)) return this.#intent(sold);
    if (sold.subscription !== null) {
      this.#session(sold, ref, true);
      this.#invoice(sold, chance.happens(0.4) ? chance.of(REFS) : null, chance.of([0, 0, PAID_BEFORE]));
    } else if (chance.happens(0.4)) {
      this.#session(sold, ref, false);
      this.#payLater(sold, ref);
    } else this.#session(sold, ref, true);
  }

  #payLater(sold: Sold, ref: string | null): void {
    this.#unpaid.push(() => {
      this.#session(sold, ref, true, 0);
      return `${sold.key} is paid`;
    });
  }

  #endA({ customer }: Sold, id: string) {
    const stamp = this.#stampA();
    return { id: stamp.event_id, body: bodyOfA(subscriptionDeleted({ ...stamp, id, customer })) };
  }

  #endB({ customer }: Sold, id: string) {
    const stamp = this.#stampB();
    return { id: stamp.event_id, body: bodyOfB(subscriptionCanceled({ ...stamp, id, customer })) };
  }

  #session(sold: Sold, ref: string | null, paid: boolean, lateAgo?: number): void {
    const stamp = this.#stampA(lateAgo);
    const { customer, subscription, email, gross: amount, tax, currency, payment_intent } = sold;
    const make = lateAgo !== undefined ? sessionAsyncSucceeded : sessionCompleted;
    const event = make({
      ...stamp,
      ...{
        id: sold.key.replace("in_", "cs_"),
        ref,
        customer,
        subscription,
        email,
        amount,
        tax,
        currency,
        payment_intent,
      },
      invoice: subscription === null ? null : sold.key,
      payment_status: paid ? "paid" : "unpaid",
    });
    this.#tellA(sold, event, { source: "session", paid, ref, at: stamp.created * 1_000 });
  }

  /** The ways of payment, independent of the partner. */
  #intent(sold: Sold): void {
    if (this.waiting.some(({ text }) => text === `payment_intent.succeeded of ${sold.key}`)) return;
    const stamp = this.#stampA();
    const { customer, email, gross: amount, currency, payment_intent, charge } = sold;
    const event = paymentIntentSucceeded({ ...stamp, customer, email, amount, currency, payment_intent, charge });
    this.#tellA(sold, event, { source: "intent", paid: true, ref: null, at: stamp.created * 1_000 });
  }

  #invoice(sold: Sold, ref: string | null, ago = 0): void {
    const stamp = this.#stampA(ago);
    const { customer, subscription, email, gross: amount, tax, currency, payment_intent, charge, key: id } = sold;
    const event = invoicePaid({
      ...stamp,
      ...{ id, ref, customer, subscription, email, amount, tax, currency, payment_intent, charge, shape: "old" },
    });
    const stated = event.data.object["lines"] as { data: object[] };
    const [line] = stated.data;
    stated.data = sold.lines.map(({ products: [product, price], amount }, i) => ({
      ...line,
      ...{ id: `il_${id}_${i}`, amount, price: { object: "price", id: price, product, nickname: null } },
    }));
    this.#tellA(sold, event, { source: "invoice", paid: true, ref, at: stamp.created * 1_000 });
  }

  #transaction(sold: Sold, ref: string | null): void {
    const stamp = this.#stampB();
    const { key: id, customer, subscription, gross: amount, tax } = sold;
    const program = this.#program;
    const currency = sold.currency.toUpperCase();
    const event = transactionCompleted({ ...stamp, id, ref, program, customer, subscription, amount, tax, currency });
    const details = event.data["details"] as { line_items: { product: object }[] };
    const [line] = details.line_items;
    details.line_items = sold.lines.map(({ products: [product, price], amount: net }, i) => {
      const own = i === 0 ? tax : 0;
      const totals = { ...{ subtotal: String(net), discount: "0" }, tax: String(own), total: String(net + own) };
      const of = { product: { ...line!.product, id: product }, price_id: price };
      return { ...line, id: `txnitm_${id}_${i}`, ...of, totals, unit_totals: totals };
    });
    this.#tellB(sold, event, { source: "transaction", paid: true, ref, at: Date.parse(stamp.occurred_at) });
  }

  #tellA(sold: Sold, event: EventA, said: Pick<Said, "source" | "paid" | "ref" | "at">): void {
    this.#report(sold, event.id, `${event.type} of ${sold.key}`, bodyOfA(event), said);
  }

  #tellB(sold: Sold, event: EventB, said: Pick<Said, "source" | "paid" | "ref" | "at">): void {
    this.#report(sold, event.event_id, `${event.event_type} of ${sold.key}`, bodyOfB(event), said);
  }

  #report(
    sold: Sold,
    id: string,
    text: string,
    body: string,
    said: Pick<Said, "source" | "paid" | "ref" | "at">,
  ): void {
    const { provider, customer, subscription, email, gross, tax } = sold;
    const lines = said.source === "invoice" || said.source === "transaction" ? sold.lines : null;
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
    this.#wait({ id, provider, text, body, sale: sold.key, learn });
  }

  #giveBackA(chance: Chance, sold: Sold): string {
    const { payment_intent, charge, gross: amount, currency } = sold;
    const ids = { ...this.#stampA(), payment_intent, charge, currency };
    const at = ids.created * 1_000;
    if (chance.happens(0.6)) {
      const more = chance.happens(0.4) ? amount : chance.whole(0, amount);
      sold.refunded = Math.min(amount, sold.refunded + more);
      const event = chargeRefunded({ ...ids, amount, refunded: sold.refunded });
      const version = { id: charge, at, stage: 0, amount: sold.refunded, gross: true, counts: true };
      this.#adjust(sold, ids.event_id, `refund of ${sold.refunded} on ${sold.key}`, bodyOfA(event), version);
      return `${sold.refunded} of ${sold.key} are refunded by now`;
    }
    sold.dispute ??= { id: `dp_${sold.key}`, amount: chance.whole(1, amount) };
    const { id } = sold.dispute;
    const how = chance.of(["created", "won", "lost", "lost", "reinstated"]);
    const type = how === "created" ? how : how === "reinstated" ? "funds_reinstated" : "closed";
    const status = how === "created" ? "needs_response" : how === "reinstated" ? "won" : how;
    const event = disputeEvent(`charge.dispute.${type}`, { ...ids, id, amount: sold.dispute.amount, status });
    const stage = how === "created" ? 0 : how === "reinstated" ? 2 : 1;
    const counts = how === "lost";
    const version = { id, at, stage, amount: sold.dispute.amount, gross: true, counts, open: how === "created" };
    this.#adjust(sold, ids.event_id, `dispute ${how} on ${sold.key}`, bodyOfA(event), version);
    return `a dispute about ${sold.dispute.amount} of ${sold.key}: ${how}`;
  }

  #giveBackB(chance: Chance, sold: Sold): string {
    const stamp = this.#stampB();
    const currency = sold.currency.toUpperCase();
    const open = sold.adjustments.find(({ status }) => status === "pending_approval");
    const action = chance.of(["refund", "refund", "chargeback", "chargeback_reverse"] as const);
    const status = open
      ? chance.of(["approved", "approved", "rejected"] as const)
      : action === "refund" && chance.happens(0.5)
        ? "pending_approval"
        : "approved";
    const id = open?.id ?? `adj_${++this.#made}`;
    const what = open ? "refund" : action;
    const amount = open?.amount ?? (chance.happens(0.3) ? sold.gross - sold.tax : chance.whole(1, sold.gross));
    if (open) open.status = status;
    else sold.adjustments.push({ id, amount, status });
    const make = open ? adjustmentUpdated : adjustmentCreated;
    const { key: transaction, customer, subscription } = sold;
    const event = make({
      ...stamp,
      id,
      transaction,
      amount,
      tax: 0,
      currency,
      action: what,
      status,
      customer,
      subscription,
    });
    const stage = ["pending_approval", "approved", "rejected"].indexOf(status);
    const version = {
      id,
      at: Date.parse(stamp.occurred_at),
      stage,
      amount,
      gross: false,
      counts: status === "approved",
    };
    const gives = what === "chargeback_reverse";
    this.#adjust(sold, stamp.event_id, `${what} ${id} (${status}, ${amount}) on ${sold.key}`, bodyOfB(event), {
      ...version,
      gives,
      reversible: what === "chargeback",
    });
    return `a ${what} of ${amount} on ${sold.key} is ${status}`;
  }

  #adjust(
    sold: Sold,
    id: string,
    text: string,
    body: string,
    version: Omit<Adjustment, "open" | "gives" | "reversible"> & Partial<Adjustment>,
  ): void {
    const learn = (state: State, now: number) => {
      const purchase = purchaseOf(state, sold);
      state.purchases[sold.key] = adjust(purchase, { open: false, gives: false, reversible: false, ...version });
      settle(state, sold.key, now);
    };
    this.#wait({ id, provider: sold.provider, text, body, sale: sold.key, learn });
  }
}

function purchaseOf(state: State, { key, provider, customer, subscription, payment_intent: intent }: Sold): Purchase {
  return state.purchases[key] ?? { provider, customer, subscription, intent, said: [], adjustments: [] };
}

/** Provider A's reports of its customers' actions in the simulation. */
import type { Chance } from "../../../../src/dev/chance.ts";
import type { Sold } from "../../../simulate/sold.ts";
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
} from "../../provider-a.ts";
import type { Outbox, Reported, Reporter } from "../test-vendor.ts";

/** An invoice may have an earlier payment time than the session of the same payment. */
const PAID_BEFORE = 1_800_000;

export class ReporterA implements Reporter {
  readonly renews = true;
  readonly #outbox: Outbox;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  key(isSubscription: boolean): string {
    return isSubscription ? "in" : "cs";
  }

  renew(sold: Sold): void {
    this.#invoice(sold, null);
  }

  end({ customer }: Sold, id: string) {
    const stamp = this.#stamp();
    return { id: stamp.event_id, body: bodyOfA(subscriptionDeleted({ ...stamp, id, customer })) };
  }

  sell(chance: Chance, sold: Sold, ref: string | null): void {
    if (chance.happens(0.5)) this.#intent(sold);
    if (sold.subscription === null && chance.happens(0.2)) return this.#intent(sold);
    if (sold.subscription !== null) {
      this.#session(sold, ref, true);
      this.#invoice(sold, chance.happens(0.4) ? chance.of(this.#outbox.refs) : null, chance.of([0, 0, PAID_BEFORE]));
    } else if (chance.happens(0.4)) {
      this.#session(sold, ref, false);
      this.#payLater(sold, ref);
    } else this.#session(sold, ref, true);
  }

  #payLater(sold: Sold, ref: string | null): void {
    this.#outbox.later(() => {
      this.#session(sold, ref, true, 0);
      return `${sold.key} is paid`;
    });
  }

  #session(sold: Sold, ref: string | null, paid: boolean, lateAgo?: number): void {
    const stamp = this.#stamp(lateAgo);
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
    this.#report(sold, event, { source: "session", has_lines: false, paid, ref, at: stamp.created * 1_000 });
  }

  /** The ways of payment, independent of the partner. */
  #intent(sold: Sold): void {
    if (this.#outbox.isWaiting(`payment_intent.succeeded of ${sold.key}`)) return;
    const stamp = this.#stamp();
    const { customer, email, gross: amount, currency, payment_intent, charge } = sold;
    const event = paymentIntentSucceeded({ ...stamp, customer, email, amount, currency, payment_intent, charge });
    this.#report(sold, event, { source: "intent", has_lines: false, paid: true, ref: null, at: stamp.created * 1_000 });
  }

  #invoice(sold: Sold, ref: string | null, ago = 0): void {
    const stamp = this.#stamp(ago);
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
    this.#report(sold, event, { source: "invoice", has_lines: true, paid: true, ref, at: stamp.created * 1_000 });
  }

  giveBack(chance: Chance, sold: Sold): string {
    const { payment_intent, charge, gross: amount, currency } = sold;
    const ids = { ...this.#stamp(), payment_intent, charge, currency };
    const at = ids.created * 1_000;
    if (chance.happens(0.6)) {
      const more = chance.happens(0.4) ? amount : chance.whole(0, amount);
      sold.refunded = Math.min(amount, sold.refunded + more);
      const event = chargeRefunded({ ...ids, amount, refunded: sold.refunded });
      const version = { id: charge, at, stage: 0, amount: sold.refunded, gross: true, counts: true };
      const text = `refund of ${sold.refunded} on ${sold.key}`;
      this.#outbox.adjust(sold, { id: ids.event_id, text, body: bodyOfA(event) }, version);
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
    const text = `dispute ${how} on ${sold.key}`;
    this.#outbox.adjust(sold, { id: ids.event_id, text, body: bodyOfA(event) }, version);
    return `a dispute about ${sold.dispute.amount} of ${sold.key}: ${how}`;
  }

  #report(sold: Sold, event: EventA, said: Reported): void {
    this.#outbox.report(sold, { id: event.id, text: `${event.type} of ${sold.key}`, body: bodyOfA(event) }, said);
  }

  #stamp(ago = 0) {
    return { event_id: `evt_a${this.#outbox.number()}`, created: Math.floor((this.#outbox.now() - ago) / 1_000) };
  }
}

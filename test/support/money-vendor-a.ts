/** Provider A, played: its events of a customer's life, and the true story (`money-world.ts`). */
import { discountEventA } from "./code-events.ts";
import type { Bought, Chapter, Discount, Life } from "./money-life.ts";
import { carriedAt, codesOf, PlayedVendor, type Sale } from "./money-vendor.ts";
import * as a from "./provider-a.ts";

interface Refund {
  id: string;
  amount: number;
  state: "holds" | "will fail" | "failed";
}

interface SaleA extends Sale {
  payment_intent: string;
  charge: string;
  /** The held amount, of which `truth.charged` was captured. */
  held: number;
  refunds: Refund[];
}

type Of<Do extends Chapter["do"]> = Extract<Chapter, { do: Do }>;

/** The ids of a promotion code and of its coupon. */
export const idsOfCodeA = (code: string) => ({ id: `promo_${code}`, coupon: `cou_${code}` });

export class VendorA extends PlayedVendor<a.EventA, SaleA> {
  constructor(life: Life, n: string) {
    super(life, n, "cus_");
  }

  protected buy(what: Bought): void {
    if (what.via === "intent") return this.#payByIntent(what);
    const { amount, ref, other, how } = what;
    const key = this.id("cs_");
    const total = how === "free" ? 0 : amount;
    const customer = this.life.guest ? null : this.customer;
    const carried = carriedAt(["client_reference_id", ref], ["metadata", other]);
    const codes = codesOf(what);
    const charged = how === "held" && amount % 3 === 0 ? Math.ceil(total / 2) : total;
    const sale = this.#sell(this.truth({ key, total, charged, customer, carried, codes, paid: how !== "never" }), {
      held: total,
    });
    const fields = {
      ...{ id: key, ref, metadata: other === null ? {} : { service_ref: other }, customer },
      ...{ amount: total, tax: this.taxIn(total), currency: this.life.currency.toLowerCase(), email: this.life.email },
      ...{ payment_intent: sale.payment_intent, object: this.#discounted(what.discount, total) },
    };
    const isPaid = how === "paid" || how === "free";
    const payment_status = how === "free" ? "no_payment_required" : isPaid ? "paid" : "unpaid";
    const created = this.at(1);
    // The intent of a checkout has its metadata only if the owner puts it there.
    const intentRef = what.via === "both" ? other : null;
    const tellIntent = () => (total > 0 ? this.#tellIntent(sale, intentRef) : undefined);
    sale.truth.also = sale.payment_intent;
    // The vendor's own order is either.
    if (how === "paid" && amount % 2 === 0) tellIntent();
    this.events.push(a.sessionCompleted({ ...fields, payment_status, created }));
    this.remember(created, [ref, other], customer, null, codes);
    if (how === "paid" && amount % 2 === 1) tellIntent();
    if (isPaid) return;
    if (how === "held") return this.#take(sale, intentRef);
    if (how === "late") tellIntent();
    const decided = this.at(1);
    const make = how === "late" ? a.sessionAsyncSucceeded : a.sessionAsyncFailed;
    this.events.push(make({ ...fields, created: decided }));
    // The session repeats its references: they are the newest then (REF-4).
    if (how === "late") this.remember(decided, [ref, other], customer, null, codes);
  }

  /** With Elements or through the API, there is an intent only. One without a reference may be of a known customer. */
  #payByIntent(what: Bought): void {
    const { amount, how } = what;
    const ref = what.ref ?? what.other;
    const payment_intent = this.id("pi_");
    if (how === "never") {
      const failed = { id: payment_intent, object: "payment_intent" };
      this.events.push(a.eventA("payment_intent.payment_failed", failed, { created: this.at() }));
      return;
    }
    const customer = this.life.guest ? null : this.customer;
    const carried = carriedAt(["metadata", ref]);
    const truth = this.truth({ key: payment_intent, total: amount, charged: amount, customer, carried });
    this.#tellIntent(this.#sell(truth, { payment_intent, held: amount }), ref, { tax: truth.tax });
  }

  /** Captures a held amount: the intent alone reports it, and the rest is released as if it were refunded. */
  #take(sale: SaleA, ref: string | null): void {
    this.#tellIntent(sale, ref);
    const amount = sale.held - sale.truth.charged;
    if (amount === 0) return;
    const created = this.at();
    this.#tellRefunded(sale, created);
    if (this.life.refunds === "charge") return;
    this.events.push(
      a.refundEvent("refund.created", { ...this.#refunded(sale, { id: this.id("re_"), amount }), created }),
    );
  }

  /** An intent that reports the paid amount, with the reference of its own metadata. */
  #tellIntent({ truth, payment_intent, charge, held }: SaleA, ref: string | null, more: { tax?: number } = {}): void {
    const { customer, charged: captured, currency } = truth;
    const created = this.at(1);
    const ids = { payment_intent, charge, customer, email: this.life.email };
    const money = { amount: held, captured, currency: currency.toLowerCase(), ...more };
    this.events.push(a.paymentIntentSucceeded({ ...ids, ...money, ...(ref === null ? {} : { ref }), created }));
    this.remember(created, [ref], customer, null);
  }

  protected subscribe(what: Bought, subscription: string): void {
    const { amount, ref, other, place, how } = what;
    const total = how === "free" ? 0 : amount;
    const key = this.id("in_");
    const isPaid = how !== "never";
    const charged = isPaid ? this.charge(total) : 0;
    // References of an unpaid subscription's invoice are not reported.
    const carried = carriedAt(["client_reference_id", ref], [place, isPaid ? other : null]);
    const codes = codesOf(what);
    const whose = { customer: this.customer, subscription, carried, codes };
    const sale = this.#sell(this.truth({ key, total, charged, paid: isPaid, ...whose }));
    const session = () => {
      const created = this.at(1);
      const payment_status = how === "paid" ? "paid" : how === "free" ? "no_payment_required" : "unpaid";
      const ids = { id: this.id("cs_"), invoice: key, subscription, customer: this.customer };
      const money = { amount: total, tax: this.taxIn(total), currency: this.life.currency.toLowerCase() };
      const object = this.#discounted(what.discount, total);
      const session = { ...ids, ...money, ref, email: this.life.email, created, object };
      this.events.push(a.sessionCompleted({ ...session, payment_status }));
      this.remember(created, [ref], this.customer, subscription, codes);
    };
    // The vendor's own order is either.
    if (amount % 2 === 0) session();
    this.#invoice(sale, what, other);
    if (amount % 2 === 1) session();
  }

  protected renew(what: Bought, subscription: string): void {
    const { amount, other, place, how } = what;
    const key = this.id("in_");
    if (how === "never" || how === "late") {
      this.events.push(a.eventA("invoice.payment_failed", { id: key, object: "invoice" }, { created: this.at() }));
      if (how === "never") return;
    }
    const total = how === "free" ? 0 : amount;
    const truth = this.truth({ key, total, charged: this.charge(total), customer: this.customer, subscription });
    const sale = this.#sell({ ...truth, carried: carriedAt([place, other]), codes: codesOf(what) });
    this.#invoice(sale, what, other);
  }

  /** The rest of the period is invoiced at once, less the unused part of the cheaper one. */
  protected upgrade(what: Bought, subscription: string): void {
    const { amount: total, other, place } = what;
    const key = this.id("in_");
    const truth = this.truth({ key, total, charged: this.charge(total), customer: this.customer, subscription });
    const sale = this.#sell({ ...truth, carried: carriedAt([place, other]), codes: codesOf(what) });
    const prorated = { billing_reason: "subscription_update", unused: Math.ceil(total / 3) };
    this.events.push(
      a.subscriptionEventA("customer.subscription.updated", {
        ...{ id: subscription, customer: this.customer, created: this.at() },
      }),
    );
    this.#invoice(sale, { ...what, how: "paid" }, other, prorated);
  }

  protected downgrade({ amount, ref }: Of<"downgrade">, subscription: string): void {
    const key = this.id("in_");
    this.credit += amount;
    const carried = carriedAt(["subscription", ref]);
    this.#sell(this.truth({ key, total: -amount, charged: 0, customer: this.customer, subscription, carried }));
    const created = this.at(1);
    const money = { amount: -amount, tax: -this.taxIn(amount), amount_paid: 0, object: { amount_due: 0 } };
    this.events.push(a.invoicePaid({ id: key, ref, subscription, ...this.#whose(), ...money, created }));
    this.remember(created, [ref], this.customer, subscription, [], subscription);
  }

  /** A credit note to the balance: no money moves. */
  protected giveCredit({ amount }: Of<"credit">): void {
    this.credit += amount;
    this.events.push(
      a.eventA("credit_note.created", { id: this.id("cn_"), object: "credit_note", amount }, { created: this.at() }),
    );
  }

  protected refund({ share, ends }: Of<"refund">, sale: SaleA): void {
    // Earlier refunds fail, in the same second as the new one if the events can still report it.
    const failing = sale.refunds.filter(({ state }) => state === "will fail");
    for (const refund of failing) this.#fail(sale, refund, this.at(this.life.refunds === "both" ? 0 : 1));
    const failed = sale.refunds.filter(({ state }) => state === "failed");
    const amount = Math.floor((sale.left * share) / 100);
    const state = ends === "fails later" ? "will fail" : "holds";
    const refund: Refund = { id: this.id("re_"), amount, state };
    sale.refunds.push(refund);
    sale.left -= amount;
    sale.truth.back += amount;
    const created = this.at(this.life.refunds === "both" ? 0 : 1);
    this.#tellRefunded(sale, created);
    const status = ends === "waits" ? "pending" : "succeeded";
    if (this.life.refunds !== "charge") {
      this.events.push(
        a.refundEvent("refund.created", { ...this.#refunded(sale, refund), status: "pending", created }),
      );
      this.events.push(
        a.refundEvent("refund.updated", { ...this.#refunded(sale, refund), status, created: this.at() }),
      );
    }
    if (ends === "fails") this.#fail(sale, refund, this.at(1));
    // The owner adds a note to a refund that failed long ago.
    for (const old of failed) {
      const fields = { ...this.#refunded(sale, old), status: "failed", created: this.at(1) };
      this.events.push(a.refundEvent("refund.updated", fields));
    }
  }

  protected dispute({ ends }: Of<"dispute">, sale: SaleA, amount: number): void {
    const { payment_intent, charge, truth } = sale;
    const ids = { id: this.id("du_"), amount, currency: truth.currency.toLowerCase(), payment_intent, charge };
    const moves: number[] = [];
    const report = (change: string, status: string) => {
      const object = { balance_transactions: moves.map((move) => a.balanceTransaction(move, ids.currency)) };
      this.events.push(a.disputeEvent(`charge.dispute.${change}`, { ...ids, status, created: this.at(), object }));
    };
    report("created", ends === "inquiry" ? "warning_needs_response" : "needs_response");
    if (ends === "inquiry") return report("closed", "warning_closed");
    moves.push(-amount);
    report("funds_withdrawn", "needs_response");
    report("updated", "under_review");
    if (ends === "open") {
      sale.truth.open = true;
      return;
    }
    report("closed", ends === "won" ? "won" : "lost");
    const returned = { won: amount, reinstated: amount, "partly back": Math.floor(amount / 3), lost: 0 }[ends];
    if (returned > 0) {
      moves.push(returned);
      report("funds_reinstated", returned === amount ? "won" : "lost");
    }
    sale.left -= amount - returned;
    sale.truth.back += amount - returned;
  }

  protected say(ref: string, subscription: string | null): void {
    const created = this.at(1);
    this.events.push(
      subscription === null
        ? a.customerEvent({ id: this.customer, ref, created }, "customer.updated")
        : a.subscriptionEventA("customer.subscription.updated", {
            id: subscription,
            ref,
            customer: this.customer,
            created,
          }),
    );
    this.remember(created, [ref], this.customer, subscription, [], subscription ?? this.customer);
  }

  protected override cancel(subscription: string): void {
    super.cancel(subscription);
    this.events.push(a.subscriptionDeleted({ id: subscription, customer: this.customer, created: this.at() }));
  }

  /** Test mode, with the ids of a live payment if there is one. */
  protected test({ amount, ref }: Of<"test">, sale: SaleA | undefined): void {
    const at = { livemode: false, created: this.at(1) };
    const ids = { charge: sale?.charge ?? this.id("ch_"), payment_intent: sale?.payment_intent ?? this.id("pi_") };
    const key = sale?.truth.key ?? this.id("cs_");
    const made = { amount, ref, ...this.#whose(), subscription: this.subscription, ...at };
    this.tests.push(key);
    if (key.startsWith("in_")) this.events.push(a.invoicePaid({ id: key, ...made }));
    else
      this.events.push(a.sessionCompleted({ id: key, payment_intent: ids.payment_intent, ...made, mode: "payment" }));
    this.events.push(a.chargeRefunded({ ...ids, refunded: amount, ...at }));
    this.events.push(a.disputeEvent("charge.dispute.created", { ...ids, amount, ...at }));
    this.events.push(a.customerEvent({ id: this.customer, ref, ...at }, "customer.updated"));
  }

  #whose() {
    return { customer: this.customer, email: this.life.email };
  }

  #sell(truth: Sale["truth"], more: Partial<SaleA> = {}): SaleA {
    const left = truth.paid ? truth.charged : 0;
    const ids = { payment_intent: this.id("pi_"), charge: this.id("ch_") };
    const sale = { truth, left, left_tax: 0, held: truth.charged, ...ids, refunds: [], ...more };
    this.sales.push(sale);
    return sale;
  }

  /** The events of a finalised invoice, and the link to its charge. */
  #invoice(sale: SaleA, what: Bought, other: string | null, more: Partial<a.InvoiceOverrides> = {}): void {
    const { place, shape, how } = what;
    const { truth, payment_intent, charge } = sale;
    if (!truth.paid) {
      this.events.push(
        a.eventA("invoice.payment_failed", { id: truth.key, object: "invoice" }, { created: this.at() }),
      );
      return;
    }
    const { key, total, tax, charged, subscription } = truth;
    const isOld = shape === "old";
    const money = { amount: total, tax, amount_paid: charged, currency: this.life.currency.toLowerCase() };
    const paidBy = isOld && charged > 0 ? { payment_intent, charge } : {};
    const fields = { id: key, ref: other, ref_in: place, subscription, ...this.#whose(), ...money, ...paidBy, ...more };
    const object = this.#discountedInvoice(what.discount, subscription);
    const created = this.at(1);
    const make = how === "late" ? a.invoicePaymentSucceeded : a.invoicePaid;
    this.events.push(make({ ...fields, object, shape: isOld ? "old" : "new", created }));
    // Its lines have the subscription's metadata.
    const keeper = place === "invoice" ? null : subscription;
    this.remember(created, [other], this.customer, subscription, codesOf(what), keeper);
    if (charged === 0) return;
    truth.also = payment_intent;
    const ids = { payment_intent, charge, customer: this.customer };
    const intent = { ...ids, amount: charged, currency: money.currency, created: this.at() };
    if (isOld) this.events.push(a.paymentIntentSucceeded({ invoice: key, ...intent }));
    else if (shape === "repeated") this.events.push(a.paymentIntentSucceeded({ order_reference: key, ...intent }));
    else {
      // The two do not name each other: the vendor links them by a separate event.
      this.events.push(a.paymentIntentSucceeded(intent));
      this.events.push(a.invoicePaymentPaid({ invoice: key, payment_intent, created: this.at() }));
    }
  }

  /** A session's discount names the code itself. */
  #discounted(discount: Discount | null | undefined, total: number): Record<string, unknown> {
    if (!discount) return {};
    const { id, coupon } = idsOfCodeA(discount.code);
    const tax = this.taxIn(total);
    return {
      discounts: [{ coupon, promotion_code: id }],
      total_details: { amount_discount: discount.off, amount_shipping: 0, amount_tax: tax },
      amount_subtotal: total - tax + discount.off,
    };
  }

  /** An invoice names the discount only; a separate event links it to its code. */
  #discountedInvoice(discount: Discount | null | undefined, subscription: string | null): Record<string, unknown> {
    if (!discount) return {};
    const { id: promotion_code, coupon } = idsOfCodeA(discount.code);
    const id = this.id("di_");
    this.events.push(discountEventA({ id, promotion_code, coupon, subscription, created: this.at() }));
    return { discounts: [id], total_discount_amounts: [{ amount: discount.off, discount: id }] };
  }

  #refunded({ payment_intent, charge, truth }: SaleA, { id, amount }: Pick<Refund, "id" | "amount">) {
    return { id, amount, currency: truth.currency.toLowerCase(), payment_intent, charge };
  }

  /** The total refunded of the charge so far, and the released amount. */
  #tellRefunded({ truth, payment_intent, charge, held, refunds }: SaleA, created: number): void {
    const captured = truth.charged;
    const currency = truth.currency.toLowerCase();
    if (this.life.refunds === "refund") return;
    const refunded = refunds.reduce(
      (sum, { state, amount }) => sum + (state === "failed" ? 0 : amount),
      held - captured,
    );
    this.events.push(a.chargeRefunded({ payment_intent, charge, amount: held, captured, refunded, currency, created }));
  }

  #fail(sale: SaleA, refund: Refund, created: number): void {
    refund.state = "failed";
    sale.left += refund.amount;
    sale.truth.back -= refund.amount;
    const fields = { ...this.#refunded(sale, refund), status: "failed", created };
    this.events.push(a.refundFailed(fields), a.refundEvent("charge.refund.updated", fields));
  }
}

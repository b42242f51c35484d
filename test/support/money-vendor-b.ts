/** Provider B, played: its events of a customer's life, and the true story (`money-world.ts`). */
import type { Bought, Chapter, Discount, Life } from "./money-life.ts";
import { carriedAt, codesOf, PlayedVendor, type Sale } from "./money-vendor.ts";
import * as b from "./provider-b.ts";

type Of<Do extends Chapter["do"]> = Extract<Chapter, { do: Do }>;
type AdjustmentFields = Omit<b.AdjustmentOverrides, "transaction">;

/** The ids of a discount. */
export const idsOfCodeB = (code: string) => ({ id: `dsc_${code}` });

export class VendorB extends PlayedVendor<b.EventB> {
  constructor(life: Life, n: string) {
    super(life, n, "ctm_");
    if (life.email === null) return;
    const fields = { id: this.customer, email: life.email, occurred_at: this.#now() };
    this.events.push(b.customerEventB(fields));
  }

  protected buy(what: Bought): void {
    const customer = this.life.guest ? null : this.customer;
    this.#transaction(what, what.ref ?? what.other, customer, null);
  }

  protected subscribe(what: Bought, subscription: string): void {
    const ref = what.ref ?? what.other;
    this.#transaction(what, ref, this.customer, subscription);
    const occurred_at = this.#now(1);
    // Custom data is copied to the subscription.
    const fields = { id: subscription, ref, customer: this.customer, occurred_at };
    const discount = what.discount ? { id: idOf(what.discount), starts_at: occurred_at, ends_at: null } : null;
    this.events.push(b.subscriptionEventB("subscription.created", { ...fields, data: { discount } }));
    this.remember(Date.parse(occurred_at) / 1_000, [ref], this.customer, subscription, codesOf(what), subscription);
  }

  protected renew(what: Bought, subscription: string): void {
    this.#transaction(what, what.other, this.customer, subscription);
  }

  /** The rest of the period is billed at once. */
  protected upgrade(what: Bought, subscription: string): void {
    this.#transaction(what, what.other, this.customer, subscription, "subscription_update");
    this.events.push(
      b.subscriptionEventB("subscription.updated", {
        ...{ id: subscription, customer: this.customer, occurred_at: this.#now() },
      }),
    );
  }

  protected downgrade({ amount, ref }: Of<"downgrade">, subscription: string): void {
    const key = this.id("txn_");
    this.credit += amount;
    const carried = carriedAt(["metadata", ref]);
    this.#sell(this.truth({ key, total: -amount, charged: 0, customer: this.customer, subscription, carried }));
    const occurred_at = this.#now(1);
    const money = { amount: -amount, tax: -this.taxIn(amount), currency: this.life.currency };
    const fields = { id: key, ref, customer: this.customer, subscription, ...money, occurred_at };
    this.events.push(b.transactionCompleted({ ...fields, origin: "subscription_update" }));
    this.remember(Date.parse(occurred_at) / 1_000, [ref], this.customer, subscription, [], subscription);
  }

  /** A credit goes to the balance and does not reduce the paid amount. */
  protected giveCredit({ amount }: Of<"credit">): void {
    const sale = this.sales.find(({ truth }) => truth.customer !== null && truth.charged > 0);
    if (!sale) return;
    const credit = Math.min(amount, sale.truth.total);
    const money = { amount: credit, tax: this.taxIn(credit) };
    this.#adjust(sale, { action: "credit", status: "approved", ...money });
    if (amount % 3 === 0) this.#adjust(sale, { action: "credit_reverse", status: "approved", ...money });
    else this.credit += credit;
  }

  protected refund({ share, ends }: Of<"refund">, sale: Sale): void {
    const part = this.#part(sale, Math.floor((sale.left * share) / 100));
    const fields = { id: this.id("adj_"), action: "refund" as const, ...part };
    // Most refunds wait for the vendor; some are approved at once.
    if (part.amount % 2 === 0 || ends === "waits") this.#adjust(sale, { ...fields, status: "pending_approval" });
    else this.#adjust(sale, { ...fields, status: "approved" });
    if (ends === "waits") return;
    if (ends === "fails") return this.#adjust(sale, { ...fields, status: "rejected" }, true);
    this.#adjust(sale, { ...fields, status: "approved" }, true);
    if (ends === "fails later") return this.#adjust(sale, { ...fields, status: "reversed" }, true);
    this.#giveBack(sale, part, 1);
  }

  protected dispute({ ends }: Of<"dispute">, sale: Sale, amount: number): void {
    const part = this.#part(sale, amount);
    const isWarning = ends === "inquiry" || amount % 2 === 1;
    const action = isWarning ? "chargeback_warning" : "chargeback";
    const fields = { id: this.id("adj_"), action, ...part } as const;
    if (ends === "open") {
      this.#adjust(sale, { ...fields, status: "pending_approval" });
      sale.truth.open = true;
      return;
    }
    if (ends === "reinstated") {
      this.#adjust(sale, { ...fields, status: "pending_approval" });
      return this.#adjust(sale, { ...fields, status: "rejected" }, true);
    }
    this.#adjust(sale, { ...fields, status: "approved" });
    this.#giveBack(sale, part, 1);
    if (ends === "lost") return;
    const returned =
      ends === "partly back" ? { amount: Math.floor(part.amount / 2), tax: Math.floor(part.tax / 2) } : part;
    const reverse = isWarning ? "chargeback_warning_reverse" : "chargeback_reverse";
    this.#adjust(sale, { action: reverse, status: "approved", ...returned });
    // All of it came back: the vendor may also report this as part of the chargeback.
    if (ends !== "partly back" && amount % 3 !== 0) this.#adjust(sale, { ...fields, status: "reversed" }, true);
    this.#giveBack(sale, returned, -1);
  }

  protected say(ref: string, subscription: string | null): void {
    const occurred_at = this.#now(1);
    const fields = { ref, occurred_at };
    this.events.push(
      subscription === null
        ? b.customerEventB({ id: this.customer, email: this.life.email, ...fields }, "customer.updated")
        : b.subscriptionEventB("subscription.updated", { id: subscription, customer: this.customer, ...fields }),
    );
    const keeper = subscription ?? this.customer;
    this.remember(Date.parse(occurred_at) / 1_000, [ref], this.customer, subscription, [], keeper);
  }

  protected override cancel(subscription: string): void {
    super.cancel(subscription);
    const fields = { id: subscription, customer: this.customer, occurred_at: this.#now() };
    this.events.push(b.subscriptionCanceled(fields));
  }

  /** The vendor's simulator and its sandbox, with the ids of a live payment if there is one. */
  protected test({ amount, ref }: Of<"test">, sale: Sale | undefined): void {
    const key = sale?.truth.key ?? this.id("txn_");
    this.tests.push(key);
    const whose = { customer: this.customer, subscription: this.subscription };
    const events = [
      b.transactionCompleted({ id: key, ref, amount, ...whose, occurred_at: this.#now(1) }),
      b.adjustmentCreated({ transaction: key, amount, status: "approved", occurred_at: this.#now() }),
      b.customerEventB({ id: this.customer, ref, email: "bob@partners.example", occurred_at: this.#now() }),
    ];
    for (const event of events) {
      if (amount % 2 === 0)
        this.events.push({ ...event, notification_id: event.notification_id.replace("ntf_", "ntfsimntf_") });
      else this.events.push(Object.assign(event, { environment: "sandbox" }));
    }
  }

  #transaction(
    what: Bought,
    ref: string | null,
    customer: string | null,
    subscription: string | null,
    origin?: string,
  ): void {
    const { amount, how, shape } = what;
    const key = this.id("txn_");
    const occurred_at = this.#now(1);
    const total = how === "free" ? 0 : amount;
    const before = this.credit;
    const charged = customer === null ? total : how === "never" ? 0 : this.charge(total);
    const money = { amount: total, tax: this.taxIn(total), credit: before - this.credit, currency: this.life.currency };
    const fields = {
      id: key,
      ref,
      customer,
      subscription,
      ...money,
      shape,
      ...(origin === undefined ? {} : { origin }),
      ...(what.discount ? { data: { discount_id: idOf(what.discount) } } : {}),
    };
    if (how === "never") {
      this.events.push(b.transactionEvent("transaction.payment_failed", { ...fields, occurred_at }));
      return;
    }
    const carried = carriedAt(["metadata", ref]);
    const email = customer === null ? null : this.life.email;
    const codes = codesOf(what);
    this.#sell(this.truth({ key, total, charged, customer, subscription, carried, codes, email, net_back: 0 }));
    if (how === "late") this.events.push(b.transactionEvent("transaction.paid", { ...fields, occurred_at }));
    this.events.push(b.transactionCompleted({ ...fields, occurred_at }));
    this.remember(Date.parse(occurred_at) / 1_000, [ref], customer, subscription, codes, subscription);
  }

  #sell(truth: Sale["truth"]): void {
    const { total, tax, charged } = truth;
    // The tax in the charged amount, as a customer's refund returns it.
    const left_tax = total > 0 ? Math.floor((tax * charged) / total) : 0;
    this.sales.push({ truth, left: charged, left_tax });
  }

  /** A part of the remainder, with its part of the tax. */
  #part({ left, left_tax }: Sale, amount: number): { amount: number; tax: number } {
    return { amount, tax: amount === left ? left_tax : Number((BigInt(left_tax) * BigInt(amount)) / BigInt(left)) };
  }

  #giveBack(sale: Sale, { amount, tax }: { amount: number; tax: number }, sign: 1 | -1): void {
    sale.left -= sign * amount;
    sale.left_tax -= sign * tax;
    sale.truth.back += sign * amount;
    sale.truth.net_back = (sale.truth.net_back ?? 0) + sign * (amount - tax);
  }

  #adjust({ truth }: Sale, fields: AdjustmentFields, isUpdate = false): void {
    const make = isUpdate ? b.adjustmentUpdated : b.adjustmentCreated;
    const ids = { id: this.id("adj_"), transaction: truth.key, currency: truth.currency };
    this.events.push(make({ ...ids, ...fields, occurred_at: this.#now() }));
  }

  #now(least = 0): string {
    return new Date(this.at(least) * 1_000).toISOString();
  }
}

function idOf({ code }: Discount): string {
  return idsOfCodeB(code).id;
}

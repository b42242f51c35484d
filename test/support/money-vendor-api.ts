/** The owner's server, played: its reports of a customer's life, and the true story (`money-world.ts`). */
import * as api from "./api-bodies.ts";
import type { Bought, Chapter, Lead, Life } from "./money-life.ts";
import { carriedAt, PlayedVendor, type ApiEvent, type Sale } from "./money-vendor.ts";

type Of<Do extends Chapter["do"]> = Extract<Chapter, { do: Do }>;

/** It does not have subscriptions, tax, credit or test mode: every purchase is a sale, and every return a refund. */
export class VendorApi extends PlayedVendor<ApiEvent> {
  constructor(life: Life, n: string) {
    super(life, n, "user_");
  }

  protected buy(what: Bought): void {
    this.#sale(what, what.ref ?? what.other, this.life.guest);
  }

  protected subscribe(what: Bought): void {
    this.#sale(what, what.ref ?? what.other, this.life.guest);
  }

  protected renew(what: Bought): void {
    this.#sale(what, null, this.life.guest);
  }

  protected upgrade(what: Bought): void {
    this.#sale(what, null, this.life.guest);
  }

  protected downgrade(): void {}

  protected giveCredit(): void {}

  protected refund({ share, ends }: Of<"refund">, sale: Sale): void {
    const amount = Math.floor((sale.left * share) / 100);
    if (amount > 0 && ends === "holds") this.#giveBack(sale, amount);
  }

  protected dispute({ ends }: Of<"dispute">, sale: Sale, amount: number): void {
    if (ends === "lost") this.#giveBack(sale, amount);
  }

  protected say(ref: string): void {
    const occurred_at = this.#now(1);
    const { guest } = this.life;
    // A guest has an address only, possibly an unknown one.
    const customer = this.#customer(guest);
    if (customer.id === undefined && customer.email === undefined) return;
    this.events.push({ kind: "lead", body: api.lead({ external_id: this.id("lead_"), ref, customer, occurred_at }) });
    this.remember(Date.parse(occurred_at) / 1_000, [ref], guest ? customer.email! : this.customer, null);
  }

  protected override lead({ ref }: Lead): void {
    this.say(ref);
  }

  protected override cancel(): void {
    this.subscription = null;
  }

  protected test(): void {}

  #sale({ amount, how }: Bought, ref: string | null, isGuest: boolean): void {
    if (how === "never") return;
    const external_id = this.id("order_");
    const occurred_at = this.#now(1);
    const total = how === "free" ? 0 : amount;
    const customer = this.#customer(isGuest);
    const money = { amount_cents: total, currency: this.life.currency };
    const who = Object.keys(customer).length > 0 ? { customer } : {};
    const body = api.sale({ external_id, ...(ref === null ? {} : { ref }), ...who, ...money, occurred_at });
    const carried = carriedAt(["metadata", ref]);
    const named = (isGuest ? customer.email : this.customer) ?? null;
    const truth = { key: external_id, total, charged: total, tax: 0, customer: named, carried, net_back: 0 };
    this.sales.push({ truth: this.truth(truth), left: total, left_tax: 0 });
    this.events.push({ kind: "sale", body });
    if (!isGuest) this.remember(Date.parse(occurred_at) / 1_000, [ref], this.customer, null);
  }

  /** Two customers of a world have no address in common, so each has a tag of its own. */
  #customer(isGuest: boolean): api.Customer {
    const email = this.life.email?.replace("@", `+${this.n}@`);
    return { ...(isGuest ? {} : { id: this.customer }), ...(email === undefined ? {} : { email }) };
  }

  #giveBack(sale: Sale, amount_cents: number): void {
    const ids = { external_id: this.id("refund_"), sale_external_id: sale.truth.key };
    this.events.push({ kind: "refund", body: api.refund({ ...ids, amount_cents, occurred_at: this.#now() }) });
    sale.left -= amount_cents;
    sale.truth.back += amount_cents;
    sale.truth.net_back = (sale.truth.net_back ?? 0) + amount_cents;
  }

  #now(least = 0): string {
    return new Date(this.at(least) * 1_000).toISOString();
  }
}

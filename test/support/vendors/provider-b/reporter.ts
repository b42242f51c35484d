/** Provider B's reports of its customers' actions in the simulation. */
import type { Chance } from "../../../../src/dev/chance.ts";
import type { Sold } from "../../../simulate/sold.ts";
import {
  adjustmentCreated,
  adjustmentUpdated,
  bodyOfB,
  subscriptionCanceled,
  transactionCompleted,
  type EventB,
} from "../../provider-b.ts";
import type { Outbox, Reported, Reporter } from "../test-vendor.ts";

export class ReporterB implements Reporter {
  readonly renews = true;
  readonly #outbox: Outbox;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  key(): string {
    return "txn";
  }

  sell(_chance: Chance, sold: Sold, ref: string | null): void {
    this.#transaction(sold, ref);
  }

  renew(sold: Sold): void {
    this.#transaction(sold, null);
  }

  end({ customer }: Sold, id: string) {
    const stamp = this.#stamp();
    return { id: stamp.event_id, body: bodyOfB(subscriptionCanceled({ ...stamp, id, customer })) };
  }

  #transaction(sold: Sold, ref: string | null): void {
    const stamp = this.#stamp();
    const { key: id, customer, subscription, gross: amount, tax } = sold;
    const program = this.#outbox.program;
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
    this.#report(sold, event, {
      source: "transaction",
      has_lines: true,
      paid: true,
      ref,
      at: Date.parse(stamp.occurred_at),
    });
  }

  giveBack(chance: Chance, sold: Sold): string {
    const stamp = this.#stamp();
    const currency = sold.currency.toUpperCase();
    const open = sold.adjustments.find(({ status }) => status === "pending_approval");
    const action = chance.of(["refund", "refund", "chargeback", "chargeback_reverse"] as const);
    const status = open
      ? chance.of(["approved", "approved", "rejected"] as const)
      : action === "refund" && chance.happens(0.5)
        ? "pending_approval"
        : "approved";
    const id = open?.id ?? `adj_${this.#outbox.number()}`;
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
    const text = `${what} ${id} (${status}, ${amount}) on ${sold.key}`;
    const change = { gives: what === "chargeback_reverse", reversible: what === "chargeback" };
    this.#outbox.adjust(sold, { id: stamp.event_id, text, body: bodyOfB(event) }, { ...version, ...change });
    return `a ${what} of ${amount} on ${sold.key} is ${status}`;
  }

  #report(sold: Sold, event: EventB, said: Reported): void {
    const text = `${event.event_type} of ${sold.key}`;
    this.#outbox.report(sold, { id: event.event_id, text, body: bodyOfB(event) }, said);
  }

  #stamp() {
    return { event_id: `evt_b${this.#outbox.number()}`, occurred_at: new Date(this.#outbox.now()).toISOString() };
  }
}

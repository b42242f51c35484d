/** Provider B, as the tests know it. */
import { discountEventB } from "../../code-events.ts";
import { share } from "../../money-share.ts";
import { idsOfCodeB, VendorB } from "../../money-vendor-b.ts";
import * as b from "../../provider-b.ts";
import { uniqueId } from "../../vendor.ts";
import type { CodeDays, CodeSale, TestVendor } from "../test-vendor.ts";
import { ReporterB } from "./reporter.ts";
import { SAMPLES_B, simulated } from "./samples.ts";

const bodyOf = (event: object) => b.bodyOfB(event as b.EventB);
const isoOf = (seconds: number) => new Date(seconds * 1_000).toISOString();

export const vendorB: TestVendor = {
  secret: "pdl_ntfset_test_secret_of_provider_b",
  sign: b.signB,
  header: ["ts=1795347945", "h1", ";"],
  id_field: "event_id",
  bodyOf,
  inTestMode: (event) => simulated(event as b.EventB),
  thinOf: null,
  samples: SAMPLES_B,
  sale: ({ at, ...sale }) => b.transactionCompleted({ ...sale, occurred_at: at.toISOString() }),
  purchase({ ref, program, amount }) {
    const transaction = uniqueId("txn_");
    return {
      ...{ key: transaction, email: null, dispute: null },
      events: [b.transactionCompleted({ id: transaction, ref, program, amount })],
      refund: (cents) => b.adjustmentUpdated({ transaction, amount: cents }),
    };
  },
  story(ref, now) {
    const [transaction, customer, subscription] = [uniqueId("txn_"), uniqueId("ctm_"), uniqueId("sub_")];
    const named = discountEventB({ id: "dsc_rows", code: "ROWS", occurred_at: isoOf(now()) });
    return [
      ["transaction", b.transactionCompleted({ id: transaction, ref, customer, subscription }), 59],
      ["renewal without a reference", b.transactionCompleted({ customer, subscription }), 54],
      ["refund", b.adjustmentUpdated({ transaction, amount: 1_000 }), 30],
      ["cancellation", b.subscriptionCanceled({ id: subscription, customer }), 39],
      ["what a code is called", named, 12],
      ["transaction with a code", b.transactionCompleted({ data: { discount_id: "dsc_rows" } }), 36],
    ];
  },
  history(ref, program) {
    const subscription = uniqueId("sub_");
    return [
      b.transactionCompleted({ program, ref, subscription, customer: uniqueId("ctm_") }),
      b.subscriptionCanceled({ program, id: subscription }),
    ];
  },
  codes: {
    idsOf: idsOfCodeB,
    created: (code, at) => discountEventB({ ...idsOfCodeB(code), code, occurred_at: isoOf(at) }),
    keeps_id: true,
    story: codeStory,
  },
  share: 7,
  reporter: (outbox) => new ReporterB(outbox),
  currencies: ["USD", "USD", "EUR", "JPY"],
  played(life, n) {
    const vendor = new VendorB(life, n);
    return { vendor, bodies: () => vendor.events.map(bodyOf) };
  },
  netOf: ({ total, tax, charged }) => charged - share(tax, charged, total),
};

function codeStory(all: readonly CodeSale[], { renamed, as_before, at }: CodeDays): object[] {
  const timeOf = (day: number) => isoOf(at(day));
  return [
    discountEventB({ id: "dsc_1", code: "Jane20", occurred_at: timeOf(0) }),
    discountEventB({ id: "dsc_1", code: "Summer", occurred_at: timeOf(renamed) }, "discount.updated"),
    discountEventB({ id: "dsc_1", code: "JANE20", occurred_at: timeOf(as_before) }, "discount.updated"),
    ...all.flatMap(({ day, renewal, refund }, i) => {
      const ids = { subscription: renewal ? `sub_${i}` : null, customer: `ctm_${i}` };
      const id = `in_${i}`;
      return [
        b.transactionCompleted({ ...ids, id, occurred_at: timeOf(day), data: { discount_id: "dsc_1" } }),
        ...(renewal ? [b.transactionCompleted({ ...ids, id: `${id} renewal`, occurred_at: timeOf(day + 100) })] : []),
        ...(refund > 0 ? [b.adjustmentUpdated({ transaction: id, amount: refund, occurred_at: timeOf(day + 1) })] : []),
      ];
    }),
  ];
}

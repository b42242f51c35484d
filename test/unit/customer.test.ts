/** A payment's place among the payments of its customer (FLOW-14). */
import { describe, expect, it } from "vitest";
import { historyOf, monthsBetween, type CountedPayment } from "../../src/domain/customer.ts";

describe("monthsBetween", () => {
  it.each([
    ["2026-01-31T10:00:00.000Z", "2026-02-28T09:59:59.999Z", 0],
    ["2026-01-31T10:00:00.000Z", "2026-02-28T10:00:00.000Z", 1],
    ["2026-01-31T10:00:00.000Z", "2026-03-30T23:00:00.000Z", 1],
    ["2026-01-31T10:00:00.000Z", "2026-03-31T10:00:00.000Z", 2],
    ["2024-02-29T00:00:00.000Z", "2025-02-28T00:00:00.000Z", 12],
    ["2024-02-29T00:00:00.000Z", "2025-02-27T23:59:59.999Z", 11],
    ["2025-12-15T00:00:00.000Z", "2026-01-15T00:00:00.000Z", 1],
    ["2026-01-15T00:00:00.000Z", "2026-01-15T00:00:00.000Z", 0],
  ])("counts whole calendar months in UTC: %s to %s is %i", (from, to, months) => {
    expect(monthsBetween(from, to)).toBe(months);
  });
});

describe("historyOf", () => {
  const payment = { provider_transaction_id: "m", occurred_at: "2026-03-10T00:00:00.000Z" };
  const customer = { customer_id: "cus_1", customer_email: "buyer@shop.example" };
  const other = (fields: Partial<CountedPayment>): CountedPayment => ({
    ...{ id: "pay_1", provider_transaction_id: "a", created_at: "2026-01-01T00:00:00.000Z", partner_id: null },
    ...customer,
    ...fields,
  });

  it("takes a payment of an unknown customer as the first of a new one", () => {
    const unknown = { ...payment, customer_id: null, customer_email: null };
    const first = { payment_number: 1, months_since_first_payment: 0, new_customer: true };
    expect(historyOf(unknown, [other({ customer_id: null, customer_email: null })], 5)).toEqual(first);
  });

  it("counts payments of the customer's id or address, each once", () => {
    const others = [
      other({ id: "both" }),
      other({ id: "id", customer_email: null }),
      other({ id: "address", customer_id: "cus_2", customer_email: "BUYER@shop.example" }),
      other({ id: "neither", customer_id: "cus_2", customer_email: "else@shop.example" }),
    ];
    expect(historyOf({ ...payment, ...customer }, others, 9)).toMatchObject({ payment_number: 4 });
  });

  it("orders payments of one time by the vendor's id", () => {
    const at = payment.occurred_at;
    const others = [
      other({ created_at: at, provider_transaction_id: "l" }),
      other({ created_at: at, provider_transaction_id: "n" }),
    ];
    expect(historyOf({ ...payment, ...customer }, others, 9)).toMatchObject({ payment_number: 2 });
  });

  it("takes a customer as new by the partner of the first payment, not of later ones", () => {
    const later = { created_at: "2026-02-01T00:00:00.000Z", provider_transaction_id: "b" };
    const bought = (first: string | null, second: string | null) =>
      historyOf({ ...payment, ...customer }, [other({ ...later, partner_id: second }), other({ partner_id: first })], 9)
        .new_customer;
    expect([bought("par_1", null), bought(null, "par_1")]).toEqual([true, false]);
  });

  it("counts no further than the payments that were read", () => {
    const others = ["a", "b", "c"].map((id) => other({ id, provider_transaction_id: id }));
    expect(historyOf({ ...payment, ...customer }, others, 2)).toMatchObject({ payment_number: 3 });
  });
});

import { describe, expect, it } from "vitest";
import { providerB } from "../../src/providers/provider-b/index.ts";
import {
  adjustmentUpdated,
  eventB,
  subscriptionCanceled,
  subscriptionEventB,
  transactionCompleted,
} from "../support/provider-b.ts";

describe("provider B: whose event an unverified body claims to be (IN-1)", () => {
  it.each<[string, unknown, [string | null, string | null, string | null]]>([
    [
      "a transaction",
      transactionCompleted({ id: "txn_1", program: "prog_1", subscription: "sub_1" }),
      ["prog_1", "txn_1", "sub_1"],
    ],
    ["a transaction without custom data", transactionCompleted({ id: "txn_1" }), [null, "txn_1", null]],
    [
      "an adjustment",
      adjustmentUpdated({ id: "adj_1", transaction: "txn_1", subscription: "sub_1" }),
      [null, "txn_1", "sub_1"],
    ],
    ["a subscription", subscriptionCanceled({ id: "sub_1", program: "prog_1" }), ["prog_1", null, "sub_1"]],
    [
      "a subscription created by a transaction",
      subscriptionEventB("subscription.created", { id: "sub_1", data: { transaction_id: "txn_1" } }),
      [null, "txn_1", "sub_1"],
    ],
    ["another entity", eventB("price.created", { id: "pri_1" }), [null, null, null]],
    [
      "a program that is no text",
      transactionCompleted({ id: "txn_1", custom_data: { service_program: 7 } }),
      [null, "txn_1", null],
    ],
    [
      "an empty program",
      transactionCompleted({ id: "txn_1", custom_data: { service_program: "" } }),
      [null, "txn_1", null],
    ],
    [
      "a program of absurd length",
      transactionCompleted({ id: "txn_1", custom_data: { service_program: "p".repeat(300) } }),
      [null, "txn_1", null],
    ],
    [
      "ids that are none",
      { event_type: "transaction.completed", data: { id: {}, subscription_id: 7 } },
      [null, null, null],
    ],
    ["no type", { data: { id: "txn_1", transaction_id: "txn_2" } }, [null, "txn_2", null]],
    ["custom data that is a list", { data: { custom_data: ["service_program"] } }, [null, null, null]],
    ["nothing", {}, [null, null, null]],
    ["null", null, [null, null, null]],
    ["a text", "prog_1", [null, null, null]],
    ["data of null", { data: null }, [null, null, null]],
  ])("%s", (_, body, [program_id, transaction_id, subscription_id]) => {
    expect(providerB.claimedOwner(body)).toEqual({ program_id, transaction_id, subscription_id });
  });
});

/** A payment is found by its order, its customer or its partner (PAY-21). */
import { beforeAll, expect, it } from "vitest";
import { sale, report } from "../support/api.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { invoicePaymentPaid, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

let program: TestProgram;
const ids: Record<string, string> = {};

beforeAll(async () => {
  program = await makeProgram();
  await makePartner(program, { slug: "zoe", first_name: "Zoë", last_name: "Kühn", email: "zoe@partners.example" });
  const named = { id: "cs_1", ref: "zoe", invoice: "in_1", customer: "cus_1", email: "Buyer@Shop.example" };
  await sendA(program, sessionCompleted(named));
  await sendA(program, invoicePaymentPaid({ invoice: "in_1", payment_intent: "pi_1", charge: "ch_1" }));
  await sendA(program, sessionCompleted({ id: "cs_2", ref: null, customer: "cus_2", email: "buyer@shop.example" }));
  await sendB(program, transactionCompleted({ id: "txn_3", ref: "zoe", customer: "ctm_3" }));
  await report(
    program,
    "sale",
    sale({ external_id: "order_4", customer: { id: "user_4", email: "four@shop.example" } }),
  );
  const neighbor = await makeProgram();
  await makePartner(neighbor, { slug: "zoe", first_name: "Zoë", email: "zoe@others.example" });
  await sendA(neighbor, sessionCompleted({ ...named, id: "cs_1" }));
  const { body } = await list("");
  for (const one of body.data) ids[one.provider_transaction_id] = one.id;
  expect(Object.keys(ids)).toHaveLength(4);
});

interface Found {
  data: { id: string; provider_transaction_id: string }[];
  total: number;
}

function list(query: string) {
  return program.api<Found>("GET", `/api/v1/payments?${query}`);
}

it.each([
  ["in_1", ["in_1"]],
  ["cs_1", ["in_1"]],
  ["ch_1", ["in_1"]],
  ["pi_1", ["in_1"]],
  ["cus_2", ["cs_2"]],
  ["BUYER@shop.example", ["cs_2", "in_1"]],
  ["zoe kuhn", ["in_1", "txn_3"]],
  ["kuhn", ["in_1", "txn_3"]],
  ["ZOË", ["in_1", "txn_3"]],
  ["order_4", ["order_4"]],
  ["user_4", ["order_4"]],
  ["txn_3", ["txn_3"]],
  ["IN_1", []],
  ["%", []],
  ["' or 1=1 --", []],
  ["nobody@shop.example", []],
])("finds of %s the payments %j, with their number, and none of another program (PAY-21)", async (search, wanted) => {
  const { body, status } = await list(new URLSearchParams({ search }).toString());
  expect(status).toBe(200);
  expect(body.data.map((one) => one.provider_transaction_id).toSorted()).toEqual(wanted);
  expect(body.total).toBe(wanted.length);
});

it("finds by the service's own id, beside the other filters, a page at a time", async () => {
  expect((await list(`search=${ids["cs_2"]}`)).body.data).toMatchObject([{ provider_transaction_id: "cs_2" }]);
  expect((await list("search=buyer@shop.example&outcome=no_ref")).body).toMatchObject({ total: 1 });
  const [first, second] = [await list("search=zoe&per_page=1"), await list("search=zoe&per_page=1&page=2")];
  expect([first.body.total, second.body.total]).toEqual([2, 2]);
  expect(first.body.data[0]!.id > second.body.data[0]!.id).toBe(true);
  expect((await list(`search=${"a".repeat(201)}`)).status).toBe(422);
});

it("is a field of the list, which keeps what was typed", async () => {
  const owner = await signInOwner(program);
  const { body } = await owner.get("/dashboard/payments?search=in_1");
  expect(body).toContain('value="in_1"');
  expect(body).toContain(`/dashboard/payments/${ids["in_1"]}`);
  expect(body).not.toContain(`/dashboard/payments/${ids["cs_2"]}`);
  expect(textOf((await owner.get("/dashboard/payments?search=nothing")).body)).toContain("No payment matches");
});

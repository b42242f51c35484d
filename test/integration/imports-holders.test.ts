/** An import leaves a customer to whoever the ledger gives the customer's next payment (IMP-4). */
import { expect, it } from "vitest";
import { at, JANE_A, programOf, reported } from "../support/code-sales.ts";
import { discount, giveCode } from "../support/codes.ts";
import { sendImport } from "../support/imports.ts";
import { sendA } from "../support/ledger.ts";
import { customerEvent, sessionCompleted, type EventA } from "../support/provider-a.ts";
import type { ProgramFields } from "../support/program.ts";

type Fields = Parameters<typeof sessionCompleted>[0];
const buys = (step: number, fields: Fields = {}) =>
  sessionCompleted({ id: `cs_${step}`, customer: "cus_1", ref: null, created: at(step), ...fields });
const byCode = { object: { discounts: [discount({ promotion_code: "promo_1" })] } };
const says = (step: number, ref: string) => customerEvent({ id: "cus_1", ref, created: at(step) }, "customer.updated");

const STORIES: [name: string, fields: ProgramFields, events: EventA[], owner: string][] = [
  ["who holds the code of a sale", {}, [buys(1, byCode)], "jane"],
  ["the newest, by a code", {}, [buys(1, { ref: "joe" }), buys(2, byCode)], "jane"],
  ["the first, by a reference", { attribution: "first" }, [buys(1, { ref: "joe" }), buys(2, byCode)], "joe"],
  ["the reference of one sale", {}, [buys(1, { ref: "joe", ...byCode })], "joe"],
  ["the code of one sale", { code_precedence: "code" }, [buys(1, { ref: "joe", ...byCode })], "jane"],
  ["the newest, what is repeated apart", {}, [says(1, "joe"), buys(2, { ref: "ann" }), says(3, "joe")], "ann"],
  ["the newest, in a sale each time", {}, [1, 2, 3].map((n) => buys(n, { ref: n === 2 ? "ann" : "joe" })), "joe"],
];

it.each(STORIES)("%s", async (_, fields, events, owner) => {
  const { program, partners } = await programOf(fields, "jane", "joe", "ann");
  await giveCode(program, partners.jane, { ...JANE_A, provider_code_id: "promo_1" }, at(0) * 1_000);
  for (const event of events) expect((await sendA(program, event)).status).toBe(200);
  for (const slug of Object.keys(partners)) {
    const { body } = await sendImport(program, { kind: "customers" }, `customer_id,partner_code\ncus_1,${slug}\n`);
    const known = { added: 0, unchanged: Number(slug === owner), left_out: Number(slug !== owner), refused: 0 };
    expect(body, slug).toMatchObject(known);
  }
  await sendA(program, buys(9, { id: "cs_next", created: Math.ceil(Date.now() / 1_000) + 5 }));
  expect((await reported(program)).at(-1)).toBe(`commission ${owner} customer`);
});

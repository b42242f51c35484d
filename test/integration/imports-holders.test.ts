/** An import leaves a customer to the partner that the ledger gives the customer's next payment (IMP-4). */
import { env } from "cloudflare:workers";
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

it("customers about which more was said than the database holds in a row", async () => {
  const { program } = await programOf({}, "jane", "joe");
  for (const customer of ["cus_1", "cus_2"]) {
    await sendA(program, buys(1, { id: `cs_${customer}`, customer, ref: "jane" }));
    // Long ids make few facts as large as the facts of years.
    const like = (table: string, columns: string) =>
      env.DB.prepare(
        `with recursive n (i) as (select 1 union all select i + 1 from n where i < 700)
         insert into ${table} (fact_id, ${columns})
         select fact_id || '_' || printf('%.1000c', 'x') || n.i, ${columns} from ${table} join n
         where program_id = ?1 and fact_id in (select fact_id from fact_subjects where program_id = ?1 and subject = ?2)`,
      ).bind(program.id, customer);
    await env.DB.batch([like("facts", await others("facts")), like("fact_subjects", await others("fact_subjects"))]);
  }
  const csv = "customer_id,partner_code\ncus_1,jane\ncus_2,joe\ncus_3,joe\n";
  const { status, body } = await sendImport(program, { kind: "customers" }, csv);
  expect(status).toBe(200);
  expect(body).toMatchObject({ added: 1, unchanged: 1, left_out: 1, refused: 0 });
});

/** The columns of a table, without the fact's id. */
async function others(table: string): Promise<string> {
  const { results } = await env.DB.prepare("select name from pragma_table_info(?)").bind(table).all<{ name: string }>();
  const names = results.map(({ name }) => name);
  return names.filter((name) => name !== "fact_id").join();
}

/** The list of customers of a large program reads only the rows that it shows (PAGE-21). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import { run } from "../support/grown-program.ts";
import { sendA } from "../support/ledger.ts";
import { makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { meter, send } from "../support/rows-world.ts";
import { followLink, makeVisitor, textOf, type Visitor } from "../support/visitor.ts";

const AT = "/dashboard/customers";

async function openProgram(): Promise<{ program: TestProgram; owner: Visitor }> {
  const program = await makeProgram();
  await sendA(program, sessionCompleted({ customer: "cus_real", email: null, ref: null, amount: 100 }));
  const owner = makeVisitor(send);
  await followLink(owner, (await createLinkByHand(testContext(), program.program.owner_email)).token);
  return { program, owner };
}

/** Copies the payment; the `n`th copy is `n` seconds older, the oldest is stored first. `customer` is SQL of `n`. */
async function repeat(program: TestProgram, copies: number, customer: string, after = 0): Promise<void> {
  const { results } = await env.DB.prepare("select name from pragma_table_info('payments')").all<{ name: string }>();
  const own: Record<string, string> = {
    id: "substr(id, 1, 4) || printf('%010d', 9999999 - n) || substr(id, 15)",
    provider_transaction_id: "provider_transaction_id || '_' || n",
    customer_id: customer,
    created_at: "strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-' || n || ' seconds')",
  };
  const columns = results.map(({ name }) => name);
  await run(
    `with recursive nth(n) as (select ${after + 1} union all select n + 1 from nth where n < ${after + copies})
     insert into payments (${columns.join(", ")})
     select ${columns.map((name) => own[name] ?? name).join(", ")} from payments, nth
     where program_id = ? and customer_id = 'cus_real' order by n desc`,
    program.program.id,
  );
}

async function rowsOf(owner: Visitor, path: string): Promise<number> {
  meter.taken();
  expect((await owner.get(path)).status).toBe(200);
  return meter.taken().rows;
}

describe("the list of customers, of many payments", () => {
  it("reads each payment of a customer who has most of them a few times, and not as often as there are others", async () => {
    const { program, owner } = await openProgram();
    await repeat(program, 2_000, "'cus_often'");
    const some = 25 * 2_000;
    for (const path of [AT, `${AT}?sort=last_seen`, `${AT}?search=cus_often`, `${AT}/list.csv`])
      expect([path, (await rowsOf(owner, path)) < some]).toEqual([path, true]);
    await owner.get(AT);
    expect(textOf(owner.html)).toContain("1–2 of 2");
  });

  it("counts 1,000 customers and says that there are more, on each page whether another follows", async () => {
    const { program, owner } = await openProgram();
    await repeat(program, 2_400, "'cus_' || (n % 1200)");
    const shown = async (page: number) => {
      await owner.get(`${AT}?per_page=100&page=${page}`);
      return /\S+ of (?:more than )?[\d,]+|Nothing on page \d+/.exec(textOf(owner.html))?.[0];
    };
    expect(await shown(1)).toBe("1–100 of more than 1,000");
    expect(owner.html).toContain("page=2");
    expect(await shown(12)).toBe("1,101–1,200 of more than 1,200");
    expect(await shown(13)).toBe("1,201–1,201 of 1,201");
    expect(owner.html).not.toContain("page=14");
    expect(await shown(14)).toBe("Nothing on page 14");
    // The event reports the number of rows in the file.
    const { body } = await owner.get(`${AT}/list.csv?columns=customer_id`);
    expect(body.trim().split("\r\n")).toHaveLength(1_202);
    // It has more than are sorted, and the same order.
    expect((await owner.get(`${AT}/list.csv?columns=customer_id&sort=payments`)).body).toBe(body);
    const { data } = (await program.api<{ data: { payload: object }[] }>("GET", "/api/v1/events?type=list.exported"))
      .body;
    expect(data[0]?.payload).toMatchObject({ list: "customers", count: 1_201 });
  });

  it("reads no more where there are three times as many customers", async () => {
    const { program, owner } = await openProgram();
    await repeat(program, 1_500, "'cus_' || n");
    const paths = [AT, `${AT}?sort=-revenue`];
    const small: number[] = [];
    for (const path of paths) small.push(await rowsOf(owner, path));
    await repeat(program, 4_500, "'cus_' || n", 1_500);
    for (const [i, path] of paths.entries())
      expect([path, (await rowsOf(owner, path)) < small[i]! + 100]).toEqual([path, true]);
    expect(textOf(owner.html)).toContain("Too many customers to sort: narrow the list, by dates for example.");
  });
});

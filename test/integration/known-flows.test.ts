/** The flows in an isolate's memory, between payments. */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { PART } from "../../src/core/ledger/facts.ts";
import { knownFlows } from "../../src/core/ledger/known-flows.ts";
import { selectState } from "../../src/core/ledger/state.ts";
import { selectRows } from "../../src/db/rows.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext } from "../support/program.ts";
import { invoicePaid } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";

const flat = (action_value: number) => ({ name: "all", action_type: "flat", action_value, conditions: [] });

it("read again after each change, by whichever Worker it is made, and only then", async () => {
  const program = await makeProgram();
  const { slug } = await makePartner(program);
  const ctx = programContext(program);
  const change = async (text: string) => {
    await env.DB.prepare(text).bind(program.id).run();
    // Changes of another Worker, from before the sale's second.
    await env.DB.prepare("update past_rules set valid_until = '2026-01-01T00:00:00.000Z' where program_id = ?")
      .bind(program.id)
      .run();
  };
  const earn = async () => {
    const id = uniqueId("in_");
    await sendA(program, invoicePaid({ id, ref: slug, email: `${id}@customers.example` }));
    const earned = env.DB.prepare(
      `select c.amount_cents from payments p join commissions c on c.payment_id = p.id
      where p.provider_transaction_id = ?`,
    );
    const amount_cents = await earned.bind(id).first<number>("amount_cents");
    const again = selectState(program.id, "provider_a", { provider_transaction_id: id }, knownFlows(program.id));
    const [parts] = await ctx.read(selectRows(ctx.db, PART, again));
    return [amount_cents, parts.filter(({ what }) => what === "flow").length];
  };
  const earned = [await earn()];
  expect((await program.api("POST", "/api/v1/flows", flat(100))).status).toBe(201);
  await change("update flows set action_value = 200, updated_at = '2026-01-01T00:00:00.000Z' where program_id = ?");
  earned.push(await earn());
  await change("update flows set action_value = 300 where program_id = ?");
  earned.push(await earn(), await earn());
  await change("update flows set active = 0 where program_id = ?");
  earned.push(await earn());
  await change("update flows set active = 1 where program_id = ?");
  earned.push(await earn());
  await change("delete from flows where program_id = ?");
  earned.push(await earn());
  expect(earned).toEqual([2_000, 200, 300, 300, 2_000, 300, 2_000].map((cents) => [cents, 0]));
});

/** A list that is too long to be sorted reads the rows that it shows (PAGE-42). */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { MOST_SORTED } from "../../src/core/kernel/list-page.ts";
import { createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import { insertRows } from "../support/list-rows.ts";
import { makeProgram, testContext } from "../support/program.ts";
import { meter, send } from "../support/rows-world.ts";
import { followLink, makeVisitor } from "../support/visitor.ts";

it("reads no row beyond its page", async () => {
  const program = await makeProgram();
  await insertRows(program, { commissions: Array.from({ length: 400 }, () => ({})) });
  await env.DB.prepare("update list_counts set count = ? where program_id = ? and list = 'commissions'")
    .bind(MOST_SORTED + 1, program.id)
    .run();
  const owner = makeVisitor(send);
  await followLink(owner, (await createLinkByHand(testContext(), program.program.owner_email)).token);
  const rowsOf = async (query: string) => {
    meter.taken();
    expect((await owner.get(`/dashboard/commissions${query}`)).status).toBe(200);
    return meter.taken().rows;
  };
  await rowsOf("");
  const shown = await rowsOf("");
  expect(await rowsOf("?sort=-amount")).toBeLessThan(shown + 200);
});

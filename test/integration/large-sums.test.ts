/** Sums of amounts beyond 2^53, where a number is no longer exact: every answer and page says the same, or refuses. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { journalOldCommissions } from "../../src/core/ledger/journal.ts";
import { serveAll } from "../support/jobs.ts";
import { makeCommissions } from "../support/payouts.ts";
import { BASE_URL, makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { app } from "../../src/app.ts";
import { signInOwner, signInPartner, textOf } from "../support/visitor.ts";

const MOST = Number.MAX_SAFE_INTEGER;
/** In the text of a reply: read as a number it would be rounded. */
const SUM = 3n * BigInt(MOST) - 20n;
const SUM_TEXT = "270,215,977,642,229.53 USD";

/** The reply as it is sent. */
async function rawReply(program: TestProgram, method: string, path: string): Promise<string> {
  const headers = { authorization: `Bearer ${program.api_key}` };
  const reply = await app.request(`${BASE_URL}${path}`, { method, headers }, env, createExecutionContext());
  expect([path, reply.status]).toEqual([path, 200]);
  return reply.text();
}

/** Three commissions whose sum no number holds. */
async function rich(status: "pending" | "approved" = "approved") {
  const program = await makeProgram();
  const partner = await makePartner(program, { first_name: "Wanda" });
  await makeCommissions(
    program,
    partner.id,
    [MOST, MOST - 1, MOST - 19].map((amount_cents) => ({ amount_cents, status })),
  );
  return { program, partner };
}

describe("sums above 2^53", () => {
  it("are the same exact number in every answer and on every page (PAY-22)", async () => {
    const { program, partner } = await rich();
    expect(await rawReply(program, "GET", `/api/v1/partners/${partner.id}`)).toContain(`"total_earned_cents":${SUM},`);
    expect(await rawReply(program, "GET", `/api/v1/partners/${partner.id}`)).toContain(`"approved_cents":${SUM},`);
    const owner = await signInOwner(program);
    for (const page of ["/dashboard", `/dashboard/partners/${partner.id}`, "/dashboard/payouts/new"]) {
      await owner.get(page);
      const amounts = textOf(owner.html).match(/[\d,]{15,}\.\d\d USD/g) ?? [];
      expect([page, new Set(amounts)]).toEqual([page, new Set([SUM_TEXT])]);
    }
    const portal = await signInPartner(partner.email);
    await portal.get("/portal");
    expect(new Set(textOf(portal.html).match(/[\d,]{15,}\.\d\d USD/g))).toEqual(new Set([SUM_TEXT]));
  });

  it("make no payout: they are carried forward with the reason, exact in the preview and the run (OUT-2)", async () => {
    const { program } = await rich();
    for (const body of [{ dry_run: true }, {}]) {
      const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const text = await (
        await app.request(`${BASE_URL}/api/v1/payouts/generate`, init, env, createExecutionContext())
      ).text();
      expect(text).toContain(`"amount_cents":${SUM},"reason":"too_large"`);
      expect(text).toContain(`"skipped_cents":${SUM}`);
      expect(JSON.parse(text)).toMatchObject({ payouts: [] });
    }
    expect(await rawReply(program, "GET", "/api/v1/payouts")).toContain('"total":0');
  });

  it("of several payouts of the largest size are exact in the totals and on the pages", async () => {
    const program = await makeProgram();
    for (const amount_cents of [MOST, MOST - 1, MOST - 19]) {
      const { id } = await makePartner(program);
      await makeCommissions(program, id, [{ amount_cents }]);
    }
    const headers = { authorization: `Bearer ${program.api_key}` };
    const made = await app.request(
      `${BASE_URL}/api/v1/payouts/generate`,
      { method: "POST", headers },
      env,
      createExecutionContext(),
    );
    expect(await made.text()).toContain(`"payouts":3,"amount_cents":${SUM},`);
    const owner = await signInOwner(program);
    await owner.get("/dashboard/payouts");
    const ids = [...owner.html.matchAll(/name="ids" value="([^"]+)"/g)].map(([, id]) => id!);
    await owner.post("/dashboard/payouts/chosen", { move: "mark_paid", ids });
    expect(textOf(owner.html)).toContain(`Mark as paid: ${SUM_TEXT}`);
    await owner.get("/dashboard");
    expect(textOf(owner.html)).toContain(SUM_TEXT);
  });

  it("of more than the database adds up at once are no error", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1100)
       insert into commissions (id, program_id, partner_id, kind, status, flagged, dismissed_reasons, amount_cents,
         txn_amount_cents, currency, rate, created_at, updated_at)
       select 'com_' || printf('%016d', i) || substr(?1, -10), ?1, ?2, 'sale', 'approved', 0, '', ${MOST}, 0, 'USD',
         '{"source":"program","action_type":"percentage","action_value":20}', ?3, ?3 from n`,
    )
      .bind(program.id, partner.id, new Date(Date.now() - 1_000).toISOString())
      .run();
    const sum = 1_100n * BigInt(MOST);
    expect(sum > 2n ** 63n).toBe(true);
    expect(await rawReply(program, "GET", `/api/v1/partners/${partner.id}`)).toContain(`"total_earned_cents":${sum},`);
    const generated = await program.api<{ skipped: { reason: string }[] }>("POST", "/api/v1/payouts/generate");
    expect([generated.status, generated.body.skipped.map(({ reason }) => reason)]).toEqual([200, ["too_large"]]);
    const owner = await signInOwner(program);
    for (const page of ["/dashboard", "/dashboard/payouts/new", `/dashboard/partners/${partner.id}`]) {
      expect([page, (await owner.get(page)).status]).toEqual([page, 200]);
    }
    const text = textOf(owner.html).match(/[\d,]{20,}\.\d\d USD/)?.[0] ?? "";
    expect(text.replace(/\D/g, "")).toBe(String(sum));
    // What is kept of them is no whole number any more; what is shown is as exact as before.
    await serveAll(journalOldCommissions(programContext(program)));
    expect(await rawReply(program, "GET", `/api/v1/partners/${partner.id}`)).toContain(`"total_earned_cents":${sum},`);
    expect(await rawReply(program, "GET", `/api/v1/partners/${partner.id}/balance`)).toContain(
      `"payable_cents":${sum},`,
    );
    for (const page of ["/dashboard", "/dashboard/payouts/new", `/dashboard/partners/${partner.id}`]) {
      await owner.get(page);
      expect([page, textOf(owner.html)]).toEqual([page, expect.stringContaining(text)]);
    }
  });
});

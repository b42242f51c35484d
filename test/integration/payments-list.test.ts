/** The list of payments and its filters. */
import { describe, expect, it } from "vitest";
import { sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";

const DAY = 86_400;
const FIRST = Date.parse("2026-06-01T12:00:00Z") / 1_000;

describe("the list of payments", () => {
  it("filters by outcome, provider, partner and time, newest first, and one has its trace and commissions (PAY-21)", async () => {
    const program = await makeProgram();
    const [jane, bob] = [await makePartner(program, { slug: "jane" }), await makePartner(program, { slug: "bob" })];
    await sendA(program, sessionCompleted({ id: "cs_1", ref: "jane", created: FIRST }));
    await sendA(program, sessionCompleted({ id: "cs_2", ref: "bob", created: FIRST + DAY }));
    await sendA(program, sessionCompleted({ id: "cs_3", ref: null, created: FIRST + 2 * DAY }));
    const at = new Date((FIRST + 3 * DAY) * 1_000).toISOString();
    await sendB(program, transactionCompleted({ ref: "jane", program: program.id, occurred_at: at }));
    const { data: all } = (await program.api<{ data: Row[] }>("GET", "/api/v1/payments")).body;
    expect(all).toHaveLength(4);
    const names = new Map(all.map(({ id }, index) => [id, `${4 - index}`]));
    const list = async (search: string) => {
      const { body } = await program.api<{ data: Row[]; total: number }>("GET", `/api/v1/payments?${search}`);
      return [body.data.map(({ id }) => names.get(id)).join(""), body.total];
    };
    expect(await list("")).toEqual(["4321", 4]);
    expect(await list("outcome=no_ref")).toEqual(["3", 1]);
    expect(await list("provider=provider_b")).toEqual(["4", 1]);
    expect(await list(`partner_id=${jane.id}`)).toEqual(["41", 2]);
    expect(await list(`partner_id=${bob.id}&provider=provider_a`)).toEqual(["2", 1]);
    expect(await list("from=2026-06-02&to=2026-06-03")).toEqual(["32", 2]);
    expect(await list("from=2026-06-02T12:00:00Z&to=2026-06-03T12:00:00Z")).toEqual(["2", 1]);
    for (const wrong of ["outcome=lost", "provider=provider_none", "from=soon"]) {
      expect((await program.api("GET", `/api/v1/payments?${wrong}`)).status).toBe(422);
    }
    expect(all[0]).not.toHaveProperty("trace");
    const one = await program.api<{ trace: object; commissions: object[] }>("GET", `/api/v1/payments/${all[0]!.id}`);
    expect(one.body.trace).toMatchObject({ outcome: "commission", partner_slug: "jane" });
    expect(one.body.commissions).toMatchObject([{ payment_id: all[0]!.id, partner_id: jane.id }]);
  });
});

interface Row {
  id: string;
}

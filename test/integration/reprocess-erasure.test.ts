/** A payment is reprocessed and its customer erased at the same moment: the address is gone, in every order (JOB-1). */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { lead, report } from "../support/api.ts";
import { ledgerOf } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { all } from "../support/rows.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const EMAIL = "gone@private.example";

type Call = readonly [path: string, init: RequestInit];

/** A lead by a reference that leads to its partner only now, with its reprocessing and its erasure. */
async function story(customer: { id?: string; email: string }, isDecided = false) {
  const program = await makeProgram();
  await report(program, "lead", lead({ ref: "later", customer }));
  await makePartner(program, { slug: "later" });
  const [{ id } = { id: "" }] = (await ledgerOf(program)).payments;
  if (isDecided) await program.api("POST", `/api/v1/payments/${id}/reprocess`);
  const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
  const post = (path: string, body: object, more: object): Call => {
    return [path, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) }];
  };
  return {
    program,
    reprocess: post(`/api/v1/payments/${id}/reprocess`, {}, { "Idempotency-Key": "again" }),
    erase: post("/api/v1/customers/erase", { email: EMAIL }, {}),
  };
}

/** The places in which the program still stores the address. */
const holding = (program: TestProgram) =>
  all<{ place: string }>(
    `select place from (
      select 'facts' as place, data as text from facts where program_id = ?1
      union all select 'fact_subjects', subject from fact_subjects where program_id = ?1
      union all select 'payments', customer_email || ifnull(decision, '') from payments where program_id = ?1
      union all select 'provider_events', body from provider_events where program_id = ?1)
      where instr(lower(text), ?2) > 0`,
    program.id,
    EMAIL,
  );

/** Does `fast` before a round trip of `slow`, by its place; whether there was one. */
async function between(slow: Call, fast: Call, place: number): Promise<boolean> {
  let trips = 0;
  let status: number | null = null;
  const { binding } = watchDatabase(env.DB, {
    before: async () => {
      if (trips++ === place) ({ status } = await callWith({}, ...fast));
    },
  });
  expect((await callWith({ DB: binding }, ...slow)).status).toBe(200);
  if (status === null) return false;
  expect(status).toBe(200);
  return true;
}

it.each([
  ["reprocess", "erase", { email: EMAIL }, false],
  ["reprocess", "erase", { id: "ctm_1", email: EMAIL }, true],
  ["erase", "reprocess", { id: "ctm_1", email: EMAIL }, false],
  ["erase", "reprocess", { id: "ctm_1", email: EMAIL }, true],
] as const)(
  "while one waits, the other is done whole: %s, %s %j, decided %s",
  async (slow, fast, customer, isDecided) => {
    const left: object[] = [];
    for (let place = 0; ; place++) {
      const { program, ...calls } = await story(customer, isDecided);
      const isBetween = await between(calls[slow], calls[fast], place);
      if (!isBetween) {
        expect(place).toBeGreaterThan(4);
        break;
      }
      const replayed = await callWith({}, ...calls.reprocess);
      expect([replayed.status, replayed.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
      const places = (await holding(program)).map((row) => row.place);
      if (JSON.stringify(replayed.body).includes(EMAIL)) places.push("idempotency_keys");
      if (places.length > 0) left.push({ place, places });
    }
    expect(left).toEqual([]);
  },
);

it("a kept reply that is sealed again in between is replayed without it (ACCESS-7)", async () => {
  const { reprocess, erase } = await story({ email: EMAIL });
  expect(JSON.stringify((await callWith({}, ...reprocess)).body)).toContain(EMAIL);
  const rotated = { ENCRYPTION_KEY: btoa("n".repeat(32)), ENCRYPTION_KEY_PREVIOUS: env.ENCRYPTION_KEY };
  const admin = { method: "POST", headers: { authorization: "Bearer test-admin-token" } };
  let resealed: { left: number } | undefined;
  const { binding } = watchDatabase(env.DB, {
    before: async (statements) => {
      if (resealed !== undefined || !statements.some((one) => one.startsWith('update "idempotency_keys"'))) return;
      resealed = { left: 1 };
      // The programs of the other tests have sealed values too: more, perhaps, than one call takes.
      for (let calls = 0; calls < 5 && resealed.left > 0; calls++) {
        resealed = (await callWith<{ left: number }>(rotated, "/admin/secrets/reseal", admin)).body;
      }
    },
  });
  expect((await callWith({ ...rotated, DB: binding }, ...erase)).status).toBe(200);
  expect(resealed).toMatchObject({ left: 0 });
  const replayed = await callWith(rotated, ...reprocess);
  expect([replayed.status, replayed.body.customer_email]).toEqual([200, null]);
});

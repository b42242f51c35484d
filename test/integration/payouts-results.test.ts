/** Result files: each line is previewed, then changes its payout once (OUT-28). */
import { sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import {
  DEBTOR,
  downloadFile,
  EXPORTS,
  IBAN_ACCOUNT,
  makeFile,
  rowsOf,
  statusesOf,
  withBankPayouts,
} from "../support/bank-payouts.ts";
import { newKey } from "../support/keys.ts";
import { commissionsOf, db, fillExport } from "../support/payouts.ts";
import { makeProgram, type Reply, type TestProgram } from "../support/program.ts";

interface Results {
  dry_run: boolean;
  counts: Record<string, number>;
  lines: { line: number; payout_id: string | null; said: string; outcome: string; message: string | null }[];
  remaining: number;
}

const CSV = { "content-type": "text/csv" };

function send(program: TestProgram, id: string, text: string, query = ""): Promise<Reply<Results>> {
  const type = text.startsWith("<") ? "application/xml" : "text/csv";
  return program.api<Results>("POST", `${EXPORTS}/${id}/results${query}`, text, { "content-type": type });
}

const csvOf = (...lines: string[]) => ["payout_id,status,reason", ...lines, ""].join("\n");

/** A program with an open file of so many payouts, whose ids are returned with it. */
async function withFile(count: number, format = "bank") {
  const payees = Array.from({ length: count }, (_, i) => ({ account: IBAN_ACCOUNT, amount_cents: 1_000 + i }));
  const program = await withBankPayouts(payees);
  await program.api("PATCH", "/api/v1/programs/me", DEBTOR);
  const { body } = await makeFile(program, format);
  const ids = (await rowsOf(program)).map(({ id }) => id);
  return { program, id: body.id, ids, left: Array.from({ length: count }, () => null) };
}

const outcomesOf = ({ body }: Reply<Results>) => body.lines.map(({ outcome }) => outcome);

const statusOf = async (program: TestProgram, id: string) =>
  (await program.api<{ status: string }>("GET", `${EXPORTS}/${id}`)).body.status;

const eventCount = async (program: TestProgram) =>
  (await db.all<{ n: number }>(sql`select count(*) as n from events where program_id = ${program.id}`))[0]?.n;

describe("a result file", () => {
  it("is previewed line by line, and applied once (OUT-28)", async () => {
    const { program, id, ids } = await withFile(4);
    const [a = "", b = "", c = "", d = ""] = ids;
    const file = csvOf(`${a},paid,`, `${b},rejected,Account closed`, `${c},pending,Checking`, `${d},paid,`);
    const before = await eventCount(program);
    const preview = await send(program, id, file, "?dry_run=true");
    expect(preview.body).toEqual({
      dry_run: true,
      counts: { paid: 2, failed: 1, returned: 0, unchanged: 1, problem: 0 },
      lines: [
        { line: 2, payout_id: a, said: "paid", outcome: "paid", message: null },
        { line: 3, payout_id: b, said: "rejected", outcome: "failed", message: "Account closed" },
        { line: 4, payout_id: c, said: "pending", outcome: "unchanged", message: "Checking" },
        { line: 5, payout_id: d, said: "paid", outcome: "paid", message: null },
      ],
      remaining: 0,
    });
    expect([await eventCount(program), await statusesOf(program)]).toEqual([before, { processing: 4 }]);
    expect((await send(program, id, file)).body).toEqual({ ...preview.body, dry_run: false });
    expect(await statusesOf(program)).toEqual({ paid: 2, failed: 1, processing: 1 });
    expect((await rowsOf(program))[1]).toMatchObject({
      failure_code: "payment_refused",
      failure_message: "Account closed",
    });
    expect(await statusOf(program, id)).toBe("open");
    const after = await eventCount(program);
    expect(outcomesOf(await send(program, id, file))).toEqual(Array.from({ length: 4 }, () => "unchanged"));
    expect(await eventCount(program)).toBe(after);
    // The last one ends the file.
    expect(outcomesOf(await send(program, id, csvOf(`${c},paid,`)))).toEqual(["paid"]);
    expect(await statusOf(program, id)).toBe("paid");
    const paid = (await commissionsOf(program)).filter(({ status }) => status === "paid");
    expect(paid).toHaveLength(6);
  });

  it("puts failed payouts where another file takes them, on request (OUT-28)", async () => {
    const { program, id, ids } = await withFile(2);
    await send(program, id, csvOf(...ids.map((one) => `${one},failed,No money`)));
    expect([await statusesOf(program), await statusOf(program, id)]).toEqual([{ failed: 2 }, "canceled"]);
    expect((await downloadFile(program, id)).status).toBe(409);
    expect((await makeFile(program)).status).toBe(409);
    const { body: again } = await makeFile(program, "bank", "EUR", { retry: true });
    expect(again).toMatchObject({ count: 2, status: "open" });
    expect((await rowsOf(program)).map(({ status, failure_code }) => [status, failure_code])).toEqual([
      ["processing", null],
      ["processing", null],
    ]);
    // The late result of the first file does not decide about the second.
    expect(outcomesOf(await send(program, id, csvOf(`${ids[0]},paid,`)))).toEqual(["problem"]);
    expect(outcomesOf(await send(program, id, csvOf(`${ids[0]},failed,`)))).toEqual(["unchanged"]);
    await send(program, again.id, csvOf(`${ids[0]},failed,`, `${ids[1]},paid,`));
    expect(await statusesOf(program)).toEqual({ failed: 1, paid: 1 });
    // Or it is canceled, and its commissions go into the next payout with the partner's details of then.
    expect((await program.api("POST", `/api/v1/payouts/${ids[0]}/cancel`)).status).toBe(200);
    // Each failure is an attempt: the partner gets an e-mail about each.
    expect((await rowsOf(program)).map(({ attempt }) => attempt)).toEqual([2, 1]);
  });

  it("returns a paid payout whose money came back, once (OUT-28)", async () => {
    const { program, id, ids } = await withFile(2);
    await program.api("POST", `${EXPORTS}/${id}/paid`, {});
    const file = csvOf(`${ids[0]},returned,Account closed`, `${ids[1]},paid,`);
    expect(outcomesOf(await send(program, id, file, "?dry_run=true"))).toEqual(["returned", "unchanged"]);
    expect(outcomesOf(await send(program, id, file))).toEqual(["returned", "unchanged"]);
    expect(await statusesOf(program)).toEqual({ returned: 1, paid: 1 });
    expect((await rowsOf(program))[0]).toMatchObject({ failure_code: "returned", failure_message: "Account closed" });
    expect(outcomesOf(await send(program, id, file))).toEqual(["unchanged", "unchanged"]);
    expect(outcomesOf(await send(program, id, csvOf(`${ids[0]},paid,`)))).toEqual(["unchanged"]);
    const free = (await commissionsOf(program)).filter(({ payout_id }) => payout_id === null);
    expect(free.map(({ status }) => status)).toEqual(["approved", "approved"]);
  });

  it("changes nothing by lines that contradict what is known (OUT-28)", async () => {
    const { program, id, ids } = await withFile(4);
    const [a, b, c, d] = ids;
    const other = await withFile(1);
    const file = [
      "Unique ID,Status,Amount,Currency",
      `${a},Completed,10.00,USD`,
      `${a},Completed,10.01,EUR`,
      `${b},Completed,10.01,EUR`,
      `${b},Denied,10.01,EUR`,
      `${c},Teleported,,`,
      `${other.ids[0]},Completed,,`,
      `nobody,Completed,,`,
      `,Completed,,`,
      `${d},Completed,10.03,eur`,
      `${d},Completed,"-10,03",EUR`,
    ].join("\n");
    const results = await send(program, id, file);
    expect(results.body.lines.map(({ outcome, message }) => message ?? outcome)).toEqual([
      "The currency differs.",
      "The amount differs.",
      "Several lines about this payout contradict each other.",
      "Several lines about this payout contradict each other.",
      "This status is not known.",
      "The file does not contain this payout.",
      "The file does not contain this payout.",
      "The file does not contain this payout.",
      "paid",
      "unchanged",
    ]);
    expect(results.body.lines.slice(5, 8).map(({ payout_id }) => payout_id)).toEqual([null, null, null]);
    expect(await statusesOf(program)).toEqual({ processing: 3, paid: 1 });
    expect(await statusesOf(other.program)).toEqual({ processing: 1 });
  });

  it("is a pain.002 of a SEPA file, also about the whole file (OUT-28)", async () => {
    const { program, id, ids } = await withFile(3, "sepa");
    const report = (message: string, status: string, inside = "") =>
      `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt><OrgnlGrpInfAndSts><OrgnlMsgId>${message}</OrgnlMsgId><GrpSts>${status}</GrpSts></OrgnlGrpInfAndSts>${inside}</CstmrPmtStsRpt></Document>`;
    const own = id.replace("_", "-");
    const [first = ""] = ids;
    const transfer = (status: string, amount: string) =>
      `<OrgnlPmtInfAndSts><TxInfAndSts><OrgnlEndToEndId>${first.replace("_", "-")}</OrgnlEndToEndId><TxSts>${status}</TxSts><OrgnlTxRef><Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt></OrgnlTxRef></TxInfAndSts></OrgnlPmtInfAndSts>`;
    expect(await send(program, id, report("exp-other", "RJCT"))).toMatchObject({ status: 422 });
    const unnamed = report(own, "RJCT").replace(/<OrgnlMsgId>.*<\/OrgnlMsgId>/, "");
    expect(await send(program, id, unnamed)).toMatchObject({ status: 422 });
    expect(outcomesOf(await send(program, id, report(own, "ACCP")))).toEqual([]);
    expect(outcomesOf(await send(program, id, report(own, "PART", transfer("ACSC", "99.00"))))).toEqual(["problem"]);
    expect(outcomesOf(await send(program, id, report(own, "PART", transfer("ACSC", "10.00"))))).toEqual(["paid"]);
    expect(outcomesOf(await send(program, id, report(own, "RJCT", transfer("ACSC", "10.00"))))).toEqual([
      "unchanged",
      "failed",
      "failed",
    ]);
    expect(await statusesOf(program)).toEqual({ paid: 1, failed: 2 });
    expect(await statusOf(program, id)).toBe("paid");
  });

  it("is refused where it cannot be read, naming the line; and for other programs", async () => {
    const { program, id, ids } = await withFile(1);
    for (const [text, message] of [
      ["", "empty"],
      ["a,b\n1,2\n", "Line 1: "],
      [`payout_id,status\n${ids[0]},"pa"id\n`, "Line 2: "],
      ["<!DOCTYPE a><a/>", "Line 1: "],
      ["<a>\n&boo;</a>", "Line 1: "],
      ["<a>\n<b>\n</a>", "Line 3: "],
      ["PK\u0003\u0004", "CSV"],
    ] as const) {
      const { status, body } = await send(program, id, text);
      expect([status, body]).toMatchObject([422, { error: { details: [{ path: "body" }] } }]);
      expect(JSON.stringify(body)).toContain(message);
    }
    const file = csvOf(`${ids[0]},paid,`);
    const stranger = await makeProgram();
    expect((await send(stranger, id, file)).status).toBe(404);
    expect((await program.api("POST", `${EXPORTS}/${id}/results`, { status: "paid" })).status).toBe(415);
    const writer = await newKey(program, ["read", "write"]);
    expect((await writer.api("POST", `${EXPORTS}/${id}/results`, file, CSV)).status).toBe(403);
    expect(await statusesOf(program)).toEqual({ processing: 1 });
  });

  it.each(["paid", "cancel"])("wins or loses against a %s at the same moment; nothing is paid twice", async (verb) => {
    const { program, id, ids } = await withFile(4);
    const file = csvOf(...ids.map((one, i) => `${one},${i === 0 ? "failed" : "paid"},`));
    const replies = await Promise.all([
      send(program, id, file),
      program.api("POST", `${EXPORTS}/${id}/${verb}`),
      send(program, id, file),
      send(program, id, file),
    ]);
    expect(replies.every(({ status }) => status === 200 || status === 409)).toBe(true);
    const left = await statusesOf(program);
    // A result after the file was marked as paid returns its first payout.
    expect([{ paid: 4 }, { pending: 4 }, { failed: 1, paid: 3 }, { returned: 1, paid: 3 }]).toContainEqual(left);
    const paid = await db.all(sql`select payload ->> 'payout_id' from events
      where program_id = ${program.id} and type = 'payout.paid'`);
    expect(paid).toHaveLength((left["paid"] ?? 0) + (left["returned"] ?? 0));
    expect((await commissionsOf(program)).filter(({ status }) => status === "paid")).toHaveLength(
      2 * (left["paid"] ?? 0),
    );
  });

  it("after a part of the file, the rest is marked as paid or put back", async () => {
    const { program, id, ids } = await withFile(4);
    const [a, b, c] = ids;
    await send(program, id, csvOf(`${a},failed,`));
    await send(program, id, csvOf(`${b},paid,`));
    expect((await program.api("POST", `${EXPORTS}/${id}/cancel`)).status).toBe(409);
    const paid = await program.api("POST", `${EXPORTS}/${id}/paid`, { reference: "Batch 1", except: [c] });
    expect(paid.body).toMatchObject({ status: "paid", reference: "Batch 1" });
    expect((await rowsOf(program)).map(({ status, reference }) => [status, reference])).toEqual([
      ["failed", null],
      ["paid", null],
      ["pending", null],
      ["paid", "Batch 1"],
    ]);
    const second = await withFile(2);
    await send(second.program, second.id, csvOf(`${second.ids[0]},failed,`));
    expect((await second.program.api("POST", `${EXPORTS}/${second.id}/cancel`)).status).toBe(200);
    expect(await statusesOf(second.program)).toEqual({ failed: 1, pending: 1 });
  });

  it("may have as many lines as a file has payouts, and more than one step", async () => {
    const { program, id } = await withFile(1);
    await fillExport(program.id, id, 4_999);
    const all = (await rowsOf(program)).map((row) => row.id);
    const file = csvOf(...all.map((one, i) => `${one},${i % 5 === 0 ? "failed" : "paid"},${"x".repeat(300)}`));
    expect((await send(program, id, file)).body.counts).toMatchObject({ paid: 4_000, failed: 1_000, problem: 0 });
    expect(await statusesOf(program)).toEqual({ paid: 4_000, failed: 1_000 });
    expect((await send(program, id, file)).body.counts).toMatchObject({ unchanged: 5_000 });
  });
});

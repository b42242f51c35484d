/**
 * If a program has the largest accepted amounts, every number of that size in every reply and page equals a sum of the
 * program's rows, to the last unit. An amount that a row cannot hold is refused.
 */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import type { Operation } from "../../src/http/openapi/types.ts";
import { COMMISSION_STATUSES } from "../../src/domain/commission.ts";
import { sendA } from "../support/ledger.ts";
import { makeCommissions } from "../support/payouts.ts";
import { BASE_URL, makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { lookUp } from "../support/json-schema.ts";
import { operations, servedDocument } from "../support/openapi.ts";
import { differencesOf } from "../support/reconcile.ts";
import { makeStocked, pageAddress, pageRoutes } from "../support/stocked.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, signInPartner } from "../support/visitor.ts";

const MOST = 1_000_000_000_000;
const RUNS = Number(env.PROPERTY_RUNS);

interface Found {
  where: string;
  number: string;
}

/** Numbers of 13 digits or more, with or without grouping and decimals, and all numbers with an exponent. */
function largeIn(where: string, text: string): Found[] {
  const plain = text.replaceAll("\u00a0", " ").replaceAll(/&[a-z#0-9]+;/g, " ");
  const numbers = plain.match(/(?<![\w.-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e\+\d+)?(?![\w-])/g) ?? [];
  return numbers
    .map((number) => number.replaceAll(",", "").replace(/\.(\d{2})$/, "$1"))
    .filter((number) => number.includes("e+") || number.replace(/\D/g, "").length >= 13)
    .map((number) => ({ where, number }));
}

/** All sums of some of the commissions or some of the payments, and the other values of a row, without signs. */
async function valuesOf(program: TestProgram): Promise<Set<string>> {
  const read = async (sql: string) => {
    const { results } = await env.DB.prepare(sql).bind(program.id).all<{ value: string }>();
    return results.map(({ value }) => BigInt(value));
  };
  const amounts = await read("select cast(amount_cents as text) as value from commissions where program_id = ?");
  const sumsOf = (all: readonly bigint[]) =>
    all.reduce((sums, amount) => [...sums, ...sums.map((sum) => sum + amount)], [0n]);
  const others = await Promise.all([
    read("select cast(txn_amount_cents as text) as value from payments where program_id = ?"),
    read("select cast(adjusted_cents as text) as value from payments where program_id = ?"),
    // The commission of a flow of 100 %.
    read("select cast(txn_amount_cents - adjusted_cents as text) as value from payments where program_id = ?").then(
      sumsOf,
    ),
    read("select cast(amount_cents as text) as value from entries where program_id = ?"),
  ]);
  return new Set([...sumsOf(amounts), ...others.flat()].map((value) => String(value < 0n ? -value : value)));
}

describe("the largest amounts", () => {
  it("are exact in every answer and on every page, and so is what they come to", async () => {
    const { program, partner, ids } = await makeStocked();
    const flow = `/api/v1/flows/${ids["flows"]}`;
    expect((await program.api("PATCH", flow, { action_value: 100 })).status).toBe(200);
    const sale = async (amount: number, refunded = 0) => {
      const payment_intent = uniqueId("pi_");
      await sendA(program, sessionCompleted({ ref: partner.slug, amount, payment_intent }));
      if (refunded > 0) await sendA(program, chargeRefunded({ payment_intent, amount, refunded }));
    };
    await sale(MOST);
    await sale(MOST - 4);
    await sale(MOST - 18, 33);
    await makeCommissions(program, partner.id, [{ amount_cents: MOST - 71 }, { amount_cents: MOST - 149 }]);
    const other = await makePartner(program);
    await makeCommissions(program, other.id, [{ amount_cents: MOST - 333 }]);
    expect((await program.api("POST", "/api/v1/payouts/generate", {})).status).toBe(200);

    const found: Found[] = [];
    const see = (where: string, text: string) => found.push(...largeIn(where, text));
    const gets = app.routes.filter(({ method, path }) => method === "GET" && path.startsWith("/api/v1/"));
    for (const path of new Set(gets.map((route) => route.path))) {
      const id = ids[path.split("/")[3] ?? ""] ?? "";
      const query = path.endsWith("/export.csv") ? "?format=generic" : "";
      const request = { headers: { authorization: `Bearer ${program.api_key}` } };
      const reply = await app.request(
        `${BASE_URL}${path.replace(":id", id)}${query}`,
        request,
        env,
        createExecutionContext(),
      );
      see(path, await reply.text());
    }
    for (const [path, body] of [
      ["/api/v1/flows/simulate", { flow_id: ids["flows"], last: 10 }],
      ["/api/v1/payouts/generate", { dry_run: true }],
    ] as const) {
      const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      see(path, await (await app.request(`${BASE_URL}${path}`, init, env, createExecutionContext())).text());
    }
    const [owner, person] = [await signInOwner(program), await signInPartner(partner.email)];
    for (const { method, path } of pageRoutes("dashboard", "portal")) {
      if (method !== "GET") continue;
      const visitor = path.startsWith("/portal") ? person : owner;
      await visitor.get(pageAddress(path, ids));
      // The marks of a plot's scale are not amounts.
      see(path, visitor.html.replaceAll(/<p class="plot-scale".*?<\/p>/gs, ""));
    }

    const values = await valuesOf(program);
    expect(found.filter(({ number }) => !values.has(number))).toEqual([]);
    const sums = found.filter(({ number }) => BigInt(number) > BigInt(MOST)).map(({ where }) => where);
    expect(new Set(sums).size).toBeGreaterThan(15);
    expect(new Set(found.map(({ where }) => where)).size).toBeGreaterThan(15);
    expect(await differencesOf(programContext(program))).toEqual([]);
  });

  it("of any commissions are added up as whole numbers are, by every way to sum", async () => {
    const amount = fc.oneof(
      fc.integer({ min: 0, max: 1_000 }).map((less) => MOST - less),
      fc.integer({ min: 0, max: 1_000 }).map((less) => less - MOST),
      fc.integer({ min: -MOST, max: MOST }),
      fc.integer({ min: -1_000, max: 1_000 }),
    );
    const rows = fc.array(fc.record({ amount, status: fc.constantFrom(...COMMISSION_STATUSES) }), {
      minLength: 1,
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(rows, async (commissions) => {
        const program = await makeProgram();
        const partner = await makePartner(program);
        await makeCommissions(
          program,
          partner.id,
          commissions.map(({ amount: amount_cents, status }) => ({ amount_cents, status })),
        );
        const sumOf = (...statuses: string[]) =>
          commissions
            .filter(({ status }) => statuses.includes(status))
            .reduce((sum, row) => sum + BigInt(row.amount), 0n);
        const request = { headers: { authorization: `Bearer ${program.api_key}` } };
        const read = async (path: string) =>
          (await app.request(`${BASE_URL}${path}`, request, env, createExecutionContext())).text();
        const partnerText = await read(`/api/v1/partners/${partner.id}`);
        expect(partnerText).toContain(`"total_earned_cents":${sumOf("pending", "approved", "paid")},`);
        expect(partnerText).toContain(`"pending_cents":${sumOf("pending")},`);
        expect(partnerText).toContain(`"approved_cents":${sumOf("approved")},`);
        expect(partnerText).toContain(`"paid_cents":${sumOf("paid")},`);
        const balance = await read(`/api/v1/partners/${partner.id}/balance`);
        const payable = /"payable_cents":(-?\d+)/.exec(balance)?.[1] ?? "0";
        expect(BigInt(payable)).toBe(sumOf("approved"));
        const plan = await app.request(
          `${BASE_URL}/api/v1/payouts/generate`,
          {
            method: "POST",
            headers: { ...request.headers, "content-type": "application/json" },
            body: JSON.stringify({ dry_run: true }),
          },
          env,
        );
        if (commissions.some(({ status }) => status === "approved")) {
          expect(await plan.text()).toContain(`"amount_cents":${sumOf("approved")},`);
        }
        expect(await differencesOf(programContext(program))).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});

interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}

/** The paths of the numbers that a schema describes, such as `items.0.amount_cents`. */
function numbersIn(schema: Schema, at: readonly string[] = []): string[] {
  const { type, properties = {}, items, anyOf = [], $ref } = schema;
  if ($ref) return numbersIn(lookUp(servedDocument(), $ref) as Schema, at);
  return [
    ...([type].flat().some((one) => one === "number" || one === "integer") ? [at.join(".")] : []),
    ...Object.entries(properties).flatMap(([name, one]) => numbersIn(one, [...at, name])),
    ...(items ? numbersIn(items, [...at, "0"]) : []),
    ...anyOf.flatMap((one) => numbersIn(one, at)),
  ];
}

const NO_AMOUNT = /conditions\.\d+\.value\.\d+$|(?:^|\.)(?:\w+_pct|vat_rate|\w+_days|priority|last|created)$/;

/** A body with an amount at a path, as text, because a number cannot hold it. */
function bodyWith(example: object, place: string, amount: string): string {
  const body = structuredClone(example) as Record<string, unknown>;
  const names = place.split(".");
  let at = body;
  for (const name of names.slice(0, -1)) at = at[name] as Record<string, unknown>;
  // A percentage may have decimals, so the action becomes flat.
  if ("action_type" in at) at["action_type"] = "flat";
  at[names.at(-1)!] = "AMOUNT";
  return JSON.stringify(body).replace('"AMOUNT"', amount);
}

function exampleOf({ requestBody }: Operation): unknown {
  return requestBody?.content["application/json"]?.example;
}

/** Every amount that a route accepts in its body, from the document, with an example that contains the surrounding fields. */
async function amountsTaken(program: TestProgram) {
  const flow = operations().find(({ method, path }) => method === "POST" && path === "/api/v1/flows")!;
  const made = await program.api<{ id: string }>("POST", "/api/v1/flows", exampleOf(flow.operation));
  const partner = await makePartner(program);
  return operations().flatMap(({ method, path, operation }) => {
    const taken = operation.requestBody?.content["application/json"];
    const fields = taken ? numbersIn(taken.schema as Schema).filter((field) => !NO_AMOUNT.test(field)) : [];
    // The example of a flow change contains only some of the fields.
    const example = path.startsWith("/api/v1/flows/{") ? exampleOf(flow.operation) : exampleOf(operation);
    return [...new Set(fields)].map((field) => ({
      ...{
        method,
        path: path.replaceAll(/\{\w+\}/g, path.startsWith("/api/v1/flows/") ? made.body.id : partner.id),
        field,
      },
      bodyOf: (amount: string) => bodyWith(example as object, field, amount),
    }));
  });
}

describe("an amount that no number holds", () => {
  it.each(["9007199254740992", "9007199254740993", "-9007199254740992", "1e21", "0.5", "10000000000000000000"])(
    "%s is refused wherever one is taken",
    async (amount) => {
      const program = await makeProgram();
      const taken = await amountsTaken(program);
      expect(taken.length).toBeGreaterThan(10);
      for (const { method, path, field, bodyOf } of taken) {
        type Refused = { error?: { code: string; details?: { path: string }[] } };
        const { status, body } = await program.api<Refused>(method, path, bodyOf(amount));
        const { code, details } = body.error ?? {};
        const refused = [method, path, status, code, [...new Set(details?.map((one) => one.path))]];
        expect(refused).toEqual([method, path, 422, "validation_failed", [field]]);
      }
    },
  );
});

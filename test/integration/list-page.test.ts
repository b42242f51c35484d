/**
 * `{data, total, page, per_page}`, newest first (HTTP-7). The four lists whose objects the database writes accept `cursor`,
 * the reply's `next_cursor`, to walk deep lists at constant cost (HTTP-8).
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { PartnerInput } from "../../src/core/partners/partners.ts";
import { percent } from "../../src/domain/money.ts";
import { commissionCreate, commissionPatch } from "../../src/http/api/commissions.ts";
import { partnerCreate } from "../../src/http/api/partners.ts";
import { iso } from "../../src/lib/time.ts";
import { PARTNER_TEXTS, type PartnerText } from "../../src/resources/partner.ts";
import {
  insertRows,
  LIST_NAMES,
  readList,
  viewedRows,
  type ListBody,
  type Listed,
  type ListName,
} from "../support/list-rows.ts";
import { call, makeProgram, type TestProgram } from "../support/program.ts";
import { makeStocked, pageAddress } from "../support/stocked.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

interface Document {
  paths: Record<string, { get?: { parameters?: { name: string }[] } }>;
}

const ROWS = 5;

async function makeListed(): Promise<{ program: TestProgram; partner_id: string }> {
  const program = await makeProgram({ api_key_last_used_at: iso(Date.now()) });
  const rows = Array.from({ length: ROWS }, () => ({}));
  const partner_id = await insertRows(program, { partners: rows, payments: rows, commissions: rows, payouts: rows });
  return { program, partner_id };
}

describe("pages of a list", () => {
  it.each(LIST_NAMES)("end exactly: %s", async (name) => {
    const { program } = await makeListed();
    const all = await viewedRows(program, name);
    const whole = await readList(program, name, `?per_page=${ROWS}`);
    expect(whole.body).toEqual({ data: all, total: ROWS, page: 1, per_page: ROWS, next_cursor: null });
    expect(Object.keys(whole.body)).toEqual(["data", "total", "page", "per_page", "next_cursor"]);
    const beyond = await readList(program, name, `?per_page=${ROWS}&page=2`);
    expect(beyond.body).toEqual({ data: [], total: ROWS, page: 2, per_page: ROWS, next_cursor: null });
    const first = await readList(program, name, `?per_page=${ROWS - 1}`);
    expect(first.body.data).toEqual(all.slice(0, -1));
    const last = await readList(program, name, `?per_page=${ROWS - 1}&cursor=${first.body.next_cursor}`);
    expect([last.body.data, last.body.total, last.body.next_cursor]).toEqual([all.slice(-1), ROWS, null]);
  });

  it.each(LIST_NAMES)("are walked by cursor, every row once: %s (HTTP-8)", async (name) => {
    const { program } = await makeListed();
    const all = await viewedRows(program, name);
    for (const per_page of [1, 2, 3]) {
      const walked: Listed[] = [];
      let cursor: string | null = "";
      for (let steps = 0; cursor !== null && steps <= ROWS; steps++) {
        const page = await readList(program, name, `?per_page=${per_page}${cursor && `&cursor=${cursor}`}`);
        expect(page.body.total).toBe(ROWS);
        walked.push(...page.body.data);
        cursor = page.body.next_cursor;
      }
      expect(walked).toEqual(all);
    }
  });
});

describe("a cursor", () => {
  it("is taken by the list that gave it, and refused by every other (HTTP-8)", async () => {
    const { program, ids } = await makeStocked();
    const { paths } = (await call<Document>("/openapi.json")).body;
    // The lines of a statement are in one order and are no objects of a list.
    const lists = Object.entries(paths).flatMap(([path, { get }]) =>
      get?.parameters?.some(({ name }) => name === "cursor") && !path.endsWith("/statement")
        ? [pageAddress(path.replaceAll(/\{(\w+)\}/g, ":$1"), ids)]
        : [],
    );
    expect(lists.length).toBeGreaterThan(7);
    const read = async (path: string, query: string) => {
      const token = path.startsWith("/admin") ? env.ADMIN_TOKEN : program.api_key;
      return call<ListBody & { error?: unknown }>(`${path}?${query}`, {
        headers: { authorization: `Bearer ${token}` },
      });
    };
    const own = new Map<string, string>();
    for (const path of lists) {
      const { body, status } = await read(path, "per_page=1");
      expect([path, status, body.data.length]).toEqual([path, 200, 1]);
      own.set(path, btoa(body.data[0]!.id).replaceAll("=", ""));
    }
    expect(new Set([...own.values()].map((cursor) => atob(cursor).split("_")[0])).size).toBe(lists.length);
    for (const path of lists) {
      for (const [giver, cursor] of own) {
        const { status, body } = await read(path, `cursor=${cursor}`);
        const details = [{ path: "cursor", message: "This is not a cursor of this list." }];
        const refusal = { code: "validation_failed", details };
        expect([path, giver, status, body.error]).toEqual(
          giver === path ? [path, giver, 200, undefined] : [path, giver, 422, expect.objectContaining(refusal)],
        );
      }
    }
  });
});

describe("the statement of a list", () => {
  // SQLite compiles a statement with a bound LIMIT at every run.
  it.each(LIST_NAMES)("is one, the same at every key, page and cursor, with its LIMIT in it: %s", async (name) => {
    const statements = async () => {
      const { program } = await makeListed();
      const { binding, roundTrips } = watchDatabase(env.DB);
      const read = async (query: string) => {
        const headers = { authorization: `Bearer ${program.api_key}` };
        const path = `/api/v1/${name}?per_page=3${query}`;
        return (await callWith<ListBody>({ DB: binding }, path, { headers })).body;
      };
      const { next_cursor } = await read("");
      expect((await read("&page=2")).data).toEqual((await read(`&cursor=${next_cursor}`)).data);
      return roundTrips.map((sent) => sent.map(({ sql }) => sql));
    };
    const sent = await statements();
    expect(sent).toEqual([[expect.any(String)], sent[0], [expect.any(String)]]);
    expect(await statements()).toEqual(sent);
    for (const [text] of sent) {
      expect(text).toMatch(/\blimit 4\b/i);
      expect(text).not.toMatch(/\blimit \?/i);
    }
  });
});

describe("a page of the longest texts", () => {
  /** JSON writes each of these characters with six bytes. */
  const long = (characters: number) => "\u0001".repeat(characters);
  /** The largest value in D1: the input that the API accepts cannot make a larger page. */
  const MAX_BYTES = (2_000_000 * 100) / 101;

  async function expectWhole(program: TestProgram, name: ListName): Promise<void> {
    const { status, body } = await readList(program, name, "?per_page=100");
    expect([status, body.total, body.data.length]).toEqual([200, 101, 100]);
    const written = JSON.stringify(body.data);
    // `toBe` would print a megabyte if it fails.
    expect(written === JSON.stringify((await viewedRows(program, name)).slice(0, 100))).toBe(true);
    expect(new TextEncoder().encode(written).length).toBeLessThan(MAX_BYTES);
  }

  it("comes out whole: partners, with metadata of 8 KiB", async () => {
    const program = await makeProgram();
    const email = (i: number) => `${String(i).padStart(240, "x")}@x.example.com`;
    // A new field does not compile until it has its longest value here.
    const longest: Required<Omit<PartnerInput, "group_id">> = {
      email: email(0),
      slug: "p".repeat(64),
      ...(Object.fromEntries(PARTNER_TEXTS.map((column) => [column, long(200)])) as Record<PartnerText, string>),
      commission_pct: percent(33.3333),
      payout_method: "bank_transfer",
      payout_email: email(0),
      metadata: { "": long(1364) },
    };
    const takes = (fields: object) => partnerCreate.safeParse({ ...longest, ...fields }).success;
    const longer: object[] = Object.entries(longest).flatMap(([field, value]) =>
      typeof value === "string" ? [{ [field]: `${value}x` }] : [],
    );
    longer.push({ metadata: { "": long(1365) } });
    expect([takes({}), ...longer.filter(takes)]).toEqual([true]);
    const partners = Array.from({ length: 101 }, (_, i) => {
      return { ...longest, slug: String(i).padStart(64, "p"), email: email(i) };
    });
    await insertRows(program, { partners });
    await expectWhole(program, "partners");
  });

  it("comes out whole: commissions", async () => {
    const program = await makeProgram();
    const seen = (characters: number) => `x${long(characters - 1)}`;
    const takes = (characters: number) => [
      commissionCreate.safeParse({ partner_id: "p", amount_cents: 1, note: seen(characters) }).success,
      commissionPatch.safeParse({ status: "rejected", reason: seen(characters) }).success,
    ];
    expect([...takes(500), ...takes(501)]).toEqual([true, true, false, false]);
    const vendors = { provider_transaction_id: long(255), subscription_id: long(255), customer_email: long(254) };
    const longest = { ...vendors, note: seen(500), rejected_reason: seen(500), amount_cents: -888_888_888_888 };
    await insertRows(program, { commissions: Array.from({ length: 101 }, () => longest) });
    await expectWhole(program, "commissions");
  });

  // An inbound event is limited only by its body, and one value of D1 by 2 MB, so a page cannot be one value.
  it("comes out however long the references that vendors sent", async () => {
    const program = await makeProgram();
    await insertRows(program, { payments: Array.from({ length: 5 }, () => ({ ref: "x".repeat(900_000) })) });
    expect((await readList(program, "payments")).status).toBe(200);
  });

  // SQLite's JSON functions read to a depth of 1,000.
  it("comes out however deep the metadata that the API took", async () => {
    const program = await makeProgram();
    const nested = "[".repeat(4_000) + "]".repeat(4_000);
    const body = `{"email":"a@partners.example","slug":"a","metadata":{"a":${nested}}}`;
    await program.api("POST", "/api/v1/partners", body);
    expect((await readList(program, "partners")).status).toBe(200);
  });
});

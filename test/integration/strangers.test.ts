/**
 * Walks over all input that unauthenticated people can send, and claims: each table that it writes must be in the table
 * of `src/docs/security.md`, which bounds its size, and that table has no other rows.
 */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { mailClosedDays } from "../../src/core/clicks/budget.ts";
import { rollUpClicks } from "../../src/core/clicks/roll-up.ts";
import { openMailer } from "../../src/core/mails/plan.ts";
import security from "../../src/docs/security.md?raw";
import { HOUR, utcDay } from "../../src/lib/time.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { stampOf } from "../support/applications.ts";
import { recorded, visit } from "../support/clicks.ts";
import { serveAll } from "../support/jobs.ts";
import { openMailbox, type Mailbox } from "../support/mailbox.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";
import { followLink, makeVisitor, requestLink, signInPartner, type Visitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

interface Input {
  input: string;
  tables: string[];
  tests: string[];
}

/** The rows of the table in the guide. */
const INPUTS: Input[] = security
  .split("## What strangers can store")[1]!
  .split("\n## ")[0]!
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (?:input|-)/.test(line))
  .map((line) => {
    const [input = "", tables = "", , , tests = ""] = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    const quoted = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
    return { input, tables: quoted(tables), tests: quoted(tests) };
  });

let program: TestProgram;
let jane: { email: string };
let mailbox: Mailbox;

beforeEach(async () => {
  vi.spyOn(console, "error").mockReturnValue();
  vi.spyOn(console, "info").mockReturnValue();
  mailbox = openMailbox();
  program = await makeProgram({ applications: "review", domain: "shop.example", slug: uniqueId("walk").toLowerCase() });
  jane = await makePartner(program, { slug: "jane" });
});

/** The rows of every table that are the program's, or no program's. */
async function readTables(): Promise<Map<string, string>> {
  const { results } = await env.DB.prepare(
    `select t.name, exists (select 1 from pragma_table_info(t.name) where name = 'program_id') as owned from sqlite_master t
      where t.type = 'table' and t.name not like 'sqlite_%' and t.name not like '_cf_%' and t.name <> 'd1_migrations'`,
  ).all<{ name: string; owned: number }>();
  const read = results.map(async ({ name, owned }) => {
    const where = owned
      ? "where program_id is null or program_id = ?1"
      : name === "programs"
        ? "where id = ?1"
        : "where ?1 <> ''";
    const rows = await env.DB.prepare(`select * from ${name} ${where}`).bind(program.id).all();
    return [name, JSON.stringify(rows.results)] as const;
  });
  return new Map(await Promise.all(read));
}

/** The tables that `act` writes. */
async function writtenBy(act: () => Promise<unknown>): Promise<string[]> {
  const before = await readTables();
  await act();
  const after = await readTables();
  return [...after].flatMap(([name, rows]) => (before.get(name) === rows ? [] : [name])).toSorted();
}

function visitor(): Visitor {
  return makeVisitor((path, init) => callWith<string>(mailbox.bindings, path, init));
}

async function click(fields: Record<string, string>): Promise<void> {
  const body = JSON.stringify({ program_id: program.id, ref: "jane", landing: "/", referrer: "", ...fields });
  await visit("/click", { method: "POST", headers: { "content-type": "text/plain" }, body });
}

/** The input that plays each row of the guide, by name. */
const PLAYS: Record<string, () => Promise<void>> = {
  clicks: async () => {
    // The object is known for good from its first click on.
    await env.DB.batch(["click_objects", "click_batches"].map((table) => env.DB.prepare(`delete from ${table}`)));
    await click({ sub: "shelf", referrer: "https://blog.example/post" });
    await visit(`/r/${program.id}/jane`);
    await recorded();
  },
  "counts of clicks": async () => {
    await click({ sub: "shelf" });
    await click({ ref: "nobody" });
    await recorded();
    const now = Date.now() + 4 * HOUR;
    await serveAll(rollUpClicks({ db: testContext().db, now }));
  },
  "the e-mail about a day's budget": async () => {
    await env.DB.prepare("insert into click_drops (program_id, day, reason, count) values (?, ?, 'over_budget', 1)")
      .bind(program.id, utcDay(Date.now()))
      .run();
    await serveAll(
      mailClosedDays({
        ...testContext(),
        mailer: openMailer(
          async () => [],
          () => {},
        ),
      }),
    );
  },
  "forms of `/join`": async () => void (await sendForm()),
  applications: async () => {
    const person = await sendForm();
    const { text = "" } = (await mailbox.deliver(program.id, Date.now() + 1_000)).at(-1) ?? {};
    const token = /confirm\?token=([\w-]+)/.exec(text)?.[1] ?? "";
    await person.get(`/join/${program.id}/confirm?token=${token}`);
    expect((await person.post(`/join/${program.id}/confirm`, { token })).status).toBeLessThan(400);
  },
  "sign-in links": async () => {
    const person = visitor();
    await person.get("/sign-in");
    await person.post("/sign-in", { email: `${uniqueId("nobody-")}@example.com` });
    const requested = await requestLink(testContext(), jane.email);
    for (let i = 0; i < 2; i++) await followLink(person, requested!.link.token);
  },
  "refused webhooks": async () => {
    await callWith(mailbox.bindings, `/webhooks/provider_a?program_id=${program.id}`, {
      method: "POST",
      headers: { "Provider-A-Signature": `t=${Math.floor(Date.now() / 1000)},v1=${"ab".repeat(32)}` },
      body: "{}",
    });
    await expect.poll(async () => (await readTables()).get("provider_connections")).toContain("refusals");
  },
  claims: async () => {
    const partner = await signInPartner(jane.email, visitor());
    await partner.get("/portal/claims");
    const fields = { order_id: "order-1", paid_on: "", email_domain: "" };
    expect((await partner.post("/portal/claims", fields)).status).toBe(303);
  },
};

async function sendForm(): Promise<Visitor> {
  const person = visitor();
  await person.get(`/join/${program.id}`);
  const opened = await stampOf(program, person);
  const email = `${uniqueId("ann-")}@applicants.example`;
  const fields = { opened, name: "Ann", email, website: "", contact_hours: "" };
  expect((await person.post(`/join/${program.id}`, fields)).status).toBe(200);
  return person;
}

describe("the table of what strangers can store", () => {
  const all = new Set<string>();

  it.each(Object.keys(PLAYS))("names the tables that are written by: %s", async (name) => {
    const listed = INPUTS.find(({ input }) => input === name)?.tables ?? [];
    const written = await writtenBy(PLAYS[name]!);
    for (const table of written) all.add(table);
    expect(written.filter((table) => !listed.includes(table))).toEqual([]);
  });

  it("names no other table, and has no row that is not played", () => {
    expect([...new Set(INPUTS.flatMap(({ tables }) => tables))].toSorted()).toEqual([...all].toSorted());
    expect(INPUTS.map(({ input }) => input).toSorted()).toEqual(Object.keys(PLAYS).toSorted());
  });

  it("names tests that are there", () => {
    const files = Object.keys(import.meta.glob("./*.test.ts")).map((file) => file.slice(2, -".test.ts".length));
    expect(INPUTS.filter(({ tests }) => tests.length === 0)).toEqual([]);
    expect(INPUTS.flatMap(({ tests }) => tests).filter((test) => !files.includes(test))).toEqual([]);
  });
});

/**
 * Routes that a visitor reaches without a key and without a session: the row of the data they store, or the reason why
 * they do not store any.
 */
const OPEN: Record<string, string> = {
  "OPTIONS /click": "nothing: it names the methods",
  "POST /click": "clicks",
  ...Object.fromEntries(VENDOR_NAMES.map((name) => [`POST /webhooks/${name}`, "refused webhooks"])),
  "POST /sign-in/passkey": "nothing without a passkey of a member",
  "POST /sign-in": "sign-in links",
  "POST /sign-in/confirm": "sign-in links",
  "POST /embed": "nothing without a link that a key has made",
  "POST /join/:program": "forms of `/join`",
  "POST /join/:program/confirm": "applications",
  "POST /confirm-payout-details": "nothing without a token of an e-mail to a partner",
  "POST /unsubscribe/:token": "nothing without a token of an e-mail to a partner or a member",
};

describe("a route that anybody can send to", () => {
  const routes = [
    ...new Map(
      app.routes
        .filter(({ method, path }) => !["ALL", "GET"].includes(method) && !/^\/(?:api|admin)\//.test(path))
        .map(({ method, path }) => [`${method} ${path}`, { method, path }]),
    ).values(),
  ];

  it("is known by what it stores, and stores nothing of what is no input", async () => {
    const open = new Set<string>();
    const written = await writtenBy(async () => {
      const person = visitor();
      for (const { method, path } of routes) {
        await person.get("/sign-in");
        const reply = await person.post(path.replace(":program", program.id).replaceAll(/:\w+/g, "x"), { email: "x" });
        const isSignIn = (reply.headers.get("location") ?? "").startsWith("/sign-in");
        if (!isSignIn && reply.status !== 403) open.add(`${method} ${path}`);
      }
    });
    expect([...open].toSorted()).toEqual(Object.keys(OPEN).toSorted());
    expect(written).toEqual([]);
    const rows = Object.values(OPEN).filter((row) => !row.startsWith("nothing"));
    expect(rows.filter((row) => !INPUTS.some(({ input }) => input === row))).toEqual([]);
  });
});

/** The sample data of the first `npm start`, the demo in the newcomer's program, and the removal, in the real runtime. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readDevVars } from "../../src/dev/dev-vars.ts";
import { freePort } from "../../src/dev/local-service.ts";
import { boundDatabases, openFile } from "../../src/dev/migrate.ts";
import { operatorAt } from "../../src/dev/welcome.ts";
import { runScript, type Running } from "./process.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";

const START = "src/dev/start.ts";
const REMOVE = "src/dev/sample/remove.ts";
const DAY = 86_400_000;

describe("the sample data", () => {
  let folder: string;
  let env: { PORT: string; PERSIST_TO: string };
  let url: string;
  let running: Running;
  let key: string;
  let program: string;
  let operator: ReturnType<typeof operatorAt>;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-sample-"));
    env = { PORT: String(await freePort()), PERSIST_TO: join(folder, "state") };
    url = `http://localhost:${env.PORT}`;
    running = runScript(START, env);
    const ready = running.until(/Ctrl\+C stops the service/);
    const started = { isOver: false };
    const end = () => void (started.isOver = true);
    ready.then(end, end);
    // `npm run demo` or a browser may ask before it is ready.
    while (!started.isOver) {
      const headers = { authorization: `Bearer ${(await readDevVars())["ADMIN_TOKEN"]}` };
      await fetch(`${url}/admin/programs`, { headers }).catch(() => null);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await ready;
    key = printed("API key");
    program = printed("Program");
    operator = operatorAt(url, (await readDevVars())["ADMIN_TOKEN"]!);
  });
  after(async () => {
    running.child.kill("SIGTERM");
    await running.ended;
    await rm(folder, { recursive: true, force: true });
  });

  const printed = (what: string) => new RegExp(`^ {2}${what} +(\\S+)`, "m").exec(running.printed.out)?.[1] ?? "";
  const api = async <T>(path: string, body?: object, method = body ? "POST" : "GET"): Promise<T> => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    assert.ok(response.ok, `${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  };
  const total = async (path: string) => (await api<{ total: number }>(path)).total;
  const rows = async <Row>(sql: string): Promise<Row[]> => {
    const database = openFile((await boundDatabases(env.PERSIST_TO))[0]!.file);
    try {
      return database.prepare(sql).all() as Row[];
    } finally {
      database.close();
    }
  };
  /** The differences that the ledger check finds in the program. */
  const differences = async (): Promise<{ checked: number; found: unknown[] }> => {
    let next: string | null = null;
    let checked = 0;
    const found: unknown[] = [];
    do {
      const body = { program_id: program, ...(next === null ? {} : { next }) };
      const reply: { checked: Record<string, number>; differences: unknown[]; next: string | null } = await operator(
        "POST",
        "/admin/reconcile",
        body,
      );
      checked += Object.values(reply.checked).reduce((sum, count) => sum + count, 0);
      found.push(...reply.differences);
      next = reply.next;
    } while (next !== null);
    return { checked, found };
  };

  it("is in the program whose key and links are printed, with progress, and no warning", async () => {
    assert.match(running.printed.out, /^ {2}Adding a year of sample data$/m);
    assert.equal((await api<{ id: string }>("/programs/me")).id, program);
    for (const link of [printed("Dashboard"), printed("Portal"), printed("E-mails"), printed("Docs")]) {
      assert.equal((await fetch(link)).status, 200, link);
    }
    assert.match(await (await fetch(printed("Portal"))).text(), /Partner of/);
    assert.match(running.printed.out, /npm run sample:remove/);
    assert.equal(running.printed.err, "");
  });

  it("is a year of partners, clicks, sales and payouts, with something to decide", async () => {
    assert.ok((await total("/partners")) >= 20);
    assert.equal(await total("/partners?status=invited"), 1);
    assert.equal(await total("/partners?status=deactivated"), 1);
    assert.ok((await total("/partners?search=%E7%BE%8E%E5%92%B2")) >= 1, "a name in Japanese");
    assert.ok((await total("/partners?search=%D9%84%D9%8A%D9%84%D9%89")) >= 1, "a name in Arabic");
    for (const provider of ["provider_a", "provider_b", "api"]) {
      assert.ok((await total(`/commissions?provider=${provider}`)) >= 10, provider);
    }
    for (const status of ["pending", "approved", "paid"]) {
      assert.ok((await total(`/commissions?status=${status}`)) >= 10, status);
    }
    assert.ok((await total("/commissions?flagged=true")) >= 3);
    assert.ok((await total("/payouts?status=paid")) >= 20);
    assert.ok((await total("/payouts?status=pending")) >= 1);
    assert.equal(await total("/claims?status=open"), 1);
    assert.equal(await total("/claims?status=granted"), 1);
    assert.equal(await total("/applications?status=pending"), 1);
    const { data } = await api<{ data: unknown[] }>("/flows");
    assert.equal(data.length, 2);
    const commissions = await rows<{ currency: string; kind: string; count: number }>(
      "select currency, kind, count(*) as count from commissions group by currency, kind",
    );
    const currencies = new Set(commissions.map(({ currency }) => currency));
    assert.deepEqual([...currencies].toSorted(), ["EUR", "GBP", "JPY", "USD"]);
    for (const kind of ["clawback", "lead", "manual"])
      assert.ok(
        commissions.some((row) => row.kind === kind),
        kind,
      );
    const [refunds] = await rows<{ count: number }>("select count(*) as count from facts where kind = 'adjustment'");
    assert.ok(refunds!.count >= 5);
  });

  it("has clicks from the first month to today, by page, site and country", async () => {
    const from = new Date(Date.now() - 364 * DAY).toISOString().slice(0, 10);
    const { data } = await api<{ data: { recorded: number }[] }>(`/clicks/summary?from=${from}`);
    const clicks = data.map((day) => day.recorded);
    const sum = (part: number[]) => part.reduce((all, one) => all + one, 0);
    assert.ok(sum(clicks) >= 2_000, `${sum(clicks)} clicks`);
    assert.ok(sum(clicks.slice(0, 60)) > 0 && sum(clicks.slice(-7)) > 0);
    const kinds = await rows<{ kind: string; count: number }>(
      "select kind, count(distinct value) as count from click_sources group by kind",
    );
    assert.ok(kinds.length >= 3 && kinds.every(({ count }) => count >= 5), JSON.stringify(kinds));
  });

  it("has no difference that the daily check of the ledger would find", async () => {
    const { checked, found } = await differences();
    assert.ok(checked > 500, `${checked} checked`);
    assert.deepEqual(found, []);
  });

  it("is the stage of the demo, which can be played again", async () => {
    for (const round of ["first", "second"]) {
      const demo = runScript("src/dev/demo.ts", { PORT: env.PORT });
      assert.equal(await demo.ended, 0, `${round}: ${demo.printed.out}${demo.printed.err}`);
      const [, expected, all] = /^(\d+) of (\d+) steps as expected\.$/m.exec(demo.printed.out) ?? [];
      assert.equal(expected, all);
      const payment = new RegExp(`^ {2}Payment +${url}/dashboard/payments/(pmt_\\w+) `, "m").exec(
        demo.printed.out,
      )?.[1];
      assert.equal((await api<{ id: string }>(`/payments/${payment}`)).id, payment);
      for (const label of ["Dashboard", "Portal", "E-mails"]) {
        assert.match(demo.printed.out, new RegExp(`^ {2}${label} +${url}/`, "m"));
      }
    }
    assert.equal(await total("/partners?search=jane-"), 2);
    assert.equal((await api<{ data: unknown[] }>("/flows")).data.length, 2);
    assert.equal((await api<{ data: unknown[] }>("/webhooks")).data.length, 0);
    assert.equal((await api<{ data: unknown[] }>("/api-keys")).data.length, 0);
    assert.equal((await operator<{ total: number }>("GET", "/admin/programs")).total, 1);
  });

  it("keeps a provider's secret that the newcomer has set: the demo then plays in a program of its own", async () => {
    const secret = (provider_a_webhook_secret: string | null) =>
      api<object>("/programs/me", { provider_a_webhook_secret }, "PATCH");
    await secret("whsec_of_the_newcomer");
    const demo = runScript("src/dev/demo.ts", { PORT: env.PORT });
    assert.equal(await demo.ended, 0, demo.printed.out);
    assert.match(demo.printed.out, /In a program of its own/);
    const { provider_a_webhook_secret_set } = await api<{ provider_a_webhook_secret_set: boolean }>("/programs/me");
    assert.equal(provider_a_webhook_secret_set, true);
    assert.equal(await total("/partners?search=jane-"), 2);
    await secret(null);
  });

  it("is not removed with what the newcomer added, also for an earlier day, unless asked to", async () => {
    const occurred_at = new Date(Date.now() - 90 * DAY).toISOString();
    const sale = { external_id: "earlier", ref: "nobody", amount_cents: 1_000, currency: "USD", net_of_tax: true };
    await api("/track/sale", { ...sale, occurred_at });
    const refused = runScript(REMOVE, env);
    assert.equal(await refused.ended, 1);
    assert.equal(
      refused.printed.err,
      `The program also has 2 partners and ${2 * VENDOR_NAMES.length + 1} payments that are not sample data.\n` +
        "To remove everything: npm run sample:remove -- --all\n",
    );
    assert.ok((await total("/partners")) > 20);
  });

  it("is removed while the service runs, and leaves the program as a new one is", async () => {
    await api("/api-keys", { name: "mine", scopes: ["read"] });
    const removal = runScript(REMOVE, env, ["--all"]);
    assert.equal(await removal.ended, 0, removal.printed.err);
    for (const path of ["/partners", "/commissions", "/payments", "/payouts", "/claims", "/applications", "/events"]) {
      assert.equal(await total(path), 0, path);
    }
    assert.equal((await api<{ data: unknown[] }>("/api-keys")).data.length, 1);
    const fresh = await operator<{ program: object }>("POST", "/admin/programs", {
      ...{ name: "My program", owner_email: "owner@example.com" },
    });
    const varying = ["id", "created_at", "updated_at", "api_key_last4", "api_key_last_used_at", "terms_version"];
    const settingsOf = (row: object) => Object.entries(row).filter(([name]) => !varying.includes(name));
    assert.deepEqual(settingsOf(await api<object>("/programs/me")), settingsOf(fresh.program));
    assert.deepEqual(await rows("pragma foreign_key_check"), []);
  });

  it("leaves a program that works", async () => {
    const { id } = await api<{ id: string }>("/partners", { email: "new@partners.example", slug: "new" });
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    await fetch(`${url}/api/v1/partners/${id}`, { method: "PATCH", headers, body: '{"status": "active"}' });
    const sale = { external_id: "order-1", ref: "new", amount_cents: 10_000, currency: "USD", net_of_tax: true };
    assert.equal((await api<{ outcome: string }>("/track/sale", sale)).outcome, "commission");
    const { data } = await api<{ data: { amount_cents: number }[] }>("/commissions");
    assert.deepEqual(
      data.map(({ amount_cents }) => amount_cents),
      [2_000],
    );
    assert.deepEqual((await differences()).found, []);
  });

  it("does not come back, and cannot be removed twice", async () => {
    running.child.kill("SIGTERM");
    assert.equal(await running.ended, 0);
    running = runScript(START, env);
    await running.until(/Ctrl\+C stops the service/);
    assert.doesNotMatch(running.printed.out, /sample/);
    assert.equal(await total("/partners"), 1);
    const again = runScript(REMOVE, env);
    assert.equal(await again.ended, 1);
    assert.equal(again.printed.err, `There is no sample data in ${env.PERSIST_TO}.\n`);
  });
});

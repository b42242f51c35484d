/** A click object belongs to a shard, as the program does whose click it takes. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { arrivalOf, batchOf } from "../../src/clicks/batch.ts";
import { ClickCounter } from "../../src/clicks/counter.ts";
import { wakeClickObjects } from "../../src/clicks/wake-objects.ts";
import { listClickObjects } from "../../src/core/clicks/clicks.ts";
import { clickObjectOn, MAX_SHARD, programIdOn, shardOfProgram } from "../../src/domain/shard.ts";
import type { Bindings } from "../../src/env.ts";
import { newId } from "../../src/lib/id.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { clickStub, flush, HERE, holdTime, recorded, unflushed, visit } from "../support/clicks.ts";
import { call, makePartner, type TestProgram } from "../support/program.ts";
import { contextOn, away, databaseOn, dump, makeProgramOn } from "../support/shards.ts";
import { eventually } from "../support/time.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const THERE = clickObjectOn(1, HERE);

interface Events {
  data: { type: string; payload: { ref: string; landing: string } }[];
  total: number;
}

function send(program_id: string, overrides: Partial<Bindings> = {}) {
  const body = JSON.stringify({ program_id, ref: "jane", landing: "/here", referrer: "" });
  return visit("/click", { method: "POST", headers: { "content-type": "text/plain" }, body, env: overrides });
}

async function clicksOf(program: TestProgram): Promise<Events> {
  return (await program.api<Events>("GET", "/api/v1/events?type=click")).body;
}

/** Bindings whose click objects record which of them were called. */
function watched(): { CLICKS: Bindings["CLICKS"]; names: Set<string> } {
  const names = new Set<string>();
  const CLICKS = new Proxy(env.CLICKS, {
    get(target, name): unknown {
      if (name !== "getByName") return Reflect.get(target, name);
      return (object: string, options?: DurableObjectNamespaceGetDurableObjectOptions) => {
        names.add(object);
        return target.getByName(object, options);
      };
    },
  });
  return { CLICKS, names };
}

describe("a click of a program on shard 1", () => {
  it("goes through an object of its shard into its database, and leaves nothing in the other", async () => {
    const before = await dump(0);
    const program = await makeProgramOn(1);
    const partner = await makePartner(program, { slug: "jane" });
    const click = await call("/click", {
      method: "POST",
      headers: { "content-type": "text/plain", "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0" },
      body: JSON.stringify({ program_id: program.id, ref: "Jane", landing: "/pricing", referrer: "" }),
    });
    expect(click.status).toBe(202);
    expect([{ known: true }, { known: null }]).toContainEqual(click.body);
    const found = await eventually(async () => {
      const page = await clicksOf(program);
      expect(page.total).toBe(1);
      return page;
    });
    expect(found.data[0]).toMatchObject({ type: "click", payload: { ref: "jane", landing: "/pricing" } });
    const one = await program.api<{ stats: { clicks: number } }>("GET", `/api/v1/partners/${partner.id}`);
    expect(one.body.stats.clicks).toBe(1);
    expect(await listClickObjects(contextOn(1).db, "", 100)).toContain(THERE);
    expect(await dump(0)).toEqual(before);
  });

  it("is counted beside one of shard 0 in the same isolate, each in its own object", async () => {
    const programs = [await makeProgramOn(0), await makeProgramOn(1)] as const;
    for (const program of programs) await makePartner(program, { slug: "jane" });
    const { CLICKS, names } = watched();
    const sent = programs.flatMap(({ id }) => Array.from({ length: 5 }, () => send(id, { CLICKS })));
    expect(new Set((await Promise.all(sent)).map(({ status }) => status))).toEqual(new Set([202]));
    expect(names).toEqual(new Set([HERE, THERE]));
    await Promise.all([recorded(HERE), recorded(THERE)]);
    for (const program of programs) expect((await clicksOf(program)).total).toBe(5);
    expect(await listClickObjects(contextOn(0).db, "", 100)).toEqual([HERE]);
    expect(await listClickObjects(contextOn(1).db, "", 100)).toEqual([THERE]);
  });
});

describe("a click object that is opened by its id, as an alarm may open it, without its name", () => {
  const nameless = { toString: () => "f".repeat(64) };

  it("still brings its clicks into the database of its shard", async () => {
    holdTime();
    const program = await makeProgramOn(1);
    await makePartner(program, { slug: "jane" });
    const object = clickObjectOn(1, "weur:nameless");
    const { entry, key } = arrivalOf(
      { program_id: program.id, ref: "jane", landing: "/", referrer: "", id: "nameless" },
      Date.now(),
    );
    await clickStub(object).commit(batchOf([{ entry, key }], "nameless"));
    const before = await dump(0);
    await runInDurableObject(clickStub(object), async (_, state) => {
      Object.defineProperty(state, "id", { value: nameless });
      await new ClickCounter(state, env).alarm();
    });
    expect((await clicksOf(program)).total).toBe(1);
    expect(await dump(0)).toEqual(before);
    expect(await listClickObjects(contextOn(1).db, "", 100)).not.toContain(nameless.toString());
  });
});

describe("a program whose database is not bound", () => {
  it("has its clicks refused, so that the script sends them again, and none is taken that would be lost", async () => {
    const program = await makeProgramOn(1);
    await makePartner(program, { slug: "jane" });
    const { CLICKS, names } = watched();
    const refused = await send(program.id, { CLICKS, DB_1: undefined });
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(refused.body).toMatchObject({ error: { code: "storage_unavailable" } });
    expect(names).toEqual(new Set());
    expect((await send(program.id)).status).toBe(202);
    await recorded(THERE);
    expect((await clicksOf(program)).total).toBe(1);
  });
});

describe("invented ids", () => {
  it("make no object beyond those of the bound databases, and no row anywhere", async () => {
    await recorded(HERE);
    await recorded(THERE);
    const one = await makeProgramOn(1);
    await makePartner(one, { slug: "jane" });
    const { CLICKS, names } = watched();
    const ids = Array.from({ length: MAX_SHARD + 1 }, (_, shard) => programIdOn(shard, newId("program", Date.now())));
    ids.push(programIdOn(0, one.id), programIdOn(7, one.id), "prog_A1", "prog_@1", `prog_${"9".repeat(26)}`);
    for (const id of ids) {
      const { status } = await send(id, { CLICKS });
      const wanted = shardOfProgram(id) > 1 ? 503 : 202;
      expect([id, status]).toEqual([id, id === "prog_@1" ? 422 : wanted]);
    }
    expect(names).toEqual(new Set([HERE, THERE]));
    await recorded(HERE);
    await recorded(THERE);
    const [zero, first] = [await dump(0), await dump(1)];
    for (const id of ids) expect([id, JSON.stringify([zero, first]).includes(id)]).toEqual([id, false]);
    expect((await clicksOf(one)).total).toBe(0);
  });
});

describe("a redirect link", () => {
  it("leads to the domain of a program of shard 1, and nowhere under another digit", async () => {
    const program = await makeProgramOn(1, { domain: "second.example" });
    const followed = await visit(`/r/${program.id}/jane?to=/x`);
    expect(followed.status).toBe(302);
    expect(followed.headers.get("location")).toMatch(/^https:\/\/second\.example\/x\?ref=jane/);
    for (const shard of [0, 2, 31]) {
      const path = `/r/${programIdOn(shard, program.id)}/jane`;
      expect([shard, (await visit(path)).status]).toEqual([shard, 404]);
    }
  });

  it("is 503 while its own database is away, and works while the other is", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const [mine, theirs] = [await makeProgramOn(1), await makeProgramOn(0)];
    const bindings = { DB: away(0) };
    expect((await visit(`/r/${mine.id}/jane`, { env: bindings })).status).toBe(302);
    expect((await visit(`/r/${theirs.id}/jane`, { env: bindings })).status).toBe(503);
  });
});

describe("a click object", () => {
  async function connect(name: string, bindings: Partial<Bindings>) {
    await runInDurableObject(clickStub(name), (object) => {
      Object.assign(object, { env: bindings });
    });
  }

  it("of shard 1 flushes while database 0 is away, and keeps its clicks while its own is away or not bound", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const program = await makeProgramOn(1);
    await makePartner(program, { slug: "jane" });
    const whole = { DB: databaseOn(0), DB_1: databaseOn(1) };
    try {
      for (const [bindings, total] of [
        [{ DB: away(0), DB_1: databaseOn(1) }, 1],
        [{ DB: databaseOn(0), DB_1: away(1) }, 1],
        [{ DB: databaseOn(0) }, 1],
        [whole, 4],
      ] as const) {
        await connect(THERE, bindings);
        expect((await send(program.id)).status).toBe(202);
        await flush(THERE, { DB_1: undefined, ...bindings });
        await eventually(async () => expect((await clicksOf(program)).total).toBe(total));
      }
    } finally {
      await connect(THERE, whole);
    }
  });

  it("is woken by the cron of its own database", async () => {
    const program = await makeProgramOn(1);
    await makePartner(program, { slug: "jane" });
    await send(program.id);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + MINUTE });
    await serveAll(wakeClickObjects(contextOn(0), env));
    expect(await unflushed(THERE)).toBe(1);
    await serveAll(wakeClickObjects(contextOn(1), env));
    await eventually(async () => expect(await unflushed(THERE)).toBe(0));
    expect((await clicksOf(program)).total).toBe(1);
  });
});

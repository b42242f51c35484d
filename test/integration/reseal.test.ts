/**
 * "Secrets encrypted at rest with key rotation shown" (issue); "key id stored beside the ciphertext so that keys can be
 * rotated" (contract §3): after a rotation everything that was sealed is under the new key, and nothing was lost.
 */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RESEALED_AT_ONCE, resealAll, type Resealing } from "../../src/core/reseal.ts";
import type { Bindings } from "../../src/env.ts";
import { baseContext } from "../../src/http/context.ts";
import { SecretSealer } from "../../src/lib/seal.ts";
import { makeEndpoint } from "../support/outbound.ts";
import { callApi, makeProgram, SECRET_A, SECRET_B, type TestProgram } from "../support/program.ts";
import { callWith, watchDatabase, type Faults } from "../support/watched-database.ts";

const OLD = env.ENCRYPTION_KEY;
const NEW = btoa("n".repeat(32));
const WRONG = btoa("w".repeat(32));
const MARKS = { old: `${await new SecretSealer([OLD]).keyId()}.`, new: `${await new SecretSealer([NEW]).keyId()}.` };

/** A deployment in which `NEW` seals, and `previous` opens. */
function rotated(previous: string | undefined, faults?: Faults): Partial<Bindings> {
  return {
    ENCRYPTION_KEY: NEW,
    ...(previous === undefined ? {} : { ENCRYPTION_KEY_PREVIOUS: previous }),
    ...(faults ? { DB: watchDatabase(env.DB, faults).binding } : {}),
  };
}

async function reseal(bindings: Partial<Bindings>): Promise<Resealing> {
  const headers = { authorization: "Bearer test-admin-token" };
  const reply = await callWith<Resealing>(bindings, "/admin/secrets/reseal", { method: "POST", headers });
  expect(reply.status).toBe(200);
  return reply.body;
}

/** Every text of every table that begins with a mark. */
async function sealedBy(mark: string): Promise<string[]> {
  const tables = await env.DB.prepare(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like '_cf_%'",
  ).all<{ name: string }>();
  const rows = await env.DB.batch<Record<string, unknown>>(
    tables.results.map(({ name }) => env.DB.prepare(`select * from "${name}"`)),
  );
  const texts = rows.flatMap(({ results }) => results.flatMap((row) => Object.values(row)));
  return texts.filter((text): text is string => typeof text === "string" && text.startsWith(mark)).toSorted();
}

async function plainTexts(sealed: string[], ...keys: string[]): Promise<string[]> {
  const sealer = new SecretSealer(keys);
  return (await Promise.all(sealed.map((text) => sealer.open(text)))).toSorted();
}

interface Stocked {
  program: TestProgram;
  endpoint: string;
  replay: (bindings: Partial<Bindings>) => Promise<string>;
}

/** A program with a value in every place that is sealed: eight of them. */
async function stock(): Promise<Stocked> {
  const program = await makeProgram();
  await program.api("PATCH", "/api/v1/programs/me", {
    provider_a_webhook_secret: "whsec_next_a",
    provider_b_webhook_secret: "pdl_next_b",
    provider_a_api_key: "sk_test_of_a",
  });
  const { id } = await makeEndpoint(program, "https://hooks.example/");
  await program.api("POST", `/api/v1/webhooks/${id}/rotate-secret`);
  const init = {
    method: "POST",
    headers: {
      authorization: `Bearer ${program.api_key}`,
      "content-type": "application/json",
      "Idempotency-Key": "once",
    },
    body: JSON.stringify({ url: "https://kept.example/", events: ["*"] }),
  };
  const replay = async (bindings: Partial<Bindings>) => {
    const reply = await callWith<{ secret: string }>(bindings, "/api/v1/webhooks", init);
    expect(reply.status).toBe(201);
    return reply.body.secret;
  };
  await replay({});
  return { program, endpoint: id, replay };
}

const SEALED_VALUES = 9;

// What the tests before left is under the new key, or is taken away.
beforeEach(async () => {
  for (const table of ["webhook_endpoints", "idempotency_keys"]) await env.DB.exec(`delete from ${table}`);
  await env.DB.exec(
    `update programs set provider_a_webhook_secret = null, provider_a_webhook_secret_previous = null,
    provider_b_webhook_secret = null, provider_b_webhook_secret_previous = null, provider_a_api_key = null`.replaceAll(
      "\n",
      " ",
    ),
  );
});

afterEach(() => vi.restoreAllMocks());

describe("a rotation of ENCRYPTION_KEY", () => {
  it("brings every sealed value of the database under the new key; then the old one is not needed", async () => {
    const { program, replay } = await stock();
    const before = await sealedBy(MARKS.old);
    expect(before).toHaveLength(SEALED_VALUES);
    const plain = await plainTexts(before, OLD);
    expect(plain).toEqual(expect.arrayContaining([SECRET_A, SECRET_B, "whsec_next_a", "pdl_next_b", "sk_test_of_a"]));
    const shown = await replay(rotated(OLD));

    expect(await reseal(rotated(OLD))).toEqual({ resealed: SEALED_VALUES, left: 0, unreadable: [] });

    expect(await sealedBy(MARKS.old)).toEqual([]);
    expect(await plainTexts(await sealedBy(MARKS.new), NEW)).toEqual(plain);
    expect(await reseal(rotated(undefined))).toEqual({ resealed: 0, left: 0, unreadable: [] });
    expect(await replay(rotated(undefined))).toBe(shown);
    const me = await callWith(rotated(undefined), "/api/v1/programs/me", {
      headers: { authorization: `Bearer ${program.api_key}` },
    });
    expect(me.body).toMatchObject({ provider_a_webhook_secret_set: true });
  });

  it("can be opened by a Worker that has the new key and does not seal with it yet", async () => {
    const { replay } = await stock();
    const secret = await replay({});
    expect(await reseal(rotated(OLD))).toMatchObject({ left: 0 });
    // The step before (README, "Rotating keys"): for some seconds such a Worker runs beside one that seals with it.
    expect(await replay({ ENCRYPTION_KEY: OLD, ENCRYPTION_KEY_PREVIOUS: NEW })).toBe(secret);
  });

  it("goes on in bounded steps that tell what is left", async () => {
    await stock();
    await stock();
    const ctx = baseContext({ ...(env as unknown as Bindings), ...rotated(OLD) }, Date.now(), () => {});
    const steps: Resealing[] = [];
    do steps.push(await resealAll(ctx, 4));
    while (steps.at(-1)!.left > 0 && steps.length < 20);
    expect(steps.map(({ resealed }) => resealed)).toEqual([4, 4, 4, 4, 2]);
    expect(steps.map(({ left }) => left)).toEqual([14, 10, 6, 2, 0]);
    // D1 takes 1,000 statements of one call: one for each value, and some to find and to count them.
    expect(RESEALED_AT_ONCE).toBeLessThanOrEqual(800);
  });

  it("names what no key opens and leaves it as it is, however often it is called", async () => {
    const { program, endpoint } = await stock();
    const before = await sealedBy(MARKS.old);
    for (const previous of [undefined, WRONG, `${WRONG},`]) {
      const { resealed, left, unreadable } = await reseal(rotated(previous));
      expect([resealed, left, unreadable.length]).toEqual([0, SEALED_VALUES, SEALED_VALUES]);
      expect(unreadable).toEqual(
        expect.arrayContaining([
          { program_id: program.id, field: "programs.provider_a_api_key", id: program.id },
          { program_id: program.id, field: "webhook_endpoints.secret_previous", id: endpoint },
          { program_id: program.id, field: "idempotency_keys.body", id: "once" },
        ]),
      );
      expect(await sealedBy(MARKS.old)).toEqual(before);
    }
    // One value that was tampered with keeps none of the others.
    await env.DB.prepare("update programs set provider_a_api_key = ? where id = ?")
      .bind(`${MARKS.old}AAAAAAAAAAAAAAAA.AAAA`, program.id)
      .run();
    expect(await reseal(rotated(`${WRONG},${OLD}`))).toEqual({
      resealed: SEALED_VALUES - 1,
      left: 1,
      unreadable: [{ program_id: program.id, field: "programs.provider_a_api_key", id: program.id }],
    });
  });

  it("loses nothing when it is broken off at any point, and completes when it is called again", async () => {
    await stock();
    const plain = await plainTexts(await sealedBy(MARKS.old), OLD);
    vi.spyOn(console, "error").mockImplementation(() => {});
    for (let failing = 0; ; failing++) {
      let trips = 0;
      const broken = rotated(OLD, {
        before: () => {
          if (trips++ === failing) throw new Error("the machine goes down");
        },
      });
      const headers = { authorization: "Bearer test-admin-token" };
      const { status } = await callWith(broken, "/admin/secrets/reseal", { method: "POST", headers });
      const all = [...(await sealedBy(MARKS.old)), ...(await sealedBy(MARKS.new))];
      expect(await plainTexts(all, NEW, OLD)).toEqual(plain);
      if (status === 200) break;
      expect(failing).toBeLessThan(40);
    }
    expect(await sealedBy(MARKS.old)).toEqual([]);
  });

  it("runs twice at once and ends the same", async () => {
    await stock();
    const plain = await plainTexts(await sealedBy(MARKS.old), OLD);
    const both = await Promise.all([reseal(rotated(OLD)), reseal(rotated(OLD))]);
    expect(both.reduce((sum, { resealed }) => sum + resealed, 0)).toBe(SEALED_VALUES);
    expect(await plainTexts(await sealedBy(MARKS.new), NEW)).toEqual(plain);
  });

  it("yields to a secret that is changed between opening and sealing", async () => {
    const { program } = await stock();
    let changed = false;
    const racing = rotated(OLD, {
      before: async (statements) => {
        if (changed || !statements.some((sql) => /update "?programs"? set "?provider_a_api_key/.test(sql))) return;
        changed = true;
        const patched = await patch(program, rotated(OLD), { provider_a_api_key: "sk_test_newer" });
        expect(patched).toBe(200);
      },
    });
    expect(await reseal(racing)).toMatchObject({ left: 0 });
    expect(changed).toBe(true);
    const plain = await plainTexts(await sealedBy(MARKS.new), NEW);
    expect(plain).toContain("sk_test_newer");
    expect(plain).not.toContain("sk_test_of_a");
  });

  it.each([
    [
      "a provider's secret",
      (program: TestProgram, bindings: Partial<Bindings>) =>
        patch(program, bindings, { provider_a_webhook_secret: "whsec_third_a" }),
      ["whsec_third_a", "whsec_next_a"],
    ],
    [
      "an endpoint's secret",
      async (program: TestProgram, bindings: Partial<Bindings>, endpoint: string) => {
        const init = { method: "POST", headers: { authorization: `Bearer ${program.api_key}` } };
        return (await callWith(bindings, `/api/v1/webhooks/${endpoint}/rotate-secret`, init)).status;
      },
      [],
    ],
  ])("is not undone by a change of %s that read before it", async (_what, change, kept) => {
    const { program, endpoint } = await stock();
    let resealed: Resealing | undefined;
    const racing = rotated(OLD, {
      before: async (statements) => {
        if (resealed || !statements.some((sql) => /^update "(programs|webhook_endpoints)" set/.test(sql))) return;
        resealed = await reseal(rotated(OLD));
      },
    });
    expect(await change(program, racing, endpoint)).toBe(200);
    expect(resealed).toMatchObject({ left: 0 });
    // Else the copy of what the old key sealed would stand in `_previous`, and nobody would look again.
    expect(await sealedBy(MARKS.old)).toEqual([]);
    const plain = await plainTexts(await sealedBy(MARKS.new), NEW);
    expect(plain).toEqual(expect.arrayContaining(kept));
  });

  it("is the operator's alone", async () => {
    const { program } = await stock();
    for (const token of [null, program.api_key, "wrong"]) {
      expect((await callApi(token, "POST", "/admin/secrets/reseal")).status).toBe(401);
    }
    expect(await sealedBy(MARKS.old)).toHaveLength(SEALED_VALUES);
  });
});

async function patch(program: TestProgram, bindings: Partial<Bindings>, body: unknown): Promise<number> {
  const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
  const init = { method: "PATCH", headers, body: JSON.stringify(body) };
  return (await callWith(bindings, "/api/v1/programs/me", init)).status;
}

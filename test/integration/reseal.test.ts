/**
 * Secrets are encrypted at rest, with the key's id beside them, so that keys can be rotated (ACCESS-6, ACCESS-7): after
 * a rotation every secret is sealed under the new key, and none is lost.
 */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RESEALED_AT_ONCE, resealAll, type Resealing } from "../../src/core/operations/reseal.ts";
import { keepText } from "../../src/core/kernel/kept.ts";
import type { Bindings } from "../../src/env.ts";
import { baseContext } from "../../src/http/context.ts";
import { rowOf, SEALED, type SealedField, type SealedPlace } from "../../src/db/sealed.ts";
import { SecretSealer, type Sealed } from "../../src/lib/seal.ts";
import { HOUR } from "../../src/lib/time.ts";
import { bySecretSetting, VENDOR_NAMES, SECRET_SETTINGS } from "../../src/providers/registry.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makeEndpoint } from "../support/outbound.ts";
import { visitorWithMail } from "../support/own-change.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { DEBTOR, makeFile } from "../support/bank-payouts.ts";
import { makeCommissions } from "../support/payouts.ts";
import {
  callApi,
  makePartner,
  makeProgram,
  programContext,
  TEST_SECRETS,
  type TestProgram,
} from "../support/program.ts";
import { signInPartner } from "../support/visitor.ts";
import { callWith, watchDatabase, type Faults } from "../support/watched-database.ts";

const OLD = env.ENCRYPTION_KEY;
const NEW = btoa("n".repeat(32));
const WRONG = btoa("w".repeat(32));
const MARKS = { old: await new SecretSealer([OLD]).mark(), new: await new SecretSealer([NEW]).mark() };

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

interface Found {
  text: Sealed;
  field: string;
  place: SealedPlace;
}

/** Every text of every table that begins with a mark, with its place. */
async function sealedBy(mark: string): Promise<Found[]> {
  const { results } = await env.DB.prepare(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like '_cf_%' order by name",
  ).all<{ name: string }>();
  const found = await Promise.all(
    results.map(async ({ name: table }) => {
      const rows = await env.DB.prepare(`select * from "${table}"`).all();
      return rows.results.flatMap((row) =>
        Object.entries(row).flatMap(([column, text]) =>
          typeof text === "string" && text.startsWith(mark) ? [foundAt(table, column, row, text as Sealed)] : [],
        ),
      );
    }),
  );
  return found.flat();
}

function foundAt(table: string, column: string, row: Record<string, unknown>, text: Sealed): Found {
  const field = `${table}.${column}`;
  const key = SEALED[field as SealedField];
  if (!key) throw new Error(`${field} holds a sealed value and is not in the list`);
  return {
    text,
    field,
    place: { table, column, row: rowOf(key, String(row[key.program]), String(row[key.own])) } as SealedPlace,
  };
}

const textsOf = (found: Found[]) => found.map(({ text }) => text).toSorted();

async function plainTexts(found: Found[], ...keys: string[]): Promise<(string | null)[]> {
  const sealer = new SecretSealer(keys);
  return (await Promise.all(found.map(({ text, place }) => sealer.openOrNull(text, place)))).toSorted();
}

interface Stocked {
  program: TestProgram;
  endpoint: string;
  replay: (bindings: Partial<Bindings>) => Promise<string>;
}

/** The new secrets of every provider. */
const NEXT = bySecretSetting(({ setting }) => `next_${setting}`);

/** A program with a value in every place that is sealed. */
async function stock(): Promise<Stocked> {
  const program = await makeProgram({ payout_change_hold_days: 0 });
  await program.api("PATCH", "/api/v1/programs/me", { ...NEXT, ...DEBTOR });
  const partner = await makePartner(program);
  // The e-mail about it goes to the owner alone.
  const details = `/api/v1/partners/${partner.id}/payout-details`;
  await program.api("PUT", details, { method: "crypto", network: "bitcoin", address: "bc1qar0srrr7xfkvy5l643lyd" });
  const bank = { account_holder: "Jane Doe", country: "DE", currency: "EUR", iban: "DE89370400440532013000" };
  await program.api("PUT", details, { method: "bank_transfer", ...bank });
  const tax = { legal_name: "Jane Doe", address: "Main St. 1", country: "DE", kind: "private" };
  await program.api("PUT", `/api/v1/partners/${partner.id}/tax-data`, tax);
  const portal = await signInPartner(partner.email, visitorWithMail(openMailbox()));
  await portal.get("/portal/details");
  await portal.post("/portal/details", { payout_method: "wallet", payout_email: "jane@wallet.example" });
  await env.DB.prepare("delete from mails where recipient = ?").bind(partner.email).run();
  await makeCommissions(program, partner.id, [{ currency: "EUR" }]);
  await program.api("POST", "/api/v1/payouts/generate");
  await makeFile(program, "sepa");
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
  await keepText(programContext(program), { program_id: program.id, id: "kept" }, "typed", HOUR);
  return { program, endpoint: id, replay };
}

/**
 * The secrets of `NEXT` and the webhook secrets before them; one each of a pending change, tax data, a payout, the
 * debtor and a file that names it, an e-mail, a request with a key, a kept text and an endpoint.
 */
const SEALED_VALUES = SECRET_SETTINGS.length + VENDOR_NAMES.length + 14;

// Secrets that earlier tests left are resealed under the new key or removed.
beforeEach(async () => {
  for (const table of [
    "webhook_endpoints",
    "idempotency_keys",
    "mails",
    "kept_texts",
    "tax_data",
    "pending_destinations",
  ])
    await env.DB.exec(`delete from ${table}`);
  await env.DB.exec("update commissions set payout_id = null");
  for (const table of ["export_items", "payout_exports", "payouts"]) await env.DB.exec(`delete from ${table}`);
  await env.DB.exec("update programs set debtor_iban_sealed = null");
  await env.DB.exec("update partners set bank_account_sealed = null, crypto_address_sealed = null");
  await env.DB.exec(
    "update provider_connections set webhook_secret = null, webhook_secret_previous = null, api_key = null",
  );
});

afterEach(() => vi.restoreAllMocks());

describe("a rotation of ENCRYPTION_KEY (ACCESS-7)", () => {
  it("brings every sealed value of the database under the new key; then the old one is not needed (HTTP-10)", async () => {
    const { program, replay } = await stock();
    const before = await sealedBy(MARKS.old);
    expect(before).toHaveLength(SEALED_VALUES);
    const plain = await plainTexts(before, OLD);
    expect(plain).toEqual(expect.arrayContaining([...Object.values(TEST_SECRETS), ...Object.values(NEXT)]));
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
    // The step before (src/docs/operate.md, "Rotating keys"): for some seconds such a Worker runs beside one that seals with it.
    expect(await replay({ ENCRYPTION_KEY: OLD, ENCRYPTION_KEY_PREVIOUS: NEW })).toBe(secret);
  });

  it("goes on in bounded steps that show what is left", async () => {
    await stock();
    await stock();
    const ctx = baseContext({ ...(env as unknown as Bindings), ...rotated(OLD) }, Date.now(), () => {});
    const steps: Resealing[] = [];
    do steps.push(await resealAll(ctx, 4));
    while (steps.at(-1)!.left > 0 && steps.length < 20);
    const left = Array.from({ length: Math.ceil(SEALED_VALUES / 2) }, (_, i) =>
      Math.max(2 * SEALED_VALUES - 4 * (i + 1), 0),
    );
    expect(steps.map((step) => step.left)).toEqual(left);
    expect(steps.map(({ resealed }) => resealed)).toEqual(
      left.map((after, i) => (left[i - 1] ?? 2 * SEALED_VALUES) - after),
    );
    // D1 takes 1,000 statements of one call: one for each value, and some to find and to count them.
    expect(RESEALED_AT_ONCE).toBeLessThanOrEqual(800);
  });

  it("names what no key opens and leaves it as it is, however often it is called", async () => {
    const { program, endpoint } = await stock();
    const before = textsOf(await sealedBy(MARKS.old));
    for (const previous of [undefined, WRONG, `${WRONG},`]) {
      const { resealed, left, unreadable } = await reseal(rotated(previous));
      expect([resealed, left, unreadable.length]).toEqual([0, SEALED_VALUES, SEALED_VALUES]);
      expect(unreadable).toEqual(
        expect.arrayContaining([
          { program_id: program.id, field: "provider_connections.api_key", id: "provider_a" },
          { program_id: program.id, field: "webhook_endpoints.secret_previous", id: endpoint },
          { program_id: program.id, field: "idempotency_keys.body", id: "once" },
        ]),
      );
      expect(textsOf(await sealedBy(MARKS.old))).toEqual(before);
    }
    // One corrupted value does not block the others.
    await env.DB.prepare("update provider_connections set api_key = ? where program_id = ? and provider = 'provider_a'")
      .bind(`${MARKS.old}AAAAAAAAAAAAAAAA.AAAA`, program.id)
      .run();
    expect(await reseal(rotated(`${WRONG},${OLD}`))).toEqual({
      resealed: SEALED_VALUES - 1,
      left: 1,
      unreadable: [{ program_id: program.id, field: "provider_connections.api_key", id: "provider_a" }],
    });
  });

  it("is not held up by what no key opens, however much there is of it", async () => {
    await stock();
    const lost = await new SecretSealer([WRONG]).mark();
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
        insert into mails (id, program_id, kind, recipient, content, status, attempt_count, created_at)
        select 'lost ' || i, '', 'ledger_differs', 'owner@shop.example', ? || 'AAAA.AAAA', 'failed', 1, '' from n`,
    )
      .bind(lost)
      .run();
    let sent = 0;
    const counted = rotated(OLD, { before: (statements) => void (sent += statements.length) });
    const { resealed, left, unreadable } = await reseal(counted);
    expect([resealed, left, unreadable.length]).toEqual([SEALED_VALUES, 10_000, 100]);
    expect(unreadable[0]).toMatchObject({ field: "mails.content", id: expect.stringMatching(/^lost /) as string });
    expect(sent).toBeLessThan(100);
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
        if (changed || !statements.some((sql) => /update "?provider_connections"? set "?api_key/.test(sql))) return;
        changed = true;
        const patched = await patch(program, rotated(OLD), { provider_a_api_key: "sk_test_newer" });
        expect(patched).toBe(200);
      },
    });
    expect(await reseal(racing)).toMatchObject({ left: 0 });
    expect(changed).toBe(true);
    const plain = await plainTexts(await sealedBy(MARKS.new), NEW);
    expect(plain).toContain("sk_test_newer");
    expect(plain).not.toContain(NEXT.provider_a_api_key);
  });

  it.each([
    [
      "a provider's secret",
      (program: TestProgram, bindings: Partial<Bindings>) =>
        patch(program, bindings, { provider_a_webhook_secret: "whsec_third_a" }),
      ["whsec_third_a", NEXT.provider_a_webhook_secret],
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
    // Otherwise `_previous` would keep the copy that the old key sealed, and no later run would check it.
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

describe("what is sealed is bound to its place", () => {
  it("opens in its own row and column, and in no other row, column or table (ACCESS-6)", async () => {
    await stock();
    await stock();
    const sealer = new SecretSealer([OLD]);
    const found = await sealedBy(MARKS.old);
    expect(new Set(found.map(({ field }) => field))).toEqual(new Set(Object.keys(SEALED)));
    const places = found.map(({ place }) => place);
    for (const { text, place } of found) {
      await expect(sealer.openOrNull(text, place)).resolves.toBeTypeOf("string");
      const others = places.filter((other) => other !== place);
      expect(await Promise.all(others.map((other) => sealer.openOrNull(text, other)))).toEqual(others.map(() => null));
    }
  });

  it("a secret copied into another program's row verifies nothing there (ACCESS-6)", async () => {
    const one = await makeProgram();
    const two = await makeProgram({ provider_a_webhook_secret: "whsec_of_two" });
    await env.DB.prepare(
      `update provider_connections set webhook_secret = (select webhook_secret from provider_connections
        where program_id = ?1 and provider = 'provider_a') where program_id = ?2 and provider = 'provider_a'`,
    )
      .bind(one.id, two.id)
      .run();
    vi.spyOn(console, "error").mockImplementation(() => {});
    const event = sessionCompleted();
    expect((await sendA(one, event)).status).toBe(200);
    expect((await sendA(two, event)).status).toBeGreaterThanOrEqual(400);
    expect((await ledgerOf(two)).payments).toEqual([]);
  });

  it("a value of another place is named, and stays as it is", async () => {
    const [{ program: one }, { program: two }] = [await stock(), await stock()];
    await env.DB.prepare(
      `update provider_connections set api_key = (select api_key from provider_connections
        where program_id = ?1 and provider = 'provider_a') where program_id = ?2 and provider = 'provider_a'`,
    )
      .bind(one.id, two.id)
      .run();
    expect(await reseal(rotated(OLD))).toMatchObject({
      left: 1,
      unreadable: [{ program_id: two.id, field: "provider_connections.api_key", id: "provider_a" }],
    });
  });

  it("a secret whose key is gone is replaced by a new one, and nothing is tried in its place", async () => {
    const { program, endpoint } = await stock();
    const lost = rotated(undefined);
    expect(await patch(program, lost, { provider_a_webhook_secret: "whsec_anew" })).toBe(200);
    const init = { method: "POST", headers: { authorization: `Bearer ${program.api_key}` } };
    const replaced = await callWith<object>(lost, `/api/v1/webhooks/${endpoint}/rotate-secret`, init);
    expect(replaced).toMatchObject({ status: 200, body: { previous_secret_valid_until: null } });
    const row = await env.DB.prepare(
      `select c.webhook_secret_previous as a, e.secret_previous as e, e.secret_previous_until as until
        from provider_connections c, webhook_endpoints e where c.program_id = ? and c.provider = 'provider_a' and e.id = ?`,
    )
      .bind(program.id, endpoint)
      .first();
    expect(row).toEqual({ a: null, e: null, until: null });
  });
});

async function patch(program: TestProgram, bindings: Partial<Bindings>, body: unknown): Promise<number> {
  const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
  const init = { method: "PATCH", headers, body: JSON.stringify(body) };
  return (await callWith(bindings, "/api/v1/programs/me", init)).status;
}

/**
 * What a program keeps of a provider is a row of `provider_connections`. The version before reads and writes columns of
 * `programs` instead; while both run, or after a rollback, each sees what the other wrote.
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { ProviderName } from "../../src/domain/provider-name.ts";
import { SecretSealer, type Sealed } from "../../src/lib/seal.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { makeProgram, SECRET_A, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";

type Kept = Record<string, string | null>;

const NAMES = ["webhook_secret", "webhook_secret_previous", "webhook_secret_previous_until", "api_key", "refusals"];

/** The connection as the version before has it, in columns of `programs`; it knows no API key of provider B. */
async function former({ id }: TestProgram, provider: ProviderName): Promise<Kept> {
  const row = await env.DB.prepare("select * from programs where id = ?").bind(id).first<Kept>();
  return Object.fromEntries(NAMES.map((name) => [name, row?.[`${provider}_${name}`] ?? null]));
}

async function present({ id }: TestProgram, provider: ProviderName): Promise<Kept> {
  const row = await env.DB.prepare("select * from provider_connections where program_id = ? and provider = ?")
    .bind(id, provider)
    .first<Kept>();
  return Object.fromEntries(NAMES.map((name) => [name, row?.[name] ?? null]));
}

async function expectAlike(program: TestProgram): Promise<void> {
  for (const provider of ["provider_a", "provider_b"] as const) {
    expect(await former(program, provider)).toEqual(await present(program, provider));
  }
}

const patch = (program: TestProgram, body: unknown) => program.api("PATCH", "/api/v1/programs/me", body);

describe("a deploy gap with the version before provider_connections", () => {
  it("gives it every change of a secret, sealed as it seals", async () => {
    const program = await makeProgram({ provider_b_webhook_secret: null });
    await expectAlike(program);
    await patch(program, { provider_a_webhook_secret: "whsec_next", provider_b_webhook_secret: "pdl_first" });
    await patch(program, { provider_a_api_key: "rk_of_a" });
    await expectAlike(program);
    const sealer = new SecretSealer([env.ENCRYPTION_KEY]);
    const row = await former(program, "provider_a");
    const place = (column: string) => ({ table: "programs", column: `provider_a_${column}`, row: program.id });
    for (const [column, plain] of [
      ["webhook_secret", "whsec_next"],
      ["webhook_secret_previous", SECRET_A],
      ["api_key", "rk_of_a"],
    ] as const) {
      expect(await sealer.openOrNull(row[column] as Sealed, place(column))).toBe(plain);
    }
    await patch(program, { provider_a_webhook_secret: null, provider_a_api_key: null });
    expect((await former(program, "provider_a"))["api_key"]).toBeNull();
    await expectAlike(program);
  });

  it("takes every change of a secret from it, and opens what it sealed", async () => {
    const program = await makeProgram({ provider_a_webhook_secret: null, provider_b_webhook_secret: null });
    const sealer = new SecretSealer([env.ENCRYPTION_KEY]);
    const column = "provider_a_webhook_secret";
    const sealed = await sealer.seal(SECRET_A, { table: "programs", column, row: program.id });
    expect((await sendA(program, sessionCompleted())).status).toBe(409);
    await env.DB.prepare(`update programs set ${column} = ? where id = ?`).bind(sealed, program.id).run();
    await expectAlike(program);
    expect((await sendA(program, sessionCompleted())).status).toBe(200);
    await env.DB.prepare(`update programs set ${column} = null where id = ?`).bind(program.id).run();
    await expectAlike(program);
    expect((await sendA(program, sessionCompleted())).status).toBe(409);
  });

  it("keeps the later time of the last event, and costs an event no row more", async () => {
    const program = await makeProgram();
    expect((await sendB(program, transactionCompleted())).status).toBe(200);
    const times = () =>
      env.DB.prepare(
        `select p.provider_b_last_event_at as former, c.last_event_at as present from programs p
          join provider_connections c on c.program_id = p.id and c.provider = 'provider_b' where p.id = ?`,
      )
        .bind(program.id)
        .first<{ former: string | null; present: string }>();
    const first = await times();
    expect(first?.former).toBeNull();
    const set = (at: string) =>
      env.DB.prepare("update programs set provider_b_last_event_at = ? where id = ?").bind(at, program.id).run();
    await set("2020-01-01T00:00:00.000Z");
    expect((await times())?.present).toBe(first?.present);
    await set("2099-01-01T00:00:00.000Z");
    expect((await times())?.present).toBe("2099-01-01T00:00:00.000Z");
    await expectAlike(program);
  });
});

import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { rotateSecret } from "../../src/core/webhooks/actions.ts";
import { openDatabase } from "../../src/db/client.ts";
import { LEASE_MS } from "../../src/core/kernel/deliveries.ts";
import type { Sealed } from "../../src/lib/seal.ts";
import { deliveriesOf, makeEndpoint } from "../support/outbound.ts";
import { makePartner, makeProgram, programContext, testContext } from "../support/program.ts";
import { watchDatabase } from "../support/watched-database.ts";

afterEach(() => vi.restoreAllMocks());

/** An endpoint with one attempt under way, whose claim lasts until `lasts` ms from now. */
async function setUp(lasts: number) {
  const program = await makeProgram();
  const endpoint = await makeEndpoint(program, "https://hooks.example/in");
  await makePartner(program, {}, "invited");
  const [row] = await deliveriesOf(program);
  const now = Date.now();
  await env.DB.prepare("update deliveries set status = 'delivering', claimed_until = ? where id = ?")
    .bind(new Date(now + lasts).toISOString(), row!.id)
    .run();
  return { endpoint, caller: programContext(program, now) };
}

/** The secret that signs now. */
async function signing(id: string): Promise<string | null> {
  const sealed = await env.DB.prepare("select secret from webhook_endpoints where id = ?")
    .bind(id)
    .first<Sealed>("secret");
  const place = { table: "webhook_endpoints", column: "secret", row: id } as const;
  return testContext().sealer.openOrNull(sealed!, place);
}

describe("the waiting of POST /:id/rotate-secret (HOOK-8)", () => {
  it("lasts no longer than a claim can", async () => {
    const { endpoint, caller } = await setUp(LEASE_MS);
    let waited = 0;
    await rotateSecret(caller, endpoint.id, async (ms) => void (waited += ms));
    expect(waited).toBe(LEASE_MS);
  });

  it("is not for a claim that has ended, whose holder is gone", async () => {
    const { endpoint, caller } = await setUp(0);
    await rotateSecret(caller, endpoint.id, async () => expect.unreachable());
  });

  it.each(["select id, claimed_until", "json_each"])(
    "shows the secret though the database fails at: %s",
    async (failing) => {
      const log = vi.spyOn(console, "error").mockImplementation(() => {});
      const { endpoint, caller } = await setUp(LEASE_MS);
      const { binding } = watchDatabase(env.DB, {
        before: ([sql, ...others]) => {
          if (others.length === 0 && sql!.includes(failing) && sql!.includes("deliveries"))
            throw new Error("D1_ERROR: no");
        },
      });
      let waited = 0;
      const rotated = await rotateSecret(
        { ...caller, db: openDatabase(binding) },
        endpoint.id,
        async (ms) => void (waited += ms),
      );
      expect([rotated.secret, waited]).toEqual([await signing(endpoint.id), LEASE_MS]);
      expect(log).toHaveBeenCalledOnce();
    },
  );
});

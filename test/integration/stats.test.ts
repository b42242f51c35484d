/** PART-7: `stats` counts every commission that is not rejected, by currency, in any state. */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { and, eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { receiveEvent } from "../../src/core/inbound/receive.ts";
import { commissions } from "../../src/db/schema.ts";
import { COMMISSION_STATUSES } from "../../src/domain/commission.ts";
import { liveAll, moneyWorld } from "../support/money-world.ts";
import { programOf } from "../support/money-seen.ts";
import { programContext, testContext } from "../support/program.ts";

interface Stats {
  currency?: string;
  total_commissions: number;
  total_earned_cents: number;
  pending_cents: number;
  approved_cents: number;
  paid_cents: number;
}

interface Row {
  status: string;
  currency: string;
  amount_cents: number;
}

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS) / 10);

describe("partner stats", () => {
  it("equal the sums over GET /commissions in any state (PART-7)", async () => {
    await fc.assert(
      fc.asyncProperty(
        moneyWorld,
        fc.array(fc.constantFrom(...COMMISSION_STATUSES), { minLength: 20, maxLength: 20 }),
        async (world, statuses) => {
          const program = await programOf(world);
          for (const { provider, event } of liveAll(world).events)
            await receiveEvent(programContext(program), provider, event, "{}");
          const { db } = testContext();
          const rows = await db
            .select({ id: commissions.id })
            .from(commissions)
            .where(eq(commissions.program_id, program.id));
          for (const [i, { id }] of rows.entries()) {
            const status = statuses[i % statuses.length]!;
            await db
              .update(commissions)
              .set({ status })
              .where(and(eq(commissions.id, id)));
          }
          const partners = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/partners");
          for (const { id } of partners.body.data) {
            const one = await program.api<{ stats: Stats & { other_currencies: Stats[] } }>(
              "GET",
              `/api/v1/partners/${id}`,
            );
            const list = await program.api<{ data: Row[]; total: number }>(
              "GET",
              `/api/v1/commissions?partner_id=${id}&per_page=100`,
            );
            expect(list.body.data).toHaveLength(list.body.total);
            const { other_currencies, ...own } = one.body.stats;
            expect(own).toMatchObject(sumsOf(list.body.data, "USD"));
            for (const currency of ["JPY", "KWD"]) {
              const found = other_currencies.find((row) => row.currency === currency);
              const expected = sumsOf(list.body.data, currency);
              if (expected.total_commissions === 0) expect(found).toBeUndefined();
              else expect(found).toEqual({ currency, ...expected });
            }
          }
        },
      ),
      { numRuns: RUNS },
    );
  });
});

function sumsOf(rows: Row[], currency: string): Stats {
  const counted = rows.filter((row) => row.currency === currency && row.status !== "rejected");
  const sum = (status?: string) =>
    counted
      .filter((row) => status === undefined || row.status === status)
      .reduce((total, row) => total + row.amount_cents, 0);
  return {
    total_commissions: counted.length,
    total_earned_cents: sum(),
    pending_cents: sum("pending"),
    approved_cents: sum("approved"),
    paid_cents: sum("paid"),
  };
}

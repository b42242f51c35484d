/**
 * Random worlds for the laws of the ledger: purchases of a program's customers, as the vendors report them, and programs
 * that differ in their ids only.
 */
import * as fc from "fast-check";
import { partners, partnerSlugs, flows } from "../../src/db/schema.ts";
import { searchText, slugKey, type PartnerStatus } from "../../src/domain/partner.ts";
import { paymentsCompared, type Condition } from "../../src/domain/condition.ts";
import { currencyOfFlow, type FlowActionType } from "../../src/domain/flow.ts";
import type { ProviderName } from "../../src/domain/provider-name.ts";
import type { ProviderEvent } from "../../src/providers/provider.ts";
import { newId } from "../../src/lib/id.ts";
import { iso } from "../../src/lib/time.ts";
import { unplain } from "./plain.ts";
import { makeProgram, testContext, type ProgramFields, type TestProgram } from "./program.ts";

export interface WorldEvent {
  provider: ProviderName;
  event: ProviderEvent;
}

export interface WorldFlow {
  action_type: FlowActionType;
  action_value: number;
  conditions: Condition[];
  priority: number;
  active: boolean;
}

/** The partners of every world: two active (one with a rate of its own), one invited, one deactivated. */
export const WORLD_PARTNERS: { slug: string; status: PartnerStatus; commission_pct: number | null }[] = [
  { slug: "ann", status: "active", commission_pct: null },
  { slug: "Bob", status: "active", commission_pct: 33.3333 },
  { slug: "ivy", status: "invited", commission_pct: null },
  { slug: "dan", status: "deactivated", commission_pct: 50 },
];

const T0 = 1_780_000_000;
export const worldFlows: fc.Arbitrary<WorldFlow[]> = fc.array(
  fc.record({
    action_type: fc.constantFrom<FlowActionType>("percentage", "flat"),
    action_value: fc.integer({ min: 0, max: 100 }),
    priority: fc.integer({ min: 0, max: 2 }),
    active: fc.boolean(),
    conditions: fc.array(
      fc.constantFrom<Condition>(
        { field: "txn_amount_cents", op: "gt", value: 400 },
        { field: "txn_amount_cents", op: "lt", value: 900_000 },
        { field: "customer_email", op: "contains", value: "BUYER" },
        { field: "customer_email", op: "neq", value: "buyer@example.com" },
        { field: "partner_slug", op: "eq", value: "bob" },
        { field: "provider", op: "eq", value: "provider_b" },
      ),
      { maxLength: 2 },
    ),
  }),
  { maxLength: 3 },
);

/** A new program with the world's partners and flows; two of them differ in ids only. */
export async function makeWorldProgram(
  worldFlows: readonly WorldFlow[],
  fields: ProgramFields = {},
): Promise<TestProgram> {
  const { payments_compared: least = 0, ...others } = fields;
  const payments_compared = Math.max(least, ...worldFlows.map(({ conditions }) => paymentsCompared(conditions)));
  const program = await makeProgram({ ...others, payments_compared });
  const { db } = testContext();
  const now = T0 * 1_000;
  const rows = WORLD_PARTNERS.map((partner, i) => {
    const row = {
      ...partner,
      id: newId("partner", now + i),
      program_id: program.id,
      email: `${partner.slug.toLowerCase()}@partners.example`,
      first_name: null,
      last_name: null,
      created_at: iso(now),
      updated_at: iso(now),
    };
    return { ...row, search_text: searchText(row) };
  });
  for (const row of rows) {
    await db.insert(partners).values(unplain<typeof partners.$inferInsert>(row));
    await db.insert(partnerSlugs).values({ program_id: program.id, slug_key: slugKey(row.slug), partner_id: row.id });
  }
  for (const [i, flow] of worldFlows.entries()) {
    const stamp = iso(now + i);
    await db.insert(flows).values({
      ...flow,
      id: newId("flow", now + i),
      program_id: program.id,
      name: `flow ${i}`,
      currency: currencyOfFlow(flow, program.program.currency),
      created_at: stamp,
      updated_at: stamp,
    });
  }
  return program;
}

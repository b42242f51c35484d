import { and, desc, eq, getTableColumns, gt, sql } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { programs, webhookEndpoints } from "../../db/schema.ts";
import { GIVEN_UP_AFTER_FAILURES, GIVEN_UP_AFTER_MS, isGivenUp } from "../../domain/endpoint-health.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { forProgram, type Ctx, type Reader } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";
import type { Endpoint, Program } from "../kernel/rows.ts";
import { endpointChanged, liveEndpoints } from "./endpoints.ts";
import { programFields } from "../kernel/program-rows.ts";

const ENDPOINTS_AT_ONCE = 50;

/** How many of the newest deliveries of an endpoint are searched for a success. */
const SEARCHED = 100;

export interface EndpointWithHealth extends Endpoint {
  /** The last success among the newest deliveries, if any. */
  last_success: string | null;
}

/** The program's endpoints, or the one with this id, newest first, each with its last success. */
export async function readEndpointHealth(ctx: Reader, id?: string): Promise<EndpointWithHealth[]> {
  const last_success = sql<string | null>`(select max(d.completed_at) from (
    select status, completed_at from deliveries where endpoint_id = webhook_endpoints.id order by id desc limit ${literal(SEARCHED)}) d
    where d.status = 'succeeded')`;
  const [rows] = await ctx.read(
    ctx.db
      .select({ ...getTableColumns(webhookEndpoints), last_success })
      .from(webhookEndpoints)
      .where(liveEndpoints(ctx, id))
      .orderBy(desc(webhookEndpoints.id)),
  );
  return rows;
}

interface GivenUp extends Owner {
  program: Program;
  endpoint: Endpoint;
}

/** Disables endpoints that failed too long, with event and e-mail (HOOK-9). One that succeeds meanwhile stays. */
export function disableFailingEndpoints(ctx: Ctx): Work<GivenUp> {
  return {
    cost: 10,
    async due(after) {
      const rows = await ctx.db
        .select({ endpoint: webhookEndpoints, program: programFields() })
        .from(webhookEndpoints)
        .innerJoin(programs, eq(programs.id, webhookEndpoints.program_id))
        .where(
          and(
            gt(webhookEndpoints.id, after),
            sql`${webhookEndpoints.active} = 1 and ${webhookEndpoints.deleted_at} is null`,
            sql`${webhookEndpoints.failing_since} <= ${iso(ctx.now - GIVEN_UP_AFTER_MS)}`,
            sql`${webhookEndpoints.failure_count} >= ${GIVEN_UP_AFTER_FAILURES}`,
          ),
        )
        .orderBy(webhookEndpoints.id)
        .limit(atMost(ENDPOINTS_AT_ONCE));
      return rows.map((row) => ({ ...row, key: row.endpoint.id }));
    },
    async serve({ program, endpoint }) {
      await disable(ctx, program, endpoint);
      return false;
    },
  };
}

/** Does not disable an endpoint that has changed since: it succeeded, or was changed. */
async function disable(ctx: Ctx, program: Program, before: Endpoint): Promise<void> {
  const { failing_since, failure_count } = before;
  const health = { failing_since_ms: failing_since === null ? null : Date.parse(failing_since), failure_count };
  if (!isGivenUp(health, ctx.now)) return;
  const updated_at = nextStamp(before.updated_at, ctx.now);
  const after: Endpoint = { ...before, active: false, disabled_at: iso(ctx.now), updated_at };
  const unchanged = sql`${webhookEndpoints.id} = ${before.id} and ${webhookEndpoints.active} = 1
    and ${webhookEndpoints.deleted_at} is null and ${webhookEndpoints.updated_at} = ${before.updated_at}
    and ${webhookEndpoints.failing_since} = ${failing_since}`;
  try {
    await commit(forProgram(ctx, program), {
      writes: [
        {
          statement: ctx.db
            .update(webhookEndpoints)
            .set({ active: false, disabled_at: after.disabled_at, updated_at })
            .where(unchanged),
          expect: 1,
        },
      ],
      occurrences: [endpointChanged(before, after, { reason: "failing", failing_since, failure_count })],
      notices: [{ kind: "endpoint_disabled", program, endpoint: after }],
    });
  } catch (error) {
    if (!(error instanceof CommitConflict)) throw error;
  }
}

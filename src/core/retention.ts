import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../db/client.ts";
import { firstIdAt } from "../lib/id.ts";
import { DAY, iso } from "../lib/time.ts";
import type { BaseCtx } from "./context.ts";
import { repliesPast } from "./idempotency.ts";
import type { Owner, Work } from "./job.ts";
import { signInsPast } from "./sign-in.ts";

/** Deliveries, their bodies and attempts, and the bodies that the payment providers sent, are kept this long. */
export const KEPT_FOR = 90 * DAY;

/** Rows of one transaction. */
const ROWS_AT_ONCE = 2_000;

/** Rows that are past their time: those of `from`, by the columns of a key. */
interface Kind {
  key: string;
  columns: string;
  from: SQL;
  /** What is done to them, from what is done first: `past` selects their keys. The last says how many there were. */
  forget: (past: SQL) => SQL[];
}

/**
 * Forgets what is past its time, by table: old deliveries, provider bodies, replies of idempotent requests, sign-in
 * links and sessions. The audit log and the ledger stay. A body stays as long as any delivery of it does.
 */
export function forgetOld(ctx: Pick<BaseCtx, "db" | "now">): Work {
  const { db } = ctx;
  const kinds = new Map(kindsPast(ctx.now).map((kind) => [kind.key, kind]));
  return {
    cost: 2,
    async due(after) {
      const left = [...kinds.values()].filter(({ key }) => key > after);
      if (left.length === 0) return [];
      const isPast = left.map(({ key, from }) => sql`(value = ${key} and exists (select 1 from ${from}))`);
      const names = JSON.stringify(left.map(({ key }) => key));
      return db.all<Owner>(sql`select value as key from json_each(${names})
        where ${sql.join(isPast, sql` or `)} order by value`);
    },
    async serve({ key }) {
      const { columns, from, forget } = kinds.get(key)!;
      const past = sql`(select ${sql.raw(columns)} from ${from} limit ${literal(ROWS_AT_ONCE)})`;
      const results = await runBatch(
        db,
        forget(past).map((statement) => db.run(statement)),
      );
      return results.at(-1)!.meta.changes === ROWS_AT_ONCE;
    },
  };
}

function kindsPast(now: number): Kind[] {
  const kept = now - KEPT_FOR;
  const event_id = firstIdAt("event", kept);
  const whole = (table: string, columns: string, where: SQL): Kind => ({
    key: table,
    columns,
    from: sql`${sql.raw(table)} where ${where}`,
    forget: (past) => [sql`delete from ${sql.raw(table)} where (${sql.raw(columns)}) in ${past}`],
  });
  const bodies = (key: string, where: SQL): Kind => ({
    key,
    columns: "program_id, provider, event_id",
    from: sql`provider_events where body is not null and ${where}`,
    forget: (past) => [sql`update provider_events set body = null where (program_id, provider, event_id) in ${past}`],
  });
  return [
    {
      key: "deliveries",
      columns: "id",
      from: sql`deliveries where id < ${firstIdAt("delivery", kept)} and status <> 'delivering'`,
      forget: (past) => [
        sql`delete from delivery_attempts where delivery_id in ${past}`,
        sql`delete from deliveries where id in ${past}`,
      ],
    },
    {
      key: "missed_deliveries",
      columns: "m.endpoint_id, m.event_id",
      from: sql`webhook_endpoints e cross join missed_deliveries m on m.endpoint_id = e.id and m.event_id < ${event_id}`,
      forget: (past) => [sql`delete from missed_deliveries where (endpoint_id, event_id) in ${past}`],
    },
    whole(
      "messages",
      "event_id",
      sql`event_id < ${event_id} and not exists (select 1 from deliveries d where d.event_id = messages.event_id)`,
    ),
    bodies("provider_events", sql`received_at < ${iso(kept)}`),
    // Of versions before: this one keeps none.
    bodies("provider_events, ignored", sql`ignored is not null`),
    whole("idempotency_keys", "program_id, key", repliesPast(now)),
    whole("sign_in_links", "token_hash", signInsPast(now)),
    whole("sessions", "token_hash", signInsPast(now)),
  ];
}

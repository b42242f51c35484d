import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch, type Database } from "../../db/client.ts";
import { joinParts } from "../../db/parts.ts";
import { nullable, selectRows, text } from "../../db/rows.ts";
import { isUnavailable } from "../../lib/errors.ts";
import { firstIdAt } from "../../lib/id.ts";
import { logLine, reasonOf } from "../../lib/log.ts";
import { DAY, iso } from "../../lib/time.ts";
import type { BaseCtx } from "../kernel/context.ts";
import { expiredReplies } from "../kernel/idempotency.ts";
import { expiredTexts } from "../kernel/kept.ts";
import { OWNER, type Owner, type Work } from "../kernel/work.ts";
import { expiredLinks, requestsOfNobody, expiredSignIns } from "../sessions/sign-in.ts";

/** The retention of deliveries, providers' bodies, e-mails and declined applications. */
export const KEPT_FOR = 90 * DAY;

/** The rows of one transaction, unless a row makes it fail. */
const ROWS_AT_ONCE = 2_000;
/** After this many rows of a program that cannot be deleted, the run skips all rows of that program. */
const ROWS_TRIED = 3;

/** A kind of expired rows: the rows of `from`, the columns of their key, and the column of their program. */
interface Kind {
  key: string;
  columns: string;
  program: string;
  from: SQL;
  /** The statements that remove them, in their order: `past` selects their keys. The last one counts the rows. */
  forget: (past: SQL) => SQL[];
}

/** The progress of a run with a kind of rows. */
interface Past extends Owner {
  /** The number of rows of the next transaction: fewer after a failure, until the failing row is found. */
  rows: number;
  /** The skipped rows: keys as JSON by program, `null` without one; and the error of the last of them. */
  failed: Map<string | null, string[]>;
  failure: { error: unknown } | null;
}

/**
 * Deletes expired data, by table: old deliveries, provider bodies, e-mails, replies of idempotent requests, sign-in
 * links, sessions and the texts of declined applicants. The audit log and the ledger stay. A body stays as long as any
 * of its deliveries does.
 */
export function forgetOld({ db, now }: Pick<BaseCtx, "db" | "now">): Work<Past> {
  return forget(db, kindsPast(now));
}

/** Deletes unverified forms, stamps and link requests without an account within the day, unlike other data. */
export function forgetUnproved({ db, now }: Pick<BaseCtx, "db" | "now">): Work<Past> {
  const expired = sql`expires_at <= ${iso(now)}`;
  return forget(db, [
    whole("application_drafts", "token_hash", expired),
    whole("used_stamps", "expires_at, nonce", expired),
    whole("pending_destinations", "partner_id", expired),
    { ...whole("sign_in_links", "token_hash", requestsOfNobody(now)), key: "sign_in_links, of nobody" },
  ]);
}

function forget(db: Database, all: readonly Kind[]): Work<Past> {
  const kinds = new Map(all.map((kind) => [kind.key, kind]));
  return {
    cost: 3,
    async due(after) {
      const left = [...kinds.values()].filter(({ key }) => key > after);
      if (left.length === 0) return [];
      const isPast = left.map(({ key, from }) => sql`(value = ${key} and exists (select 1 from ${from}))`);
      const names = JSON.stringify(left.map(({ key }) => key));
      const found = await selectRows(
        db,
        OWNER,
        sql`select value as key from json_each(${names})
        where ${joinParts(isPast, sql` or `, "different")} order by value`,
      );
      return found.map(({ key }) => ({ key, rows: ROWS_AT_ONCE, failed: new Map(), failure: null }));
    },
    async serve(past) {
      const kind = kinds.get(past.key)!;
      const { rows } = past;
      try {
        const forgotten = await forgetSome(db, kind, past);
        past.rows = Math.min(2 * rows, ROWS_AT_ONCE);
        if (forgotten === rows) return true;
      } catch (error) {
        if (isUnavailable(error)) throw error;
        past.rows = Math.ceil(rows / 2);
        if (rows === 1) await passOver(db, kind, past, error);
        return true;
      }
      if (past.failure) throw past.failure.error;
      return false;
    },
  };
}

/** The rows of a kind without the skipped ones. */
function leftOf({ columns, program, from }: Kind, { failed }: Past): SQL {
  if (failed.size === 0) return from;
  const isWhole = ([, keys]: [string | null, string[]]) => keys.length >= ROWS_TRIED;
  const programs = JSON.stringify([...failed].filter(isWhole).map(([program_id]) => program_id ?? ""));
  const keys = JSON.stringify([...failed.values()].flat());
  return sql`${from} and ifnull(${sql.raw(program)}, '') not in (select value from json_each(${programs}))
    and json_array(${sql.raw(columns)}) not in (select value from json_each(${keys}))`;
}

async function forgetSome(db: Database, kind: Kind, past: Past): Promise<number> {
  const keys = sql`(select ${sql.raw(kind.columns)} from ${leftOf(kind, past)} limit ${literal(past.rows)})`;
  const results = await runBatch(
    db,
    kind.forget(keys).map((statement) => db.run(statement)),
  );
  return results.at(-1)!.meta.changes;
}

/** Records the row that makes a transaction of one row fail. */
async function passOver(db: Database, kind: Kind, past: Past, error: unknown): Promise<void> {
  const { key: table, columns, program } = kind;
  const [row] = await selectRows(
    db,
    { key: text, program_id: nullable(text) },
    sql`
    select json_array(${sql.raw(columns)}) as key, ${sql.raw(program)} as program_id from ${leftOf(kind, past)} limit 1`,
  );
  if (!row) return;
  past.failed.set(row.program_id, [...(past.failed.get(row.program_id) ?? []), row.key]);
  past.failure = { error };
  logLine("error", { what: "a row is not forgotten", table, program_id: row.program_id, reason: reasonOf(error) });
}

function whole(table: string, columns: string, where: SQL): Kind {
  return {
    key: table,
    columns,
    program: "program_id",
    from: sql`${sql.raw(table)} where ${where}`,
    forget: (past) => [sql`delete from ${sql.raw(table)} where (${sql.raw(columns)}) in ${past}`],
  };
}

function kindsPast(now: number): Kind[] {
  const kept = now - KEPT_FOR;
  const event_id = firstIdAt("event", kept);
  const bodies = (key: string, where: SQL): Kind => ({
    key,
    columns: "program_id, provider, event_id",
    program: "program_id",
    from: sql`provider_events where body is not null and ${where}`,
    forget: (past) => [sql`update provider_events set body = null where (program_id, provider, event_id) in ${past}`],
  });
  return [
    {
      key: "deliveries",
      columns: "id",
      program: "program_id",
      from: sql`deliveries where id < ${firstIdAt("delivery", kept)} and status <> 'delivering'`,
      forget: (past) => [
        sql`delete from delivery_attempts where delivery_id in ${past}`,
        sql`delete from deliveries where id in ${past}`,
      ],
    },
    {
      key: "missed_deliveries",
      columns: "m.endpoint_id, m.event_id",
      program: "e.program_id",
      from: sql`webhook_endpoints e cross join missed_deliveries m on m.endpoint_id = e.id and m.event_id < ${event_id}
        where true`,
      forget: (past) => [sql`delete from missed_deliveries where (endpoint_id, event_id) in ${past}`],
    },
    whole(
      "messages",
      "event_id",
      sql`event_id < ${event_id} and not exists (select 1 from deliveries d where d.event_id = messages.event_id)`,
    ),
    // A mail that still waits is from a deployment that no longer sends mail.
    whole("mails", "id", sql`created_at < ${iso(kept)}`),
    bodies("provider_events", sql`received_at < ${iso(kept)}`),
    whole("idempotency_keys", "program_id, key", expiredReplies(now)),
    {
      key: "applications, declined",
      columns: "id",
      program: "program_id",
      from: sql`applications indexed by applications_declined
        where status = 'declined' and email is not null and decided_at < ${iso(kept)}`,
      forget: (past) => [
        sql`update applications set email = null, name = null, website = null, answers = null, note = null
          where id in ${past}`,
      ],
    },
    whole("sign_in_links", "token_hash", expiredLinks(now)),
    whole("kept_texts", "program_id, id", expiredTexts(now)),
    whole("sessions", "token_hash", expiredSignIns(now)),
    whole("portal_links", "token_hash", expiredSignIns(now)),
  ];
}

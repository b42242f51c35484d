/** Many events at once, with the counts that their writers would have stored. */
import { env } from "cloudflare:workers";
import { newId } from "../../src/lib/id.ts";
import { iso } from "../../src/lib/time.ts";
import type { TestProgram } from "./program.ts";

const ROWS_PER_STATEMENT = 5_000;

/** Records `count` clicks, the i-th at `at(i)` (ms), and returns their ids, oldest first. */
export async function makeClicks(program: TestProgram, count: number, at: (i: number) => number): Promise<string[]> {
  return makeEvents(
    program,
    Array.from({ length: count }, (_, i) => ({ type: "click", ms: at(i) })),
  );
}

/** Records events of a program without events on their days, and returns their ids, oldest first. */
export async function makeEvents(program: TestProgram, made: { type: string; ms: number }[]): Promise<string[]> {
  const rows = made.map(({ type, ms }, n) => ({ id: newId("event", ms), type, created_at: iso(ms), n }));
  for (let i = 0; i < rows.length; i += ROWS_PER_STATEMENT) {
    const json = JSON.stringify(rows.slice(i, i + ROWS_PER_STATEMENT));
    await env.DB.prepare(
      `insert into events (program_id, id, type, payload, created_at)
       select ?, value ->> 'id', value ->> 'type', json_object('ref', 'p' || (value ->> 'n'), 'landing', '/ü"' || char(10),
         'referrer', '', 'partner_id', 'par_' || (value ->> 'n')), value ->> 'created_at' from json_each(?)`,
    )
      .bind(program.id, json)
      .run();
  }
  await env.DB.prepare(
    `insert into event_hours (program_id, hour, type, count, minutes)
     select program_id, hour, type, sum(n), json_group_object(minute, n) from (
       select program_id, substr(created_at, 1, 13) as hour, type, substr(created_at, 15, 2) as minute, count(*) as n
       from events where program_id = ? group by 1, 2, 3, 4) group by 1, 2, 3 on conflict do nothing`,
  )
    .bind(program.id)
    .run();
  return rows.map(({ id }) => id).toSorted();
}

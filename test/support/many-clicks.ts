/** Many clicks at once, with the counts that flushes would have kept. */
import { env } from "cloudflare:workers";
import { newId } from "../../src/lib/id.ts";
import { iso } from "../../src/lib/time.ts";
import type { TestProgram } from "./program.ts";

const ROWS_PER_STATEMENT = 5_000;

/** Records `count` clicks, the i-th at `at(i)` (ms), and returns their ids, oldest first. */
export async function makeClicks(program: TestProgram, count: number, at: (i: number) => number): Promise<string[]> {
  const rows = Array.from({ length: count }, (_, i) => {
    const ms = at(i);
    return { id: newId("event", ms), created_at: iso(ms), ref: `p${i % 7}` };
  });
  for (let i = 0; i < count; i += ROWS_PER_STATEMENT) {
    const json = JSON.stringify(rows.slice(i, i + ROWS_PER_STATEMENT));
    await env.DB.prepare(
      `insert into events (program_id, id, type, payload, created_at)
       select ?, value ->> 'id', 'click', json_object('ref', value ->> 'ref', 'landing', '/', 'referrer', '',
         'partner_id', 'par_' || key), value ->> 'created_at' from json_each(?)`,
    )
      .bind(program.id, json)
      .run();
  }
  await env.DB.prepare(
    `insert into event_hours (program_id, hour, type, count, minutes)
     select program_id, hour, 'click', sum(n), json_group_object(minute, n) from (
       select program_id, substr(created_at, 1, 13) as hour, substr(created_at, 15, 2) as minute, count(*) as n
       from events where program_id = ? and type = 'click' group by 1, 2, 3) group by 1, 2`,
  )
    .bind(program.id)
    .run();
  return rows.map(({ id }) => id).toSorted();
}

/** Every event and every message that a commit wrote, held to the catalogue of events. */
import { isChange } from "../../src/domain/event.ts";
import { EVENT_PAYLOADS, type CatalogueType } from "./event-payloads.ts";
import { schemaProblems } from "./json-schema.ts";
import { servedDocument } from "./openapi.ts";

interface EventRow {
  id: string;
  type: CatalogueType;
  payload: string;
  changes: string | null;
}

interface MessageRow {
  event_id: string;
  event: string;
  body: string;
}

/** At most this many clicks of one program are checked: one statement writes all of them. */
const CLICKS = 100;

/**
 * Throws if an event's payload, the presence of its changes, or a message's body differs from the catalogue and the
 * OpenAPI document. Programs up to the row `after` are left out. Rows that a test inserted directly have no actor, and
 * are skipped.
 */
export async function assertEmitted(database: D1Database, after: number): Promise<void> {
  const { results: programs } = await database
    .prepare("select id from programs where rowid > ?")
    .bind(after)
    .all<{ id: string }>();
  const ids = JSON.stringify(programs.map(({ id }) => id));
  const asked = (statement: string) => database.prepare(statement).bind(ids);
  const [events, clicks, messages] = await database.batch([
    asked(`select id, type, payload, changes from events where program_id in (select value from json_each(?))
      and type <> 'click' and actor is not null`),
    asked(`select c.id, c.type, c.payload, c.changes from json_each(?) p join events c on c.program_id = p.value
      and c.id in (select id from events where program_id = p.value and type = 'click' limit ${CLICKS})`),
    asked(`select m.event_id, m.event, m.body from messages m where m.program_id in (select value from json_each(?))
      and (m.event = 'ping' or exists (select 1 from events e where e.program_id = m.program_id and e.id = m.event_id))`),
  ]);
  const problems = [
    ...([...(events?.results ?? []), ...(clicks?.results ?? [])] as EventRow[]).flatMap(eventProblems),
    ...((messages?.results ?? []) as MessageRow[]).flatMap(messageProblems),
  ];
  if (problems.length > 0) throw new Error(`not as in the catalogue of events:\n${problems.slice(0, 10).join("\n")}`);
}

export function eventProblems({ id, type, payload, changes }: EventRow): string[] {
  const { error } = EVENT_PAYLOADS[type].safeParse(JSON.parse(payload));
  const problems = error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];
  if (isChange(type) !== (changes !== null)) problems.push(changes === null ? "has no changes" : "has changes");
  return problems.map((problem) => `${id} ${type} ${problem} in ${payload}`);
}

export function messageProblems({ event_id, event, body }: MessageRow): string[] {
  const document = servedDocument();
  const schema = document.webhooks[event]?.post.requestBody?.content["application/json"]?.schema;
  if (!schema) return [`${event_id} ${event} is no documented webhook`];
  return schemaProblems(schema, JSON.parse(body), document).map((problem) => `${event_id} ${event} ${problem}`);
}

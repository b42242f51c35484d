import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { nullable, selectRows, text } from "../../db/rows.ts";
import type { Actor } from "../../domain/actor.ts";
import type { ChangeEventType } from "../../domain/event.ts";
import type { Reader } from "../kernel/context.ts";

/** The number of newest events of the type to search. */
const LOOKED_AT = 100;

export interface ChangedObject {
  type: ChangeEventType;
  /** The field of the event's payload that has the object's id, and the id. */
  about: readonly [field: string, id: string];
  /** The one column that the event records for a change of any; each its own if absent. */
  recorded_as?: string;
}

/** Returns who last changed one of these columns of an object; null if the newest events do not show it. */
export async function readLastChange(
  ctx: Reader,
  { type, about: [field, id], recorded_as }: ChangedObject,
  columns: readonly string[],
): Promise<Actor | null> {
  const recorded = recorded_as === undefined ? columns : [recorded_as];
  const [[found]] = await ctx.read(
    selectRows(
      ctx.db,
      { actor: nullable(text) },
      sql`select actor from (select actor, payload, changes, id from events indexed by events_type
          where program_id = ${ctx.programId} and type = ${literal(type)} and type <> 'click'
          order by id desc limit ${literal(LOOKED_AT)})
        where payload ->> ${field} = ${id} and exists (select 1 from json_each(changes)
          where key in (select value from json_each(${JSON.stringify(recorded)})))
        order by id desc limit 1`,
    ),
  );
  return found?.actor === undefined || found.actor === null ? null : (JSON.parse(found.actor) as Actor);
}

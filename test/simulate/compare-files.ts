/** Files and holds as they are stored, against the model. */
import { chosenMoment } from "./compare.ts";
import type { PlayedDatabase } from "../../src/dev/stand-in/database.ts";
import type { State } from "./model-state.ts";

interface StoredFile {
  id: string;
  currency: string;
  status: string;
  /** Sorted by the payouts' ids. */
  items: string;
}

/** Reads the files and holds once, to be compared with many states. */
export function openFiles(
  database: PlayedDatabase,
  program_id: string,
  ids: Readonly<Record<string, string>>,
): (state: State) => string[] {
  const files = database.look<StoredFile>(
    `select e.id, e.currency, e.status, group_concat(i.payout_id || ' ' || i.status, ', ' order by i.payout_id) as items
      from payout_exports e join export_items i on i.export_id = e.id where e.program_id = ? group by e.id`,
    program_id,
  );
  const until = new Map(
    database
      .look<{ id: string; until: string | null }>(
        "select id, payouts_held_until as until from partners where program_id = ?",
        program_id,
      )
      .map(({ id, until }) => [id, until]),
  );
  return (state) => [...fileDifferences(state, files), ...holdDifferences(state, until, ids)];
}

/** A file that agrees gets its id. */
function fileDifferences(state: State, stored: readonly StoredFile[]): string[] {
  const left = Map.groupBy(stored, textOf);
  const missing: string[] = [];
  for (const file of state.files) {
    const items = file.items.map(({ payout, status }) => `${state.payouts[payout]!.id} ${status}`).toSorted();
    const text = textOf({ ...file, items: items.join(", ") });
    const match = left.get(text)?.pop();
    if (match) file.id = match.id;
    else missing.push(`not stored: ${text}`);
  }
  return [...missing, ...[...left.entries()].flatMap(([text, rows]) => rows.map(() => `stored: ${text}`))];
}

function textOf({ currency, status, items }: Omit<StoredFile, "id">): string {
  return `file in ${currency}, ${status}: ${items}`;
}

function holdDifferences(
  state: State,
  stored: ReadonlyMap<string, string | null>,
  ids: Readonly<Record<string, string>>,
): string[] {
  return Object.entries(ids).flatMap(([slug, id]) => {
    const [own, shown] = [state.held[slug], stored.get(id) ?? null];
    if (own === undefined && shown === null) return [];
    const chosen = own === undefined || shown === null ? undefined : chosenMoment(own, shown);
    if (chosen === undefined || chosen !== Date.parse(shown ?? "")) {
      return [
        `payouts of ${slug} are held until ${shown}, not ${own === undefined ? null : new Date(own).toISOString()}`,
      ];
    }
    state.held = { ...state.held, [slug]: chosen };
    return [];
  });
}

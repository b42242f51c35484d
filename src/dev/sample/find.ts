import { openFile } from "../migrate.ts";
import { CAST, emailOf } from "./cast.ts";

export interface Sample {
  program_id: string;
  /** The sample's last instant, ISO 8601: newer rows are the newcomer's. */
  until: string;
}

/** The sample partner whose portal `npm start` links to. */
export const SHOWN_PARTNER = { name: `${CAST[0]!.first_name} ${CAST[0]!.last_name}`, email: emailOf(CAST[0]!) };

/** Returns the sample in a database file, by the metadata of its partners; null without one. */
export function findSample(file: string): Sample | null {
  const database = openFile(file);
  try {
    const row = database
      .prepare(
        `select program_id, json_extract(metadata, '$.sample_until') as until from partners
          where json_extract(metadata, '$.sample_until') is not null limit 1`,
      )
      .get();
    return row ? { program_id: String(row["program_id"]), until: String(row["until"]) } : null;
  } finally {
    database.close();
  }
}

/** Returns whether a database file has no program yet. */
export function isNew(file: string): boolean {
  const database = openFile(file);
  try {
    return database.prepare("select 1 from programs limit 1").get() === undefined;
  } finally {
    database.close();
  }
}

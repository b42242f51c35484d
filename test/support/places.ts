import { env } from "cloudflare:workers";
import type { TestProgram } from "./program.ts";
import { all } from "./rows.ts";

/** Every value of the program's rows that holds one of the texts, in whatever case, as `table.column`. */
export async function placesOf(program: TestProgram, ...texts: string[]): Promise<string[]> {
  const tables = await all<{ name: string }>(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite%' and name not like '_cf%' and name <> 'd1_migrations'",
  );
  const places = new Set<string>();
  for (const { name } of tables) {
    const { results } = await env.DB.prepare(`select * from ${name}`).all();
    for (const row of results.filter((one) => JSON.stringify(one).includes(program.id))) {
      for (const [column, value] of Object.entries(row)) {
        const text = String(value).toLowerCase();
        if (texts.some((one) => text.includes(one.toLowerCase()))) places.add(`${name}.${column}`);
      }
    }
  }
  return [...places].toSorted();
}

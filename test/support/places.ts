import { rowOf, SEALED, type SealedField, type SealedPlace } from "../../src/db/sealed.ts";
import { holdsAddress } from "../../src/domain/erasure.ts";
import type { Sealed } from "../../src/lib/seal.ts";
import { testContext, type TestProgram } from "./program.ts";
import { all } from "./rows.ts";

/**
 * Every value of the program's rows that holds one of the texts in whatever case, as `table.column`. An address is a
 * whole one, however it is written. Sealed values are opened.
 */
export async function placesOf(program: TestProgram, ...texts: string[]): Promise<string[]> {
  const tables = await all<{ name: string }>(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite%' and name not like '_cf%' and name <> 'd1_migrations'",
  );
  const { addresses = [], others = [] } = Object.groupBy(
    texts.map((text) => text.toLowerCase()),
    (text) => (text.includes("@") ? "addresses" : "others"),
  );
  const places = new Set<string>();
  for (const { name } of tables) {
    const rows = await all<Record<string, unknown>>(`select * from ${name}`);
    for (const row of rows.filter((one) => JSON.stringify(one).includes(program.id))) {
      for (const column of Object.keys(row)) {
        const text = await opened(name, column, row);
        const holds = others.some((one) => text.toLowerCase().includes(one)) || holdsAddress(text, new Set(addresses));
        if (holds) places.add(`${name}.${column}`);
      }
    }
  }
  return [...places].toSorted();
}

async function opened(table: string, column: string, row: Record<string, unknown>): Promise<string> {
  const text = String(row[column]);
  if (!text.startsWith("v2.")) return text;
  const key = SEALED[`${table}.${column}` as SealedField];
  const place = { table, column, row: rowOf(key, String(row[key.program]), String(row[key.own])) } as SealedPlace;
  return (await testContext().sealer.openOrNull(text as Sealed, place))!;
}

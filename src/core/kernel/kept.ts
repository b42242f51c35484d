/** Texts that a browser gets back within a short time: a page that was made once, and a form that could not be saved. */
import { and, eq, sql, type SQL } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { keptTexts } from "../../db/schema.ts";
import { rowOf, SEALED, type SealedPlace } from "../../db/sealed.ts";
import { fromBase64, toBase64 } from "../../lib/crypto.ts";
import { iso } from "../../lib/time.ts";
import type { Write } from "./commit.ts";
import type { BaseCtx, ProgramCtx } from "./context.ts";

/** Below what a row of the database holds. */
const MAX_SEALED = 1_900_000;

/** Whose text it is: nobody can read it without the secret that `id` is the SHA-256 of. */
export interface KeptKey {
  /** Empty before there is a session. */
  program_id: string;
  id: string;
}

/** Keeps a text, sealed, for so long (ms); false if it is too large. What is over by now is deleted with it. */
export async function keepText(ctx: BaseCtx, key: KeptKey, text: string, lifetime: number): Promise<boolean> {
  const sealed = await ctx.sealer.seal(await packed(text), placeOf(key));
  if (sealed.length > MAX_SEALED) return false;
  await runBatch(ctx.db, [
    ctx.db.delete(keptTexts).where(keptPast(ctx.now)),
    ctx.db.insert(keptTexts).values({ ...key, text: sealed, kept_until: iso(ctx.now + lifetime) }),
  ]);
  return true;
}

/** The text as it was kept; null if its time is over, or there is none. */
export async function readKept(ctx: BaseCtx, key: KeptKey): Promise<string | null> {
  const { program_id, id } = key;
  const [[row]] = await runBatch(ctx.db, [
    ctx.db
      .select({ text: keptTexts.text })
      .from(keptTexts)
      .where(
        and(eq(keptTexts.program_id, program_id), eq(keptTexts.id, id), sql`${keptTexts.kept_until} > ${iso(ctx.now)}`),
      ),
  ]);
  const opened = row ? await ctx.sealer.openOrNull(row.text, placeOf(key)) : null;
  return opened === null ? null : unpacked(opened);
}

/** Deletes all that is kept of a program: it may have the address of a customer who is to be forgotten. */
export function forgetKept({ db, program }: ProgramCtx): Write {
  return { statement: db.delete(keptTexts).where(eq(keptTexts.program_id, program.id)) };
}

/** Of the rows of `kept_texts`, those that nobody gets back. */
export function keptPast(now: number): SQL {
  return sql`kept_until <= ${iso(now)}`;
}

function placeOf({ program_id, id }: KeptKey): SealedPlace {
  return { table: "kept_texts", column: "text", row: rowOf(SEALED["kept_texts.text"], program_id, id) };
}

async function packed(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return toBase64(new Uint8Array(await new Response(stream).arrayBuffer()));
}

async function unpacked(text: string): Promise<string | null> {
  const bytes = fromBase64(text);
  return bytes && new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

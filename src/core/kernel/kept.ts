/** Texts kept for a browser for a short time: a page that was made once, and a form that could not be saved. */
import { and, eq, sql, type SQL } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { keptTexts } from "../../db/schema.ts";
import { rowOf, SEALED, type SealedPlace } from "../../db/sealed.ts";
import { fromBase64, toBase64 } from "../../lib/crypto.ts";
import { iso } from "../../lib/time.ts";
import type { Write } from "./commit.ts";
import type { BaseCtx, ProgramCtx } from "./context.ts";

/** Below the limit of a database row. */
const MAX_SEALED = 1_900_000;

/** The owner of a text: reading it requires the secret whose SHA-256 is `id`. */
export interface KeptKey {
  /** Empty before there is a session. */
  program_id: string;
  id: string;
}

/** Stores a text, sealed, for so long (ms); false if it is too large. Deletes expired texts as well. */
export async function keepText(ctx: BaseCtx, key: KeptKey, text: string, lifetime: number): Promise<boolean> {
  const sealed = await ctx.sealer.seal(await packed(text), placeOf(key));
  if (sealed.length > MAX_SEALED) return false;
  await runBatch(ctx.db, [
    ctx.db.delete(keptTexts).where(expiredTexts(ctx.now)),
    ctx.db.insert(keptTexts).values({ ...key, text: sealed, kept_until: iso(ctx.now + lifetime) }),
  ]);
  return true;
}

/** The stored text; null if it has expired or does not exist. */
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

/** Deletes all kept texts of a program, because they may contain the address of the customer to erase. */
export function forgetKept({ db, program }: ProgramCtx): Write {
  return { statement: db.delete(keptTexts).where(eq(keptTexts.program_id, program.id)) };
}

/** Expired rows of `kept_texts`. */
export function expiredTexts(now: number): SQL {
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

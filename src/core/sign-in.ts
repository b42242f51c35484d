import { desc, sql } from "drizzle-orm";
import { runBatch } from "../db/client.ts";
import { programs, signInLinks } from "../db/schema.ts";
import { randomToken, sha256Hex } from "../lib/crypto.ts";
import { notFound } from "../lib/errors.ts";
import { iso, MINUTE } from "../lib/time.ts";
import { commit } from "./commit.ts";
import { forProgram, type Ctx } from "./context.ts";

const LINK_VALID_FOR = 15 * MINUTE;
const TOKEN_BYTES = 32;

export interface SignInLink {
  /** In clear, for the link; only its hash is kept. */
  token: string;
  expires_at: string;
}

/**
 * A one-time link for the owner with this address, to the newest of the owner's programs; for deployments without
 * e-mail, where the operator passes it on (contract §3). @throws `not_found` when no program has this owner.
 */
export async function createOwnerLink(ctx: Ctx, email: string): Promise<SignInLink> {
  const [[program]] = await runBatch(ctx.db, [
    ctx.db
      .select()
      .from(programs)
      .where(sql`lower(${programs.owner_email}) = ${email.toLowerCase()}`)
      .orderBy(desc(programs.id))
      .limit(1),
  ]);
  if (!program) throw notFound("owner");
  const token = randomToken(TOKEN_BYTES);
  const expires_at = iso(ctx.now + LINK_VALID_FOR);
  const link = {
    token_hash: await sha256Hex(token),
    audience: "owner" as const,
    email: program.owner_email.toLowerCase(),
    program_id: program.id,
    partner_id: null,
    created_at: iso(ctx.now),
    expires_at,
    used_at: null,
  };
  await commit(forProgram(ctx, program), {
    writes: [{ statement: ctx.db.insert(signInLinks).values(link) }],
    occurrences: [],
  });
  return { token, expires_at };
}

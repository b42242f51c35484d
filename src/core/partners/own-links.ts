/** Further slugs of a partner's own choice, each for a link of its own (PART-16). */
import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { partnerSlugs } from "../../db/schema.ts";
import { isPlaceholderSlug } from "../../domain/application.ts";
import { MAX_OWN_SLUGS, slugKey } from "../../domain/partner.ts";
import { AppError, invalidField } from "../../lib/errors.ts";
import { commit } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import type { ProgramCtx, Reader } from "../kernel/context.ts";
import { selectPartner } from "../kernel/partner-rows.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import { unknownOf } from "./made-slugs.ts";
import { partnerChanged } from "./partners.ts";
import { selectSlugs } from "./slugs.ts";

/** Every slug that leads to the partner, in lower case. */
export async function listSlugs(ctx: Reader, partner_id: string): Promise<string[]> {
  const [rows] = await ctx.read(selectSlugs(ctx, partner_id));
  return rows.map(({ slug_key }) => slug_key);
}

/**
 * Adds a slug that the partner has chosen. Refuses one by which the partner would earn on other people's sales, as
 * `makeSlug` does. @throws `forbidden` if the program does not offer it, `validation_failed` past the limit,
 * `already_exists` if the slug is taken.
 */
export async function addOwnSlug(ctx: ProgramCtx, partner_id: string, slug: string): Promise<void> {
  if (!ctx.program.partner_links) throw new AppError("forbidden", "This program does not offer further links.");
  const slug_key = slugKey(slug);
  await untilWon(async () => {
    const [[partner], slugs, unknown] = await ctx.read(
      selectPartner(ctx, partner_id),
      selectSlugs(ctx, partner_id),
      unknownOf(ctx, JSON.stringify([slug_key])),
    );
    if (partner?.status !== "active") throw new AppError("forbidden", "Only active partners add links.");
    if (slugs.length >= MAX_OWN_SLUGS) throw tooMany();
    if (isPlaceholderSlug(slug_key) || unknown.length > 0) throw invalidField("slug", "Choose another name.");
    const held = sql`select count(*) from partner_slugs indexed by partner_slugs_partner where partner_id = ${partner_id}`;
    try {
      await commit(ctx, {
        writes: [
          { statement: ctx.db.insert(partnerSlugs).values({ program_id: ctx.program.id, slug_key, partner_id }) },
          refuseWhere(ctx, sql`(${held}) > ${literal(MAX_OWN_SLUGS)}`),
          refuseWhere(ctx, sql`(select status from partners where id = ${partner_id}) <> 'active'`),
        ],
        occurrences: [partnerChanged(partner, partner, null, "partner.updated", { further_slugs: [slug_key] })],
      });
    } catch (error) {
      if (!(error instanceof CommitConflict) || error.kind !== "unique") throw error;
      throw new AppError("already_exists", "This name is taken. Choose another one.", {
        details: [{ path: "slug", message: "This name is taken." }],
      });
    }
  });
}

function tooMany(): AppError {
  return invalidField("slug", `You have ${MAX_OWN_SLUGS} links, the most that are possible.`);
}

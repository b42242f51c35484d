import { sql } from "drizzle-orm";
import { groups, partners } from "../../db/schema.ts";
import { namesOf } from "../../domain/application.ts";
import { markUnindexed, slugKey } from "../../domain/partner.ts";
import { AppError } from "../../lib/errors.ts";
import { commit, type CommitPlan, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Notice } from "../kernel/notices.ts";
import type { Application, Partner } from "../kernel/rows.ts";
import { requireHold } from "../kernel/scopes.ts";
import { makeSlug } from "../partners/made-slugs.ts";
import { newPartner } from "../partners/partners.ts";
import { claimSlug } from "../partners/slugs.ts";
import { invitationLink } from "../sessions/sign-in.ts";

export interface PlannedPartner {
  partner: Partner;
  writes: Write[];
  notices: Notice[];
}

/** Plans the partner of an application: active at once, with a free slug made from the name, and a sign-in link. */
export async function planPartner(ctx: ProgramCtx, application: Application): Promise<PlannedPartner> {
  const { email, name } = application;
  if (email === null || name === null)
    throw new AppError("invalid_transition", "The application's data has been deleted.");
  const slug = await makeSlug(ctx, name, email);
  const group_id = await findGroup(ctx, application.group_slug);
  const partner: Partner = { ...newPartner(ctx, { email, slug, group_id, ...namesOf(name) }), status: "active" };
  const { link, writes } = await invitationLink(ctx, { email, partner_id: partner.id });
  return {
    partner,
    writes: [
      { statement: ctx.db.insert(partners).values({ ...partner, search_text: markUnindexed(partner.search_text) }) },
      claimSlug(ctx, partner),
      ...writes,
    ],
    notices: [{ kind: "application_approved", program: ctx.program, partner, link }],
  };
}

/** The group of this slug; undefined for the default group. @throws as `requireHold` */
async function findGroup(ctx: ProgramCtx, slug: string | null): Promise<string | undefined> {
  if (slug === null) return undefined;
  const [found] = await ctx.read(
    ctx.db
      .select({ id: groups.id, slug: groups.slug, hold_days: groups.hold_days })
      .from(groups)
      .where(
        sql`${groups.program_id} = ${ctx.programId}
          and (lower(${groups.slug}) = ${slugKey(slug)} or ${groups.id} = ${ctx.program.default_group_id})`,
      ),
  );
  const group = found.find((row) => slugKey(row.slug) === slugKey(slug));
  const usual = found.find(({ id }) => id === ctx.program.default_group_id);
  if (group && usual) requireHold(ctx, usual, group);
  return group?.id;
}

/**
 * Commits a plan that may make a partner. A slug taken meanwhile is a lost race: the next attempt chooses another.
 * @throws `already_exists` if a partner has the address.
 */
export async function commitWithPartner(ctx: ProgramCtx, plan: CommitPlan): Promise<void> {
  try {
    await commit(ctx, plan);
  } catch (error) {
    if (!(error instanceof CommitConflict) || error.kind !== "unique") throw error;
    if (error.constraint.includes("partner_slugs")) throw new CommitConflict("lost_race", error.constraint);
    if (!error.constraint.includes("partners")) throw error;
    throw new AppError("already_exists", "A partner of this program already has this e-mail address.");
  }
}

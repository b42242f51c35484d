import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { shaped, text } from "../../db/rows.ts";
import { partners } from "../../db/schema.ts";
import { namesNobody, namesOf, slugStem } from "../../domain/application.ts";
import { slugKey, unindexed } from "../../domain/partner.ts";
import { randomToken } from "../../lib/crypto.ts";
import { AppError } from "../../lib/errors.ts";
import { commit, type CommitPlan, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Notice } from "../kernel/notices.ts";
import type { Application, Partner } from "../kernel/rows.ts";
import { claimSlug, newPartner } from "../partners/partners.ts";
import { invitationLink } from "../sessions/sign-in.ts";

export interface PlannedPartner {
  partner: Partner;
  writes: Write[];
  notices: Notice[];
}

/** Numbers that are tried after a slug that is taken; then comes chance. */
const NUMBERED = 20;

/** Payments, the newest of those whose references led to nobody, that are asked for a slug: no index finds one by it. */
const UNKNOWN_SEEN = 1_000;

/** The partner that an application becomes, active at once, with a free slug made of the name, and a link that signs in. */
export async function planPartner(ctx: ProgramCtx, application: Application): Promise<PlannedPartner> {
  const { email, name } = application;
  if (email === null || name === null) throw new AppError("invalid_transition", "What the person wrote is forgotten.");
  const slug = await freeSlug(ctx, slugStem(name, email));
  const partner: Partner = { ...newPartner(ctx, { email, slug, ...namesOf(name) }), status: "active" };
  const { link, writes } = await invitationLink(ctx, { email, partner_id: partner.id });
  return {
    partner,
    writes: [
      { statement: ctx.db.insert(partners).values({ ...partner, search_text: unindexed(partner.search_text) }) },
      { statement: claimSlug(ctx, partner) },
      ...writes,
    ],
    notices: [{ kind: "application_approved", program: ctx.program, partner, link }],
  };
}

/**
 * The stem, else one with a number after it, that is nobody's; with chance after it where all are taken, and where payments
 * carry the stem already: the partner would earn on what they never brought (JOIN-6).
 */
async function freeSlug(ctx: ProgramCtx, stem: string): Promise<string> {
  const slugs = [stem, ...Array.from({ length: NUMBERED }, (_, i) => `${stem}-${i + 2}`)];
  const keys = JSON.stringify(slugs.map(slugKey));
  const [taken, unknown] = await ctx.read(takenOf(ctx, keys), unknownOf(ctx, keys));
  const carried = new Set(unknown.map(({ slug_key }) => slug_key));
  const used = new Set([...taken, ...unknown].map(({ slug_key }) => slug_key));
  const isOthers = namesNobody(stem) || carried.has(slugKey(stem));
  const free = isOthers ? undefined : slugs.find((slug) => !used.has(slugKey(slug)));
  return free ?? `${stem}-${randomToken(6)}`;
}

function takenOf({ db, program }: ProgramCtx, keys: string) {
  return shaped(
    db,
    { slug_key: text },
    sql`select slug_key from partner_slugs where program_id = ${program.id}
      and slug_key in (select value from json_each(${keys}))`,
  );
}

/** Those that payments carried and that led to nobody. */
function unknownOf({ db, program }: ProgramCtx, keys: string) {
  return shaped(
    db,
    { slug_key: text },
    sql`select distinct lower(c.value ->> 'ref') as slug_key
      from (select ref, decision from payments where program_id = ${program.id} and outcome = 'unknown_ref'
        order by id desc limit ${literal(UNKNOWN_SEEN)}) p
      cross join json_each(ifnull(p.decision -> 'candidates', json_array(json_object('ref', p.ref)))) c
      where lower(c.value ->> 'ref') in (select value from json_each(${keys}))`,
  );
}

/**
 * Commits a plan that may make a partner. A slug that was taken meanwhile is a lost race: the next attempt chooses another.
 * @throws `already_exists` where a partner has the address.
 */
export async function commitWithPartner(ctx: ProgramCtx, plan: CommitPlan): Promise<void> {
  try {
    await commit(ctx, plan);
  } catch (error) {
    if (!(error instanceof CommitConflict) || error.kind !== "unique") throw error;
    if (error.constraint.includes("partner_slugs")) throw new CommitConflict("lost_race", error.constraint);
    if (!error.constraint.includes("partners")) throw error;
    throw new AppError("already_exists", "A partner of this program has this e-mail address already.");
  }
}

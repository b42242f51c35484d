import { eq, sql, type InferSelectModel } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { selectRows, text, textOf } from "../../db/rows.ts";
import { applicationDrafts, applications, programs, usedStamps } from "../../db/schema.ts";
import { UNPROVED_FOR_MS, type Answer } from "../../domain/application.ts";
import { actors } from "../../domain/actor.ts";
import { addressKey } from "../../domain/email.ts";
import type { PartnerStatus } from "../../domain/partner.ts";
import { shardOfToken, tokenOn } from "../../domain/shard.ts";
import { randomToken, sha256Hex } from "../../lib/crypto.ts";
import { AppError } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { HOUR, iso, MINUTE } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type CommitPlan, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { actingAs, forProgram, type BaseCtx, type ProgramCtx } from "../kernel/context.ts";
import type { AddressState } from "../kernel/notices.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import { isUsedUp, type HashedNetworks, type SharedBudget } from "../kernel/shared-budget.ts";
import type { Application, Program } from "../kernel/rows.ts";
import { onShard } from "../kernel/shards.ts";
import { partnerCreated } from "../partners/partners.ts";
import { applicationReceived, applicationEvent } from "./applications.ts";
import { commitWithPartner, planPartner } from "./new-partner.ts";

/** Within `FORM_WINDOW`, for one mailbox, over all programs of a database (JOIN-2). */
const FORMS_PER_ADDRESS = 5;
const FORM_WINDOW = 15 * MINUTE;
/** A program's unverified forms within an hour: each e-mails an address that may not have requested it (JOIN-2). */
const UNPROVED: SharedBudget = { most: 500, network: 20, site: 160 };
const TOKEN_BYTES = 32;

/** The input of the form. */
export interface ApplicationInput {
  email: string;
  name: string;
  website: string | null;
  answers: Answer[];
  terms_version: number | null;
  /** The slug of a group in the link to the form; null without one. */
  group_slug: string | null;
}

export interface FormOrigin {
  networks: HashedNetworks;
  stamp: FormStamp;
}

/** The part of a stamp that limits it to one form. */
export interface FormStamp {
  nonce: string;
  /** ISO 8601. */
  expires_at: string;
}

/**
 * Stores a form, and e-mails the address the actual case: a verification link, or that it already has an application or
 * a partner (JOIN-4). Runs the same statements in each case, so that the reply does not reveal it. @returns
 * `stamp_used` if a form with this stamp was stored before; it then writes no row @throws `rate_limited` for the sixth
 * form of a mailbox within 15 minutes, and if the network's share of the program's unverified forms of the last hour
 * (`UNPROVED`) is used up.
 */
export async function takeForm(
  ctx: ProgramCtx,
  input: ApplicationInput,
  { networks, stamp }: FormOrigin,
): Promise<"stored" | "stamp_used"> {
  const email = input.email.toLowerCase();
  const token = tokenOn(ctx.shard, randomToken(TOKEN_BYTES));
  const state = await addressState(ctx, email, token);
  const mailbox = addressKey(email);
  const sent = sql`select count(*) from application_drafts where mailbox = ${mailbox}
    and created_at > ${iso(ctx.now - FORM_WINDOW)}`;
  // Verification deletes its draft.
  const unproved = sql`from application_drafts where program_id = ${ctx.program.id}
    and created_at > ${iso(ctx.now - HOUR)}`;
  const draft = {
    ...input,
    mailbox,
    network: networks?.network ?? null,
    site: networks?.site ?? null,
    token_hash: await sha256Hex(token),
    program_id: ctx.program.id,
    created_at: iso(ctx.now),
    expires_at: iso(ctx.now + UNPROVED_FOR_MS),
  };
  try {
    await commit(ctx, {
      writes: [
        { statement: ctx.db.insert(usedStamps).values({ ...stamp, program_id: ctx.program.id }) },
        refuseWhere(ctx, sql`(${sent}) >= ${FORMS_PER_ADDRESS} or ${isUsedUp(UNPROVED, unproved, networks)}`),
        { statement: ctx.db.insert(applicationDrafts).values(draft) },
      ],
      occurrences: [],
      notices: [{ kind: "application_address", program: ctx.program, email: input.email, state }],
    });
  } catch (error) {
    if (!(error instanceof CommitConflict)) throw error;
    if (error.constraint.includes("used_stamps")) return "stamp_used";
    if (error.kind !== "lost_race") throw error;
    throw new AppError(
      "rate_limited",
      "Too many forms were sent for this address, from your network, or to this program. Please try again later.",
      { retryAfter: FORM_WINDOW / 1000 },
    );
  }
  return "stored";
}

async function addressState(ctx: ProgramCtx, email: string, token: string): Promise<AddressState> {
  const [[partner], [waiting]] = await ctx.read(partnerWith(ctx, email), waitingWith(ctx, email));
  if (partner) return { is: "partner", status: partner.status };
  return waiting ? { is: "waiting" } : { is: "new", token };
}

function partnerWith({ db, program }: ProgramCtx, email: string) {
  return selectRows(
    db,
    { status: textOf<PartnerStatus>() },
    sql`select status from partners where program_id = ${program.id} and lower(email) = ${email}`,
  );
}

function waitingWith({ db, program }: ProgramCtx, email: string) {
  return selectRows(
    db,
    { id: text },
    sql`select id from applications where program_id = ${program.id} and lower(email) = ${email} and status = 'pending'`,
  );
}

export type Proof =
  /** Stored now or by the same link before; `application` is the current state, `partner` the resulting partner's. */
  | { outcome: "proved"; program: Program; application: Application; partner?: PartnerStatus | undefined }
  /** The address already has a pending application. */
  | { outcome: "waiting"; program: Program }
  /** A partner has the address. */
  | { outcome: "partner"; program: Program; partner: PartnerStatus }
  /** The program no longer accepts applications. */
  | { outcome: "closed"; program: Program }
  /** Unknown or expired. */
  | { outcome: "link_refused" };

/**
 * Verifies an application's address by the link's token, once, and may make a partner with it (JOIN-5). The same link
 * again has the same outcome.
 */
export async function proveAddress(base: BaseCtx, token: string): Promise<Proof> {
  const ctx = onShard(base, shardOfToken(token));
  if (!ctx) return { outcome: "link_refused" };
  const token_hash = await sha256Hex(token);
  return untilWon(async (): Promise<Proof> => {
    const [[draft], [stored], [program], [partner]] = await runBatch(ctx.db, [
      ctx.db.select().from(applicationDrafts).where(eq(applicationDrafts.token_hash, token_hash)),
      ctx.db.select().from(applications).where(eq(applications.token_hash, token_hash)),
      selectPrograms(ctx.db).where(sql`${programs.id} = coalesce(
        (select program_id from application_drafts where token_hash = ${token_hash}),
        (select program_id from applications where token_hash = ${token_hash}))`),
      selectRows(
        ctx.db,
        { status: textOf<PartnerStatus>() },
        sql`select status from partners where id = (select partner_id from applications where token_hash = ${token_hash})`,
      ),
    ]);
    if (!program) return { outcome: "link_refused" };
    if (stored) return { outcome: "proved", program, application: stored, partner: partner?.status };
    if (!draft || draft.expires_at <= iso(ctx.now)) return { outcome: "link_refused" };
    if (program.applications === "off") return { outcome: "closed", program };
    return store(forProgram(actingAs(ctx, actors.visitor()), program), draft);
  });
}

type Draft = InferSelectModel<typeof applicationDrafts>;

async function store(ctx: ProgramCtx, draft: Draft): Promise<Proof> {
  const { program } = ctx;
  const email = draft.email.toLowerCase();
  const [[partner], [waiting]] = await ctx.read(partnerWith(ctx, email), waitingWith(ctx, email));
  const spent = ctx.db.delete(applicationDrafts).where(eq(applicationDrafts.token_hash, draft.token_hash));
  const spend: Write = { statement: spent, expect: 1 };
  if (partner || waiting) {
    await commit(ctx, { writes: [spend], occurrences: [] });
    return partner ? { outcome: "partner", program, partner: partner.status } : { outcome: "waiting", program };
  }
  const application = newApplication(ctx, draft);
  if (program.applications === "auto") return storeApproved(ctx, application, spend);
  try {
    await commit(ctx, {
      writes: [spend, { statement: ctx.db.insert(applications).values(application) }],
      occurrences: [applicationReceived(application)],
      notices: [{ kind: "application_received", program, application }],
      ownerMails: [{ kind: "applications_waiting" }],
    });
  } catch (error) {
    // Another link of the address was used at the same moment.
    if (error instanceof CommitConflict && error.kind === "unique") {
      throw new CommitConflict("lost_race", error.constraint);
    }
    throw error;
  }
  return { outcome: "proved", program, application };
}

async function storeApproved(ctx: ProgramCtx, pending: Application, spend: Write): Promise<Proof> {
  const made = await planPartner(ctx, pending);
  const { created_at: decided_at } = pending;
  const approved: Application = { ...pending, status: "approved", partner_id: made.partner.id, decided_at };
  const plan: CommitPlan = {
    writes: [spend, { statement: ctx.db.insert(applications).values(approved) }, ...made.writes],
    occurrences: [
      applicationReceived(pending),
      partnerCreated(made.partner),
      {
        type: "applications.approved",
        changes: changesOf("application", pending, approved),
        ...applicationEvent("applications.approved", approved),
      },
    ],
    notices: made.notices,
  };
  try {
    await commitWithPartner(ctx, plan);
  } catch (error) {
    // The address was given to a partner at the same moment.
    if (error instanceof AppError && error.code === "already_exists") throw new CommitConflict("lost_race", error.code);
    throw error;
  }
  return { outcome: "proved", program: ctx.program, application: approved };
}

function newApplication(ctx: ProgramCtx, draft: Draft): Application {
  const stamp = iso(ctx.now);
  return {
    id: newId("application", ctx.now),
    program_id: ctx.program.id,
    status: "pending",
    ...{ email: draft.email, name: draft.name, website: draft.website, answers: draft.answers },
    terms_version: draft.terms_version,
    consented_at: draft.terms_version === null ? null : draft.created_at,
    group_slug: draft.group_slug,
    partner_id: null,
    note: null,
    token_hash: draft.token_hash,
    created_at: stamp,
    decided_at: null,
    updated_at: stamp,
  };
}

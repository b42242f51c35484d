import { and, eq, sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { PageOfTexts, PageRequest } from "../../db/page.ts";
import { selectRows, whole } from "../../db/rows.ts";
import { groups, partners, partnerSlugs, payments, portalLinks, sessions } from "../../db/schema.ts";
import type { EventPayloads } from "../../domain/event.ts";
import {
  searchText,
  slugKey,
  markUnindexed,
  TRANSFER_METHOD,
  type PartnerStatus,
  type Searched,
} from "../../domain/partner.ts";
import { COLUMN_OF, namesMethodAlone, readDetails, type GivenDetails } from "../../domain/payout-details.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import type { GroupRules } from "../../domain/rules.ts";
import { firstIdAt, newId } from "../../lib/id.ts";
import { rowOf, type InputOf, type PatchOf } from "../../resources/field.ts";
import { PARTNER, PAYOUT_DETAILS } from "../../resources/partner.ts";
import { iso, MINUTE, nextStamp } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type Occurrence, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { act, prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { pagedList, readPage } from "../kernel/list-page.ts";
import { payoutDetailsChange } from "../kernel/payout-details.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { Group, Partner, Program } from "../kernel/rows.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";
import { requireScope } from "../kernel/scopes.ts";
import { openDetails, sealDetails } from "../kernel/sealed-details.ts";
import { pickChanged, type Shown } from "../kernel/stale.ts";
import { viewPartner, type CurrencyStats, type PartnerView } from "../kernel/views.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import {
  APPLIED_COLUMNS,
  appliedFrom,
  applyFrom,
  settleApplied,
  type AppliedColumn,
  type ApplyFrom,
} from "../ledger/apply-from.ts";
import { accountSums, statsOf } from "../ledger/journal.ts";
import { settleWaiting } from "../ledger/settle.ts";
import { selectGroups } from "../kernel/group-rows.ts";
import { takeDetails, takeRest, type DetailsTaken } from "../payouts/take-details.ts";
import { selectSearchedPartners } from "../kernel/partner-search.ts";

export type PartnerInput = InputOf<Partner, typeof PARTNER>;

/** The details of the method in them, as typed (OUT-23). */
interface Detailed {
  details?: GivenDetails | undefined;
}

/** `apply_from` applies to `commission_pct` and `group_id`. */
export type PartnerPatch = PatchOf<Partner, typeof PARTNER> & ApplyFrom;

export interface PartnerWithStats {
  partner: Partner;
  stats: CurrencyStats[];
  clicks: number;
  /** The program's currency. */
  currency: string;
  group: Group;
}

/**
 * Creates a partner as `invited`; payout details in the input need the scope `payouts`. @throws `already_exists` naming
 * the field if the e-mail address or slug is taken.
 */
export async function createPartner(caller: Caller, { details, ...input }: PartnerInput & Detailed): Promise<Partner> {
  return act(caller, async (ctx) => {
    if (details || PAYOUT_FIELDS.some((field) => (input[field] ?? null) !== null)) requireScope(ctx, "payouts");
    if (input.group_id !== undefined) await requireGroup(ctx, input.group_id);
    const made = newPartner(ctx, input);
    const partner: Partner = details ? { ...made, ...(await detailColumns(ctx, made, details)) } : made;
    const row = { ...partner, search_text: markUnindexed(partner.search_text) };
    await commitPartner(ctx, {
      writes: [{ statement: ctx.db.insert(partners).values(row) }, { statement: claimSlug(ctx, partner) }],
      occurrences: [partnerCreated(partner)],
      result: partner,
    });
    return partner;
  });
}

/** The payout details that partner requests contain. */
const PAYOUT_FIELDS = ["payout_method", "payout_email"] as const;
/** The fields that decide a payout's destination, or the person who sets it: the address signs in to the portal. */
const LEADING_TO_PAYOUTS = [...PAYOUT_DETAILS, "email"] as const;

/** Builds the row of a new partner. */
export function newPartner(ctx: NewPartnerCtx, input: PartnerInput): Partner {
  const stamp = iso(ctx.now);
  const partner: Partner = {
    id: newId("partner", ctx.now),
    program_id: ctx.program.id,
    ...rowOf<Partner, typeof PARTNER>(PARTNER, input),
    group_id: input.group_id ?? ctx.program.default_group_id,
    status: "invited",
    provider_a_account_id: null,
    bank_account_sealed: null,
    bank_account: null,
    crypto_address_sealed: null,
    crypto_address: null,
    search_text: "",
    created_at: stamp,
    updated_at: stamp,
  };
  partner.search_text = searchTextOf(partner);
  return partner;
}

interface NewPartnerCtx extends Pick<ProgramCtx, "now"> {
  program: Pick<Program, "id" | "default_group_id">;
}

/** @throws `validation_failed` for another program's group. */
async function requireGroup(ctx: ProgramCtx, id: string): Promise<GroupRules> {
  const [[group]] = await ctx.read(selectGroupRules(ctx, id));
  if (!group) throw invalidField("group_id", "No such group.");
  return group;
}

function selectGroupRules({ db, programId }: Reader, id: string) {
  const { slug, commission_pct, hold_days } = groups;
  return db
    .select({ id: groups.id, slug, commission_pct, hold_days })
    .from(groups)
    .where(and(eq(groups.id, id), sql`${groups.program_id} = ${programId}`));
}

/** The text that `search` searches, of a partner as it is now (PART-5). */
export function searchTextOf(partner: Pick<Partner, keyof Searched>): string {
  return searchText(partner);
}

export interface PartnerFilter extends PageRequest {
  status?: PartnerStatus | undefined;
  group_id?: string | undefined;
  /** A part of one of `SEARCHED_COLUMNS`, or of the whole name, ignoring case and accents. */
  search?: string | undefined;
}

const LIST = pagedList("partners", "partner", partners, viewPartner);
const IN_GROUP = { ...LIST, name: "partner_groups" as const };

/** Lists the program's partners, newest first. */
export async function listPartners(ctx: Reader, filter: PartnerFilter): Promise<PageOfTexts<PartnerView>> {
  const { status, group_id } = filter;
  const isOfGroup = group_id !== undefined;
  const conditions = and(
    filter.search ? alsoOfProgram(ctx, partners.program_id) : sql`${partners.program_id} = ${ctx.programId}`,
    group_id === undefined ? undefined : sql`${filter.search ? sql`+` : sql``}${partners.group_id} = ${group_id}`,
    status === undefined ? undefined : sql`${isOfGroup ? sql`+` : sql``}${partners.status} = ${status}`,
    filter.search ? selectSearchedPartners(ctx, filter.search) : undefined,
  );
  const narrowed = Boolean(filter.search) || (isOfGroup && status !== undefined);
  return readPage(ctx, isOfGroup ? IN_GROUP : LIST, filter, { conditions, state: group_id ?? status, narrowed });
}

/** Returns one partner with the sums of all commissions, by currency, and the number of recorded clicks. */
export async function getPartner(caller: Caller, id: string): Promise<PartnerWithStats> {
  const [{ program }, [partner], [group], sums, [clicked]] = await prove(
    caller,
    caller.db.select().from(partners).where(owned(caller, id)),
    selectGroups(caller, sql`groups.id = (select p.group_id from partners p where p.id = ${id})`),
    accountSums(caller, id),
    selectRows(
      caller.db,
      { clicks: whole },
      sql`select (select coalesce(sum(count), 0) from click_counts
          where program_id = ${caller.programId} and partner_id = ${id})
        + (select count(*) from ${uncountedClicks(caller)} and payload ->> 'partner_id' = ${id}) as clicks`,
    ),
  );
  if (!partner || !group) throw notFound("partner");
  return { partner, group, stats: statsOf(sums), clicks: clicked?.clicks ?? 0, currency: program.currency };
}

/**
 * Changes a partner; its e-mail address and payout details need the scope `payouts`. A change to `active` settles the
 * payments that waited for the partner; a change to `deactivated` or of the address ends its sessions. An earlier slug
 * stays the partner's. @throws `rate_limited` for a partner's own sixth change of payout details within 15 minutes
 * (OUT-9).
 * @throws {StaleChange} if the stored values differ from `shown`, the values of the submitted form (PAGE-30).
 */
export async function updatePartner(
  caller: Caller,
  id: string,
  patch: PartnerPatch & Detailed,
  shown?: Shown,
): Promise<Partner> {
  return (await changePartner(caller, id, patch, "partner.updated", { shown })).partner;
}

/**
 * Sets the payout method and its details, or the method alone, with its stored details (OUT-23). The details of other
 * methods stay. Needs the scope `payouts`.
 * @throws `validation_failed` naming the field; `rate_limited` as `updatePartner`.
 */
export async function setPayoutDetails(caller: Caller, id: string, given: GivenDetails): Promise<Partner> {
  return updatePartner(caller, id, { details: given });
}

/** The columns that store these details, without those that store them already. */
async function detailColumns(ctx: ProgramCtx, before: Partner, given: GivenDetails): Promise<Partial<Partner>> {
  const payout_method = given.method;
  if (payout_method === null) return { payout_method };
  const isComplete = payout_method === TRANSFER_METHOD || before[COLUMN_OF[payout_method]] !== null;
  if (namesMethodAlone(given) && isComplete) return { payout_method };
  const read = readDetails({ ...given, method: payout_method });
  if (!read.ok) throw invalidField(read.problem.path, read.problem.message);
  const details = read.value;
  if (details.method === "wallet") return { payout_method, payout_email: details.email };
  if (details.method === TRANSFER_METHOD) return { payout_method, provider_a_account_id: details.account };
  const stored = await openDetails(ctx, before.id, before, details.method);
  const isStored = JSON.stringify(stored) === JSON.stringify(details);
  return { payout_method, ...(isStored ? {} : await sealDetails(ctx, before.id, details)) };
}

/** Soft delete: the partner becomes `deactivated`, its history stays (PART-3). `was` is the status before. */
export async function deletePartner(caller: Caller, id: string): Promise<{ partner: Partner; was: PartnerStatus }> {
  return changePartner(caller, id, { status: "deactivated" }, "partner.deleted");
}

/** Reverses the deactivation of an invited partner, who waits as before. No effect on any other. */
export async function inviteAgain(caller: Caller, id: string): Promise<Partner> {
  return (await changePartner(caller, id, { status: "invited" }, "partner.updated", { only: "deactivated" })).partner;
}

/** `only`: the status to change; a partner in another one stays as it is. `shown` is as in `updatePartner`. */
async function changePartner(
  caller: Caller,
  id: string,
  { apply_from, details, ...all }: PartnerPatch & Detailed,
  type: "partner.updated" | "partner.deleted",
  { only, shown }: { only?: PartnerStatus; shown?: Shown | undefined } = {},
): Promise<{ partner: Partner; was: PartnerStatus }> {
  const { ctx, partner, was, activated, taken } = await untilWon(async () => {
    const [ctx, [before], holders] = await prove(
      caller,
      caller.db.select().from(partners).where(owned(caller, id)),
      caller.db
        .select({ partner_id: partnerSlugs.partner_id })
        .from(partnerSlugs)
        .where(
          and(
            sql`${partnerSlugs.program_id} = ${caller.programId}`,
            eq(partnerSlugs.slug_key, slugKey(all.slug ?? "")),
          ),
        ),
    );
    if (!before) throw notFound("partner");
    const always = apply_from === undefined ? [] : APPLIED_COLUMNS.filter((column) => all[column] !== undefined);
    const patch: typeof all = pickChanged(before, all, { shown, together: [PAYOUT_FIELDS], always });
    const given: Partial<Partner> = {
      ...Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)),
      ...(details && (await detailColumns(ctx, before, details))),
    };
    if (LEADING_TO_PAYOUTS.some((field) => given[field] !== undefined)) requireScope(ctx, "payouts");
    const applied = APPLIED_COLUMNS.filter((column) => patch[column] !== undefined);
    const from = appliedFrom(ctx, apply_from, applied.length > 0);
    const was = before.status;
    const isLeft = Object.keys(given).length === 0 || (only !== undefined && was !== only);
    if (isLeft) return { ctx, partner: before, was, activated: false, taken: null };
    const after: Partner = { ...before, ...given, updated_at: nextStamp(before.updated_at, ctx.now) };
    const search_text = (after.search_text = searchTextOf(after));
    // An unchanged text is not written: if it is not indexed yet, that is left to the job.
    const isFoundElsewhere = searchTextOf(before) !== search_text;
    const writes: Write[] = [
      {
        statement: ctx.db
          .update(partners)
          .set({ ...given, ...(isFoundElsewhere && { search_text }), updated_at: after.updated_at })
          .where(and(owned(ctx, id), eq(partners.updated_at, before.updated_at))),
        expect: 1,
      },
    ];
    if (patch.slug !== undefined && !holders.some(({ partner_id }) => partner_id === id)) {
      writes.push({ statement: claimSlug(ctx, after) });
    }
    const turnsActive = after.status === "active" && was !== "active";
    if (turnsActive) writes.push({ statement: wakeWaitingPayments(ctx, id) });
    const isOtherAddress = after.email.toLowerCase() !== before.email.toLowerCase();
    if (after.status === "deactivated" || isOtherAddress) writes.push(...endSessions(ctx, id));
    if (applied.length > 0) writes.push(...(await planRules(ctx, after, applied, from)));
    const taken = PAYOUT_DETAILS.some((field) => given[field] !== undefined) ? await takeDetails(ctx, [after]) : null;
    if (taken) writes.push(...taken.writes);
    const changed = partnerChanged(before, after, taken, type, from);
    if (changed.payoutDetails && ctx.actor.type === "partner") writes.push(await refuseTooManyChanges(ctx, before));
    await commitPartner(ctx, { writes, occurrences: [changed, ...(taken?.occurrences ?? [])], result: after });
    return { ctx, partner: after, was, activated: turnsActive, taken };
  });
  if (taken) await takeRest(ctx, taken);
  if (activated) await settleWaiting(ctx, id);
  await settleApplied(ctx, { apply_from });
  return { partner, was };
}

/** A change of a partner's rate or group, since `apply_from`. @throws `validation_failed` for an unknown group. */
async function planRules(
  ctx: ProgramCtx,
  after: Partner,
  applied: readonly AppliedColumn[],
  from: { apply_from?: string },
): Promise<Write[]> {
  if (!applied.includes("group_id") && from.apply_from === undefined) return [];
  const group = await requireGroup(ctx, after.group_id);
  return applyFrom(ctx, { source: "partner", partner_id: after.id, rules: after, applied, group }, from);
}

/** The most changes within `DETAILS_WINDOW`: each is reported to addresses of the partner's choice. */
const MAX_DETAILS_CHANGES = 5;
const DETAILS_WINDOW = 15 * MINUTE;

/** Limits a partner's own changes of payout details and account links, one e-mail each. @throws `rate_limited` */
export async function refuseTooManyChanges(ctx: ProgramCtx, { id, email }: Partner): Promise<Write> {
  const recent = sql`(select count(*) from mails indexed by mails_partner where partner_id = ${id}
    and id >= ${firstIdAt("mail", ctx.now - DETAILS_WINDOW)} and kind = 'payout_details' and recipient = ${email})`;
  const [[counted]] = await ctx.read(selectRows(ctx.db, { recent: whole }, sql`select ${recent} as recent`));
  if ((counted?.recent ?? 0) >= MAX_DETAILS_CHANGES) {
    throw new AppError("rate_limited", "Your payout details were changed too often. Please try again in 15 minutes.", {
      retryAfter: DETAILS_WINDOW / 1000,
    });
  }
  return refuseWhere(ctx, sql`${recent} >= ${literal(MAX_DETAILS_CHANGES)}`);
}

/** Ends sessions and links permanently: reversing the change does not reopen them. */
function endSessions({ db }: ProgramCtx, partner_id: string): Write[] {
  return [
    { statement: db.delete(sessions).where(eq(sessions.partner_id, partner_id)) },
    { statement: db.delete(portalLinks).where(eq(portalLinks.partner_id, partner_id)) },
  ];
}

/** A payment that names an invited partner becomes a commission as soon as the partner is active (PART-4). */
export function wakeWaitingPayments(ctx: ProgramCtx, partner_id: string) {
  return ctx.db
    .update(payments)
    .set({ facts_revision: sql`${payments.facts_revision} + 1` })
    .where(and(eq(payments.partner_id, partner_id), eq(payments.outcome, "partner_not_active")));
}

/** The statement that assigns the slug to the partner permanently. */
export function claimSlug(ctx: ProgramCtx, partner: Partner) {
  return ctx.db
    .insert(partnerSlugs)
    .values({ program_id: partner.program_id, slug_key: slugKey(partner.slug), partner_id: partner.id });
}

export function partnerCreated(partner: Partner, more: Pick<Beside, "further_slugs"> = {}): Occurrence {
  const { payload, outbound } = toldOf("partner.created", partner);
  return { type: "partner.created", payload: { ...payload, ...more }, outbound };
}

/** The event of an e-mailed sign-in link that the owner requested for a partner. */
export function partnerInvited(partner: Partner): Occurrence {
  return { type: "partner.invited", payload: payloadOf(partner) };
}

/**
 * The event of a changed partner. Deletion sends `partner.updated` with status `deactivated` (HOOK-15). `taken`: the
 * payouts that take the details in the same commit; null if payout details stay as they are.
 */
export function partnerChanged(
  before: Partner,
  after: Partner,
  taken: DetailsTaken | null,
  type: "partner.updated" | "partner.deleted" = "partner.updated",
  more: Beside = {},
): Occurrence {
  const { payload, outbound } = toldOf("partner.updated", after);
  const changes = changesOf("partner", before, after);
  const payoutDetails = payoutDetailsChange(before, after, changes, taken?.counts.get(after.id) ?? 0);
  if (payoutDetails && !taken) throw new Error("payout details change, and payouts without any would not take them");
  return {
    type,
    changes,
    payoutDetails,
    payload: { ...payload, ...more },
    outbound,
  };
}

/** The further fields of events of imports and of new rates. */
type Beside = Pick<EventPayloads["partner.updated"], "further_slugs" | "apply_from">;

function toldOf<E extends "partner.created" | "partner.updated">(event: E, partner: Partner) {
  return { payload: payloadOf(partner), outbound: { event, data: viewPartner(partner) } };
}

/** The log is permanent, so it contains the partner's identity and no details. */
function payloadOf(partner: Partner): EventPayloads["partner.created"] {
  return { partner_id: partner.id, email: partner.email, slug: partner.slug, status: partner.status };
}

async function commitPartner(ctx: ProgramCtx, plan: Parameters<typeof commit>[1]): Promise<void> {
  try {
    await commit(ctx, plan);
  } catch (error) {
    if (!(error instanceof CommitConflict) || error.kind !== "unique") throw error;
    const path = error.constraint.includes("partner_slugs") ? "slug" : "email";
    throw new AppError("already_exists", `A partner of this program already has this ${path}.`, {
      details: [{ path, message: "This value is taken." }],
    });
  }
}

function owned(ctx: Reader, id: string): SQL | undefined {
  return and(eq(partners.id, id), sql`${partners.program_id} = ${ctx.programId}`);
}

import { and, eq, sql } from "drizzle-orm";
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
import { newId } from "../../lib/id.ts";
import { rowOf, type InputOf, type PatchOf } from "../../resources/field.ts";
import { PARTNER, PAYOUT_DETAILS } from "../../resources/partner.ts";
import { iso } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type Occurrence, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { act, prove, type Caller, type ProgramCtx } from "../kernel/context.ts";
import { selectPartner } from "../kernel/partner-rows.ts";
import { payoutDetailsChange } from "../kernel/payout-details.ts";
import { untilWon } from "../kernel/races.ts";
import type { Group, Partner, Program } from "../kernel/rows.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";
import { requireHold, requireScope } from "../kernel/scopes.ts";
import { openDetails, sealDetails } from "../kernel/sealed-details.ts";
import { pickChanged, type Shown } from "../kernel/stale.ts";
import { viewPartner, type CurrencyStats } from "../kernel/views.ts";
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
import { changePartnerRow, DESTINATION, destinationIn, type Destination } from "./change-destination.ts";
import { claimSlug, selectSlugs } from "./slugs.ts";
import { askForLink, waitsForLink, type Confirmed } from "./own-change.ts";

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
  /** Every slug that leads to the partner, in lower case (PART-16). */
  slugs: string[];
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
    if (input.group_id !== undefined) await enterGroup(ctx, input.group_id, ctx.program.default_group_id);
    const made = newPartner(ctx, input);
    const partner: Partner = details ? { ...made, ...(await detailColumns(ctx, made, details)) } : made;
    const row = { ...partner, search_text: markUnindexed(partner.search_text) };
    await commitPartner(ctx, {
      writes: [{ statement: ctx.db.insert(partners).values(row) }, claimSlug(ctx, partner)],
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
    tax_data_id: null,
    payouts_held_until: null,
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

/**
 * Reads the rules of the group `id`, which a partner gets in place of the group `from`. @throws `validation_failed` for
 * another program's group; `forbidden` as `requireHold`
 */
async function enterGroup(ctx: ProgramCtx, id: string, from: string): Promise<GroupRules> {
  const { slug, commission_pct, hold_days } = groups;
  const [found] = await ctx.read(
    ctx.db
      .select({ id: groups.id, slug, commission_pct, hold_days })
      .from(groups)
      .where(and(sql`${groups.id} in (${id}, ${from})`, sql`${groups.program_id} = ${ctx.programId}`)),
  );
  const group = found.find((row) => row.id === id);
  if (!group) throw invalidField("group_id", "No such group.");
  requireHold(ctx, found.find((row) => row.id === from) ?? group, group);
  return group;
}

/** The text that `search` searches, of a partner as it is now (PART-5). */
export function searchTextOf(partner: Pick<Partner, keyof Searched>): string {
  return searchText(partner);
}

/** Returns one partner with the sums of all commissions, by currency, and the number of recorded clicks. */
export async function getPartner(caller: Caller, id: string): Promise<PartnerWithStats> {
  const [{ program }, [partner], [group], sums, [clicked], slugs] = await prove(
    caller,
    selectPartner(caller, id),
    selectGroups(caller, sql`groups.id = (select p.group_id from partners p where p.id = ${id})`),
    accountSums(caller, id),
    selectRows(
      caller.db,
      { clicks: whole },
      sql`select (select coalesce(sum(count), 0) from click_counts
          where program_id = ${caller.programId} and partner_id = ${id})
        + (select count(*) from ${uncountedClicks(caller)} and payload ->> 'partner_id' = ${id}) as clicks`,
    ),
    selectSlugs(caller, id),
  );
  if (!partner || !group) throw notFound("partner");
  return {
    ...{ partner, group, stats: statsOf(sums), clicks: clicked?.clicks ?? 0 },
    slugs: slugs.map(({ slug_key }) => slug_key),
    currency: program.currency,
  };
}

/**
 * Changes a partner; its e-mail address and payout details need the scope `payouts`. A change to `active` settles the
 * payments that waited for the partner; a change to `deactivated` or of the address ends its sessions. An earlier slug
 * stays the partner's. A change of payout details holds the partner's payouts (OUT-24).
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
 * A partner's own change: that of payout details waits for a link (`own-change.ts`), the rest counts at once.
 * @throws as `updatePartner` and `askForLink`
 */
export async function updateOwnDetails(
  ctx: ProgramCtx,
  id: string,
  patch: Pick<PartnerPatch, "first_name" | "last_name" | "payout_method" | "payout_email"> & Detailed,
  shown?: Shown,
): Promise<Changed> {
  return changePartner(ctx, id, patch, "partner.updated", { shown });
}

/** The same change once its link is used. @throws {LinkVoid} if the partner's details changed meanwhile */
export async function confirmOwnDetails(
  ctx: ProgramCtx,
  id: string,
  set: Partial<Destination>,
  confirmed: Confirmed,
): Promise<Partner> {
  return (await changePartner(ctx, id, set, "partner.updated", { confirmed })).partner;
}

/**
 * Sets the payout method and its details, or the method alone, with its stored details (OUT-23). The details of other
 * methods stay. Needs the scope `payouts`.
 * @throws `validation_failed` naming the field
 */
export async function setPayoutDetails(caller: Caller, id: string, given: GivenDetails): Promise<Partner> {
  return updatePartner(caller, id, { details: given });
}

/** The columns that store these details, without those that store them already. */
async function detailColumns(ctx: ProgramCtx, before: Partner, given: GivenDetails): Promise<Partial<Partner>> {
  const payout_method = given.method;
  const isAlone = namesMethodAlone(given);
  if (payout_method === null) {
    if (isAlone) return { payout_method };
    throw invalidField("method", "This is required.");
  }
  const isComplete = payout_method === TRANSFER_METHOD || before[COLUMN_OF[payout_method]] !== null;
  if (isAlone && isComplete) return { payout_method };
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

interface ChangeOptions {
  /** The status to change; a partner in another one stays as it is. */
  only?: PartnerStatus;
  /** As in `updatePartner`. */
  shown?: Shown | undefined;
  confirmed?: Confirmed;
}

/** The columns that a link sets, sealed ones among them. */
type Confirmable = { [C in keyof Destination]?: Destination[C] | undefined };

interface Changed {
  partner: Partner;
  was: PartnerStatus;
  /** Whether a part of it waits for an e-mailed link (OUT-25). */
  waits: boolean;
}

async function changePartner(
  caller: Caller,
  id: string,
  { apply_from, details, ...all }: PartnerPatch & Detailed & Confirmable,
  type: "partner.updated" | "partner.deleted",
  { only, shown, confirmed }: ChangeOptions = {},
): Promise<Changed> {
  const { ctx, activated, taken, ...result } = await untilWon(async () => {
    const [ctx, [before], holders] = await prove(
      caller,
      selectPartner(caller, id),
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
    const wanted: Partial<Partner> = {
      ...Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)),
      ...(details && (await detailColumns(ctx, before, details))),
    };
    if (LEADING_TO_PAYOUTS.some((field) => wanted[field] !== undefined)) requireScope(ctx, "payouts");
    const { given, asked } = await splitOwn(ctx, before, wanted, confirmed);
    const applied = APPLIED_COLUMNS.filter((column) => patch[column] !== undefined);
    const from = appliedFrom(ctx, apply_from, applied.length > 0);
    const was = before.status;
    const unchanged = { ctx, partner: before, was, activated: false, taken: null, waits: asked !== null };
    if (Object.keys(given).length === 0 || (only !== undefined && was !== only)) {
      if (asked) await commit(ctx, { ...asked, occurrences: [] });
      return unchanged;
    }
    const { write, after } = changePartnerRow(ctx, before, given);
    const writes: Write[] = [write, ...(confirmed ? [await confirmed.spend(before)] : [])];
    if (patch.slug !== undefined && !holders.some(({ partner_id }) => partner_id === id)) {
      writes.push(claimSlug(ctx, after));
    }
    const turnsActive = after.status === "active" && was !== "active";
    if (turnsActive) writes.push({ statement: wakeWaitingPayments(ctx, id) });
    const isOtherAddress = after.email.toLowerCase() !== before.email.toLowerCase();
    if (after.status === "deactivated" || isOtherAddress) writes.push(...endSessions(ctx, id));
    if (applied.length > 0) writes.push(...(await planRules(ctx, before, after, applied, from)));
    const taken = PAYOUT_DETAILS.some((field) => given[field] !== undefined) ? await takeDetails(ctx, [after]) : null;
    const changed = partnerChanged(before, after, taken, type, from);
    await commitPartner(ctx, {
      writes: [...writes, ...(taken?.writes ?? []), ...(asked?.writes ?? [])],
      occurrences: [changed, ...(taken?.occurrences ?? [])],
      notices: asked?.notices ?? [],
      result: after,
    });
    return { ...unchanged, partner: after, activated: turnsActive, taken };
  });
  if (taken) await takeRest(ctx, taken);
  if (activated) await settleWaiting(ctx, id);
  await settleApplied(ctx, { apply_from });
  return result;
}

/** The part of a change that counts at once, and the request for a link for the rest of a partner's own (OUT-25). */
async function splitOwn(ctx: ProgramCtx, before: Partner, wanted: Partial<Partner>, confirmed: Confirmed | undefined) {
  if (!waitsForLink(ctx, confirmed)) return { given: wanted, asked: null };
  const set = destinationIn(before, wanted);
  const others = Object.entries(wanted).filter(([column]) => !DESTINATION.some((own) => own === column));
  const asked = Object.keys(set).length > 0 ? await askForLink(ctx, before, { set }) : null;
  return { given: Object.fromEntries(others) as Partial<Partner>, asked };
}

/** Plans a change of a partner's rate or group, since `apply_from`. @throws as `enterGroup` */
async function planRules(
  ctx: ProgramCtx,
  before: Partner,
  after: Partner,
  applied: readonly AppliedColumn[],
  from: { apply_from?: string },
): Promise<Write[]> {
  if (!applied.includes("group_id") && from.apply_from === undefined) return [];
  const group = await enterGroup(ctx, after.group_id, before.group_id);
  return applyFrom(ctx, { source: "partner", partner_id: after.id, rules: after, applied, group }, from);
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
  const leads = PAYOUT_DETAILS.some((field) => changes[field]);
  if (leads && !taken) throw new Error("payout details change, and payouts without any would not take them");
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

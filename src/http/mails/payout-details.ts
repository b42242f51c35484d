import type { NoticeOf } from "../../core/kernel/notices.ts";
import type { PayoutDetailsChange } from "../../core/kernel/payout-details.ts";
import type { Actor } from "../../domain/actor.ts";
import { maskAddress } from "../../domain/mask.ts";
import { PAYOUT_METHODS, WALLET_SERVICE } from "../../domain/partner.ts";
import { oneLine } from "../../lib/mail.ts";
import type { PayoutDetail } from "../../resources/partner.ts";
import { payoutMethodText } from "../pages/parts/payout-method.ts";
import { actorText, SELF } from "./actor-text.ts";
import type { Letter } from "./letter.ts";
import { TRANSFER_SERVICE } from "../../providers/registry.ts";

type PayoutDetailsNotice = NoticeOf<"payout_details">;

/** How many partners the owner's e-mail names. */
const MOST_NAMED = 20;

/** The e-mails about changed payout details (OUT-9): one to the owner, one to each address of each partner. */
export function payoutDetailsLetters(notice: PayoutDetailsNotice, origin: string | null): Letter[] {
  const toPartners = notice.changed.flatMap((change) =>
    change.addresses.map((address) => letterToPartner(address, change, notice, origin)),
  );
  return [letterToOwner(notice, origin), ...toPartners];
}

function letterToPartner(
  to: string,
  change: PayoutDetailsChange,
  { program, actor }: PayoutDetailsNotice,
  origin: string | null,
): Letter {
  const { partner } = change;
  const program_name = oneLine(program.name);
  // The reader of another address may not know the partner who entered it, so the e-mail has no text of the partner's.
  const name = to.toLowerCase() === partner.email.toLowerCase() ? nameOf(partner) : "a partner";
  const by = byText(actor, program_name);
  const at = origin === null ? " Sign in to the portal" : ` Sign in at ${origin}/portal/details`;
  const what = `of ${name} in the affiliate program of ${program_name}`;
  const parts = [
    isLink(change) ? linkText(what) : `The payout details ${what} were changed.`,
    changesText(change),
    `Details are shown in part. ${isLink(change) ? "Created" : "Changed"} by: ${by}.`,
    `If you did not expect this, inform ${program_name} at once, before the next payout.` +
      (partner.status === "deactivated" ? "" : `${at} to correct the details and to sign out other devices.`),
    ...afterText([change]),
  ];
  const reader = { audience: "partner", partner_id: partner.id } as const;
  return { to, reader, subject: subjectOf(change, program_name), program, parts };
}

function letterToOwner({ program, actor, changed }: PayoutDetailsNotice, origin: string | null): Letter {
  const program_name = oneLine(program.name);
  const more = changed.length - MOST_NAMED;
  const at = origin === null ? "in the dashboard" : `at ${origin}/dashboard/partners`;
  const whose = changed.length === 1 ? "a partner" : `${changed.length} partners`;
  const what = `of ${whose} of your affiliate program ${program_name}`;
  const areLinks = changed.some(isLink);
  const parts = [
    areLinks ? linkText(what) : `The payout details ${what} were changed.`,
    ...changed
      .slice(0, MOST_NAMED)
      .map((change) => `${nameOf(change.partner)}, ${oneLine(change.partner.email)}\n${changesText(change)}`),
    ...(more > 0 ? [`And ${more} more: see the events of type partner.updated.`] : []),
    `Details are shown in part. ${areLinks ? "Created" : "Changed"} by: ${actorText(actor)}.`,
    "If you did not expect this, contact the partner before the next payout, but not by e-mail, and correct the " +
      `details ${at}. If none of you did it, sign out all dashboard sessions or create a new API key.`,
    ...afterText(changed),
  ];
  const subject = areLinks ? linkSubject(program_name) : changeSubject(program_name);
  return { to: program.owner_email, reader: { audience: "owner" }, subject, program, parts };
}

const changeSubject = (program_name: string) => `Payout details changed at ${program_name}`;
const linkSubject = (program_name: string) => `Link to a payout account created at ${program_name}`;

function subjectOf(change: PayoutDetailsChange, program_name: string): string {
  return isLink(change) ? linkSubject(program_name) : changeSubject(program_name);
}

/** Whether it is a link to the vendor's pages of the connected account, without a change here. */
function isLink({ linked_account }: PayoutDetailsChange): boolean {
  return linked_account !== undefined;
}

function linkText(what: string): string {
  return (
    `A link to the payout account at ${TRANSFER_SERVICE} ${what} was created. ` +
    `It leads to the pages of ${TRANSFER_SERVICE} where the bank account that receives the payouts is entered.`
  );
}

/** The effect on existing payouts. The service does not see changes behind a vendor's link. */
function afterText(changed: readonly PayoutDetailsChange[]): string[] {
  if (changed.some(isLink)) return [];
  const taken = changed.reduce((sum, change) => sum + change.taken, 0);
  if (taken === 0) return ["Existing payouts still go to the previous details."];
  const these = taken === 1 ? "1 open payout that had no details goes" : `${taken} open payouts that had no details go`;
  return [`${these} to the new ones. All other existing payouts still go to the previous details.`];
}

const FIELDS: Record<PayoutDetail, string> = {
  payout_method: "Payout method",
  payout_email: `E-mail at ${WALLET_SERVICE}`,
  provider_a_account_id: `Account at ${TRANSFER_SERVICE}`,
  bank_account: "Bank account",
  crypto_address: "Crypto address",
};

function changesText({ changes, linked_account }: PayoutDetailsChange): string {
  if (linked_account !== undefined) return `${FIELDS.provider_a_account_id}: ${linked_account}`;
  return Object.entries(changes)
    .map(([field, [before, after]]) => `${FIELDS[field as PayoutDetail]}: ${shown(before)} → ${shown(after)}`)
    .join("\n");
}

/** The name of a payout method; other values unchanged. */
function shown(value: unknown): string {
  if (typeof value !== "string") return "none";
  const method = PAYOUT_METHODS.find((name) => name === value);
  return method === undefined ? oneLine(value) : payoutMethodText(method);
}

function nameOf({ first_name, last_name, email }: PayoutDetailsChange["partner"]): string {
  return oneLine([first_name, last_name].filter(Boolean).join(" ")) || oneLine(email);
}

/** Names the actor for partners: a member appears as the program, and the letter already names the partner. */
function byText(actor: Actor, program_name: string): string {
  if (actor.type === "partner") return SELF;
  return actor.type === "member" ? `${program_name} (${maskAddress(actor.name ?? "")})` : actorText(actor);
}

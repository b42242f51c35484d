import type { NoticeOf } from "../../core/kernel/notices.ts";
import type { PayoutDetailsChange } from "../../core/kernel/payout-details.ts";
import type { Actor } from "../../domain/actor.ts";
import { maskAddress } from "../../domain/mask.ts";
import { PAYOUT_METHODS, WALLET_SERVICE } from "../../domain/partner.ts";
import { oneLine } from "../../lib/mail.ts";
import { timeText } from "../pages/locale.ts";
import { payoutMethodText } from "../pages/parts/payout-method.ts";
import { actorText, SELF } from "./actor-text.ts";
import type { Letter } from "./letter.ts";
import { TRANSFER_SERVICE } from "../../providers/registry.ts";

type PayoutDetailsNotice = NoticeOf<"payout_details">;

/** How many partners the owner's e-mail names. */
const MOST_NAMED = 20;

/** The e-mails about changed payout details (OUT-9): one to each owner, one to each address of each partner. */
export function payoutDetailsLetters(notice: PayoutDetailsNotice, origin: string | null): Letter[] {
  const toPartners = notice.changed.flatMap((change) =>
    change.addresses.map((address) => letterToPartner(address, change, notice, origin)),
  );
  return [...notice.owners.map((owner) => letterToOwner(owner, notice, origin)), ...toPartners];
}

/** Asks a partner for payout details (OUT-30). */
export function payoutDetailsAskedLetters(
  { program, partner }: NoticeOf<"payout_details_asked">,
  origin: string | null,
): Letter[] {
  const program_name = oneLine(program.name);
  const text =
    `${program_name} has money to pay you for your referrals, but you have no payout details yet. ` +
    `Add them in the portal${origin === null ? ", under Payout details" : ""}. Your payouts then go there.`;
  return [
    {
      to: partner.email,
      reader: { audience: "partner", partner_id: partner.id },
      subject: `${program_name} needs your payout details`,
      program,
      parts: [text],
      action: origin === null ? undefined : { label: "Add payout details", url: `${origin}/portal/details` },
    },
  ];
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
  const maySignIn = partner.status !== "deactivated" && !isAddressAlone(change);
  const what = `of ${name} in the affiliate program of ${program_name}`;
  const parts = [
    changeText([change], what),
    changesText(change),
    `Details are shown in part. ${isLink(change) ? "Created" : "Changed"} by: ${by}.`,
    `If you did not expect this, inform ${program_name} at once, before the next payout.` +
      (maySignIn ? `${at} to correct the details and to sign out other devices.` : ""),
    ...afterText([change], program),
  ];
  const reader = { audience: "partner", partner_id: partner.id } as const;
  return { to, reader, subject: subjectOf([change], program_name), program, parts };
}

function letterToOwner(to: string, { program, actor, changed }: PayoutDetailsNotice, origin: string | null): Letter {
  const program_name = oneLine(program.name);
  const more = changed.length - MOST_NAMED;
  const at = origin === null ? "in the dashboard" : `at ${origin}/dashboard/partners`;
  const whose = changed.length === 1 ? "a partner" : `${changed.length} partners`;
  const what = `of ${whose} of your affiliate program ${program_name}`;
  const areLinks = changed.some(isLink);
  const parts = [
    changeText(changed, what),
    ...changed
      .slice(0, MOST_NAMED)
      .map((change) => `${nameOf(change.partner)}, ${oneLine(change.partner.email)}\n${changesText(change)}`),
    ...(more > 0 ? [`And ${more} more: see the events of type partner.updated.`] : []),
    `Details are shown in part. ${areLinks ? "Created" : "Changed"} by: ${actorText(actor)}.`,
    "If you did not expect this, contact the partner before the next payout, but not by e-mail, and correct the " +
      `${changed.every(isAddressAlone) ? "address" : "details"} ${at}. If none of you did it, sign out all dashboard sessions or create a new API key.`,
    ...afterText(changed, program),
    ...(changed.some(({ held_until }) => held_until !== null)
      ? ["You can release the hold on the partner's page, once you know that the change is right."]
      : []),
  ];
  return { to, reader: { audience: "owner" }, subject: subjectOf(changed, program_name), program, parts };
}

function subjectOf(changed: readonly PayoutDetailsChange[], program_name: string): string {
  if (changed.some(isLink)) return `Link to a payout account created at ${program_name}`;
  const what = changed.every(isAddressAlone) ? "E-mail address of a partner" : "Payout details";
  return `${what} changed at ${program_name}`;
}

function changeText(changed: readonly PayoutDetailsChange[], what: string): string {
  if (changed.some(isLink)) return linkText(what);
  if (changed.every(isAddressAlone)) return `The e-mail address ${what} was changed.`;
  return `The payout details ${what} were changed.`;
}

/** Whether the payout details stay as they are. */
function isAddressAlone({ changes, linked_account }: PayoutDetailsChange): boolean {
  return linked_account === undefined && Object.keys(changes).join() === "email";
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
function afterText(changed: readonly PayoutDetailsChange[], program: PayoutDetailsNotice["program"]): string[] {
  return [...destinationTexts(changed), ...holdTexts(changed, program)];
}

function holdTexts(changed: readonly PayoutDetailsChange[], { time_zone }: PayoutDetailsNotice["program"]): string[] {
  const [last] = changed
    .flatMap(({ held_until }) => held_until ?? [])
    .toSorted()
    .toReversed();
  if (last === undefined) return [];
  const whose = changed.length === 1 ? "Payouts to this partner" : "Payouts to these partners";
  return [
    `${whose} are held until ${timeText(last, time_zone)} (${time_zone}), so that a wrong change can be noticed.`,
  ];
}

function destinationTexts(changed: readonly PayoutDetailsChange[]): string[] {
  if (changed.some(isLink)) return [];
  if (changed.every(isAddressAlone)) {
    return [
      "Payouts go to the same details as before. The link that confirms a change of them goes to the new address.",
    ];
  }
  const taken = changed.reduce((sum, change) => sum + change.taken, 0);
  if (taken === 0) return ["Existing payouts still go to the previous details."];
  const these = taken === 1 ? "1 open payout that had no details goes" : `${taken} open payouts that had no details go`;
  return [`${these} to the new ones. All other existing payouts still go to the previous details.`];
}

const FIELDS: Record<keyof PayoutDetailsChange["changes"], string> = {
  email: "E-mail address",
  payout_method: "Payout method",
  payout_email: `E-mail at ${WALLET_SERVICE}`,
  provider_a_account_id: `Account at ${TRANSFER_SERVICE}`,
  bank_account: "Bank account",
  crypto_address: "Crypto address",
};

/** The e-mail with the link by which a partner confirms a change (OUT-25). */
export function payoutChangeLinkLetters(
  { program, partner, link, changes }: NoticeOf<"payout_change_link">,
  origin: string | null,
): Letter[] {
  const name = oneLine(program.name);
  const text = changesText({ changes });
  return [
    {
      to: partner.email,
      reader: { audience: "partner", partner_id: partner.id },
      subject: `Confirm your payout details at ${name}`,
      program,
      parts: [
        `A browser that is signed in to your portal of ${name} asked for ${
          text === "" ? `a link to your payout account at ${TRANSFER_SERVICE}` : "this change of your payout details"
        }. Nothing has changed yet.`,
        ...(text === "" ? [] : [text]),
        "To confirm it, open this link within 15 minutes. It works once.",
        "If it was not you, do not confirm: sign in to the portal, sign out all other devices, and inform " +
          `${name} at once.`,
      ],
      action:
        origin === null
          ? undefined
          : { label: "Review the change", url: `${origin}/confirm-payout-details?token=${link.token}` },
    },
  ];
}

function changesText({ changes, linked_account }: Pick<PayoutDetailsChange, "changes" | "linked_account">): string {
  if (linked_account !== undefined) return `${FIELDS.provider_a_account_id}: ${linked_account}`;
  return changeLines(changes).join("\n");
}

/** `Payout method: PayPal → Crypto`, for each changed detail. */
export function changeLines(changes: PayoutDetailsChange["changes"]): string[] {
  return Object.entries(changes).map(
    ([field, [before, after]]) => `${FIELDS[field as keyof typeof FIELDS]}: ${shown(before)} → ${shown(after)}`,
  );
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

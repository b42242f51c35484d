import type { NoticeOf } from "../../core/kernel/notices.ts";
import type { PayoutDetail, PayoutDetailsChange } from "../../core/kernel/payout-details.ts";
import { isFirstKey, type Actor } from "../../domain/actor.ts";
import { maskAddress } from "../../domain/mask.ts";
import { PAYOUT_METHODS } from "../../domain/partner.ts";
import { oneLine } from "../../lib/mail.ts";
import { payoutMethodText } from "../pages/parts/payout-method.ts";
import type { Letter } from "./letter.ts";
import { providerWithin, transferName, walletName } from "../brand-names.ts";

type PayoutDetailsNotice = NoticeOf<"payout_details">;

/** How many partners the owner's e-mail names. */
const MOST_NAMED = 20;

/**
 * The e-mails about changed payout details (OUT-9): one to the owner about all of a commit, then one to each address of
 * each partner. Details read as they do in the audit log.
 */
export function payoutDetailsLetters(notice: PayoutDetailsNotice, origin: string | null): Letter[] {
  const toPartners = notice.changed.flatMap((change) =>
    change.addresses.map((address) => letterToPartner(address, change, notice, origin)),
  );
  return [letterToOwner(notice, origin), ...toPartners];
}

function letterToPartner(
  to: string,
  { partner, changes }: PayoutDetailsChange,
  { program, actor }: PayoutDetailsNotice,
  origin: string | null,
): Letter {
  const program_name = oneLine(program.name);
  // Who reads another address may know nothing of the partner, who chose it: of the partner's words it has none.
  const name = to.toLowerCase() === partner.email.toLowerCase() ? nameOf(partner) : "a partner";
  const by = byText(actor, program_name);
  const at = origin === null ? " Sign in to the portal" : ` Sign in at ${origin}/portal/details`;
  const parts = [
    `The payout details of ${name} in the affiliate program of ${program_name} were changed.`,
    changesText(changes),
    `Details are shown in part. Changed by: ${by}.`,
    `If you did not expect this, inform ${program_name} at once, before the next payout.` +
      (partner.status === "deactivated" ? "" : `${at} to correct the details, and to see and end your sessions.`),
    "Payouts that exist already still go where they went before.",
  ];
  const subject = `Payout details changed at ${program_name}`;
  return { to, reader: { audience: "partner", partner_id: partner.id }, subject, program, parts };
}

function letterToOwner({ program, actor, changed }: PayoutDetailsNotice, origin: string | null): Letter {
  const program_name = oneLine(program.name);
  const more = changed.length - MOST_NAMED;
  const at = origin === null ? "in the dashboard" : `at ${origin}/dashboard/partners`;
  const parts = [
    `The payout details of ${changed.length === 1 ? "a partner" : `${changed.length} partners`} of your affiliate program ${program_name} were changed.`,
    ...changed
      .slice(0, MOST_NAMED)
      .map(({ partner, changes }) => `${nameOf(partner)}, ${oneLine(partner.email)}\n${changesText(changes)}`),
    ...(more > 0 ? [`And ${more} more: see the events of type partner.updated.`] : []),
    `Details are shown in part. Changed by: ${actorText(actor)}.`,
    "If you did not expect this, ask the partner in another way than by e-mail before the next payout, and correct the " +
      `details ${at}. If nobody of you did it, end the sessions of the dashboard or make a new API key.`,
    "Payouts that exist already still go where they went before.",
  ];
  const subject = `Payout details changed at ${program_name}`;
  return { to: program.owner_email, reader: { audience: "owner" }, subject, program, parts };
}

const FIELDS: Record<PayoutDetail, () => string> = {
  payout_method: () => "Payout method",
  payout_email: () => `E-mail at ${walletName()}`,
  provider_a_account_id: () => `Account at ${transferName()}`,
};

function changesText(changes: PayoutDetailsChange["changes"]): string {
  return Object.entries(changes)
    .map(([field, [before, after]]) => `${FIELDS[field as PayoutDetail]()}: ${shown(before)} → ${shown(after)}`)
    .join("\n");
}

/** A way to be paid by its name; anything else as it is. */
function shown(value: unknown): string {
  if (typeof value !== "string") return "none";
  const method = PAYOUT_METHODS.find((name) => name === value);
  return method === undefined ? oneLine(value) : payoutMethodText(method);
}

function nameOf({ first_name, last_name, email }: PayoutDetailsChange["partner"]): string {
  return oneLine([first_name, last_name].filter(Boolean).join(" ")) || oneLine(email);
}

/** For partners: a member is the program's, and the partner is named by the letter. */
function byText(actor: Actor, program_name: string): string {
  if (actor.type === "partner") return SELF;
  return actor.type === "member" ? `${program_name} (${maskAddress(actor.name ?? "")})` : actorText(actor);
}

const SELF = "the partner, signed in to the portal";

function actorText(actor: Actor): string {
  const { type, name } = actor;
  const who = oneLine(name ?? "");
  switch (type) {
    case "partner":
      return `${SELF} (${who})`;
    case "member":
      return `${who}, signed in to the dashboard`;
    case "api_key":
      return isFirstKey(actor) ? `the program's API key that ends in ${who}` : `the program's API key “${who}”`;
    case "operator":
      return "the operator of the service";
    case "provider":
      return `the payment provider (${oneLine(providerWithin(name ?? ""))})`;
    case "cron":
    case "visitor":
      return `the service itself (${who})`;
  }
}

import type { PayoutDetail, PayoutDetailsChange, PayoutDetailsNotice } from "../core/kernel/payout-details.ts";
import type { Actor } from "../domain/actor.ts";
import { maskAddress } from "../domain/mask.ts";
import { oneLine, paragraphsMail, sendMails, type Mail, type MailBindings } from "../lib/mail.ts";
import { readPublicUrl, type PublicUrlSettings } from "../lib/public-url.ts";

/** How many partners the owner's e-mail names. */
const MOST_NAMED = 20;

/** What this needs of the deployment. */
type Deployment = MailBindings & PublicUrlSettings;

/** Sends the e-mails about changed payout details. Never throws. */
export async function mailPayoutDetails(
  env: Deployment,
  notice: PayoutDetailsNotice,
  request_id?: string,
): Promise<void> {
  const base = readPublicUrl(env);
  await sendMails(env, payoutDetailsMails(notice, "origin" in base ? base.origin : null), request_id);
}

/**
 * The e-mails about changed payout details (OUT-9): one to
 * the owner about all of a commit, then one to each address of each partner. Details read as they do in the audit log.
 */
function payoutDetailsMails(notice: PayoutDetailsNotice, origin: string | null): Mail[] {
  const toPartners = notice.changed.flatMap((change) =>
    change.addresses.map((address) => mailToPartner(address, change, notice, origin)),
  );
  return [mailToOwner(notice, origin), ...toPartners];
}

function mailToPartner(
  to: string,
  { partner, changes }: PayoutDetailsChange,
  { program, actor }: PayoutDetailsNotice,
  origin: string | null,
): Mail {
  const [name, program_name] = [nameOf(partner), oneLine(program.name)];
  const by = actor.type === "member" ? `${program_name} (${maskAddress(actor.name ?? "")})` : actorText(actor);
  return paragraphsMail(to, `Payout details changed at ${program_name}`, [
    `The payout details of ${name} in the affiliate program of ${program_name} were changed.`,
    changesText(changes),
    `Details are shown in part. Changed by: ${by}.`,
    `If you did not expect this, inform ${program_name} at once, before the next payout. ` +
      (origin === null ? "Sign in to the portal" : `Sign in at ${origin}/portal/details`) +
      " to correct the details, and to see and end your sessions.",
    "Payouts that exist already still go where they went before.",
  ]);
}

function mailToOwner({ program, actor, changed }: PayoutDetailsNotice, origin: string | null): Mail {
  const program_name = oneLine(program.name);
  const more = changed.length - MOST_NAMED;
  const at = origin === null ? "in the dashboard" : `at ${origin}/dashboard/partners`;
  return paragraphsMail(program.owner_email, `Payout details changed at ${program_name}`, [
    `The payout details of ${changed.length === 1 ? "a partner" : `${changed.length} partners`} of your affiliate program ${program_name} were changed.`,
    ...changed
      .slice(0, MOST_NAMED)
      .map(({ partner, changes }) => `${nameOf(partner)}, ${oneLine(partner.email)}\n${changesText(changes)}`),
    ...(more > 0 ? [`And ${more} more: see the events of type partner.updated.`] : []),
    `Details are shown in part. Changed by: ${actorText(actor)}.`,
    "If you did not expect this, ask the partner in another way than by e-mail before the next payout, and correct the " +
      `details ${at}. If nobody of you did it, end the sessions of the dashboard or make a new API key.`,
    "Payouts that exist already still go where they went before.",
  ]);
}

const FIELDS: Record<PayoutDetail, string> = {
  payout_method: "Payout method",
  payout_email: "E-mail of the wallet",
  provider_a_account_id: "Account at provider A",
};

function changesText(changes: PayoutDetailsChange["changes"]): string {
  const shown = (value: unknown) => (typeof value === "string" ? oneLine(value) : "none");
  return Object.entries(changes)
    .map(([field, [before, after]]) => `${FIELDS[field as PayoutDetail]}: ${shown(before)} → ${shown(after)}`)
    .join("\n");
}

function nameOf({ first_name, last_name, email }: PayoutDetailsChange["partner"]): string {
  return oneLine([first_name, last_name].filter(Boolean).join(" ")) || oneLine(email);
}

function actorText({ type, name }: Actor): string {
  const who = oneLine(name ?? "");
  switch (type) {
    case "partner":
      return `the partner, signed in to the portal (${who})`;
    case "member":
      return `${who}, signed in to the dashboard`;
    case "api_key":
      return `the program's API key that ends in ${who}`;
    case "operator":
      return "the operator of the service";
    case "provider":
    case "cron":
      return `the service itself (${who})`;
  }
}

/** Notifies the owner of required actions, each kind at most once a day (MAIL-11). */
import { openRefusalOf, refusalsOf } from "../../core/inbound/refusals.ts";
import type { NoticeOf, SeenCode } from "../../core/kernel/notices.ts";
import type { Program } from "../../core/kernel/rows.ts";
import { isMaybeListed } from "../../domain/refusal.ts";
import { oneLine } from "../../lib/mail.ts";
import { providerName, VENDORS } from "../../providers/registry.ts";
import { dateText, timeText } from "../pages/locale.ts";
import { plural, providerText } from "../pages/parts/figures.tsx";
import { REFUSAL_TEXTS } from "../pages/parts/words.ts";
import type { Letter, LetterRow } from "./letter.ts";

/** The most codes that are listed. */
const NAMED = 10;

interface Need {
  program: Program;
  subject: string;
  parts: Letter["parts"];
  label: string;
  path: string;
}

function letterTo({ program, subject, parts, label, path }: Need, origin: string | null): Letter[] {
  const action = origin === null ? undefined : { label, url: `${origin}${path}` };
  return [{ to: program.owner_email, reader: { audience: "owner" }, subject, program, parts, action }];
}

export function applicationsWaitingLetters(
  { program, count }: NoticeOf<"applications_waiting">,
  origin: string | null,
): Letter[] {
  const subject = `${plural(count, "application")} to ${oneLine(program.name)} ${count === 1 ? "waits" : "wait"}`;
  const parts = [
    `${plural(count, "person wants", "people want")} to become a partner of your program. Approve or decline each; the applicant gets an e-mail.`,
  ];
  return letterTo(
    { program, subject, parts, label: "See the applications", path: "/dashboard/partners/applications" },
    origin,
  );
}

export function claimsWaitingLetters({ program, count }: NoticeOf<"claims_waiting">, origin: string | null): Letter[] {
  const subject = `${plural(count, "claim")} of a missing sale ${count === 1 ? "waits" : "wait"}`;
  const parts = [
    `Partners of ${oneLine(program.name)} report missing sales: ${plural(count, "claim")} to decide. Each shows the payments that may match, and why they earned nothing.`,
  ];
  return letterTo({ program, subject, parts, label: "See the claims", path: "/dashboard/claims" }, origin);
}

export function payoutsHeldLetters({ program, count }: NoticeOf<"payouts_held">, origin: string | null): Letter[] {
  const subject = `${plural(count, "payout")} of ${oneLine(program.name)} cannot be paid`;
  const parts = [
    `${plural(count, "payout")} cannot be paid without you: your balance at the payment provider is too small, the transfer was refused, or it needs the API key that started it.`,
    "Each payout's page shows the reason, and no money is lost. Pay a refused payout again, or cancel it and prepare a new one to pay another way. A waiting payout continues automatically once its API key is in the settings, and cannot be canceled before.",
  ];
  return letterTo({ program, subject, parts, label: "See the payouts", path: "/dashboard/payouts" }, origin);
}

/** Empty if verified events came after the last refusal of each provider. */
export function webhooksRefusedLetters({ program }: NoticeOf<"webhooks_refused">, origin: string | null): Letter[] {
  const open = VENDORS.flatMap(({ name }) => {
    const refusal = openRefusalOf(program, name);
    return refusal === null ? [] : [{ name, refusal, isSent: !isMaybeListed(refusal.reason) }];
  });
  const isSent = open.some((one) => one.isSent);
  const subject = `${isSent ? "Webhooks to" : "Events of"} ${oneLine(program.name)} were refused`;
  const refused = open.map(({ name, refusal, isSent: isDelivery }) => {
    const { why, help } = REFUSAL_TEXTS[refusal.reason];
    const count = refusalsOf(program, name).refused;
    const counted = isDelivery ? plural(count, "delivery", "deliveries") : plural(count, "event");
    return `${providerText(name)}: ${counted} refused so far. The last came on ${timeText(refusal.at, program.time_zone)} and was refused because ${why}.\n${help}`;
  });
  if (refused.length === 0) return [];
  const parts = [
    isSent
      ? "Deliveries to the webhook address of your program were refused. While the events of a provider are refused, its payments make no commissions."
      : "Events from a payment provider of your program were refused, so their data is missing here.",
    ...refused,
    ...(isSent ? ["Anyone can send to this address, so a refused delivery may not come from the provider."] : []),
  ];
  return letterTo({ program, subject, parts, label: "See the integration", path: "/dashboard/integration" }, origin);
}

export function codesUnknownLetters({ program, codes }: NoticeOf<"codes_unknown">, origin: string | null): Letter[] {
  const subject = `${plural(codes.length, "promotion code")} without a partner`;
  const more = codes.length - NAMED;
  const parts = [
    `Payments of ${oneLine(program.name)} used promotion codes that belong to no partner. They earn nothing until you assign each code to a partner.`,
    codes.slice(0, NAMED).map(rowOf),
    ...(more > 0 ? [`And ${more} more.`] : []),
  ];
  return letterTo({ program, subject, parts, label: "See the codes", path: "/dashboard/payments/codes" }, origin);
}

export function clicksOverBudgetLetters(
  { program, day, count }: NoticeOf<"clicks_over_budget">,
  origin: string | null,
): Letter[] {
  const subject = `Clicks of ${oneLine(program.name)} are only counted`;
  const parts = [
    `On ${dateText(`${day}T00:00:00.000Z`, "UTC")} (UTC) far more clicks than usual came in. ${plural(count, "click")} exceed the day's budget so far: they are counted, but without page, country and partner. The budget starts again the next day.`,
    "Sales are not affected: partners still earn their commissions. If you did not expect so many visitors, a bot may be making these clicks.",
  ];
  return letterTo({ program, subject, parts, label: "See the clicks", path: "/dashboard/events/clicks" }, origin);
}

function rowOf({ provider, code, payments }: SeenCode): LetterRow {
  return [oneLine(code), `${plural(payments, "payment")} at ${providerName(provider)}`];
}

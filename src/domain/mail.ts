/** E-mail kinds, and the state of an e-mail after an attempt to send it (MAIL-2, MAIL-3). */
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./duration.ts";
import { retryAfterMs } from "./retry-after.ts";

/** The reader of an e-mail. Only the address is known of an applicant. */
export type MailReader =
  | { audience: "owner"; partner_id?: never }
  | { audience: "partner"; partner_id: string }
  | { audience: "applicant"; partner_id?: never };

interface MailKindRules {
  /** The title in a reader's list of e-mails. */
  title: string;
  audiences: readonly MailReader["audience"][];
  /** Whether a reader may switch it off; never if somebody's money may depend on it. */
  may_be_off: boolean;
  /** Whether a program sends it to addresses that have not requested mail, within a budget (MAIL-15). */
  to_strangers?: true;
}

/**
 * Every e-mail except the sign-in link, which a person requests again if it does not arrive. The compiler requires for
 * a new kind its subject (`core/kernel/notices.ts`), its text (`http/mails/compose.ts`) and an example.
 */
export const MAIL_KINDS = {
  payout_details: { title: "Payout details changed", audiences: ["owner", "partner"], may_be_off: false },
  payout_change_link: { title: "Confirm your payout details", audiences: ["partner"], may_be_off: false },
  application_address: { title: "Confirm your application", audiences: ["applicant"], may_be_off: false },
  application_received: { title: "Application received", audiences: ["applicant"], may_be_off: false },
  application_approved: { title: "Application approved", audiences: ["partner"], may_be_off: false },
  application_declined: { title: "Application declined", audiences: ["applicant"], may_be_off: false },
  invitation: { title: "Invitation", audiences: ["partner"], may_be_off: false, to_strangers: true },
  member_invited: { title: "Invitation to the team", audiences: ["owner"], may_be_off: false, to_strangers: true },
  endpoint_disabled: { title: "Webhook endpoint disabled", audiences: ["owner"], may_be_off: true },
  security: { title: "Security changes", audiences: ["owner"], may_be_off: false },
  ledger_differs: { title: "The ledger does not add up", audiences: ["owner"], may_be_off: false },
  payout_generated: { title: "New payout", audiences: ["partner"], may_be_off: true },
  payout_paid: { title: "Payout paid", audiences: ["partner"], may_be_off: true },
  payout_failed: { title: "Payout failed", audiences: ["partner"], may_be_off: true },
  payout_returned: { title: "Payout returned", audiences: ["partner"], may_be_off: true },
  payout_details_asked: { title: "Payout details missing", audiences: ["partner"], may_be_off: false },
  claim_decided: { title: "Decision on a missing sale", audiences: ["partner"], may_be_off: true },
  applications_waiting: { title: "Open applications", audiences: ["owner"], may_be_off: true },
  claims_waiting: { title: "Open claims of missing sales", audiences: ["owner"], may_be_off: true },
  payouts_held: { title: "Payouts that cannot be paid", audiences: ["owner"], may_be_off: true },
  webhooks_refused: { title: "Webhooks of a provider refused", audiences: ["owner"], may_be_off: true },
  codes_unknown: { title: "Promotion codes without a partner", audiences: ["owner"], may_be_off: true },
  clicks_over_budget: { title: "Clicks that are only counted", audiences: ["owner"], may_be_off: true },
  weekly_summary: { title: "Weekly summary", audiences: ["owner"], may_be_off: true },
  commissions_earned: { title: "Commissions earned, once a day", audiences: ["partner"], may_be_off: true },
} as const satisfies Record<string, MailKindRules>;
export type MailKind = keyof typeof MAIL_KINDS;

/** The kind about an approved application, whose reader becomes a partner. */
const TO_APPROVED = "application_approved" satisfies MailKind;
/** Kinds for applicants, whose data is kept only as long as the application. */
export const TO_APPLICANTS = Object.entries<MailKindRules>(MAIL_KINDS).flatMap(([kind, { audiences }]) =>
  audiences.includes("applicant") || kind === TO_APPROVED ? [kind as MailKind] : [],
);
/** The kind for an unverified address: it is not listed, and is deleted once the e-mail is done (JOIN-3). */
export const TO_UNPROVED = "application_address" satisfies MailKind;

/** Kinds in the invitation budget. An application's address is verified; its form has its own budget (JOIN-2). */
export const TO_STRANGERS = Object.entries<MailKindRules>(MAIL_KINDS).flatMap(([kind, { to_strangers }]) =>
  to_strangers ? [kind as MailKind] : [],
);

/** The kind for a partner in any status: deactivating a partner must not silence a warning (OUT-9). */
export const TO_DEACTIVATED = "payout_details" satisfies MailKind;

/** The kind for a person who was added to the team, and only for that person. */
export const TO_INVITED = "member_invited" satisfies MailKind;
/** The kind for every owner at the time it is stored, including an owner whose removal it reports (PROOF-4). */
export const TO_EACH_OWNER = "security" satisfies MailKind;
/** The kind for every owner at the time it is stored; if one has left since, the program's own address receives it. */
export const TO_OWNERS = "payout_details" satisfies MailKind;
/** Kinds for the program's own address, or every owner's, at the time of sending (TEAM-5). */
export const TO_OWNER = Object.entries<MailKindRules>(MAIL_KINDS).flatMap(([kind, { audiences }]) =>
  audiences.includes("owner") && kind !== TO_INVITED && kind !== TO_EACH_OWNER ? [kind as MailKind] : [],
);

/** Kinds sent at set times in the program's time zone (MAIL-12, MAIL-13). */
export type PeriodicMail = Extract<MailKind, "weekly_summary" | "commissions_earned">;

/** Kinds about tasks for the owner: at most one e-mail of each within a day (MAIL-11). */
export const OWNER_NEEDS = [
  "applications_waiting",
  "claims_waiting",
  "payouts_held",
  "webhooks_refused",
  "codes_unknown",
  "clicks_over_budget",
] as const satisfies MailKind[];
export type OwnerNeed = (typeof OWNER_NEEDS)[number];

export type PayoutMail = Extract<MailKind, "payout_generated" | "payout_paid" | "payout_failed" | "payout_returned">;
/**
 * Kinds composed when sent, from the state at that time; the compiler requires their `core/mails/subjects.ts`.
 */
export type KindAbout = PayoutMail | PeriodicMail | typeof TO_EACH_OWNER | "payout_details_asked";

export function isOwnerNeed(kind: MailKind): kind is OwnerNeed {
  return OWNER_NEEDS.some((need) => need === kind);
}

/** The kinds that a reader receives, and whether each may be switched off. */
export function kindsFor(audience: MailReader["audience"]): { kind: MailKind; title: string; may_be_off: boolean }[] {
  const all: [string, MailKindRules][] = Object.entries(MAIL_KINDS);
  return all
    .filter(([, { audiences }]) => audiences.includes(audience))
    .map(([kind, { title, may_be_off }]) => ({ kind: kind as MailKind, title, may_be_off }));
}

/**
 * `sending`: a claim holds it. `refused`: the address cannot receive mail. `failed`: all attempts failed. `unknown`:
 * the attempt broke off and only the sending service knows the result; it is not sent again. `withheld`: at its time
 * the partner was deactivated, the reader had switched it off, or it had no content.
 */
export const MAIL_STATUSES = ["pending", "sending", "sent", "refused", "failed", "unknown", "withheld"] as const;
export type MailStatus = (typeof MAIL_STATUSES)[number];

/** The result of one attempt. */
export type MailResult =
  | { result: "accepted" }
  /** Not accepted now; `is_limited` by a rate limit. `retry_after` is the header's text, if any. */
  | { result: "busy"; reason: string; is_limited: boolean; retry_after: string | null }
  /** Permanently refused: the address is invalid or suppressed. */
  | { result: "refused"; reason: string }
  /** No answer, or a partial one. */
  | { result: "silent"; reason: string };

/** Delays after an attempt with every configured sender. */
const MAIL_DELAYS_MS: readonly number[] = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  DAY_MS,
];

/** An attempt refused by a rate limit does not count for this long; after that the e-mail fails. */
const LIMITED_FOR_MS = 3 * DAY_MS;

export interface MailAttempt {
  /** 1 for the first. */
  number: number;
  now: number;
  /** When the e-mail was due. */
  created_ms: number;
  senders: number;
  /** How long the sender deduplicates an e-mail; 0 for a sender that does not. */
  known_ms: number;
  /** Whether an earlier attempt may have succeeded. */
  is_unsure: boolean;
  result: MailResult;
}

export type AfterMailAttempt =
  | {
      status: Exclude<MailStatus, "pending" | "sending" | "withheld">;
      delay_ms: null;
      keeps_sender: false;
      is_counted: true;
    }
  /** If the attempt is not counted and the sender not kept, the next sender is tried after the delay. */
  | { status: "pending"; delay_ms: number; keeps_sender: boolean; is_counted: boolean };

/**
 * The state of an e-mail after an attempt. If one sender refuses it, the next is tried at once; the delays apply after
 * all of them. If the result of this or an earlier attempt is unknown, only the same sender is tried again, for as long
 * as it deduplicates. If every sender was tried and there are too many e-mails, the attempt does not count.
 */
export function afterMailAttempt(attempt: MailAttempt): AfterMailAttempt {
  const { number, senders, known_ms, now, created_ms, result } = attempt;
  if (result.result === "accepted") return endAs("sent");
  if (result.result === "refused") return endAs("refused");
  const isUnsure = attempt.is_unsure || result.result === "silent";
  const hasNext = !isUnsure && number < senders;
  const age = now - created_ms;
  const isLimited = result.result === "busy" && result.is_limited && !hasNext && age < LIMITED_FOR_MS;
  const own = isLimited ? limitedDelay(age) : MAIL_DELAYS_MS[Math.max(number - senders, 0)];
  const isOnly = senders === 1 || isUnsure;
  const asked = result.result === "busy" && isOnly ? (retryAfterMs(result.retry_after, now) ?? 0) : 0;
  const delay_ms = hasNext ? 0 : own === undefined ? Infinity : Math.max(own, asked);
  if (isUnsure && delay_ms >= known_ms) return endAs("unknown");
  if (delay_ms === Infinity) return endAs("failed");
  return { status: "pending", delay_ms, keeps_sender: isUnsure, is_counted: !isLimited };
}

/** The delay if there are too many e-mails. */
function limitedDelay(age: number): number {
  return Math.min(Math.max(age / 4, MINUTE_MS), HOUR_MS);
}

function endAs(status: Extract<MailStatus, "sent" | "refused" | "failed" | "unknown">): AfterMailAttempt {
  return { status, delay_ms: null, keeps_sender: false, is_counted: true };
}

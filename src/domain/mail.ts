/** E-mails: which there are, and the state of one after an attempt to send it (MAIL-2, MAIL-3). */
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./duration.ts";
import { retryAfterMs } from "./retry-after.ts";

/** Who reads an e-mail. Of an applicant nothing but the address is known. */
export type MailReader =
  | { audience: "owner"; partner_id?: never }
  | { audience: "partner"; partner_id: string }
  | { audience: "applicant"; partner_id?: never };

interface MailKindRules {
  /** As its readers see it, in a list of what they get. */
  title: string;
  audiences: readonly MailReader["audience"][];
  /** Whether a reader may switch it off: not what somebody's money may depend on. */
  may_be_off: boolean;
  /** Whether a program sends it to an address that need not have asked for anything: a program has a budget of them (MAIL-15). */
  to_strangers?: true;
}

/**
 * Every e-mail but the one with a sign-in link, which is asked for again where it does not come. The compiler asks of a
 * new kind what it is about (`core/kernel/notices.ts`), what it says (`http/mails/compose.ts`) and an example.
 */
export const MAIL_KINDS = {
  payout_details: { title: "Payout details changed", audiences: ["owner", "partner"], may_be_off: false },
  application_address: { title: "Confirm your application", audiences: ["applicant"], may_be_off: false },
  application_received: { title: "Application received", audiences: ["applicant"], may_be_off: false },
  application_approved: { title: "Application approved", audiences: ["partner"], may_be_off: false },
  application_declined: { title: "Application declined", audiences: ["applicant"], may_be_off: false },
  invitation: { title: "Invitation", audiences: ["partner"], may_be_off: false, to_strangers: true },
  member_invited: { title: "Invitation to the team", audiences: ["owner"], may_be_off: false, to_strangers: true },
  endpoint_disabled: { title: "Webhook endpoint disabled", audiences: ["owner"], may_be_off: true },
  security: { title: "Who gets in has changed", audiences: ["owner"], may_be_off: false },
  ledger_differs: { title: "The ledger does not add up", audiences: ["owner"], may_be_off: false },
  payout_generated: { title: "Payout made", audiences: ["partner"], may_be_off: true },
  payout_paid: { title: "Payout paid", audiences: ["partner"], may_be_off: true },
  payout_failed: { title: "Payout failed", audiences: ["partner"], may_be_off: true },
  claim_decided: { title: "Claim of a missing sale decided", audiences: ["partner"], may_be_off: true },
  applications_waiting: { title: "Applications that wait", audiences: ["owner"], may_be_off: true },
  claims_waiting: { title: "Claims of missing sales that wait", audiences: ["owner"], may_be_off: true },
  payouts_held: { title: "Payouts that cannot be paid", audiences: ["owner"], may_be_off: true },
  webhooks_refused: { title: "Webhooks of a provider refused", audiences: ["owner"], may_be_off: true },
  codes_unknown: { title: "Promotion codes that nobody has", audiences: ["owner"], may_be_off: true },
  clicks_over_budget: { title: "Clicks that are only counted", audiences: ["owner"], may_be_off: true },
  weekly_summary: { title: "Weekly summary", audiences: ["owner"], may_be_off: true },
  commissions_earned: { title: "Commissions earned, once a day", audiences: ["partner"], may_be_off: true },
} as const satisfies Record<string, MailKindRules>;
export type MailKind = keyof typeof MAIL_KINDS;

/** About an application that makes its reader a partner. */
const TO_APPROVED = "application_approved" satisfies MailKind;
/** To who has applied: nothing of theirs is kept for longer than the application is. */
export const TO_APPLICANTS = Object.entries<MailKindRules>(MAIL_KINDS).flatMap(([kind, { audiences }]) =>
  audiences.includes("applicant") || kind === TO_APPROVED ? [kind as MailKind] : [],
);
/** To an address that nobody has proved: it is in no list, and forgotten once the e-mail is over (JOIN-3). */
export const TO_UNPROVED = "application_address" satisfies MailKind;

/** What counts toward a program's budget of invitations. An application's address is proved; its form has a budget of its own (JOIN-2). */
export const TO_STRANGERS = Object.entries<MailKindRules>(MAIL_KINDS).flatMap(([kind, { to_strangers }]) =>
  to_strangers ? [kind as MailKind] : [],
);

/** To a partner whatever their status: who deactivates them silences no warning (OUT-9). */
export const TO_DEACTIVATED = "payout_details" satisfies MailKind;

/** To somebody who was added to the team, and to nobody else. */
export const TO_INVITED = "member_invited" satisfies MailKind;
/** To each owner there was or is when it is stored, also to one who is removed by what it is about (PROOF-4). */
export const TO_EACH_OWNER = "security" satisfies MailKind;
/** To the program's own address, whoever's that is when they are sent (TEAM-5). */
export const TO_OWNER = Object.entries<MailKindRules>(MAIL_KINDS).flatMap(([kind, { audiences }]) =>
  audiences.includes("owner") && kind !== TO_INVITED && kind !== TO_EACH_OWNER ? [kind as MailKind] : [],
);

/** Kinds that come at times of their program's time zone (MAIL-12, MAIL-13). */
export type PeriodicMail = Extract<MailKind, "weekly_summary" | "commissions_earned">;

/** What needs the owner: at most one e-mail of each within a day (MAIL-11). */
export const OWNER_NEEDS = [
  "applications_waiting",
  "claims_waiting",
  "payouts_held",
  "webhooks_refused",
  "codes_unknown",
  "clicks_over_budget",
] as const satisfies MailKind[];
export type OwnerNeed = (typeof OWNER_NEEDS)[number];

/** Of a payout. */
export type PayoutMail = Extract<MailKind, "payout_generated" | "payout_paid" | "payout_failed">;
/** Written when they are sent, each about a subject as it is then: the compiler asks `core/kernel/mail-subjects.ts` how. */
export type KindAbout = PayoutMail | PeriodicMail | typeof TO_EACH_OWNER;

export function isOwnerNeed(kind: MailKind): kind is OwnerNeed {
  return OWNER_NEEDS.some((need) => need === kind);
}

/** The kinds that a reader gets, and whether each may be switched off. */
export function kindsFor(audience: MailReader["audience"]): { kind: MailKind; title: string; may_be_off: boolean }[] {
  const all: [string, MailKindRules][] = Object.entries(MAIL_KINDS);
  return all
    .filter(([, { audiences }]) => audiences.includes(audience))
    .map(([kind, { title, may_be_off }]) => ({ kind: kind as MailKind, title, may_be_off }));
}

/**
 * `sending` is held by a claim. `refused`: nobody can be sent to at this address. `failed`: given up. `unknown`: the
 * attempt broke off where only the service that sends it knows whether it did; it is not sent again. `withheld`: when it
 * was its turn the partner was deactivated, its reader had switched it off, or there was nothing to say.
 */
export const MAIL_STATUSES = ["pending", "sending", "sent", "refused", "failed", "unknown", "withheld"] as const;
export type MailStatus = (typeof MAIL_STATUSES)[number];

/** What came of one attempt. */
export type MailResult =
  | { result: "accepted" }
  /** Not taken now, where `is_limited` because too many came; `retry_after` as the header says it, where there is one. */
  | { result: "busy"; reason: string; is_limited: boolean; retry_after: string | null }
  /** Not taken, and will not be: the address is invalid or suppressed. */
  | { result: "refused"; reason: string }
  /** No answer, or only a part of one. */
  | { result: "silent"; reason: string };

/** Delays after the first attempts of every sender there is. */
const MAIL_DELAYS_MS: readonly number[] = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  DAY_MS,
];

/** A limit uses up no attempt for so long: then the e-mail is given up. */
const LIMITED_FOR_MS = 3 * DAY_MS;

export interface MailAttempt {
  /** 1 for the first. */
  number: number;
  now: number;
  /** Since when it was to be sent. */
  created_ms: number;
  senders: number;
  /** For so long the sender takes the e-mail once, however often it is handed over; 0 for one that does not know it. */
  known_ms: number;
  /** Whether an earlier attempt may have been taken. */
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
  /** Where it is not counted and keeps no sender, the next one is asked after the delay. */
  | { status: "pending"; delay_ms: number; keeps_sender: boolean; is_counted: boolean };

/**
 * The state of an e-mail after an attempt. What one sender does not take the next is given at once; after all of them
 * come the delays. Where nobody knows whether it was taken, by this attempt or an earlier one, the same sender is asked again
 * for as long as it takes one only once, and nobody else. Where all are asked and there are too many e-mails, the attempt
 * does not count.
 */
export function afterMailAttempt(attempt: MailAttempt): AfterMailAttempt {
  const { number, senders, known_ms, now, created_ms, result } = attempt;
  if (result.result === "accepted") return ended("sent");
  if (result.result === "refused") return ended("refused");
  const isUnsure = attempt.is_unsure || result.result === "silent";
  const hasNext = !isUnsure && number < senders;
  const age = now - created_ms;
  const isLimited = result.result === "busy" && result.is_limited && !hasNext && age < LIMITED_FOR_MS;
  const own = isLimited ? limitedDelay(age) : MAIL_DELAYS_MS[Math.max(number - senders, 0)];
  const isOnly = senders === 1 || isUnsure;
  const asked = result.result === "busy" && isOnly ? (retryAfterMs(result.retry_after, now) ?? 0) : 0;
  const delay_ms = hasNext ? 0 : own === undefined ? Infinity : Math.max(own, asked);
  if (isUnsure && delay_ms >= known_ms) return ended("unknown");
  if (delay_ms === Infinity) return ended("failed");
  return { status: "pending", delay_ms, keeps_sender: isUnsure, is_counted: !isLimited };
}

/** The delay where there are too many. */
function limitedDelay(age: number): number {
  return Math.min(Math.max(age / 4, MINUTE_MS), HOUR_MS);
}

function ended(status: Extract<MailStatus, "sent" | "refused" | "failed" | "unknown">): AfterMailAttempt {
  return { status, delay_ms: null, keeps_sender: false, is_counted: true };
}

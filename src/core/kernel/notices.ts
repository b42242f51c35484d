import type { Actor } from "../../domain/actor.ts";
import type { ClaimAnswer } from "../../domain/claim.ts";
import type { MailKind, MailReader } from "../../domain/mail.ts";
import type { Cents } from "../../domain/money.ts";
import type { PartnerStatus } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { Difference } from "../../domain/reconciliation.ts";
import type { Mail } from "../../lib/mail.ts";
import type { PayoutDetailsChange } from "./payout-details.ts";
import type { SecurityEvent } from "./security-events.ts";
import type { Application, Endpoint, Member, Partner, Payout, Program, SaleClaim } from "./rows.ts";

/** What a notice of each kind is about, beside its program. */
interface NoticeContents {
  /** Changed payout details, and who changed them (OUT-9). */
  payout_details: { actor: Actor; changed: PayoutDetailsChange[] };
  /** An endpoint that was given up (HOOK-9). */
  endpoint_disabled: { endpoint: Endpoint };
  /** To whoever sent the form of an application: what holds for the address (JOIN-4). */
  application_address: { email: string; state: AddressState };
  /** The application waits to be decided. */
  application_received: { application: Application };
  /** The application became a partner, who signs in by the token (JOIN-6). */
  application_approved: { partner: Partner; link: MailedLink };
  application_declined: { application: Application };
  /** To a partner that the owner made (PART-13). */
  invitation: { partner: Partner; link: MailedLink };
  /** To somebody who was added to the team (TEAM-4). */
  member_invited: { member: Member; link: MailedLink };
  /** What has changed about who gets in, in one commit, to one address (PROOF-4). */
  security: { recipient: string; events: readonly SecurityEvent[] };
  /** What the reconciler has found (LAW-11). */
  ledger_differs: { differences: readonly Difference[] };
  /** A payout that was made, paid, or whose transfer was refused (MAIL-10). */
  payout_generated: PayoutContents;
  payout_paid: PayoutContents;
  payout_failed: PayoutContents;
  /** A claim that was granted or declined (CLAIM-6). */
  claim_decided: { partner: Partner; claim: SaleClaim; answer: ClaimAnswer };
  /** How many wait for the owner when it is written (MAIL-11). */
  applications_waiting: { count: number };
  claims_waiting: { count: number };
  payouts_held: { count: number };
  /** What was refused is with the program. */
  webhooks_refused: object;
  codes_unknown: { codes: readonly SeenCode[] };
  /** How many clicks of a UTC day were only counted so far. */
  clicks_over_budget: { day: string; count: number };
  /** What waits for the owner, and the days of UTC since the last summary (MAIL-12). */
  weekly_summary: Week;
  /** What a partner earned from `since` until `until`, by currency (MAIL-13). */
  commissions_earned: {
    partner: Pick<Partner, "id" | "email">;
    since: string;
    until: string;
    earned: readonly AmountOf[];
  };
}

export interface AmountOf {
  currency: string;
  amount_cents: Cents;
}

export interface Week {
  /** Days of UTC (`2026-11-16`), the second no longer included. */
  from: string;
  until: string;
  /** How many wait. */
  waiting: Record<"applications" | "claims" | "held" | "commissions" | "payouts" | "codes", number>;
  /** By currency: commissions to approve, none where only flagged ones are; and open payouts. */
  pending: readonly AmountOf[];
  in_payout: readonly AmountOf[];
  /** Commissions of those days that are not rejected, by currency. */
  earned: readonly (AmountOf & { commissions: number })[];
}

/** A code that payments carry and nobody has. */
export interface SeenCode {
  provider: ProviderName;
  code: string;
  payments: number;
}

interface PayoutContents {
  partner: Pick<Partner, "id" | "email">;
  payout: Pick<Payout, "id" | "amount_cents" | "currency" | "due_at" | "reference" | "method" | "recipient">;
}

/** What people are notified of by e-mail, of one commit. */
export type Notice = { [K in MailKind]: NoticeOf<K> }[MailKind];

/** A one-time sign-in link in a stored e-mail. */
export interface MailedLink {
  token: string;
  /** ISO 8601. */
  expires_at: string;
}

/** What an application's address is in the program: the link by `token` proves it, or there is nothing to prove. */
export type AddressState = { is: "new"; token: string } | { is: "waiting" } | { is: "partner"; status: PartnerStatus };

/** The notices of one kind. */
export type NoticeOf<K extends MailKind> = { kind: K; program: Program } & NoticeContents[K];

/** An e-mail to be committed. */
export interface NewMail {
  kind: MailKind;
  reader: MailReader;
  mail: Mail;
}

/** How notices become e-mails, and who is woken to send them. */
export interface Mailer {
  /** The e-mails of a notice, one for each reader. */
  compose: (notice: Notice) => Promise<NewMail[]>;
  /** Has what is due of a program sent, beside the reply. A wake-up that is lost loses nothing. */
  wake: (program_id: string) => void;
}

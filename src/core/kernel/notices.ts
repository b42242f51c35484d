import type { SQL } from "drizzle-orm";
import type { Actor, Changes } from "../../domain/actor.ts";
import type { ClaimAnswer } from "../../domain/claim.ts";
import type { AuditEventType, EventPayloads, SecurityEventType } from "../../domain/event.ts";
import type { KindAbout, MailKind, MailReader, OwnerNeed } from "../../domain/mail.ts";
import type { Cents } from "../../domain/money.ts";
import type { Offer } from "../../domain/offer.ts";
import type { PartnerStatus } from "../../domain/partner.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { Difference } from "../../domain/reconciliation.ts";
import type { Mail } from "../../lib/mail.ts";
import type { PayoutDetailsChange } from "./payout-details.ts";
import type { Application, Endpoint, Member, Partner, Payout, Program, SaleClaim } from "./rows.ts";

/** The subject of a notice of each kind, beside its program. */
interface NoticeContents {
  /** `owners`: the address of each owner of the program. */
  payout_details: { actor: Actor; owners: readonly string[]; changed: PayoutDetailsChange[] };
  endpoint_disabled: { endpoint: Endpoint };
  /** The state of the address, for the sender of an application's form (JOIN-4). */
  application_address: { email: string; state: AddressState };
  /** A partner's own change, which waits for the link (OUT-25): masked, and empty for the vendor's pages. */
  payout_change_link: { partner: Pick<Partner, "id" | "email">; link: MailedLink; changes: Changes };
  /** The application waits to be decided. */
  application_received: { application: Application };
  /** The application became a partner, who signs in by the token (JOIN-6). */
  application_approved: { partner: Partner; link: MailedLink };
  application_declined: { application: Application };
  /** `offer`: the partner's rates. */
  invitation: { partner: Partner; link: MailedLink; offer: Offer };
  /** The invitation of a new team member (TEAM-4). */
  member_invited: { member: Member; link: MailedLink };
  /** The changes of access in one commit, for one address (PROOF-4). */
  security: { recipient: string; events: readonly SecurityEvent[] };
  /** The differences that the reconciler found (LAW-11). */
  ledger_differs: { differences: readonly Difference[] };
  /** A payout that was made, paid, whose transfer was refused, or whose money came back (MAIL-10). */
  payout_generated: PayoutContents;
  payout_paid: PayoutContents;
  payout_failed: PayoutContents;
  payout_returned: PayoutContents;
  /** The partner has money to receive, and no payout details (OUT-30). */
  payout_details_asked: Pick<PayoutContents, "partner">;
  /** A claim that was granted or declined (CLAIM-6). */
  claim_decided: { partner: Partner; claim: SaleClaim; answer: ClaimAnswer };
  /** How many wait for the owner when the e-mail is composed (MAIL-11). */
  applications_waiting: { count: number };
  claims_waiting: { count: number };
  payouts_held: { count: number };
  /** The refusals themselves are stored with the program. */
  webhooks_refused: object;
  codes_unknown: { codes: readonly SeenCode[] };
  /** How many clicks of a UTC day were only counted so far. */
  clicks_over_budget: { day: string; count: number };
  /** The open tasks of the owner, and the UTC days since the last summary (MAIL-12). */
  weekly_summary: Week;
  /** A partner's earnings from `since` until `until`, by currency (MAIL-13). */
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
  /** UTC days (`2026-11-16`); `until` is exclusive. */
  from: string;
  until: string;
  /** How many wait. */
  waiting: Record<"applications" | "claims" | "held" | "commissions" | "payouts" | "codes", number>;
  /** Amounts by currency: commissions to approve, empty if only flagged ones wait; and open payouts. */
  pending: readonly AmountOf[];
  in_payout: readonly AmountOf[];
  /** Commissions of those days that are not rejected, by currency. */
  earned: readonly (AmountOf & { commissions: number })[];
}

/** A code in payments that belongs to no partner. */
export interface SeenCode {
  provider: ProviderName;
  code: string;
  payments: number;
}

interface PayoutContents {
  partner: Pick<Partner, "id" | "email">;
  payout: Pick<
    Payout,
    "id" | "amount_cents" | "currency" | "source_amounts" | "due_at" | "reference" | "method" | "recipient"
  >;
}

/** An e-mail notification about one commit. */
export type Notice = { [K in MailKind]: NoticeOf<K> }[MailKind];

/** A one-time sign-in link in a stored e-mail. */
export interface MailedLink {
  token: string;
  /** ISO 8601. */
  expires_at: string;
}

/** The state of an application's address in the program: the link by `token` proves it, or no proof is needed. */
export type AddressState = { is: "new"; token: string } | { is: "waiting" } | { is: "partner"; status: PartnerStatus };

export type NoticeOf<K extends MailKind> = { kind: K; program: Program } & NoticeContents[K];

/** An e-mail to be committed. */
export interface NewMail {
  kind: MailKind;
  reader: MailReader;
  mail: Mail;
}

/** The e-mails about a commit, in addition to those about changed payout details and security events. */
export interface CommitMails {
  notices?: Notice[];
  /** E-mails that are composed when they are sent: for more rows than a request reads. */
  mailsAbout?: MailsAbout[];
  /** E-mails about tasks for the owner. */
  ownerMails?: OwnerMail[];
}

/** E-mails composed when they are sent: `from` returns `partner_id`, `recipient` and `subject_id`. */
export interface MailsAbout {
  kind: KindAbout;
  from: SQL;
}

/** A task for the owner, from the change that is committed beside it. */
export interface OwnerMail {
  kind: OwnerNeed;
  /** Only if this is true once the change is written; always if it is absent. */
  where?: SQL;
}

/** An event of a commit, with the content of its e-mail. */
export interface Occurred {
  id: string;
  type: AuditEventType;
  payload: object;
  changes?: Changes;
  payoutDetails?: PayoutDetailsChange | null;
}

/** A security event as in the audit log: its secrets are masked. */
export type SecurityEvent = {
  [T in SecurityEventType]: {
    type: T;
    payload: EventPayloads[T];
    changes: Changes | null;
    actor: Actor | null;
    created_at: string;
  };
}[SecurityEventType];

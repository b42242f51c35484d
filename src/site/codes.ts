import type { AttemptError } from "../domain/delivery.ts";
import type { EventOutcome, Outcome } from "../domain/payment.ts";
import { capitalized } from "../http/pages/parts/figures.tsx";
import { OUTCOME_TEXTS, READ_TROUBLE_TEXTS, REFUSAL_TEXTS, REVIEW_TEXTS } from "../http/pages/parts/words.ts";

/** The meanings of a field's values, with their cures. */
export interface CodeTable {
  /** A part of the address; the ids of the rows begin with it. */
  name: string;
  title: string;
  /** The fields that have the values; Markdown. */
  about: string;
  rows: { code: string; text: string }[];
}

/** The reasons of failed attempts at an endpoint, with cures for its owner. */
const ATTEMPT_TEXTS: Record<AttemptError, string> = {
  timeout: "The endpoint did not answer within 5 seconds. Answer first, then do the work.",
  connection: "No connection, or it broke off. Check that the server is up and its certificate is valid.",
  dns: "The host name could not be looked up. Check the domain's records.",
  blocked: "The address is not public, or is the service's own. Set a public https address, then redeliver.",
  http: "The status was not 2xx; `status_code` has it. Look at the log of your server under the event's id.",
  redirect: "The endpoint answered with a redirect, which is not followed. Set the final address.",
  secret:
    "Nothing was sent: the endpoint's signing secret can no longer be read here. Replace it with `rotate-secret`; your server is not at fault.",
};

/** Outcomes of events and reports other than those of payments. */
const EVENT_OUTCOME_TEXTS: Record<Exclude<EventOutcome, Outcome>, string> = {
  adjusted: "The paid amount changed, by a refund, a chargeback or its reversal. The commission follows.",
  waiting: "Its payment has not been reported yet. It counts as soon as the payment arrives.",
  flagged:
    "The payment is disputed, or its subscription was canceled. No money was returned; an unpaid commission waits for review.",
  remembered:
    "Its partner or code is stored for the subscription or the customer, and counts for later payments without one.",
  linked: "It links ids of one payment, or has the name of a promotion code. Both are stored.",
  ignored: "It has no data that the service uses; `reason` explains why.",
};

const withHelp = (texts: Record<string, { why: string; help: string }>) =>
  Object.entries(texts).map(([code, { why, help }]) => ({ code, text: `${capitalized(why)}. ${help}` }));

/** The codes in fields that are no errors of a request, from the same texts as the pages of the dashboard. */
export const CODE_TABLES: readonly CodeTable[] = [
  {
    name: "outcome",
    title: "Outcomes of payments and reports",
    about: "`outcome` of a payment, of its trace, of what your server reports and of a provider's event.",
    rows: [
      ...Object.entries(OUTCOME_TEXTS).map(([code, { why }]) => ({ code, text: why })),
      ...Object.entries(EVENT_OUTCOME_TEXTS).map(([code, text]) => ({ code, text })),
    ],
  },
  {
    name: "review",
    title: "Why a commission is flagged",
    about: "`review_reason` of a commission. Flagged ones wait for review.",
    rows: Object.entries(REVIEW_TEXTS).map(([code, text]) => ({ code, text })),
  },
  {
    name: "refusal",
    title: "Why a provider's webhook was refused",
    about: "`last_refusal.reason` of `getIntegrationStatus`.",
    rows: withHelp(REFUSAL_TEXTS),
  },
  {
    name: "unread",
    title: "Why a provider's list could not be read",
    about: "`read_failure.reason` and `unanswered.reason` of `getIntegrationStatus`.",
    rows: withHelp(READ_TROUBLE_TEXTS),
  },
  {
    name: "attempt",
    title: "Why a delivery to your endpoint failed",
    about: "`attempts[].error` of a delivery.",
    rows: Object.entries(ATTEMPT_TEXTS).map(([code, text]) => ({ code, text })),
  },
];

/** The id of a value's row. */
export const rowId = ({ name }: CodeTable, code: string): string => `${name}-${code}`;

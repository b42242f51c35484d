import { ID_PREFIXES } from "../../lib/id.ts";
import type { JsonSchema } from "./types.ts";

/**
 * What the fields of the document mean, where their schema does not say: by name, or as `parent.name`. The parent is the
 * field that holds it or the first word of the schema's name: `Partner.status` is of every `Partner…`. Of a parameter it
 * is `query` or `path`. A provider's own fields are here without its name: `webhook_secret`.
 */
export const FIELD_TEXTS: Record<string, string> = {
  // Of many things
  program_id: "The program that it belongs to.",
  partner_id: "The partner that it is about, by id.",
  payment_id: "The payment, by id.",
  commission_id: "The commission, by id.",
  payout_id: "The payout, by id.",
  flow_id: "The flow that applied, by id.",
  endpoint_id: "The endpoint, by id.",
  code_id: "The promotion code, by id.",
  event_id: "The audit event, by id.",
  created_at: "When it was made.",
  updated_at: "When it last changed.",
  expires_at: "Until when it can be used.",
  data: "The objects.",
  page: "The number of this page, from 1.",
  per_page: "How many a page holds at most.",
  email: "The e-mail address.",
  note: "A text for people.",
  provider: "The payment provider that reported it, or your own server.",
  currency: "ISO 4217, upper case.",
  message: "For people; it may change.",
  url: "The address to open.",
  at: "When.",
  status_code: "The HTTP status that was answered; null where nothing was.",

  // Team
  "Member.email": "Who signs in to the dashboard with it.",
  "Member.role":
    "`owner` may do everything, `finance` reads all and decides on commissions and payouts, `viewer` reads all but payout details.",

  // Program
  owner_email: "The program's own address, where its e-mails go: always an owner's.",
  default_commission_pct: "The percentage for payments that no flow and no partner's own rate decides.",
  payout_term: "`NET-` and the days between the end of a period and the payment of its payouts, 0 to 365.",
  min_payout_cents: "Below it a payout is carried forward. Smallest units of the currency.",
  cookie_days: "So many days the script keeps a partner's reference in the browser.",
  attribution: "Whether the first partner's link or the last one counts.",
  code_precedence: "Which goes first where a payment has both: the reference of a link, or a promotion code.",
  auto_approve_days:
    "So many days after the payment a commission without a flag is approved. Null: commissions are approved by hand.",
  live_only: "True: the providers' test events make no commission.",
  brand_color: "`#rrggbb`: of e-mails to partners; null for the service's own.",
  time_zone: "By the tz database, such as Europe/Berlin: of the times on its pages and of the days of its e-mails.",
  applications: "Whether people can apply at `/join/<slug or id>`, and who decides.",
  questions: "What applicants are asked; one that ends with `(optional)` may be left out.",
  terms: "What applicants agree to.",
  sale_amounts: "Whether partners see in the portal what their customers paid.",
  assets: "What partners are given to use: a picture's or a page's https address, or a text with `{link}` in it.",
  "assets.name": "What partners see it called.",
  "assets.kind": "Which of these it is.",
  "assets.content": "The address or the text.",
  "Program.name": "What partners and e-mails see the program called.",
  "Program.domain": "The host name of the site that links lead to, without a scheme.",
  "Program.currency": "ISO 4217: of flat amounts and of commissions by hand. Fixed once there is a commission.",
  "Program.slug": "In the address of the page for applications; null: the id is.",
  "Program.program": "The program.",
  webhook_secret: "The secret by which the provider's webhooks are verified. Write-only; null removes it.",
  webhook_secret_set: "Whether the secret of its webhooks is set.",
  api_key: "The key by which the provider's API is called. Write-only; null removes it.",
  api_key_set: "Whether a key of its API is set.",
  api_key_last4: "The last four characters of the program's API key.",
  api_key_last_used_at: "When the API was last called with it.",

  // Partner
  slug: "What the partner's links carry: 1 to 64 letters, digits, - or _. Unique in the program, ignoring case.",
  first_name: "The first name.",
  last_name: "The last name.",
  commission_pct: "The partner's own percentage. Null: the program's default.",
  payout_method: "How the partner is paid; null while none is chosen.",
  payout_email: "The address that payouts by `wallet` go to.",
  account_id: "The partner's connected account at the provider; null before onboarding.",
  metadata: "A JSON object of your own, of up to 8 KiB.",
  "Partner.status": "Only `active` partners earn. A new one is `invited`.",
  "Partner.stats": "Of what is not rejected, in the program's currency.",
  total_commissions: "How many commissions.",
  clicks: "How many clicks were recorded.",
  other_currencies: "The same for each other currency.",
  total_earned_cents: "All that is not rejected. Smallest units of the currency.",
  pending_cents: "Not approved yet. Smallest units of the currency.",
  approved_cents: "Approved and not paid. Smallest units of the currency.",
  paid_cents: "Paid. Smallest units of the currency.",
  in_payout_cents: "In a payout that is not paid yet. Smallest units of the currency.",
  return_url: "Where the partner comes back to afterwards; the portal unless given.",
  refresh_url: "Where a link that has expired leads; the portal unless given.",
  country: "Of the partner's new account: ISO 3166, two letters in upper case.",

  // Applications and claims
  "Application.status": "`pending` until it is decided.",
  "Application.name": "The name that the person gave.",
  "Application.note": "What was said to the person when it was declined.",
  "Application.partner_id": "The partner it became, by id.",
  website: "Where the person wants to promote the program.",
  answers: "The answers to the program's questions.",
  question: "The question as it was asked.",
  answer: "What the person answered.",
  consented_at: "When the terms were agreed to.",
  decided_at: "When it was decided; null while it is open.",
  "Applications.ids": "The applications, by id.",
  "Applications.status": "What is decided of each.",
  "Applications.note": "What those who are declined read.",
  "Claim.status": "`open` until it is decided.",
  "Claim.payment_id": "The payment to give to the partner, by id; may be left out where only one fits.",
  "Claim.note": "What the partner reads beside the answer.",

  // Codes and flows
  "Code.code": "The code that customers enter.",
  "CodeSummary.code": "The code that customers enter.",
  "Code.provider": "The provider that has the code.",
  "Code.partner_id": "The partner who has it, by id.",
  provider_code_id: "The vendor's id of the promotion code, coupon or discount.",
  move: "True: takes the code from the partner who has it. Else that is 409.",
  "Flow.name": "What you call it.",
  "Flow.event": "What it decides: payments, or leads that your server reports.",
  action_type: "Whether `action_value` is a percentage or a flat amount.",
  action_value: "A percentage, or for `flat` an amount in smallest units.",
  conditions: "All of them must hold; without one it applies to every payment.",
  "conditions.field": "What is compared.",
  "conditions.op": "How. `gt` and `lt` compare amounts, `contains` texts.",
  "conditions.value": "With what: an amount in smallest units, or a text; case does not count.",
  "conditions.saw": "What the payment had; null where it had nothing.",
  "conditions.held": "Whether the condition held.",
  priority: "The highest is tried first.",
  "Flow.active": "Whether it is tried.",
  "Flow.flow": "A flow as it would be; with `flow_id` a changed one.",
  "Flow.flow_id": "The flow to change, by id; without `flow` it is taken as it is.",
  "Flow.partner_id": "The partner whose rate to change, by id.",
  "Flow.commission_pct": "With `partner_id`, the rate to try; null for the program's.",
  "Flow.default_commission_pct": "The program's rate to try.",
  "Flow.last": "How many of the newest payments to look at.",
  old_flow_id: "The flow that decided it, by id; null for a rate.",
  old_amount_cents: "What it earned. Smallest units of the currency.",
  new_amount_cents: "What it would have earned. Smallest units of the currency.",
  "Simulation.payments": "The payments, each as it was and as it would be.",
  "Simulation.sums": "Their sums, by currency.",
  "sums.payments": "How many payments.",

  // Reported facts
  customer: "Who bought or signed up.",
  "customer.email": "The customer's e-mail address.",
  product_id: "Your own id of the product.",
  "items.amount_cents": "The price of the line without tax. Smallest units of the currency.",
  received: "It is stored for good.",
  "Received.outcome": "What came of it.",

  // Payments and commissions
  outcome: "A commission, or the reason why there is none.",
  ref: "The reference that the payment carried: a partner's slug.",
  provider_transaction_id: "The provider's id of the payment.",
  subscription_id: "The provider's id of the subscription.",
  customer_id: "The provider's id of the customer.",
  customer_email: "The customer's address; null where it is unknown or erased.",
  txn_amount_cents: "What the customer paid, net of tax. Smallest units of the currency.",
  adjusted_cents: "What was given back of it. Smallest units of the currency.",
  trace: "How it was decided, step by step.",
  ref_source: "Where the reference came from.",
  source: "Where it came from.",
  "trace.partner_id": "The partner it led to, by id.",
  partner_slug: "That partner's slug.",
  "flows.flow_id": "The flow, by id.",
  matched: "Whether all of its conditions held.",
  "flows.conditions": "Each condition, with the value it saw.",
  arithmetic: "The computation in words: `30 % of 12000 = 3600`.",
  rate: "The rate that applied.",
  "trace.amount_cents": "The commission; null where there is none. Smallest units of the currency.",
  commissions: "Its commissions.",
  source_commission_id: "Of a clawback, the commission that it takes back from.",
  "Commission.status": "`pending`, then `approved`, then `paid`; or `rejected`.",
  rejected_reason: "Why it was rejected.",
  flagged: "Whether a person should look before it is approved.",
  approved_at: "When it was approved.",
  paid_at: "When it was paid.",
  "Commission.amount_cents": "What the partner earns; below 0 it is taken back. Smallest units of the currency.",
  "Commission.amount": "What the partner earns. Smallest units of the currency.",
  "Commission.revenue": "What the customer paid, net of tax. Smallest units of the currency.",
  "Commission.reason": "Why it is rejected; goes with that status only.",
  "Commission.ids": "The commissions, by id.",
  "filter.status": "Those of this status.",
  "filter.partner_id": "Those of this partner.",
  "filter.payout_id": "Those in this payout.",
  "filter.provider": "Those that this provider reported.",
  "filter.flagged": "Only flagged ones, or only others.",
  changed: "How many were changed.",
  "BulkResults.id": "Its id, as it was sent.",
  "BulkResults.status": "The state it is in now.",
  "ApplicationsDecided.id": "Its id, as it was sent.",
  "ApplicationsDecided.status": "The state it is in now.",
  ok: "Whether it was done.",
  error: "Why it was not done.",
  "error.code": "Which error, for programs.",
  "Erased.erased": "In how many records it was.",
  "erased.payments": "Payments.",
  "erased.commissions": "Commissions.",
  "erased.provider_events": "Stored bodies of the providers' events.",
  from_account: "The account that it leaves.",
  to_account: "The account that it goes to.",
  posted_at: "When it was posted.",

  // Payouts
  "Payout.status": "`pending`, then `processing`, `paid`, `failed` or `canceled`.",
  "Payout.method": "How it is paid; null where the partner has chosen none.",
  "payouts.method": "How it would be paid; null where the partner has chosen none.",
  period_start: "Commissions from then on; null: from the first.",
  period_end: "Commissions until then.",
  due_at: "The end of the period and the payout term.",
  commission_count: "How many commissions it holds.",
  reference: "Your own note of the payment, such as the bank's reference.",
  failure_code: "Why a transfer failed, as the vendor's code.",
  failure_message: "The same in the vendor's words.",
  dry_run: "True: nothing is written, the reply shows what would be.",
  "skipped.reason": "Why it is carried forward.",
  totals: "Sums by currency, of all of them.",
  "totals.payouts": "How many payouts.",
  "totals.skipped": "How many are carried forward.",
  skipped_cents: "The sum of these. Smallest units of the currency.",
  amount_cents: "Smallest units of the currency.",

  // Clicks
  "ClickSummary.data": "A line for each day, oldest first.",
  day: "The day, in UTC.",
  recorded: "Clicks that count.",
  dropped: "Clicks that do not count, by reason.",
  bot: "By a bot.",
  duplicate: "Of the same visitor to the same link, shortly after another.",
  unknown_ref: "With a reference that leads to nobody.",
  partner_deactivated: "Of a partner who is deactivated.",
  "Click.program_id": "The program's id, as in the tag of the script.",

  // Events, endpoints, deliveries
  "Event.type": "What happened.",
  "actor.type": "What kind of caller it was.",
  "actor.name": "What people know it by.",
  "Endpoint.url": "Where events are sent: https, a public address.",
  events: "The types it is sent; `*` is all of them.",
  description: "A text of your own.",
  active: "Whether events are sent to it.",
  deliveries: "The newest deliveries.",
  previous_secret_valid_until: "Until then the secret before signs too.",
  deleted: "It is gone.",
  "Delivery.event": "The event's type.",
  "Delivery.status": "`succeeded` once an attempt was answered 2xx; `failed` after the last one.",
  attempt_count: "How many attempts there were.",
  next_attempt_at: "When it is tried next; null: no more.",
  completed_at: "When it succeeded or failed for good.",
  attempts: "Every attempt, the first one first.",
  number: "Counted from 1.",
  started_at: "When it began.",
  duration_ms: "How long it took, in milliseconds.",
  "attempts.error": "Why it failed; null where it did not.",
  response_excerpt: "The beginning of what was answered.",
  "Recovered.recovered": "How many are sent again.",
  has_more: "Whether there are others: a second call goes on.",
  event: "The event's type.",
  timestamp: "When it happened.",

  // Connections
  last_event_at: "When the last verified event arrived.",
  "event_types.type": "The type, by the provider's name.",
  need: "Whether the service needs it.",
  "last_refusal.reason": "What was wrong with it.",
  complete_from: "The beginning of that time.",
  "read_failure.reason": "What was wrong.",
  since: "Since when.",
  "Destination.provider": "The provider.",
  "Destination.url": "Where it sends its webhooks.",
  "Destination.outcome": "What was done.",

  // Imports
  "Import.kind": "What the lines are.",
  product: "The product that wrote the file.",
  columns: "Each column, and what it was taken for.",
  column: "The column's name in the file.",
  taken_as: "The field that it fills; null: it was left out.",
  "problems.outcome": "The result of the line.",
  line: "The line's number; that of the column names is 1.",

  // The operator's
  "unreadable.program_id": "The program of the value.",
  field: "Its table and column.",
  "unreadable.id": "Its row.",
  checked: "How many were looked at by this call.",
  "checked.commissions": "Commissions.",
  "checked.payments": "Payments.",
  "checked.partners": "Partners, with their balances.",
  "checked.payouts": "Payouts.",
  "checked.transfers": "Transfers.",
  check: "What was compared.",
  found: "What is there in its place.",
  found_at: "When it was found.",
  "Health.status": "The service is set up and its database answers.",
  behind: "The jobs that are late.",
  job: "The job's name.",
  "behind.since": "Since when it is late.",

  // Errors
  "Error.error": "What was wrong.",
  details: "Each field that is not valid, and why.",

  // A provider's event
  created: "When the provider made it.",
  object: "The provider's object.",
  occurred_at: "When it happened.",

  // Parameters
  "query.status": "Only those of this status.",
  "query.partner_id": "Only those of this partner.",
  "query.payout_id": "Only those in this payout.",
  "query.provider": "Only those that this provider reported.",
  "query.flagged": "Only flagged ones, or only others.",
  "query.outcome": "Only those with this outcome.",
  "query.type": "Only those of this type.",
  "query.search": "Only those that hold this text.",
  "query.format": "`wallet` is for an upload of mass payments; `generic` has every column.",
  "path.provider": "The provider's name, as in `provider` of a payment.",
  "path.program_id": "The program's id.",
  "path.slug": "The partner's slug.",
  "path.file": "The event's type and `.json`.",
  "path.guide": "The guide's name.",
  "path.section": "The section's name.",
};

/** Every property of a schema of the document with a text of what it is; `name` is the schema's. */
export function described(name: string, schema: JsonSchema): JsonSchema {
  return withTexts(schema, [name, /^[A-Z][a-z]+/.exec(name)?.[0] ?? name]);
}

function withTexts(schema: JsonSchema, parents: string[]): JsonSchema {
  const { properties, items, anyOf, oneOf, allOf, additionalProperties } = schema;
  const each = (schemas: JsonSchema[]) => schemas.map((one) => withTexts(one, parents));
  const made = { ...schema };
  if (properties) {
    made.properties = Object.fromEntries(
      Object.entries(properties).map(([key, property]) => [
        key,
        withText(withTexts(property, key === "data" ? parents : parentsOf(key)), textOf(key, property, parents)),
      ]),
    );
  }
  if (items) made.items = withTexts(items, parents);
  if (anyOf) made.anyOf = each(anyOf);
  if (oneOf) made.oneOf = each(oneOf);
  if (allOf) made.allOf = each(allOf);
  if (typeof additionalProperties === "object") made.additionalProperties = withTexts(additionalProperties, parents);
  return made;
}

/** What `flows` or `flow` holds is a `Flow` too. */
function parentsOf(key: string): string[] {
  return [key, singular(key).replace(/^[a-z]/, (first) => first.toUpperCase())];
}

/** A text that the schema brings itself goes first. */
function withText(schema: JsonSchema, text: string | undefined): JsonSchema {
  return schema.description !== undefined || text === undefined ? schema : { description: text, ...schema };
}

function textOf(key: string, schema: JsonSchema, parents: string[]): string | undefined {
  const own = key.replace(/^provider_[a-z]_/, "");
  const texts = [...parents.map((parent) => `${parent}.${own}`), own].map((name) => FIELD_TEXTS[name]);
  return texts.find((text) => text !== undefined) ?? (key === "id" ? idText(schema) : undefined);
}

/** What an id is of follows from its prefix. */
function idText({ pattern = "" }: JsonSchema): string {
  const [kind] = Object.entries(ID_PREFIXES).find(([, prefix]) => pattern === `^${prefix}_`) ?? [];
  return kind === undefined ? "Its id." : `The id of the ${kind.replaceAll("_", " ")}.`;
}

/** What a parameter means: that of a path which is an id says of what. */
export function parameterText(place: "path" | "query", name: string, path: string): string | undefined {
  const noun = new RegExp(`([a-z-]+)/:${name}(/|$)`).exec(path)?.[1];
  const own = FIELD_TEXTS[`${place}.${name}`] ?? (place === "query" ? FIELD_TEXTS[name] : undefined);
  return own ?? (noun === undefined ? undefined : `The id of the ${singular(noun).replaceAll("-", " ")}.`);
}

/** `deliveries` is `delivery`. */
export function singular(noun: string): string {
  return noun.replace(/ies$/, "y").replace(/s$/, "");
}

import { TRANSFER_METHOD } from "../../domain/partner.ts";
import { ID_PREFIXES } from "../../lib/id.ts";
import { APPLICATION } from "../../resources/application.ts";
import { CLAIM } from "../../resources/claim.ts";
import { CODE } from "../../resources/code.ts";
import { COMMISSION } from "../../resources/commission.ts";
import { ENDPOINT } from "../../resources/endpoint.ts";
import { EVENT } from "../../resources/event.ts";
import type { Fields } from "../../resources/field.ts";
import { FLOW } from "../../resources/flow.ts";
import { GROUP } from "../../resources/group.ts";
import { PARTNER } from "../../resources/partner.ts";
import { PAYMENT } from "../../resources/payment.ts";
import { PRODUCT } from "../../resources/product.ts";
import { PAYOUT } from "../../resources/payout.ts";
import { PAYOUT_EXPORT } from "../../resources/payout-export.ts";
import { PROGRAM } from "../../resources/program.ts";
import { API_KEY, MEMBER } from "../../resources/team.ts";
import type { JsonSchema } from "./types.ts";

/**
 * The texts of fields that are not a column of one resource: by name, or as `parent.name`. The parent is the field that
 * contains it or the first word of the schema's name: `Partner.status` is the status in every `Partner…`. The parent of
 * a parameter is `query` or `path`. A provider's own fields are here without its name: `webhook_secret`.
 */
const OWN_TEXTS: Record<string, string> = {
  // Many resources
  program_id: "The program that it belongs to.",
  partner_id: "The partner, by id.",
  payment_id: "The payment, by id.",
  commission_id: "The commission, by id.",
  payout_id: "The payout, by id.",
  flow_id: "The flow that applied, by id.",
  endpoint_id: "The endpoint, by id.",
  code_id: "The promotion code, by id.",
  event_id: "The audit event, by id.",
  created_at: "When it was created.",
  updated_at: "When it last changed.",
  expires_at: "When it stops being valid.",
  data: "The objects.",
  page: "The number of this page, counted from 1.",
  per_page: "How many objects a page holds at most.",
  email: "The e-mail address.",
  note: "A note for people.",
  provider: "The payment provider that reported it, or your own server.",
  currency: "ISO 4217, upper case.",
  message: "A text for people; it may change.",
  url: "The address to open.",
  status_code: "The HTTP status that was answered; null where nothing was.",

  // Payout details
  "PayoutDetails.wallet": "The details of `wallet`; null without them.",
  "PayoutDetails.bank_transfer": "The bank account; null without one.",
  "PayoutDetails.crypto": "The crypto address; null without one.",
  [`PayoutDetails.${TRANSFER_METHOD}`]: "The connected account; null without one.",
  [`${TRANSFER_METHOD}.account`]: "The account's id.",
  account_holder: "The name of the account's holder.",
  "bank_transfer.iban": "The IBAN.",
  bic: "The bank's BIC.",
  account_number: "The account's number, without an IBAN.",
  routing_number: "The bank's US routing number.",
  sort_code: "The bank's UK sort code.",
  bsb: "The bank's Australian BSB.",
  "crypto.network": "The network of the address.",
  "crypto.address": "The address.",
  "PayoutDetailsSet.address": "The crypto address.",

  // Team

  // Program
  "assets.name": "The name that partners see.",
  "assets.kind": "Which kind of material it is.",
  "assets.content": "The address or the text.",
  "Program.program": "The program.",
  webhook_secret: "The secret that verifies the provider's webhooks. Write-only; null removes it.",
  webhook_secret_set: "Whether the webhook secret is set.",
  api_key: "The key that the provider's API is called with. Write-only; null removes it.",
  api_key_set: "Whether the API key is set.",

  // Partner
  account_id: "The partner's connected account at the provider; null before onboarding.",
  "AccountForget.account_id": "The account that is forgotten, as the partner has it now.",
  "Partner.slugs": "Every slug that leads to the partner, former and further ones included, in lower case.",
  "Partner.stats": "Totals of the commissions that are not rejected, in the program's currency.",
  total_commissions: "How many commissions.",
  clicks: "How many clicks were recorded.",
  other_currencies: "The same for each other currency.",
  total_earned_cents: "Everything that is not rejected. Smallest units of the currency.",
  pending_cents: "Not approved yet. Smallest units of the currency.",
  approved_cents: "Approved and not paid. Smallest units of the currency.",
  paid_cents: "Paid. Smallest units of the currency.",
  in_payout_cents: "In a payout that is not paid yet. Smallest units of the currency.",
  return_url: "Where the partner returns afterwards; the portal by default.",
  refresh_url: "Where an expired link leads; the portal by default.",
  country: "The country of the partner's new account, as two upper-case letters of ISO 3166.",

  // Applications and claims
  question: "The question as it was asked.",
  answer: "What the person answered.",
  decided_at: "When it was decided; null while it is open.",
  "Applications.ids": "The applications, by id.",
  "Applications.status": "The decision on each.",
  "Applications.note": "A note to those who are declined.",
  "Claim.payment_id": "The payment to give to the partner, by id; may be left out where only one fits.",

  // Codes and flows
  "CodeSummary.code": "The code that customers enter.",
  move: "True: takes the code from the partner who has it, which is otherwise 409.",
  "conditions.field": "What is compared.",
  "conditions.op": "How it is compared. `gt` and `lt` are for amounts, `contains` for texts.",
  "conditions.value": "What it is compared with: an amount in smallest units, or a text, ignoring case.",
  "conditions.saw": "What the payment had; null if it had nothing.",
  "conditions.held": "Whether the condition held.",
  "Flow.flow": "The flow to try; with `flow_id`, a change of that flow: what is left out stays as it is.",
  "Flow.flow_id": "The flow to try, by id; without `flow`, it is tried as it is, switched on.",
  "Flow.partner_id": "The partner whose rate to try, by id.",
  "Flow.group_id": "With `partner_id`, the group to try the partner in, by id; else the group whose rate to try.",
  "Flow.commission_pct": "With `partner_id` or `group_id`, the rate to try; null for the next in the order.",
  "Flow.default_commission_pct": "The program's rate to try.",
  "Flow.last": "How many of the newest payments to try it on.",
  old_flow_id: "The flow that decided it, by id; null for a rate.",
  old_amount_cents: "What it earned. Smallest units of the currency.",
  new_amount_cents: "What it would have earned. Smallest units of the currency.",
  "Simulation.payments": "The payments, each as it was and as it would be.",
  "Simulation.sums": "Their sums, by currency.",
  "sums.payments": "How many payments.",
  "partners.payments": "How many payments.",
  ...{ "old_rate.action_type": FLOW.action_type.text, "old_rate.action_value": FLOW.action_value.text },
  ...{ "new_rate.action_type": FLOW.action_type.text, "new_rate.action_value": FLOW.action_value.text },

  // Reported facts
  customer: "Who bought or signed up.",
  "customer.email": "The customer's e-mail address.",
  product_id: "Your own id of the product.",
  "items.amount_cents": "The price of the line without tax. Smallest units of the currency.",
  received: "True: the report is stored.",
  "Received.outcome": "What the report led to.",

  // Payments and commissions
  "CommissionUpdate.flagged": "Whether a person should look before it is approved.",
  "rate.action_type": FLOW.action_type.text,
  "rate.action_value": FLOW.action_value.text,
  outcome: "A commission, or the reason why there is none.",
  ref: "The reference that the payment carried: a partner's slug.",
  provider_transaction_id: "The provider's id of the payment.",
  subscription_id: "The provider's id of the subscription.",
  customer_email: "The customer's address; null where it is unknown or erased.",
  txn_amount_cents: "What the customer paid, net of tax. Smallest units of the currency.",
  adjusted_cents: "How much of it was refunded or charged back. Smallest units of the currency.",
  trace: "How the payment was decided, step by step.",
  ref_source: "Where the reference came from.",
  source: "Where it came from.",
  "trace.partner_id": "The partner it led to, by id.",
  partner_slug: "That partner's slug.",
  group_id: "The group, by id.",
  "trace.group_id": "The group that the partner belonged to at the payment's time, by id; null without a rule.",
  group_slug: "That group's slug.",
  "hold.days": "The days.",
  "flows.flow_id": "The flow, by id.",
  "later_flows.flow_id": "The flow, by id.",
  "later_flows.name": FLOW.name.text,
  matched: "Whether all of its conditions held.",
  "flows.conditions":
    "Each condition, with the value it saw. In a very long trace, of a flow that did not match: the first that failed.",
  arithmetic: "The computation, such as `30 % of 12000 = 3600`.",
  rate: "The rate that applied.",
  "trace.amount_cents": "The commission; null where there is none. Smallest units of the currency.",
  commissions: "Its commissions.",
  hold_until: COMMISSION.hold_until.text,
  paid_at: "When it was paid.",
  "Commission.amount": "What the partner earns. Smallest units of the currency.",
  "Commission.revenue": "What the customer paid, net of tax. Smallest units of the currency.",
  "Commission.reason": "Why it is rejected; only with that status.",
  "Commission.ids": "The commissions, by id.",
  "filter.status": "Only those with this status.",
  "filter.partner_id": "Only those of this partner.",
  "filter.payout_id": "Only those in this payout.",
  "filter.provider": "Only those that this provider reported.",
  "filter.flagged": "True: only flagged ones; false: only others.",
  changed: "How many were changed.",
  "BulkResults.id": "The id that was sent.",
  "BulkResults.status": "The current status.",
  "ApplicationsDecided.id": "The id that was sent.",
  "ApplicationsDecided.status": "The current status.",
  ok: "Whether it was done.",
  error: "Why it was not done.",
  "error.code": "The error code.",
  "Erased.erased": "In how many records the address was.",
  "erased.payments": "Payments.",
  "erased.commissions": "Commissions.",
  "erased.provider_events": "Stored bodies of the providers' events.",
  from_account: "The account that the money leaves.",
  to_account: "The account that the money goes to.",
  posted_at: "When it was posted.",

  // Payouts
  "skipped.commission_count": PAYOUT.commission_count.text,
  "payouts.method": "How it would be paid; null if the partner has chosen no method.",
  dry_run: "True: nothing is written, and the reply shows what would be.",
  "skipped.reason": "Why it is carried forward.",
  "left_out.reason": "Why the file cannot contain it.",
  totals: "The sums of all of them, by currency.",
  "totals.payouts": "How many payouts.",
  "totals.skipped": "How many are carried forward.",
  skipped_cents: "The sum of these. Smallest units of the currency.",
  without_details:
    "Payouts for partners without payout details. They take the details that are added before they are paid.",
  "without_details.partners": "How many partners have none.",
  "without_details.payouts": "How many payouts that concerns.",
  asked: "How many were e-mailed.",
  asked_recently: "How many were not, because they were within the last seven days.",
  not_active: "How many were not, because they are invited or deactivated and cannot sign in.",
  has_details: "How many were not, because they have payout details.",
  partner_ids: "The partners who have none; the first 500.",
  amount_cents: "Smallest units of the currency.",

  // Clicks
  "ClickSummary.data": "One object for each day, oldest first.",
  day: "The day, in UTC.",
  recorded: "Clicks that count.",
  dropped: "Clicks that do not count, by reason.",
  bot: "By a bot.",
  duplicate: "The same click, by its id, that was recorded within the last 30 minutes.",
  flood: "Beyond 60 clicks a minute of one network on the program.",
  unknown_ref: "With a reference that leads to no partner.",
  partner_deactivated: "Of a partner who is deactivated.",
  over_budget: "Beyond the program's budget of the day: ten times its usual day, and at least 100,000 clicks.",
  database_full: "While the database is at least 90 % full.",
  "Click.program_id": "The program's id, as in the script tag.",

  // Events, endpoints, deliveries
  "PingData.description": ENDPOINT.description.text,
  "actor.type": "What kind of caller it was.",
  "actor.name": "The caller's name.",
  deliveries: "The newest deliveries.",
  previous_secret_valid_until:
    "Until when `webhook-signature` has a signature of the previous secret too; null if that one can no longer be read.",
  "Deleted.id": "The id of what was deleted.",
  deleted: "Always true.",
  "Delivery.event": "The event's type.",
  "Delivery.status": "`succeeded` once an attempt was answered 2xx; `failed` after the last one.",
  attempt_count: "How many attempts there were.",
  next_attempt_at: "When it is tried next; null: never again.",
  completed_at: "When it succeeded or failed for good.",
  attempts: "Every attempt, the first one first.",
  number: "Counted from 1.",
  started_at: "When it began.",
  duration_ms: "How long it took, in milliseconds.",
  "attempts.error": "Why it failed; null if it did not.",
  response_excerpt: "The beginning of the answer.",
  "Recovered.recovered": "How many are sent again.",
  has_more: "Whether there are more; call again to go on.",
  event: "The event's type.",
  timestamp: "When it happened.",

  // Connections
  "SignInLinkCreate.email": "The address of the team member or partner.",
  "Integrations.email": "Whether the deployment sends e-mail, and what was refused last.",
  last_event_at: "When the last verified event arrived.",
  "event_types.type": "The type, by the provider's name.",
  need: "Whether the service needs it.",
  "last_refusal.at": "When it was refused.",
  "last_refusal.reason": "Why it was refused.",
  complete_from: "From when on all events of the provider have been read; null before the first time.",
  "read_failure.at": "When it was last tried.",
  "read_failure.reason": "Why it could not be read.",
  "read_failure.since": "When it first failed.",
  "unanswered.at": "When it was last asked.",
  "unanswered.reason": "Why it did not answer.",
  "unanswered.since": "When it first did not answer.",
  "unparsable.at": "When it was last found so.",
  "unparsable.event_id": "The provider's id of it.",
  "unparsable.event_type": "Its type, by the provider's name; null where it says none.",
  "unparsable.occurred_at": "When it happened.",
  "unparsable.since": "When it was first found so.",
  problem: "What is wrong with it, and where.",
  "Destination.provider": "The provider.",
  "Destination.url": "Where it sends its webhooks.",
  "Destination.outcome": "What was done at the provider.",

  // Imports
  "Import.kind": "What the lines hold: partners or customers.",
  product: "The product that wrote the file.",
  columns: "Each column, and the field it was taken for.",
  column: "The column's name in the file.",
  taken_as: "The field that it fills; null: it was ignored.",
  unread: "How many of its cells cannot be read and were left out; `notes` says why.",
  "problems.outcome": "The result of the line.",
  line: "The line's number; the column names are line 1.",

  // The operator's
  "unreadable.program_id": "The program of the value.",
  field: "Its table and column.",
  "unreadable.id": "Its row.",
  checked: "How many were checked by this call.",
  "checked.commissions": "Commissions.",
  "checked.payments": "Payments.",
  "checked.partners": "Partners, with their balances.",
  "checked.payouts": "Payouts.",
  "checked.transfers": "Transfers.",
  check: "What was compared.",
  found: "What was found instead.",
  found_at: "When it was found.",
  "Health.status": "The service is set up and its database answers.",
  behind: "The jobs that are late.",
  filling: "The databases that are at least 70 % full.",
  job: "The job's name.",
  "behind.since": "Since when it is late.",

  // Errors
  "Error.error": "What went wrong.",
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
  "query.flagged": "True: only flagged ones; false: only others.",
  "query.outcome": "Only those with this outcome.",
  "query.type": "Only those of this type.",
  "query.search": "Only those with this text.",
  "query.method": "Only those paid by this method.",
  "query.currency": "Only those in this currency.",
  "query.format":
    "`generic` has every column. `wallet` is for mass payments; with `currency` it can be uploaded as it is: no header, and at most 5,000 lines, the oldest: address, amount, currency, id, an empty note, `PAYPAL`.",
  "path.provider": "The provider's name, as in `provider` of a payment.",
  "path.program_id": "The program's id.",
  "path.slug": "The partner's slug.",
  "path.file": "The event's type with `.json`.",
  "path.guide": "The guide's name.",
  "path.section": "The section's name.",
};

const RESOURCES: Record<string, Fields> = {
  ...{
    Program: PROGRAM,
    Member: MEMBER,
    Api: API_KEY,
    Partner: PARTNER,
    Application: APPLICATION,
    Code: CODE,
    Product: PRODUCT,
  },
  ...{
    Group: GROUP,
    Flow: FLOW,
    SavedFlow: FLOW,
    Commission: COMMISSION,
    Payment: PAYMENT,
    Claim: CLAIM,
    Payout: PAYOUT,
    PayoutExport: PAYOUT_EXPORT,
    PayoutExportMade: PAYOUT_EXPORT,
    Statement: PAYOUT,
    Endpoint: ENDPOINT,
  },
  Event: EVENT,
};

const RESOURCE_TEXTS = Object.entries(RESOURCES).flatMap(([noun, fields]) =>
  Object.entries(fields).flatMap(([column, { text }]) =>
    text === undefined ? [] : [[`${noun}.${ownName(column)}`, text]],
  ),
);

export const FIELD_TEXTS: Record<string, string> = { ...OWN_TEXTS, ...Object.fromEntries(RESOURCE_TEXTS) };

/** Adds a description to every property of a schema of the document; `name` is the schema's. */
export function describeSchema(name: string, schema: JsonSchema): JsonSchema {
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

/** `flows` and `flow` contain a `Flow` too. */
function parentsOf(key: string): string[] {
  return [key, singular(key).replace(/^[a-z]/, (first) => first.toUpperCase())];
}

/** The schema's own text wins. */
function withText(schema: JsonSchema, text: string | undefined): JsonSchema {
  return schema.description !== undefined || text === undefined ? schema : { description: text, ...schema };
}

function textOf(key: string, schema: JsonSchema, parents: string[]): string | undefined {
  const own = ownName(key);
  const texts = [...parents.map((parent) => `${parent}.${own}`), own].map((name) => FIELD_TEXTS[name]);
  return texts.find((text) => text !== undefined) ?? (key === "id" ? idText(schema) : undefined);
}

/** The name of a provider's own field without the provider's name. */
function ownName(key: string): string {
  return key.replace(/^provider_[a-z]_/, "");
}

/** Describes an id by its prefix. */
function idText({ pattern = "" }: JsonSchema): string {
  const [kind] = Object.entries(ID_PREFIXES).find(([, prefix]) => pattern === `^${prefix}_`) ?? [];
  return kind === undefined ? "Its id." : `The id of the ${nounOf(kind)}.`;
}

/** The meaning of a parameter; for an id in a path, the kind of its object. */
export function parameterText(place: "path" | "query", name: string, path: string): string | undefined {
  const noun = new RegExp(`([a-z-]+)/:${name}(/|$)`).exec(path)?.[1];
  const own = FIELD_TEXTS[`${place}.${name}`] ?? (place === "query" ? FIELD_TEXTS[name] : undefined);
  return own ?? (noun === undefined ? undefined : `The id of the ${nounOf(singular(noun))}.`);
}

/** The noun for the kind of an id, or for the plural in a path. */
function nounOf(kind: string): string {
  return { api_key: "API key", "api-key": "API key", webhook: "endpoint" }[kind] ?? kind.replaceAll(/[_-]/g, " ");
}

/** `deliveries` is `delivery`. */
export function singular(noun: string): string {
  return noun.replace(/ies$/, "y").replace(/s$/, "");
}

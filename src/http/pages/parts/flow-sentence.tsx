/** A flow in one sentence, for the list and the editor (PAGE-33). */
import type { ConditionNames } from "../../../core/kernel/condition-names.ts";
import { isList, REF_KINDS, type Condition, type ConditionField, type ConditionOp } from "../../../domain/condition.ts";
import type { FlowActionType, FlowBase, FlowEvent } from "../../../domain/flow.ts";
import { isCents } from "../../../domain/money.ts";
import { iso } from "../../../lib/time.ts";
import { dateText } from "../locale.ts";
import { countText, moneyText, percentText, plural, providerText } from "./figures.tsx";
import { REF_KIND_TEXTS } from "./words.ts";

/** A text, or a value of the flow, which is emphasized. */
export type Part = string | { value: string };

/** A flow, or a form that is not complete. */
export interface Ruled {
  event: FlowEvent;
  action_type: FlowActionType;
  /** Null if it is missing or invalid. */
  action_value: number | null;
  conditions: readonly Condition[];
  base: FlowBase;
  currency: string | null;
  hold_days: number | null;
  starts_at: string | null;
  ends_at: string | null;
}

interface Setting {
  names: ConditionNames;
  /** The program's. */
  currency: string;
  time_zone: string;
}

type Texts = Partial<Record<ConditionOp, string>>;

const IN: Texts = { eq: "in", in: "in", neq: "not in", not_in: "not in" };
const AMONG: Texts = { eq: "in", in: "in", neq: "outside", not_in: "outside" };
const SLUG: Texts = {
  ...{ eq: "with the slug", in: "with the slug", neq: "without the slug", not_in: "without the slug" },
  contains: "whose slug contains",
};
const AMOUNT: Texts = {
  ...{ eq: "of", in: "of", neq: "not of", not_in: "not of" },
  ...{ gt: "over", gte: "of at least", lt: "under", lte: "of at most" },
};
const PRODUCT: Texts = { eq: "with", in: "with", neq: "without", not_in: "without" };
const PROVIDER: Texts = {
  ...{ eq: "through", in: "through", neq: "not through", not_in: "not through" },
  contains: "through a provider that contains",
};
const EMAIL: Texts = {
  ...{ eq: "from", in: "from", neq: "from anybody but", not_in: "from anybody but" },
  contains: "from customers whose e-mail contains",
};
const SOURCE: Texts = { eq: "referred by", in: "referred by", neq: "not referred by", not_in: "not referred by" };

/** The most values of a condition that the sentence lists. */
const LISTED = 4;

/** "Partners in *Creators* get *30 %* of *Pro* for *12 months* after the customer's first payment." */
export function flowSentence(flow: Ruled, setting: Setting): Part[] {
  const all = (field: ConditionField) => flow.conditions.filter((one) => one.field === field);
  const phrasesOf = (field: ConditionField, texts: Texts, conditions = all(field)): Part[][] =>
    mergeExclusions(conditions).map(({ op, value }) => [
      `${texts[op] ?? ""} `,
      ...valuesOf(flow, field, value, setting),
    ]);
  const isOfProducts = flow.base === "matching_items" && flow.action_type === "percentage";
  const counted = all("product_id").filter(({ op }) => isOfProducts && (op === "eq" || op === "in"));
  const ofPayment = [
    ...phrasesOf(
      "product_id",
      PRODUCT,
      all("product_id").filter((one) => !counted.includes(one)),
    ),
    ...phrasesOf("txn_amount_cents", AMOUNT),
    ...(hasAmount(flow) ? [] : currencyPhrases(flow, phrasesOf("currency", IN))),
    ...numberPhrases(all("payment_number")),
    ...phrasesOf("provider", PROVIDER),
  ];
  const payment = flow.event === "lead_created" ? "each lead" : "each payment";
  const products = counted.flatMap(({ value }, i) => [
    i > 0 ? " and " : "",
    ...valuesOf(flow, "product_id", value, setting),
  ]);
  return [
    ...["Partners", ...phrasesOf("partner_group", AMONG), ...phrasesOf("partner_slug", SLUG)].flatMap(spaced),
    ...[" get ", ...actionParts(flow, setting)],
    ...(counted.length === 0 ? [payment] : [...products, ofPayment.length > 0 ? ` in ${payment}` : ""]),
    ...[
      ...ofPayment,
      ...all("new_customer").map(({ value }) => [
        "from ",
        { value: value === true ? "new customers" : "existing customers" },
      ]),
      ...phrasesOf("customer_email", EMAIL),
      ...phrasesOf("ref_source", SOURCE),
      ...monthPhrases(all("months_since_first_payment")),
      ...timePhrases(flow, setting.time_zone),
    ].flatMap(spaced),
    ...holdParts(flow.hold_days),
    ".",
  ].filter((part) => part !== "");
}

/** The flow's own currency, which implies conditions on it (FLOW-13), or else those. */
function currencyPhrases({ currency, event }: Ruled, conditions: Part[][]): Part[][] {
  if (event === "lead_created" || currency === null) return conditions;
  return [["in ", { value: currency }]];
}

/** Whether an amount in the flow's own currency implies that currency; "not of 9.00 USD" does not. */
function hasAmount({ currency, conditions }: Ruled): boolean {
  return (
    currency !== null &&
    conditions.some(({ field, op }) => field === "txn_amount_cents" && op !== "neq" && op !== "not_in")
  );
}

/** The sentence from the rate on: "*30 %* on each payment of at least *290.00 USD*." */
export function rateSentence(flow: Ruled, setting: Setting): Part[] {
  const parts = flowSentence(flow, setting);
  return parts.slice(parts.indexOf(" get ") + 1).map((part) => (part === " of " ? " on " : part));
}

export function Sentence({ of }: { of: readonly Part[] }) {
  return <>{of.map((part) => (typeof part === "string" ? part : <strong>{part.value}</strong>))}</>;
}

/** The sentence as plain text. */
export function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (typeof part === "string" ? part : part.value)).join("");
}

function spaced(phrase: string | Part[]): Part[] {
  return typeof phrase === "string" ? [phrase] : [" ", ...phrase];
}

function actionParts({ action_type, action_value, currency: own }: Ruled, { currency }: Setting): Part[] {
  const joint = action_type === "flat" ? " for " : " of ";
  if (action_value === null) return [{ value: "…" }, joint];
  if (action_value === 0) return [{ value: "nothing" }, " for "];
  if (action_type === "percentage") return [{ value: percentText(action_value) }, joint];
  return [{ value: amountText(action_value, own ?? currency) }, joint];
}

function amountText(amount: number, currency: string): string {
  return isCents(amount) ? moneyText({ amount_cents: amount, currency }) : "…";
}

/** The values of a condition: "*Pro*", "*Pro*, *Team* or *2 more*". */
function valuesOf(flow: Ruled, field: ConditionField, value: Condition["value"], setting: Setting): Part[] {
  const texts = (isList(value) ? value : [value]).map((one) => valueText(flow, field, one, setting));
  const shown =
    texts.length > LISTED ? [...texts.slice(0, LISTED - 1), `${countText(texts.length - LISTED + 1)} more`] : texts;
  return shown.flatMap((text, i) => [i === 0 ? "" : i === shown.length - 1 ? " or " : ", ", { value: text }]);
}

function valueText(
  flow: Ruled,
  field: ConditionField,
  value: number | string | boolean,
  { names, currency }: Setting,
): string {
  const text = String(value);
  if (field === "txn_amount_cents") return amountText(Number(value), flow.currency ?? currency);
  if (field === "product_id") return names.products.get(text) ?? text;
  if (field === "partner_group") return names.groups.get(text.toLowerCase()) ?? text;
  if (field === "provider") return providerText(text);
  const kind = field === "ref_source" ? REF_KINDS.find((one) => one === value) : undefined;
  if (kind !== undefined) return REF_KIND_TEXTS[kind];
  return field === "currency" ? text.toUpperCase() : text;
}

/** The conditions, with those that exclude values as one. */
function mergeExclusions(conditions: readonly Condition[]): Condition[] {
  const excluding = conditions.filter(({ op }) => op === "neq" || op === "not_in");
  const [first] = excluding;
  if (!first) return [...conditions];
  const value = excluding.flatMap((one) => (isList(one.value) ? one.value : [one.value]));
  return [...conditions.filter((one) => !excluding.includes(one)), { ...first, op: "not_in", value }];
}

/** The bounds of whole numbers that conditions leave: at least `from`, less than `to`. */
function boundsOf(conditions: readonly Condition[]): { from: number | null; to: number | null } {
  const bounds: { from: number | null; to: number | null } = { from: null, to: null };
  for (const { op, value } of conditions) {
    const number = Number(value);
    if (op === "gt" || op === "gte") bounds.from = Math.max(bounds.from ?? 0, op === "gt" ? number + 1 : number);
    if (op === "lt" || op === "lte") bounds.to = Math.min(bounds.to ?? Infinity, op === "lte" ? number + 1 : number);
  }
  return bounds;
}

/** The conditions that compare with one number. */
function exactPhrases(conditions: readonly Condition[], phrase: (n: number, isNot: boolean) => Part[]): Part[][] {
  return conditions
    .filter(({ op }) => op === "eq" || op === "neq")
    .map(({ op, value }) => phrase(Number(value), op === "neq"));
}

function numberPhrases(conditions: readonly Condition[]): Part[][] {
  const { from, to } = boundsOf(conditions);
  const range: Part[][] = [];
  if (to === 2 && from === null) range.push(["that is the customer's ", { value: "first" }]);
  else if (to !== null && from === null) range.push(["among the customer's ", { value: `first ${countText(to - 1)}` }]);
  else if (to !== null && from !== null)
    range.push(["from the customer's ", { value: ordinal(from) }, " to the ", { value: ordinal(to - 1) }]);
  else if (from !== null) range.push(["from the customer's ", { value: ordinal(from) }, " on"]);
  return [
    ...range,
    ...exactPhrases(conditions, (n, isNot) => [`that is ${isNot ? "not " : ""}the customer's `, { value: ordinal(n) }]),
  ];
}

function monthPhrases(conditions: readonly Condition[]): Part[][] {
  const { from, to } = boundsOf(conditions);
  const after = " after the customer's first payment";
  const range: Part[][] = [];
  if (to !== null && (from ?? 0) === 0) range.push(["for ", { value: plural(to, "month") }, after]);
  else if (to !== null && from !== null)
    range.push(["from ", { value: countText(from) }, " to ", { value: plural(to, "month") }, after]);
  else if (from !== null) range.push(["from ", { value: plural(from, "month") }, after, " on"]);
  return [
    ...range,
    ...exactPhrases(conditions, (n, isNot) => [
      `${isNot ? "except " : ""}in the `,
      { value: ordinal(n + 1) },
      ` month${after}`,
    ]),
  ];
}

const SUFFIXES: Partial<Record<Intl.LDMLPluralRule, string>> = { one: "st", two: "nd", few: "rd" };
const ordinals = new Intl.PluralRules("en", { type: "ordinal" });

function ordinal(n: number): string {
  return n === 1 ? "first" : `${countText(n)}${SUFFIXES[ordinals.select(n)] ?? "th"}`;
}

function timePhrases({ starts_at, ends_at }: Ruled, zone: string): Part[][] {
  const from = starts_at === null ? null : dateText(starts_at, zone);
  // A flow that ends at midnight counts to the end of the day before.
  const to = ends_at === null ? null : dateText(iso(Date.parse(ends_at) - 1), zone);
  if (from !== null && to !== null) return [["made from ", { value: from }, " to ", { value: to }]];
  if (from !== null) return [["made from ", { value: from }, " on"]];
  return to === null ? [] : [["made until ", { value: to }]];
}

function holdParts(days: number | null): Part[] {
  if (days === null) return [];
  return days === 0 ? [", ", { value: "without a hold" }] : [", held for ", { value: plural(days, "day") }];
}

import type { AuditEvent } from "../../../../core/kernel/rows.ts";
import type { PartnerName } from "../../../../core/partners/display-names.ts";
import { eventKind, type PayloadField, type PayloadText } from "../../../../domain/event.ts";
import { OUTCOMES } from "../../../../domain/payment.ts";
import { cents } from "../../../../domain/money.ts";
import { PROVIDER_NAMES, providerName, providerNamed } from "../../../../providers/registry.ts";
import { countText, moneyText, plural, providerText } from "../../parts/figures.tsx";
import { CLAIM_TEXTS } from "../../parts/claim-words.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { OUTCOME_TEXTS, REFUSAL_TEXTS } from "../../parts/words.ts";
import { formatText } from "../payouts/formats.ts";

type Event = Pick<AuditEvent, "type" | "payload" | "changes">;

/** An event in one sentence: "Commission of 98.00 USD for Tara Ivanov: approved". */
export function whatText(event: Event, partner: PartnerName | undefined): string {
  const { type, payload } = event;
  const [noun = "", verb = ""] = type.split(".");
  const who = partner ? partnerText(partner) : (textIn(payload, "email") ?? textIn(payload, "slug"));
  const about = SENTENCES[noun]?.({ ...event, verb, who });
  return about ?? `${eventKind(type).text}${details(payload, partner)}`;
}

interface Described extends Event {
  /** The part of its type after the noun. */
  verb: string;
  /** The partner, or the address in the payload. */
  who: string | null;
}

/** The sentence by the noun of a type; null if the payload lacks a part of it. */
const SENTENCES: Partial<Record<string, (event: Described) => string | null>> = {
  commission: (event) => {
    const money = moneyIn(event.payload);
    const noun = event.payload["kind"] === "clawback" ? "Clawback" : "Commission";
    if (money === null) return null;
    const whose = event.who === null ? "" : ` for ${event.who}`;
    return `${noun} of ${money}${whose}${event.verb === "created" ? "" : `: ${commissionChange(event)}`}`;
  },
  payout: ({ payload, verb, who }) => {
    const money = moneyIn(payload);
    if (money === null || who === null) return null;
    return `Payout of ${money} to ${who}: ${verb === "generated" ? "prepared" : (textIn(payload, "status") ?? verb)}`;
  },
  partner: ({ verb, who, payload }) => {
    const done = PARTNER_VERBS[verb];
    return who === null || done === undefined || textIn(payload, "held_until") !== null
      ? null
      : `Partner ${who} ${done}`;
  },
  claim: ({ verb, who }) =>
    who === null ? null : `Claim of ${who}: ${verb === "granted" ? CLAIM_TEXTS.granted : verb}`,
  code: ({ payload, verb, who }) => {
    const [code, done] = [textIn(payload, "code"), CODE_VERBS[verb]];
    return code === null || done === undefined || who === null ? null : `Promotion code ${code} ${done} ${who}`;
  },
  flow: named("Flow"),
  group: named("Group"),
  api_key: named("API key"),
  webhook_endpoint: ({ payload, verb }) => sentence("Webhook endpoint", textIn(payload, "url"), verb),
  webhook: ({ payload, type, verb }) => {
    if (type === "webhook.refused") return refused(payload);
    const event = textIn(payload, "event_type");
    const provider = providerNamed(verb);
    return provider && event !== null
      ? `Event ${event} from ${providerName(provider.name)}: ${outcomeOf(payload)}`
      : null;
  },
  sign_in: ({ payload }) => {
    const [email, why] = [textIn(payload, "email"), FAILURES[textIn(payload, "reason") ?? ""]];
    return email === null || why === undefined ? null : `Sign-in of ${email} failed: ${why}`;
  },
  list: ({ payload: { list, count } }) =>
    typeof list === "string" && typeof count === "number"
      ? `File of ${list.replaceAll("_", " ")} exported: ${plural(count, "row")}`
      : null,
};

const PARTNER_VERBS: Partial<Record<string, string>> = {
  created: "added",
  updated: "changed",
  deleted: "deactivated",
  invited: "invited by e-mail",
  signed_in: "signed in",
};

const CODE_VERBS: Partial<Record<string, string>> = { created: "given to", moved: "moved to", deleted: "removed from" };

const FAILURES: Partial<Record<string, string>> = {
  expired: "the link had expired",
  used: "the link had been used before",
  copied: "the passkey may be a copy",
};

function named(noun: string): (event: Described) => string | null {
  return ({ payload, verb }) => sentence(noun, textIn(payload, "name"), verb);
}

function sentence(noun: string, name: string | null, verb: string): string | null {
  return name === null ? null : `${noun} ${name} ${verb === "created" ? "added" : verb}`;
}

/** The change of a commission: its new status, else its flag, else its amount. */
function commissionChange({ payload, changes }: Described): string {
  if (payload["withdrawn"] === true) return "withdrawn";
  if (changes === null || changes === undefined || changes["status"]) return textIn(payload, "status") ?? "changed";
  if (changes["flagged"]) return payload["flagged"] === true ? "flagged" : "flag removed";
  return changes["amount_cents"] ? "recalculated" : "changed";
}

function refused(payload: Event["payload"]): string | null {
  const { provider, reason, count } = payload;
  const why = Object.entries(REFUSAL_TEXTS).find(([one]) => one === reason)?.[1].why;
  const vendor = PROVIDER_NAMES.find((one) => one === provider);
  if (why === undefined || vendor === undefined || typeof count !== "number") return null;
  return `${countText(count)} ${count === 1 ? "delivery" : "deliveries"} of ${providerText(vendor)} refused: ${why}`;
}

/** The outcome of a provider's event in words. */
function outcomeOf(payload: Event["payload"]): string {
  const outcome = textIn(payload, "outcome") ?? "";
  const known = OUTCOMES.find((one) => one === outcome);
  return known ? OUTCOME_TEXTS[known].short : outcome.replaceAll("_", " ");
}

function textIn(payload: Event["payload"], field: PayloadText): string | null {
  const value = payload[field];
  return typeof value === "string" && value !== "" ? value : null;
}

function moneyIn({ amount_cents, currency }: Event["payload"]): string | null {
  if (!Number.isSafeInteger(amount_cents) || typeof currency !== "string") return null;
  return moneyText({ amount_cents: cents(amount_cents as number), currency });
}

/** The payload texts that a summary shows, by importance. */
const IN_SUMMARY = [
  "slug",
  "code",
  "ref",
  "landing",
  "sub",
  "country",
  "name",
  "url",
  "format",
  "list",
  "email",
  "role",
  "device",
] as const satisfies PayloadText[];

/** The partner, else the three most important texts of the payload, after a colon. */
function details(payload: Event["payload"], partner: PartnerName | undefined): string {
  const fields = IN_SUMMARY.flatMap((field) => {
    const value = textIn(payload, field);
    return value === null ? [] : [field === "format" ? formatText(value) : value];
  });
  const texts = partner ? [partnerText(partner), ...fields.filter((text) => text !== partner.slug)] : fields;
  return texts.length === 0 ? "" : `: ${texts.slice(0, 3).join(", ")}`;
}

/** The pages of the ids in payloads, with the names of their links; null if an id has no page. */
const PLACES: Record<Extract<PayloadField, `${string}_id`>, readonly [path: string, label: string] | null> = {
  application_id: ["partners/applications", "Application"],
  commission_id: ["commissions", "Commission"],
  partner_id: ["partners", "Partner"],
  payment_id: ["payments", "Payment"],
  claim_id: ["claims", "Claim"],
  payout_id: ["payouts", "Payout"],
  export_id: null,
  flow_id: ["flows", "Flow"],
  group_id: ["partners/groups", "Group"],
  code_id: null,
  provider_code_id: null,
  endpoint_id: ["webhooks", "Endpoint"],
  destination_id: null,
  event_id: null,
  program_id: null,
  key_id: null,
  member_id: null,
  session_id: null,
  passkey_id: null,
};

/** Links to the pages of the objects in a payload. */
export function eventLinks(payload: Event["payload"]): { label: string; href: string }[] {
  return Object.entries(PLACES).flatMap(([field, place]) => {
    const id = payload[field];
    return place === null || typeof id !== "string" ? [] : [{ label: place[1], href: `/dashboard/${place[0]}/${id}` }];
  });
}

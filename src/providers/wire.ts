import * as z from "zod";
import type { ErrorDetail } from "../lib/errors.ts";
import { keeperAt, type CarriedRef, type KeptBy, type RefPlace } from "../domain/fact.ts";
import { LONGEST_ADDRESS } from "../domain/email.ts";
import { eachSlugOnce } from "../domain/reference.ts";
import type { AttributionFact, CodeUseFact, Fact, ParseResult, ProviderEvent } from "./provider.ts";

/** The content of one vendor event: facts, or a named reason why it is ignored, or why its shape is refused. */
export type Reading = Pick<ProviderEvent, "facts" | "ignored" | "reversed"> | { details: ErrorDetail[] };

/** The envelope of a vendor's event, normalized. */
export interface Envelope {
  event_id: string;
  event_type: string;
  occurred_at: string;
  test: boolean;
}

/** Reads the body of one event type. */
export interface Reader {
  (body: unknown, event: Envelope): Reading;
  /** The reason, for a reader that ignores its events. */
  ignores?: string;
}

/** More complaints about one body are not useful. */
const MAX_DETAILS = 20;

/** Makes a reader of the object at `at` in the body, which refuses objects that do not match `schema`, with paths. */
export function reader<Schema extends z.ZodType>(
  at: readonly string[],
  schema: Schema,
  read: (object: z.output<Schema>, event: Envelope) => Reading,
): Reader {
  return (body, event) => {
    const parsed = schema.safeParse(at.reduce(field, body));
    return parsed.success ? read(parsed.data, event) : { details: detailsOf(parsed.error, at) };
  };
}

/** A reading with the non-null facts. */
export function factsOf(...facts: (Fact | null)[]): Reading {
  return { facts: facts.filter((fact) => fact !== null), ignored: null };
}

/** A reading with the non-null facts, or else with the reason. */
export function factsOr(reason: string, ...facts: (Fact | null)[]): Reading {
  return facts.some((fact) => fact !== null) ? factsOf(...facts) : { facts: [], ignored: reason };
}

/** Makes a reader for events that are deliberately ignored, in any shape. */
export function ignore(reason: string): Reader {
  return Object.assign(() => ({ facts: [], ignored: reason }), { ignores: reason });
}

/** Readers of types that are deliberately ignored, for one reason. */
export function ignoreAll(reason: string, types: readonly string[]): [string, Reader][] {
  return types.map((type) => [type, ignore(reason)]);
}

/** The types whose readers return facts, in the order of the readers. */
export function typesRead(readers: ReadonlyMap<string, Reader>): string[] {
  return [...readers].flatMap(([type, { ignores }]) => (ignores === undefined ? [type] : []));
}

export function refuse(...details: ErrorDetail[]): Reading {
  return { details };
}

/** Parses a body: its envelope, then the reader of its type. Types without a reader are ignored as `unhandled_type`. */
export function parseWith(
  envelope: z.ZodType<Envelope>,
  readers: ReadonlyMap<string, Reader>,
  body: unknown,
): ParseResult {
  const parsed = envelope.safeParse(body);
  if (!parsed.success) return { ok: false, details: detailsOf(parsed.error, []), envelope: null };
  const read = readers.get(parsed.data.event_type) ?? ignore("unhandled_type");
  const reading = read(body, parsed.data);
  if ("details" in reading) return { ok: false, details: reading.details, envelope: parsed.data };
  return { ok: true, event: { ...parsed.data, ...reading } };
}

/** Parses only the envelope of an event that is ignored with any type. */
export function parseIgnored(envelope: z.ZodType<Envelope>, reason: string, body: unknown): ParseResult {
  const parsed = envelope.safeParse(body);
  if (!parsed.success) return { ok: false, details: detailsOf(parsed.error, []), envelope: null };
  return { ok: true, event: { ...parsed.data, facts: [], ignored: reason } };
}

function detailsOf(error: z.ZodError, at: readonly string[]): ErrorDetail[] {
  return error.issues
    .slice(0, MAX_DETAILS)
    .map((issue) => ({ path: [...at, ...issue.path].map(String).join("."), message: issue.message }));
}

/** Whether a text can be stored and found unchanged: no lone surrogate, no NUL. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Longest id or text from a buyer: facts repeat a text several times, and are stored in one parameter (LAW-10). */
const LONGEST_TEXT = 255;

/** A vendor's id. */
export const id = z.string().min(1).max(LONGEST_TEXT).refine(isStorable, "This must be a text of whole characters.");

/** Custom values. Any shape is accepted, because only a reference is read from them. */
export const bag = z.unknown().optional();

/** An id that may be absent, or be expanded as the object it names. */
export const expandableId = z
  .union([id, z.object({ id })], { error: "This must be an id or an object with an id." })
  .nullish()
  .transform((value) => (typeof value === "string" ? value : (value?.id ?? null)));

/** The same with the object's custom values, if it is expanded. */
export const expandable = z
  .union([id.transform((only) => ({ id: only, metadata: undefined })), z.object({ id, metadata: bag })], {
    error: "This must be an id or an object with an id.",
  })
  .nullish()
  .transform((value) => value ?? null);

/** Smallest units, never negative. */
export const amount = z.int().min(0, { abort: true }).brand<"Cents">();

/** Smallest units of either sign. */
export const signedAmount = z.int().brand<"Cents">();

/** ISO 4217 in either case, returned in upper case. Any three letters: a new currency must not lose a payment. */
export const currency = z
  .string()
  .regex(/^[A-Za-z]{3}$/, "This must be a three-letter currency.")
  .transform((code) => code.toUpperCase());

/** A text whose empty form means absence, as do texts that cannot be stored or are too long. */
const textUpTo = (longest: number) =>
  z
    .string()
    .nullish()
    .transform((text) => (text && text.length <= longest && isStorable(text) ? text : null));
export const optionalText = textUpTo(LONGEST_TEXT);

/** An optional e-mail address; too long counts as absent, so that every stored one can be erased. */
export const optionalAddress = textUpTo(LONGEST_ADDRESS);

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Whether the instant's year has four digits in UTC: others do not sort as texts. */
function isSortable(ms: number): boolean {
  return ms >= Date.parse("0000-01-01T00:00:00Z") && ms <= Date.parse("9999-12-31T23:59:59.999Z");
}

/** An RFC 3339 instant of any precision, returned in ISO 8601 with milliseconds, UTC. */
export const instant = z
  .string()
  .refine((text) => RFC_3339.test(text) && isSortable(Date.parse(text)), "This must be an RFC 3339 date and time.")
  .transform((text) => new Date(text).toISOString());

/** The name of a product, if it is a text that cannot contain an address: the list of products outlives a customer. */
export function productName(...parts: (string | null | undefined)[]): string | null {
  const name = [...new Set(parts.filter(Boolean))].join(", ").trim();
  return name === "" || name.includes("@") || name.length > LONGEST_TEXT || !isStorable(name) ? null : name;
}

export function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/**
 * The partner reference in custom values (`service_ref`), exactly as sent. Null for an empty text, and for one that
 * cannot be stored or is longer than 255 characters. A number is returned as text, since owners type slugs like 42
 * without quotes; values of other types are not references.
 */
export function refIn(values: unknown): string | null {
  const ref = field(values, "service_ref");
  return typeof ref === "number" ? String(ref) : (optionalText.safeParse(ref).data ?? null);
}

/** An invoice can have any number of lines, and be paid by any number of payments. */
const MAX_REFS = 20;

/** The non-null references, each slug once, in order. */
export function carriedRefs(...found: [RefPlace, string | null][]): CarriedRef[] {
  const there = found.flatMap(([place, ref]) => (ref === null ? [] : [{ ref, place }]));
  return eachSlugOnce(there).slice(0, MAX_REFS);
}

/** The customer and subscription for which a reference is stored. */
interface Remembered {
  subscription_id: string | null;
  customer_id: string | null;
  /** The vendor ids of the payment that carries it, or of a session without one; null if neither does. */
  payment: readonly string[] | null;
}

/**
 * The attributions for these references, in order: the first that leads to a partner will be stored. Empty if there is
 * neither customer nor subscription. `kept`: the places whose references the subscription or the customer stores.
 */
export function attributionsOf(
  refs: readonly CarriedRef[],
  { subscription_id, customer_id, payment }: Remembered,
  occurred_at: string,
  kept: KeptBy,
): AttributionFact[] {
  if (subscription_id === null && customer_id === null) return [];
  const whose = { subscription_id, customer_id };
  const at = { occurred_at, ...paymentOf(payment) };
  return refs.map(({ ref, place }) => {
    return { kind: "attribution", ...at, ref, ...whose, ...keeperAt(place, whose, kept) };
  });
}

/** The use of these codes, if there are any and there is a customer or subscription. */
export function codeUseOf(
  codes: readonly string[],
  { subscription_id, customer_id, payment }: Remembered,
  occurred_at: string,
): CodeUseFact | null {
  if (codes.length === 0 || (subscription_id === null && customer_id === null)) return null;
  return { kind: "code_use", occurred_at, codes: [...codes], ...paymentOf(payment), subscription_id, customer_id };
}

function paymentOf(ids: Remembered["payment"]): { payment?: string[] } {
  return ids ? { payment: ids.slice(0, MAX_REFS) } : {};
}

/** The codes field of a payment's fact, in order; absent if it carries no code. */
export function carriedCodes(ids: readonly (string | null | undefined)[]): { codes?: string[] } {
  const codes = aliasesOf(...ids).slice(0, MAX_REFS);
  return codes.length === 0 ? {} : { codes };
}

/** The non-null ids, each once, in order. */
export function aliasesOf(...ids: (string | null | undefined)[]): string[] {
  return [...new Set(ids.filter((alias) => typeof alias === "string"))];
}

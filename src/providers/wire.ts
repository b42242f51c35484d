import * as z from "zod";
import type { ErrorDetail } from "../lib/errors.ts";
import { keeperAt, type CarriedRef, type KeptBy, type RefPlace } from "../domain/fact.ts";
import { LONGEST_ADDRESS } from "../domain/email.ts";
import { eachSlugOnce } from "../domain/reference.ts";
import type { AttributionFact, CodeUseFact, Fact, ParseResult } from "./provider.ts";

/** What one vendor event says: facts, or a named reason why it says nothing here, or why its shape is refused. */
export type Reading = { facts: Fact[]; ignored: string | null } | { details: ErrorDetail[] };

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
  /** Of one that reads nothing: why. */
  ignores?: string;
}

/** More complaints than this about one body help nobody. */
const MAX_DETAILS = 20;

/** A reader of the object at `at` in the body, which refuses, with paths, every one that is not of `schema`. */
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

/** The facts that are there. */
export function factsOf(...facts: (Fact | null)[]): Reading {
  return { facts: facts.filter((fact) => fact !== null), ignored: null };
}

/** The facts that are there, or, when there are none, the reason for it. */
export function factsOr(reason: string, ...facts: (Fact | null)[]): Reading {
  return facts.some((fact) => fact !== null) ? factsOf(...facts) : { facts: [], ignored: reason };
}

/** A reader for events that are deliberately not used, whatever their shape. */
export function ignore(reason: string): Reader {
  return Object.assign(() => ({ facts: [], ignored: reason }), { ignores: reason });
}

/** Readers of types that are deliberately not used, for one reason. */
export function ignoreAll(reason: string, types: readonly string[]): [string, Reader][] {
  return types.map((type) => [type, ignore(reason)]);
}

/** The types that something is read of, in the order of their readers. */
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

/** Parses the envelope alone, of an event that is ignored for one reason whatever its type. */
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

/** Whether a text can be stored and found again as it is: no lone surrogate, no NUL. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Of ids, and of all that a buyer can write: facts hold a text several times, and are stored in one parameter (LAW-10). */
const LONGEST_TEXT = 255;

/** A vendor's id. */
export const id = z.string().min(1).max(LONGEST_TEXT).refine(isStorable, "This must be a text of whole characters.");

/** Custom values. Whatever is there, only a reference is looked for, so no shape of it is refused. */
export const bag = z.unknown().optional();

/** An id that may be absent, or be expanded as the object it names. */
export const expandableId = z
  .union([id, z.object({ id })], { error: "This must be an id or an object with an id." })
  .nullish()
  .transform((value) => (typeof value === "string" ? value : (value?.id ?? null)));

/** The same with the custom values of the object, where it is expanded. */
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

/** ISO 4217 in either case, given upper. Any three letters: a currency that is new must not lose a payment. */
export const currency = z
  .string()
  .regex(/^[A-Za-z]{3}$/, "This must be a three-letter currency.")
  .transform((code) => code.toUpperCase());

/** A text of which the empty form means absence; so does one that cannot be stored, or is longer than any. */
const textUpTo = (longest: number) =>
  z
    .string()
    .nullish()
    .transform((text) => (text && text.length <= longest && isStorable(text) ? text : null));
export const optionalText = textUpTo(LONGEST_TEXT);

/** An e-mail address that may be absent; one that is longer than any is none, so each that is stored can be erased. */
export const optionalAddress = textUpTo(LONGEST_ADDRESS);

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Whether it is an instant of a year of four digits, in UTC: others do not sort as texts. */
function isSortable(ms: number): boolean {
  return ms >= Date.parse("0000-01-01T00:00:00Z") && ms <= Date.parse("9999-12-31T23:59:59.999Z");
}

/** An RFC 3339 instant of any precision, given in ISO 8601 with milliseconds, UTC. */
export const instant = z
  .string()
  .refine((text) => RFC_3339.test(text) && isSortable(Date.parse(text)), "This must be an RFC 3339 date and time.")
  .transform((text) => new Date(text).toISOString());

/** The field of a value that may be anything; undefined when there is none. */
export function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/**
 * The partner reference in a bag of custom values (`service_ref`), exactly as sent. An empty text is no reference, nor
 * is one that cannot be stored or is longer than 255 characters; a number is its text, since owners type slugs like 42 without quotes; values of other
 * types are not references.
 */
export function refIn(values: unknown): string | null {
  const ref = field(values, "service_ref");
  return typeof ref === "number" ? String(ref) : (optionalText.safeParse(ref).data ?? null);
}

/** An invoice has as many lines, and was paid by as many payments, as its owner likes. */
const MAX_REFS = 20;

/** The references that are there, each slug once, in order. */
export function carriedRefs(...found: [RefPlace, string | null][]): CarriedRef[] {
  const there = found.flatMap(([place, ref]) => (ref === null ? [] : [{ ref, place }]));
  return eachSlugOnce(there).slice(0, MAX_REFS);
}

/** The customer and subscription that something is to be remembered for. */
interface Remembered {
  subscription_id: string | null;
  customer_id: string | null;
  /** The vendor ids of the payment, or of the session without one, that says it; null where none does. */
  payment: readonly string[] | null;
}

/**
 * What is to be remembered of these references, in their order: the first that leads to a partner will be. Nothing
 * where there is no one to remember it for. `kept`: where they are found that the subscription or the customer keeps.
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

/** The codes to be remembered, if there are any and someone to remember them for. */
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

/** The codes that a payment carries, in order, if it carries any, as in its fact. */
export function carriedCodes(ids: readonly (string | null | undefined)[]): { codes?: string[] } {
  const codes = aliasesOf(...ids).slice(0, MAX_REFS);
  return codes.length === 0 ? {} : { codes };
}

/** The ids that are there, each once, in order. */
export function aliasesOf(...ids: (string | null | undefined)[]): string[] {
  return [...new Set(ids.filter((alias) => typeof alias === "string"))];
}

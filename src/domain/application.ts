/** Applications to become a partner of a program (JOIN-1 to JOIN-8). */
import { DAY_MS } from "./duration.ts";
import { foldSearch } from "./partner.ts";

/** The lifetime of the link that verifies an address, and of an application whose address is not verified (JOIN-3). */
export const UNPROVED_FOR_MS = DAY_MS;

export const APPLICATION_MODES = ["off", "review", "auto"] as const;
/** Whether a program takes applications, and whether each becomes a partner at once. */
export type ApplicationMode = (typeof APPLICATION_MODES)[number];

export const APPLICATION_STATUSES = ["pending", "approved", "declined"] as const;
export type ApplicationStatus = (typeof APPLICATION_STATUSES)[number];

/** The owner's decisions. */
export type ApplicationDecision = Exclude<ApplicationStatus, "pending">;

/** A program's name in the address of its application page; no program id has this form. */
export const PROGRAM_SLUG_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;

export const MAX_QUESTIONS = 10;
export const MAX_QUESTION = 200;
export const MAX_ANSWER = 2_000;
export const MAX_TERMS = 10_000;

/** One of the program's own questions with the answer, which is empty if the applicant left it out. */
export interface Answer {
  question: string;
  answer: string;
}

const OPTIONAL = "(optional)";

/** Splits an own question into its label and whether it is required: it is unless its text ends with "(optional)". */
export function readQuestion(text: string): { label: string; required: boolean } {
  const required = !text.toLowerCase().endsWith(OPTIONAL);
  const label = required ? text : text.slice(0, -OPTIONAL.length).trimEnd();
  return { label: label || text, required };
}

/** Splits a person's name into first and last name: the last word is the last name. */
export function namesOf(name: string): { first_name: string; last_name: string | null } {
  const words = name.trim().split(/\s+/);
  const last = words.length > 1 ? words.pop()! : null;
  return { first_name: words.join(" "), last_name: last };
}

/** The most characters of a slug made from a name: with a number appended it is still short enough to type. */
const SLUG_STEM = 40;

/** The stem of a new partner's slug: the name in plain letters, else the local part of the address. */
export function slugStem(name: string, email: string): string {
  return slugWords(name) || slugWords(email.slice(0, email.indexOf("@"))) || "partner";
}

/** Placeholders that careless code writes if it has no reference, as words of a slug. */
const CARELESS = new Set(
  "null undefined none nil nan na void empty unknown anonymous true false object default direct ref".split(" "),
);

/**
 * Whether a slug looks like a number of a shop or a placeholder: a partner with it would earn on others' sales
 * (JOIN-6).
 */
export function isPlaceholderSlug(slug: string): boolean {
  return slug.split("-").every((word) => /^[0-9]+$/.test(word) || CARELESS.has(word));
}

function slugWords(text: string): string {
  const words = foldSearch(text)
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  const [first = "", ...rest] = words;
  return rest.reduce((slug, word) => (slug.length > SLUG_STEM ? slug : `${slug}-${word}`), first).slice(0, SLUG_STEM);
}

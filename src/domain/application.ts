/** People who ask to become partners of a program (JOIN-1 to JOIN-8). */
import { DAY_MS } from "./duration.ts";
import { foldSearch } from "./partner.ts";

/** So long the link in the e-mail works that proves an address, and what was sent is kept without it (JOIN-3). */
export const UNPROVED_FOR_MS = DAY_MS;

export const APPLICATION_MODES = ["off", "review", "auto"] as const;
/** Whether a program takes applications, and whether each becomes a partner at once. */
export type ApplicationMode = (typeof APPLICATION_MODES)[number];

export const APPLICATION_STATUSES = ["pending", "approved", "declined"] as const;
export type ApplicationStatus = (typeof APPLICATION_STATUSES)[number];

/** What an owner decides. */
export type ApplicationDecision = Exclude<ApplicationStatus, "pending">;

/** The name of a program in the address of its page for applications; no id of a program has this form. */
export const PROGRAM_SLUG_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;

export const MAX_QUESTIONS = 10;
export const MAX_QUESTION = 200;
export const MAX_ANSWER = 2_000;
export const MAX_TERMS = 10_000;

/** A question of the program's own, and what was answered; empty where it was left out. */
export interface Answer {
  question: string;
  answer: string;
}

const OPTIONAL = "(optional)";

/** An own question as its form shows it: it must be answered unless its text ends with "(optional)". */
export function readQuestion(text: string): { label: string; required: boolean } {
  const required = !text.toLowerCase().endsWith(OPTIONAL);
  const label = required ? text : text.slice(0, -OPTIONAL.length).trimEnd();
  return { label: label || text, required };
}

/** A person's name as a partner's two: the last word is the last name. */
export function namesOf(name: string): { first_name: string; last_name: string | null } {
  const words = name.trim().split(/\s+/);
  const last = words.length > 1 ? words.pop()! : null;
  return { first_name: words.join(" "), last_name: last };
}

/** What a slug made of a name has at most: with a number after it, it is still short enough to be typed. */
const SLUG_STEM = 40;

/** How the slug of a new partner begins: the name in plain letters, else the address before its @. */
export function slugStem(name: string, email: string): string {
  return plain(name) || plain(email.slice(0, email.indexOf("@"))) || "partner";
}

/** What careless code writes where it has no reference to name, in the words of a slug. */
const CARELESS = new Set(
  "null undefined none nil nan na void empty unknown anonymous true false object default direct ref".split(" "),
);

/**
 * True of a slug that references carry which lead to nobody: a number, as shops have of their own customers, or a word that
 * careless code writes. What names a partner by chance would earn on all of them (JOIN-6).
 */
export function namesNobody(slug: string): boolean {
  return slug.split("-").every((word) => /^[0-9]+$/.test(word) || CARELESS.has(word));
}

function plain(text: string): string {
  const words = foldSearch(text)
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  const [first = "", ...rest] = words;
  return rest.reduce((slug, word) => (slug.length > SLUG_STEM ? slug : `${slug}-${word}`), first).slice(0, SLUG_STEM);
}

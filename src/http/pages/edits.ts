/** Edit forms send their original content along, so that concurrent changes by others are not lost (PAGE-30). */
import type { Context } from "hono";
import { readLastChange, type ChangedObject } from "../../core/events/last-change.ts";
import { StaleChange, type Shown } from "../../core/kernel/stale.ts";
import type { Actor } from "../../domain/actor.ts";
import type { PageEnv } from "../session.ts";
import { problemsOf, type FormFields, type Problems } from "./forms.ts";

/** The form field with the form's original content. */
export const SHOWN_FIELD = "shown";

/** An edit form: its columns, their displayed texts, and the event that records a change. */
export interface EditForm<Row> {
  columns: (row: Row) => Shown;
  texts: (row: Row) => Readonly<Record<string, unknown>>;
  changes: (row: Row) => ChangedObject;
}

/** An edit form on the page: just opened, or again with its input. */
export interface Edit<Row> {
  row: Row;
  shown: Shown;
  /** The input; fields that it lacks show the row's values. */
  fields?: FormFields | undefined;
  problems?: Problems | undefined;
}

export function openEdit<Row>(form: EditForm<Row>, row: Row): Edit<Row> {
  return { row, shown: form.columns(row) };
}

/** The form as it was sent. The verb's `shown` is the form's original content, if it is included. */
export function sentEdit<Row>(
  form: EditForm<Row>,
  row: Row,
  fields: FormFields,
): Edit<Row> & { fields: FormFields; sent: Shown | undefined } {
  const sent = readShown(fields);
  return { row, fields, sent, shown: sent ?? form.columns(row) };
}

/**
 * Shows a refused form again. Changes of others to the same row are merged: fields that the sender left alone are
 * current, and a field that both changed also shows the other value; sent again, the sender's wins. Rethrows errors
 * that the person cannot correct.
 */
export async function refusedEdit<Row extends object>(
  c: Context<PageEnv>,
  form: EditForm<Row>,
  edit: Edit<Row> & { fields: FormFields },
  thrown: unknown,
): Promise<Edit<Row>> {
  if (!(thrown instanceof StaleChange)) return { ...edit, problems: problemsOf(thrown) };
  const row = thrown.stored as Row;
  const changed = new Set(thrown.changed);
  const fields = edit.fields.only((name) => !(name in edit.shown) || changed.has(name));
  return { row, fields, shown: form.columns(row), problems: await conflict(c, form, row, thrown) };
}

async function conflict<Row>(c: Context<PageEnv>, form: EditForm<Row>, row: Row, { conflicts }: StaleChange) {
  const by = whoText(c, await readLastChange(c.var.ctx, form.changes(row), conflicts));
  const texts = form.texts(row);
  const meanwhile = Object.fromEntries(conflicts.map((name) => [name, { value: textOf(texts[name]), by }]));
  return {
    message: `Changed by ${by ?? "somebody"} while you were editing. Your input below is not saved yet: check the marked fields, then save again.`,
    fields: Object.fromEntries(conflicts.map((name) => [name, meanwhileText(textOf(texts[name]), by)])),
    meanwhile,
  };
}

/** The text beside a field that somebody else changed. */
export function meanwhileText(value: string, by: string | null): string {
  return `Changed to ${value === "" ? "nothing" : `“${value}”`}${by === null ? "" : ` by ${by}`}.`;
}

/** Partners do not see which team member it was. */
function whoText(c: Context<PageEnv>, actor: Actor | null): string | null {
  if (actor === null) return null;
  const { session } = c.var;
  if (actor.type === "member" && actor.id === session.record.email) return "you in another window";
  if (session.partner) return actor.type === "partner" ? "you" : session.program.name;
  if (actor.type === "api_key") return "an API key";
  if (actor.type === "cron" || actor.type === "operator") return "this service";
  return actor.name;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  if (typeof value === "object" && value !== null) return Object.values(value).map(textOf).join(" ");
  if (typeof value === "boolean") return value ? "on" : "off";
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** The original content that a form includes; undefined if it is missing or malformed. */
export function readShown(fields: FormFields): Shown | undefined {
  try {
    const shown: unknown = JSON.parse(fields.text(SHOWN_FIELD));
    if (typeof shown !== "object" || shown === null || Array.isArray(shown)) return undefined;
    return isWithinDepth(shown, MAX_DEPTH) ? (shown as Shown) : undefined;
  } catch {
    return undefined;
  }
}

/** More than any column has. The runtime compares deeper values in quadratic time, or not at all. */
const MAX_DEPTH = 16;

function isWithinDepth(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.keys(value).every((name) => isWithinDepth((value as Shown)[name], depth - 1));
}

/** Forms that change something: what was shown goes with them, so that a change of others in between is kept (PAGE-30). */
import type { Context } from "hono";
import { readLastChange, type ChangedObject } from "../../core/events/last-change.ts";
import { StaleChange, type Shown } from "../../core/kernel/stale.ts";
import type { Actor } from "../../domain/actor.ts";
import type { PageEnv } from "../session.ts";
import { problemsOf, type FormFields, type Problems } from "./forms.ts";

/** The field of a form that holds what it showed. */
export const SHOWN_FIELD = "shown";

/** What a form changes: the columns that it has fields for, the texts that they show, and how a change of it is recorded. */
export interface EditForm<Row> {
  columns: (row: Row) => Shown;
  texts: (row: Row) => Readonly<Record<string, unknown>>;
  changes: (row: Row) => ChangedObject;
}

/** A form that is shown: opened, or again with what was typed. */
export interface Edit<Row> {
  row: Row;
  shown: Shown;
  /** What was typed; of what it lacks the row is shown. */
  fields?: FormFields | undefined;
  problems?: Problems | undefined;
}

/** The form of a row as it is opened. */
export function openEdit<Row>(form: EditForm<Row>, row: Row): Edit<Row> {
  return { row, shown: form.columns(row) };
}

/** The form as it was sent. `shown` of the verb is what it showed, where it says so. */
export function sentEdit<Row>(
  form: EditForm<Row>,
  row: Row,
  fields: FormFields,
): Edit<Row> & { fields: FormFields; sent: Shown | undefined } {
  const sent = shownIn(fields);
  return { row, fields, sent, shown: sent ?? form.columns(row) };
}

/**
 * The form again, for a change that was refused. If somebody else changed the same meanwhile, it has what both made of it: fields
 * that the sender left alone are as they are now, the others as they were typed, and at those that both changed is what the other
 * made of them. Sent again, what was typed counts. Anything that cannot be corrected is thrown on.
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
    message: `${capitalized(by ?? "somebody")} changed this while you were editing. What you typed is below and is not saved: look at the marked fields, then save again to keep yours.`,
    fields: Object.fromEntries(conflicts.map((name) => [name, meanwhileText(textOf(texts[name]), by)])),
    meanwhile,
  };
}

function capitalized(name: string): string {
  return /^(?:an|this|you|somebody)\b/.test(name) ? name.charAt(0).toUpperCase() + name.slice(1) : name;
}

/** The text beside a field that somebody else changed. */
export function meanwhileText(value: string, by: string | null): string {
  return `Changed meanwhile to ${value === "" ? "nothing" : `“${value}”`}${by === null ? "" : ` by ${by}`}.`;
}

/** A partner does not see which member of the team it was. */
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

/** What a form says that it showed; undefined if it says nothing that can be read. */
export function shownIn(fields: FormFields): Shown | undefined {
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

/** What a posted form does: it is read and judged, a verb is run, and the reply leads on or shows the form again. */
import type { Context } from "hono";
import type * as z from "zod";
import type { PageEnv } from "../session.ts";
import { refusedEdit, sentEdit, type Edit, type EditForm } from "./edits.ts";
import { FormFields, parseInput, problemsOf, type Problems } from "./forms.ts";

/** A form as it was sent, and what is wrong with it. */
export interface Sent {
  fields: FormFields;
  problems?: Problems | undefined;
}

type Reply = Response | Promise<Response>;

/** Where a form leads that was carried out: an address, or the page that answers it. */
type Outcome = string | Reply;

export async function sentFields(c: Context<PageEnv>): Promise<FormFields> {
  return new FormFields(await c.req.formData());
}

interface Act<Schema extends z.ZodType> {
  schema: Schema;
  /** What was typed, as the schema takes it. */
  input: (fields: FormFields) => unknown;
  /** Does it, and says where the form leads. */
  verb: (value: z.output<Schema>, fields: FormFields) => Promise<Outcome>;
  /** The form again, with what was typed. */
  page: (sent: Sent & { problems: Problems }) => Reply;
  /** What is wrong for a thrown error; what the person cannot correct is thrown on. */
  refuse?: (thrown: unknown) => Problems;
}

/** Carries a posted form out, or shows it again with what is wrong. */
export async function act<Schema extends z.ZodType>(
  c: Context<PageEnv>,
  { schema, input, verb, page, refuse = problemsOf }: Act<Schema>,
): Promise<Response> {
  const fields = await sentFields(c);
  const parsed = parseInput(schema, input(fields));
  if (!parsed.ok) return page({ fields, problems: parsed.problems });
  try {
    return await led(c, await verb(parsed.value, fields));
  } catch (error) {
    return page({ fields, problems: refuse(error) });
  }
}

/** Runs the verb of a button, or of a page that asks first; `page` says why it was refused. */
export async function press(
  c: Context<PageEnv>,
  verb: () => Promise<Outcome>,
  page: (problems: Problems) => Reply,
): Promise<Response> {
  try {
    return await led(c, await verb());
  } catch (error) {
    return page(problemsOf(error));
  }
}

interface Change<Row, Schema extends z.ZodType> {
  form: EditForm<Row>;
  row: Row;
  schema: Schema;
  input: (fields: FormFields) => unknown;
  /** Does it: `edit.sent` is what the form showed, for the verb to compare. */
  verb: (value: z.output<Schema>, edit: ReturnType<typeof sentEdit<Row>>) => Promise<Outcome>;
  page: (edit: Edit<Row>) => Reply;
}

/** The same for a form that changes a row: a change of somebody else meanwhile is shown, not lost (PAGE-30). */
export async function change<Row extends object, Schema extends z.ZodType>(
  c: Context<PageEnv>,
  { form, row, schema, input, verb, page }: Change<Row, Schema>,
): Promise<Response> {
  const edit = sentEdit(form, row, await sentFields(c));
  // Back from the page that shows what would change.
  if (edit.fields.has("back")) return page(edit);
  const parsed = parseInput(schema, input(edit.fields));
  if (!parsed.ok) return page({ ...edit, problems: parsed.problems });
  try {
    return await led(c, await verb(parsed.value, edit));
  } catch (error) {
    return page(await refusedEdit(c, form, edit, error));
  }
}

async function led(c: Context<PageEnv>, outcome: Outcome): Promise<Response> {
  return typeof outcome === "string" ? c.redirect(outcome, 303) : outcome;
}

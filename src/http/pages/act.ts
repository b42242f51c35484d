/** Handles a posted form: parses and validates it, runs a verb, and redirects or shows the form again. */
import type { Context } from "hono";
import type * as z from "zod";
import type { PageEnv } from "../session.ts";
import { refusedEdit, sentEdit, type Edit, type EditForm } from "./edits.ts";
import { FormFields, parseInput, problemsOf, type Problems } from "./forms.ts";

/** A form as it was sent, and its problems. */
export interface Sent {
  fields: FormFields;
  problems?: Problems | undefined;
}

type Reply = Response | Promise<Response>;

/** The result of a form: an address to redirect to, or a page. */
type Outcome = string | Reply;

export async function sentFields(c: Context<PageEnv>): Promise<FormFields> {
  return new FormFields(await c.req.formData());
}

interface Act<Schema extends z.ZodType> {
  schema: Schema;
  /** Maps the form's fields to the schema's input. */
  input: (fields: FormFields) => unknown;
  /** Runs the verb and returns the result of the form. */
  verb: (value: z.output<Schema>, fields: FormFields) => Promise<Outcome>;
  /** Shows the form again with its input. */
  page: (sent: Sent & { problems: Problems }) => Reply;
  /** Turns a thrown error into problems; rethrows one that the person cannot correct. */
  refuse?: (thrown: unknown) => Problems;
}

/** Carries out a posted form, or shows it again with its problems. */
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

/** Runs the verb of a button, or of a confirmation page; `page` shows the reason of a refusal. */
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
  /** Runs the verb; `edit.sent` is the form's original content, for the verb to compare. */
  verb: (value: z.output<Schema>, edit: ReturnType<typeof sentEdit<Row>>) => Promise<Outcome>;
  page: (edit: Edit<Row>) => Reply;
}

/** Like `act` for a form that changes a row: a concurrent change by somebody else is shown, not lost (PAGE-30). */
export async function change<Row extends object, Schema extends z.ZodType>(
  c: Context<PageEnv>,
  { form, row, schema, input, verb, page }: Change<Row, Schema>,
): Promise<Response> {
  const edit = sentEdit(form, row, await sentFields(c));
  // The person comes back from the preview page.
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

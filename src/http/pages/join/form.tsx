import { SLUG_PATTERN } from "../../../domain/partner.ts";
import * as z from "zod";
import type { ApplicationInput, FormStamp } from "../../../core/applications/apply.ts";
import type { Program } from "../../../core/kernel/rows.ts";
import { MAX_ANSWER, readQuestion } from "../../../domain/application.ts";
import { constantTimeEqualText, hmacSha256, randomToken, toHex } from "../../../lib/crypto.ts";
import { DAY, iso, SECOND } from "../../../lib/time.ts";
import { email, text } from "../../../resources/input.ts";
import { parseInput, type FormFields, type Parsed, type Problems } from "../forms.ts";
import { Checkbox, Field, Form, TextArea } from "../parts/form.tsx";
import { isVisible } from "../../../domain/visible.ts";

/** A field that people do not see: only a bot fills it in. */
export const TRAP = "contact_hours";
export const STAMP_FIELD = "opened";

/** A person needs longer to read and fill in the form. */
const FILLED_WITHIN_MS = 2 * SECOND;
const OPEN_FOR_MS = DAY;
const MAX_WEBSITE = 300;

/** The content that a form's stamp signs: it is invalid in another visit, and after the questions change. */
export interface StampedForm {
  /** The deployment's secret. */
  key: string;
  /** The token of the visit's forms. */
  visit: string;
  program: Program;
}

/** A stamp of a form opened now (ms): signed, so that its time is true, and valid once. */
export async function newStamp(form: StampedForm, now: number): Promise<string> {
  return stampFor(form, now, randomToken(NONCE_BYTES));
}

async function stampFor({ key, visit, program }: StampedForm, opened_at: number, nonce: string): Promise<string> {
  const { id, questions, terms_version } = program;
  const signed = JSON.stringify(["join form", visit, id, questions, terms_version, opened_at, nonce]);
  return `${opened_at}.${nonce}.${toHex(await hmacSha256(key, signed))}`;
}

const NONCE_BYTES = 16;
const STAMP = /^(\d{1,15})\.([\w-]{22})\./;

export type StampReading = { state: "good"; stamp: FormStamp } | { state: "early" | "out_of_date" };

/** Reads the stamp of a sent form. A repeated use is detected when the form is stored. */
export async function readStamp(form: StampedForm, text: string, now: number): Promise<StampReading> {
  const [, opened = "", nonce = ""] = STAMP.exec(text) ?? [];
  const opened_at = Number(opened);
  const isSigned = await constantTimeEqualText(text, await stampFor(form, opened_at, nonce));
  if (!isSigned || opened_at + OPEN_FOR_MS < now) return { state: "out_of_date" };
  if (opened_at + FILLED_WITHIN_MS > now) return { state: "early" };
  return { state: "good", stamp: { nonce, expires_at: iso(opened_at + OPEN_FOR_MS) } };
}

/** A web address, with or without its scheme. */
const website = text(MAX_WEBSITE).transform((value, issues) => {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:/i.test(value) ? value : `https://${value}`);
  const isWeb = url && /^https?:$/.test(url.protocol) && url.hostname.includes(".") && url.username === "";
  if (isWeb && url.href.length <= MAX_WEBSITE) return url.href;
  issues.addIssue({ code: "custom", message: "This must be a web address, such as www.example.com." });
  return z.NEVER;
});

/** The input for a form that is shown again. */
export type JoinValues = Record<string, string>;

const answerName = (i: number) => `answer_${i}`;

/** The group of the link to the form, by slug. */
export const GROUP_FIELD = "group";

export function joinValues(program: Program, fields?: FormFields): JoinValues {
  const names = ["name", "email", "website", ...(program.questions ?? []).map((_, i) => answerName(i))];
  const values = names.map((name) => [name, fields?.raw(name) ?? ""]);
  return {
    [GROUP_FIELD]: fields?.raw(GROUP_FIELD) ?? "",
    ...(Object.fromEntries(values) as JoinValues),
    terms: fields?.isTicked("terms") ? "on" : "",
  };
}

/** The sent form, parsed for the program's questions. */
export function readForm(program: Program, fields: FormFields): Parsed<ApplicationInput> {
  const questions = (program.questions ?? []).map((question) => ({ question, ...readQuestion(question) }));
  // The list of problems links to each field, so each problem must name its field.
  const answers = Object.fromEntries(
    questions.map(({ required, label }, i) => [
      answerName(i),
      text(MAX_ANSWER, 0).refine((answer) => !required || answer !== "", `Please answer: ${label}`),
    ]),
  );
  const schema = z.object({
    name: text(200, 0).refine(isVisible, "Enter your name."),
    email,
    website: website.nullable(),
    terms: z.boolean().refine((agreed) => agreed || program.terms === null, "Please agree to the terms to apply."),
    ...answers,
  });
  const given = questions.map((_, i) => [answerName(i), fields.raw(answerName(i)).trim()]);
  const parsed = parseInput(schema, {
    name: fields.text("name"),
    email: fields.text("email"),
    website: fields.text("website") || null,
    terms: fields.isTicked("terms") ?? false,
    ...Object.fromEntries(given),
  });
  if (!parsed.ok) return parsed;
  const { value } = parsed;
  const answered = value as Record<string, unknown>;
  return {
    ok: true,
    value: {
      ...{ name: value.name, email: value.email, website: value.website },
      answers: questions.map(({ label }, i) => ({ question: label, answer: String(answered[answerName(i)]) })),
      terms_version: program.terms === null ? null : program.terms_version,
      group_slug: groupIn(fields.text(GROUP_FIELD)),
    },
  };
}

/** A slug, or null: a link's parameter is not the person's mistake. */
function groupIn(slug: string): string | null {
  return SLUG_PATTERN.test(slug) ? slug : null;
}

interface JoinFormProps {
  program: Program;
  values: JoinValues;
  stamp: string;
  problems: Problems | undefined;
}

export function JoinForm({ program, values, stamp, problems }: JoinFormProps) {
  return (
    <Form class="stack" problems={problems} values={values}>
      <input type="hidden" name={STAMP_FIELD} value={stamp} />
      <input type="hidden" name={GROUP_FIELD} value={values[GROUP_FIELD]} />
      <Field name="name" label="Your name" required={true} autocomplete="name" maxlength={200} />
      <Field
        name="email"
        label="E-mail address"
        type="email"
        required={true}
        autocomplete="email"
        inputmode="email"
        maxlength={254}
        hint="We send you a link to confirm it."
      />
      <Field
        name="website"
        label="Website or profile"
        autocomplete="url"
        inputmode="url"
        maxlength={MAX_WEBSITE}
        placeholder="www.example.com"
      />
      {(program.questions ?? []).map((question, i) => (
        <TextArea {...{ name: answerName(i), ...readQuestion(question) }} maxlength={MAX_ANSWER} />
      ))}
      <div class="visually-hidden" aria-hidden="true">
        <label for="f-trap">Leave this empty</label>
        <input id="f-trap" name={TRAP} tabindex={-1} autocomplete="off" />
      </div>
      {program.terms === null ? null : <Terms text={program.terms} checked={values["terms"] === "on"} />}
      <button type="submit" class="primary wide">
        Apply
      </button>
    </Form>
  );
}

function Terms({ text: terms, ...box }: { text: string; checked: boolean }) {
  return (
    <>
      <div class="terms" role="region" aria-label="Terms" tabindex={0}>
        {terms}
      </div>
      <Checkbox name="terms" label="I have read these terms and agree to them." {...box} />
    </>
  );
}

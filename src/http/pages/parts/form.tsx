import { createContext, raw, render, useContext, type Child } from "../../jsx.ts";
import { CsrfField, classes, type Children } from "../page.tsx";
import type { Shown } from "../../../core/kernel/stale.ts";
import { meanwhileText, SHOWN_FIELD } from "../edits.ts";
import { CHECK_FIELDS, FormFields, type Problems } from "../forms.ts";
import type { Place } from "../layout.tsx";
import { ProveFirst, useSending } from "../rights.tsx";

/** The values of a form's fields: the input, or an object by name. */
export type Values = FormFields | object | null;

interface FormState {
  values?: Values | undefined;
  problems?: Problems | undefined;
}

const StateContext = createContext<FormState>({});

/** Provides the values and problems of the fields inside; a field's own value wins. */
export function FieldsOf({ values, problems, children }: Children & FormState) {
  return <StateContext.Provider value={{ values, problems }}>{children}</StateContext.Provider>;
}

export function useProblems(): Problems | undefined {
  return useContext(StateContext).problems;
}

/** The value of a field in the surrounding form. */
export function useValue(name: string): string | null | undefined {
  return valueIn(useContext(StateContext).values, name);
}

interface FormProps extends Children {
  action?: string | undefined;
  problems?: Problems | undefined;
  values?: Values | undefined;
  /** Needed if a field is a file. */
  multipart?: boolean;
  /** Members who may not send it see the values, and cannot change them. */
  readable?: boolean;
  /** The original content for `edits.ts`. */
  shown?: Shown | undefined;
  /** The script shows the reply in the page's `PreviewPlace` while the form is filled in. */
  preview?: boolean;
  /** The purpose in words, if it needs a fresh proof: "make a key". */
  to?: string;
  class?: string;
  /** Its id, so that controls outside of it can belong to it. */
  id?: string;
  /** The script updates the sentence while the form is filled in. */
  live?: boolean;
}

/**
 * A form that posts, with its token and problems. Hidden without the right (TEAM-1): `action` if such members see its
 * page. A missing fresh proof replaces it by a link (PROOF-3).
 */
export function Form({ action, problems, values, multipart, readable, preview, live, shown, to, ...rest }: FormProps) {
  const sending = useSending(action);
  const children = <FieldsOf {...{ values, problems }}>{rest.children}</FieldsOf>;
  if (sending === "unproven") {
    return (
      <div class={rest.class}>
        <ProveFirst to={to} />
      </div>
    );
  }
  if (sending === "forbidden") {
    if (!readable) return null;
    return (
      <fieldset class={classes("read-only", rest.class)} disabled={true}>
        {children}
      </fieldset>
    );
  }
  const fields = problems ? render(children) : null;
  return (
    <form
      method="post"
      action={action}
      class={rest.class}
      id={rest.id}
      enctype={multipart ? "multipart/form-data" : undefined}
      novalidate={true}
      data-preview={preview ? "" : undefined}
      data-live={live ? "" : undefined}
    >
      <CsrfField />
      {shown === undefined ? null : <input type="hidden" name={SHOWN_FIELD} value={JSON.stringify(shown)} />}
      {problems && fields !== null ? <ProblemSummary problems={problems} fields={fields} /> : null}
      {fields === null ? children : raw(fields)}
    </form>
  );
}

/**
 * The first button of a form whose rows have buttons: a browser presses the first one for Enter in any field, which
 * would decide about the first row. This one sends no decision, and the form's own address refuses that.
 */
export function EnterButton() {
  return <button type="submit" class="visually-hidden" tabindex={-1} aria-hidden="true" />;
}

/** The summary of problems, for screen readers, linked to their fields. Those without one in `fields` show here. */
function ProblemSummary({ problems, fields }: { problems: Problems; fields: string }) {
  const all = Object.entries(problems.fields);
  const [marked, others] = [all.filter((one) => isSaidIn(fields, one)), all.filter((one) => !isSaidIn(fields, one))];
  return (
    <div class="notice bad" role="alert">
      <div>
        {problems.message === CHECK_FIELDS && marked.length === 0 ? null : <p>{problems.message}</p>}
        {others.map(([, message]) => (
          <p>{message}</p>
        ))}
        {marked.length > 1 ? (
          <ul>
            {marked.map(([name, message]) => (
              <li>
                <a href={`#${fieldId(name)}`}>
                  {problems.meanwhile?.[name] === undefined ? message : `Changed: ${nameText(name)}`}
                </a>
              </li>
            ))}
          </ul>
        ) : null}
      </div>
    </div>
  );
}

/** The name of a field without a label, in words. */
function nameText(name: string): string {
  return name.replace(/_(?:cents|pct)$/, "").replaceAll("_", " ");
}

/** Whether a problem shows in the fields: at its own, one that contains it (`events.0`), or as a text. */
function isSaidIn(fields: string, [name, message]: [string, string]): boolean {
  const ids = [name, name.split(".", 1).join()].map((part) => `id="${fieldId(part)}-problem"`);
  return [...ids, render(message)].some((text) => fields.includes(text));
}

interface FieldProps {
  name: string;
  /** Distinguishes this field from others with the same name, if a page has several forms. */
  id?: string;
  label: Child;
  value?: string | number | null | undefined;
  problems?: Problems | undefined;
  hint?: Child;
  type?: "text" | "email" | "number" | "date" | "search" | "url" | "password" | "file";
  required?: boolean;
  /** Whether the label has the word "optional"; default: the opposite of `required`. */
  optional?: boolean;
  autocomplete?: string;
  inputmode?: "decimal" | "numeric" | "email" | "url" | "search";
  placeholder?: string;
  maxlength?: number;
  accept?: string;
  /** The id of a list of suggestions. */
  list?: string | undefined;
  autofocus?: boolean | undefined;
  /** Shown after the field: a unit such as % or a currency. */
  unit?: string;
  class?: string;
}

/** A labelled input with its hint and, beside it, its problem. */
export function Field({ name, label, problems, hint, unit, value, optional, ...input }: FieldProps) {
  const { id, described, problem, shown } = useField(input.id ?? name, { problems, hint, value });
  const isShown = input.type !== "password" && input.type !== "file";
  return (
    <div class={classes("field", problem !== undefined && "has-problem", input.class)}>
      <label for={id}>
        {label}
        {(optional ?? !input.required) ? <span class="optional"> optional</span> : null}
      </label>
      <span class="input-row">
        <input
          {...input}
          class={undefined}
          id={id}
          name={name}
          type={input.type ?? "text"}
          value={isShown ? (shown ?? undefined) : undefined}
          aria-invalid={problem === undefined ? undefined : "true"}
          aria-describedby={described}
        />
        {unit === undefined ? null : <span class="unit">{unit}</span>}
      </span>
      <Remarks id={id} hint={hint} problem={problem} />
    </div>
  );
}

export function Datalist({ id, options }: { id: string; options: readonly Option[] }) {
  return (
    <datalist id={id}>
      {options.map(({ value, label }) => (
        <option value={value}>{label === value ? null : label}</option>
      ))}
    </datalist>
  );
}

/** Related fields with a heading, in two columns if there is room; a text of several lines spans both. */
export function FieldGroup({ name, children }: Children & { name: string }) {
  return (
    <fieldset class="field-group">
      <legend>{name}</legend>
      <div class="fields two">{children}</div>
    </fieldset>
  );
}

export interface Option {
  value: string;
  label: string;
}

interface SelectProps {
  name: string;
  label: Child;
  options: readonly Option[];
  value?: string | null | undefined;
  problems?: Problems | undefined;
  hint?: Child;
  class?: string;
  /** Distinguishes this field from others with the same name. */
  id?: string;
  autofocus?: boolean | undefined;
}

export function SelectField({ name, label, options, value, problems, hint, autofocus, ...rest }: SelectProps) {
  const { id, described, other, shown, ...marked } = useField(rest.id ?? name, { problems, hint, value });
  const labelOf = (chosen: string) => options.find((option) => option.value === chosen)?.label ?? chosen;
  const problem = other === undefined ? marked.problem : meanwhileText(labelOf(other.value), other.by);
  return (
    <div class={classes("field", problem !== undefined && "has-problem", rest.class)}>
      <label for={id}>{label}</label>
      <select
        id={id}
        name={name}
        autofocus={autofocus}
        aria-invalid={problem === undefined ? undefined : "true"}
        aria-describedby={described}
      >
        {options.map((option) => (
          <option value={option.value} selected={option.value === (shown ?? "") ? true : undefined}>
            {option.label}
          </option>
        ))}
      </select>
      <Remarks id={id} hint={hint} problem={problem} />
    </div>
  );
}

interface TextAreaProps {
  name: string;
  label: Child;
  value?: string | null | undefined;
  problems?: Problems | undefined;
  hint?: Child;
  rows?: number;
  required?: boolean;
  maxlength?: number;
  /** Lines for a machine. */
  code?: boolean;
}

export function TextArea({ name, label, value, problems, hint, rows, required, maxlength, code }: TextAreaProps) {
  const { id, described, problem, shown } = useField(name, { problems, hint, value, isLong: true });
  return (
    <div class={classes("field", problem !== undefined && "has-problem")}>
      <label for={id}>
        {label}
        {required ? null : <span class="optional"> optional</span>}
      </label>
      <textarea
        id={id}
        name={name}
        rows={rows ?? 3}
        required={required}
        maxlength={maxlength}
        spellcheck={code ? false : undefined}
        class={code ? "code" : undefined}
        aria-invalid={problem === undefined ? undefined : "true"}
        aria-describedby={described}
      >
        {shown ?? ""}
      </textarea>
      <Remarks id={id} hint={hint} problem={problem} />
    </div>
  );
}

interface CheckboxProps {
  name: string;
  /** The value of one of several boxes with the same name. */
  value?: string;
  label: Child;
  checked?: boolean | undefined;
  hint?: Child;
  problems?: Problems | undefined;
}

/** Browsers omit boxes that are not ticked: a hidden field marks that the form has the box. */
export function Checkbox({ name, value, label, checked, hint, problems }: CheckboxProps) {
  const id = fieldId(`${name}-${value ?? "on"}`);
  const form = useContext(StateContext);
  const problem = value === undefined ? (problems ?? form.problems)?.fields[name] : undefined;
  const isTicked = checked ?? isTickedIn(form.values, name, value);
  const described = [problem && `${id}-problem`, hint !== undefined && `${id}-hint`].filter(Boolean).join(" ");
  return (
    <div
      class={classes("check", problem !== undefined && "has-problem")}
      id={value === undefined ? fieldId(name) : undefined}
    >
      {value === undefined ? <input type="hidden" name={name} value="" /> : null}
      <input
        type="checkbox"
        id={id}
        name={name}
        value={value ?? "on"}
        checked={isTicked ? true : undefined}
        aria-invalid={problem === undefined ? undefined : "true"}
        aria-describedby={described || undefined}
      />
      <label for={id}>{label}</label>
      <Remarks id={id} hint={hint} problem={problem} />
    </div>
  );
}

export function Hidden({ values }: { values: Record<string, string> }) {
  return (
    <>
      {Object.entries(values).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
    </>
  );
}

interface ActionsProps extends Children {
  /** The label of the submit button, which is left out without it. */
  submit: Child;
  kind?: "primary" | "danger" | "plain" | undefined;
  /** The link that leads back. */
  cancel?: Place | undefined;
}

/** The end of a form: its button, further ones, and the link that leads back. */
export function Actions({ submit, kind = "primary", cancel, children }: ActionsProps) {
  return (
    <div class="actions">
      {submit ? (
        <button type="submit" class={kind === "plain" ? undefined : kind}>
          {submit}
        </button>
      ) : null}
      {children}
      {cancel ? <a href={cancel.href}>{cancel.label}</a> : null}
    </div>
  );
}

/** A form with only a button: an action that can be undone, or was confirmed before. */
export function ActionButton(props: {
  action: string;
  label: Child;
  values?: Record<string, string>;
  kind?: "primary" | "danger" | "quiet";
}) {
  return (
    <Form action={props.action} class="inline">
      <Hidden values={props.values ?? {}} />
      <button type="submit" class={props.kind ?? "quiet"}>
        {props.label}
      </button>
    </Form>
  );
}

function Remarks({ id, hint, problem }: { id: string; hint: Child; problem: string | undefined }) {
  return (
    <>
      {problem === undefined ? null : (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </>
  );
}

interface Own extends Pick<FieldProps, "problems" | "hint" | "value"> {
  isLong?: boolean;
}

function useField(name: string, { problems, hint, value, isLong }: Own) {
  const id = fieldId(name);
  const form = useContext(StateContext);
  const wrong = problems ?? form.problems;
  const problem = wrong?.fields[name];
  const described = [problem === undefined ? "" : `${id}-problem`, hint === undefined ? "" : `${id}-hint`];
  return {
    ...{ id, problem, other: wrong?.meanwhile?.[name], described: described.filter(Boolean).join(" ") || undefined },
    shown: value === undefined ? valueIn(form.values, name, isLong) : value === null ? null : String(value),
  };
}

function valueIn(values: Values | undefined, name: string, isLong = false): string | null | undefined {
  if (values instanceof FormFields) return isLong ? values.raw(name) : values.text(name);
  const value = byName(values)[name];
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : null;
}

function byName(values: object | null | undefined): Readonly<Record<string, unknown>> {
  return { ...values };
}

/** Whether a box is ticked, or among the ticked boxes of its name. */
function isTickedIn(values: Values | undefined, name: string, value: string | undefined): boolean {
  if (values instanceof FormFields) {
    return value === undefined ? values.isTicked(name) === true : values.all(name).includes(value);
  }
  const given = byName(values)[name];
  return value === undefined ? given === true : Array.isArray(given) && given.includes(value);
}

function fieldId(name: string): string {
  return `f-${name.replace(/[^A-Za-z0-9_-]/g, "-")}`;
}

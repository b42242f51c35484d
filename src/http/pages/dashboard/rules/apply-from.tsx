/** Applies a rate or a flow from an earlier day (FLOW-11): the field, and the page that first shows the changes. */
import type { Context } from "hono";
import type { Program } from "../../../../core/kernel/rows.ts";
import { simulateFlow, type SimulationInput } from "../../../../core/programs/simulate.ts";
import { iso } from "../../../../lib/time.ts";
import { MADE_FOR_FIELD } from "../../../kept-form.ts";
import { FORM_FIELD } from "../../../posted.ts";
import { CSRF_FIELD, type PageEnv } from "../../../session.ts";
import type { FormFields } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { type NavigationPlace } from "../../layout.tsx";
import { countText, plural } from "../../parts/figures.tsx";
import { dateText } from "../../locale.ts";
import { Field, Form } from "../../parts/form.tsx";
import { SimulationResult, nameSimulation, type ShownSimulation } from "./simulation.tsx";

/** The most payments that the preview covers (FLOW-6). */
const LOOKED_AT = 100;

export function ApplyFromField() {
  return (
    <Field
      name="apply_from"
      label="Apply from"
      type="date"
      hint="Recalculates payments since the start of that day, after a preview. Empty: only new payments."
    />
  );
}

/** The field for the API's schemas; absent if it is empty. */
export function applyFromInput(fields: FormFields, { time_zone }: Pick<Program, "time_zone">): { apply_from?: string } {
  const apply_from = fields.startOfDate("apply_from", time_zone);
  return apply_from === "" ? {} : { apply_from };
}

/** Whether the form has a day and the preview was not confirmed yet: then only the preview is shown. */
export function isPreview(fields: FormFields): boolean {
  return !fields.has("apply") && fields.text("apply_from") !== "";
}

/** The buttons and the token of every form. */
const NOT_TYPED = new Set([CSRF_FIELD, FORM_FIELD, MADE_FOR_FIELD, "apply", "back", "simulate", "action"]);

interface Applied {
  at: NavigationPlace;
  /** The form's target. */
  action: string;
  /** The input, which either button sends again. */
  fields: FormFields;
  /** The changed object, as a part of the title. */
  subject: string;
  rule: Omit<SimulationInput, "last" | "apply_from">;
  apply_from: number;
}

/** Shows the changes of a rule from an earlier day, with buttons to apply it or to return to its form. */
export async function previewPage(c: Context<PageEnv>, { at, action, fields, subject, rule, apply_from }: Applied) {
  const shown = await nameSimulation(c, await simulateFlow(c.var.ctx, { ...rule, apply_from, last: LOOKED_AT }));
  const day = dateText(iso(apply_from), c.var.session.program.time_zone);
  const title = `${subject} from ${day}`;
  return framed(
    c,
    { title, at, head: { title: `${title}?`, lede: "Nothing has changed yet." } },
    <>
      <SimulationResult of={shown} texts={textsOf(shown, day)} />
      <Form action={action} class="card stack">
        {fields
          .texts()
          .filter(([name]) => !NOT_TYPED.has(name))
          .map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
        <p>
          Open commissions get their new amount. Commissions that are paid or in a payout stay; the difference becomes a
          separate commission in the next payout. Rejected ones stay rejected. Your other changes in the form are saved
          too.
        </p>
        <div class="actions">
          <button type="submit" name="apply" value="yes" class="primary">
            Apply
          </button>
          <button type="submit" name="back" value="yes">
            Back
          </button>
        </div>
      </Form>
    </>,
  );
}

function textsOf(shown: ShownSimulation, day: string) {
  const { simulation, count } = shown;
  const { payments, more } = simulation;
  const looked = more
    ? `the newest ${plural(payments.length, "payment")} since ${day}`
    : `the ${plural(payments.length, "payment")} since ${day}`;
  const older = more ? " It also applies to older ones, which this preview leaves out." : "";
  return {
    title: "Preview of the change",
    none: `There are no payments since ${day}. It will apply to payments of that time that arrive later.`,
    same: `It changes none of ${looked}.${older}`,
    summary: `Of ${looked}, ${countText(count)} ${count === 1 ? "earns" : "earn"} a different amount.${older}`,
    changed: "Affected payments",
    before: "Now",
    after: "Applied",
  };
}

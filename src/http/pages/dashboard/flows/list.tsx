import { type Context, Hono } from "hono";
import { listProducts, warnOfProducts } from "../../../../core/kernel/seen-products.ts";
import { createFlow, deleteFlow, getFlow, listFlows, updateFlow } from "../../../../core/programs/flows.ts";
import type { Flow, Program } from "../../../../core/kernel/rows.ts";
import type { Shown } from "../../../../core/kernel/stale.ts";
import { simulateFlow } from "../../../../core/programs/simulate.ts";
import { actionOf, flowProblem, givenConditions } from "../../../../domain/flow.ts";
import { flowCreate } from "../../../api/flows.ts";
import { settingOf } from "../../../../domain/amount.ts";
import type { PageEnv } from "../../../session.ts";
import { iso } from "../../../../lib/time.ts";
import { refusedEdit, sentEdit, readShown, type EditForm } from "../../edits.ts";
import { dateText } from "../../locale.ts";
import {
  CHECK_FIELDS,
  type FormFields,
  moneyValue,
  parseInput,
  problemsOf,
  type Parsed,
  type Problems,
} from "../../forms.ts";
import { framed, formPage } from "../../framed.tsx";
import { ActionButton, Form, Actions, Hidden } from "../../parts/form.tsx";
import { Badge, countText, moneyText, plural, rateText, type MoneyFormat } from "../../parts/figures.tsx";
import { Preview, PreviewPlace } from "../../parts/preview.tsx";
import { Empty, Table } from "../../parts/table.tsx";
import { conditionText, EVENT_TEXTS } from "../../parts/words.ts";
import { ActionLink, IfMay, useMay } from "../../rights.tsx";
import { FlowFields, flowForm, flowInput, flowValues, formOf, NEW_FLOW, typedFlow, type FlowValues } from "./form.tsx";
import { isPreview, previewPage } from "../rules/apply-from.tsx";
import { SimulationResult, nameSimulation, periodText, type ShownSimulation } from "../rules/simulation.tsx";
import type * as z from "zod";
import { sentFields } from "../../act.ts";
import { Notice } from "../../parts/notice.tsx";
import { FLASH, addressWithNote } from "../../flash.ts";

const AT = "/dashboard/flows";
/** The most recent payments that a preview covers. */
const SIMULATED = 500;

/** `/dashboard/flows` (PAGE-7): list, edit, simulate. */
export const flows = new Hono<PageEnv>()
  .get("/", async (c) => {
    const list = await listFlows(c.var.ctx);
    const { program } = c.var.session;
    const addLink = (text: string) => (
      <ActionLink class="button primary" href={`${AT}/new`}>
        {text}
      </ActionLink>
    );
    const head = {
      lede: `Rules for special rates, tried from the top. The first match applies; otherwise the partner's own rate, or the program's ${program.default_commission_pct} %.`,
      actions: addLink("Add flow"),
    };
    return framed(
      c,
      { title: "Flows", at: AT, previews: true, done: FLASH.flows, head },
      <>
        <section class="card flush">
          {list.length === 0 ? (
            <Empty title="No flows yet" action={addLink("Add your first flow")}>
              Every payment earns the partner's own rate or the program's. Add a flow for exceptions, such as a higher
              rate for large payments.
            </Empty>
          ) : (
            <FlowTable flows={list} program={program} />
          )}
        </section>
        <PreviewPlace />
      </>,
    );
  })
  .get("/new", (c) => editPage(c, { flow: null, values: NEW_FLOW }))
  .post("/new", async (c) =>
    save(c, null, await sentFields(c), async (input) => {
      const flow = await createFlow(c.var.ctx, input);
      return c.redirect(addressWithNote(`${AT}/${flow.id}`, doneOf(input, "added")), 303);
    }),
  )
  .get("/:id", async (c) => {
    const flow = await getFlow(c.var.ctx, c.req.param("id"));
    const values = flowValues(flow, c.var.session.program);
    const { action_value, apply_from } = c.req.query();
    // The links of traces preview the flow from a payment's day on.
    if (apply_from !== undefined) return save(c, flow, formOf({ ...values, apply_from }));
    if (action_value === undefined) return editPage(c, { flow, values, shown: formOfFlow(c).columns(flow) });
    return save(c, flow, formOf({ ...values, action_value }));
  })
  .post("/:id", async (c) => {
    const flow = await getFlow(c.var.ctx, c.req.param("id"));
    const typed = await sentFields(c);
    const rate = typed.given("rate");
    const stored = flowValues(flow, c.var.session.program);
    // The preview of a rate changes the rate and the displayed type; the rest stays as stored.
    const previewed = { action_value: rate ?? "", action_type: typed.given("action_type") ?? stored.action_type };
    const fields = rate === undefined ? typed : formOf({ ...stored, ...previewed });
    const sent = readShown(typed);
    // The rest of the flow counts as displayed now, even if it changes before the save.
    const shown = rate === undefined || sent === undefined ? sent : { ...formOfFlow(c).columns(flow), ...sent };
    return save(c, flow, fields, async (input) => {
      await updateFlow(c.var.ctx, flow.id, input, shown);
      return c.redirect(addressWithNote(`${AT}/${flow.id}`, doneOf(input, "saved")), 303);
    });
  })
  .post("/:id/switch", async (c) => {
    const active = (await sentFields(c)).text("active") === "true";
    await updateFlow(c.var.ctx, c.req.param("id"), { active });
    return c.redirect(addressWithNote(AT, active ? "active" : "inactive"), 303);
  })
  .get("/:id/delete", async (c) => {
    const { id, name } = await getFlow(c.var.ctx, c.req.param("id"));
    const without = { flow_id: id, flow: { active: false }, last: SIMULATED };
    const simulation = await nameSimulation(c, await simulateFlow(c.var.ctx, without));
    return formPage(
      c,
      {
        above: <SimulationResult of={simulation} texts={textsOf(simulation, "Without this flow")} />,
        ...{ title: `Delete ${name}`, heading: `Delete “${name}”?`, at: AT },
        ...{ back: { href: `${AT}/${id}`, label: name }, submit: "Delete the flow", kind: "danger", cancel: "Keep it" },
      },
      <p>This cannot be undone. Its commissions do not change. To keep it for later, switch it off instead.</p>,
    );
  })
  .post("/:id/delete", async (c) => {
    await deleteFlow(c.var.ctx, c.req.param("id"));
    return c.redirect(addressWithNote(AT, "deleted"), 303);
  });

type Input = z.output<typeof flowCreate>;
type Saved = "added" | "saved" | "applied";

function doneOf({ apply_from }: Input, done: Saved): Saved {
  return apply_from === undefined ? done : "applied";
}

/** The note after saving a flow: a disabled flow is not tried (FLOW-2), others only for their event. */
function savedTexts({ active, event }: Flow): Record<Saved, string> {
  if (!active) {
    const off = "It is switched off.";
    return { added: `The flow was added. ${off}`, saved: `Saved. ${off}`, applied: FLASH.partners.applied };
  }
  const decides = `It decides ${EVENT_TEXTS[event].of} from now on`;
  return {
    added: `The flow was added. ${decides}.`,
    saved: `Saved. ${decides}; earlier decisions stay.`,
    applied: FLASH.partners.applied,
  };
}

/** Saves the input, or previews it: if it has a day, by the preview button, or without a `verb`. */
async function save(
  c: Context<PageEnv>,
  flow: Flow | null,
  fields: FormFields,
  verb?: (input: Input) => Promise<Response>,
): Promise<Response> {
  const { program } = c.var.session;
  const values = typedFlow(fields, flow ? flowValues(flow, program) : NEW_FLOW);
  const edit = flow ? sentEdit(formOfFlow(c), flow, fields) : undefined;
  const shown = edit?.shown;
  if (fields.has("back")) return editPage(c, { flow, values, shown });
  const parsed = parseFlow(flowInput(fields, program));
  if (!parsed.ok) return editPage(c, { flow, values, shown, problems: parsed.problems });
  try {
    const { apply_from, ...typed } = parsed.value;
    const rule = { flow: typed, ...(flow ? { flow_id: flow.id } : {}) };
    if (isPreview(fields) && apply_from !== undefined) {
      const subject = `Apply “${typed.name}”`;
      return await previewPage(c, { at: AT, action: addressOf(flow), fields, subject, rule, apply_from });
    }
    if (verb && !fields.has("simulate")) return await verb(parsed.value);
    const simulation = await nameSimulation(c, await simulateFlow(c.var.ctx, { ...rule, last: SIMULATED }));
    if (!verb && flow) return await ratePage(c, flow, { value: values.action_value, typed, simulation });
    return await editPage(c, { flow, values, shown, simulation });
  } catch (error) {
    if (!edit) return editPage(c, { flow, values, problems: problemsOf(error) });
    const again = await refusedEdit(c, formOfFlow(c), edit, error);
    const asTyped = typedFlow(again.fields ?? fields, flowValues(again.row, program));
    return editPage(c, { flow: again.row, values: asTyped, shown: again.shown, problems: again.problems });
  }
}

function parseFlow(input: unknown): Parsed<Input> {
  const parsed = parseInput(flowCreate, input);
  const problem = parsed.ok ? flowProblem(parsed.value) : null;
  if (problem === null) return parsed;
  const fields = { [problem.path]: problem.message };
  return { ok: false, problems: { message: CHECK_FIELDS, fields } };
}

function formOfFlow(c: Context<PageEnv>): EditForm<Flow> {
  return flowForm(c.var.session.program);
}

interface Edited {
  flow: Flow | null;
  values: FlowValues;
  problems?: Problems | undefined;
  /** The form's original content, for a changed flow. */
  shown?: Shown | undefined;
  simulation?: ShownSimulation;
}

function addressOf(flow: Flow | null): string {
  return flow ? `${AT}/${flow.id}` : `${AT}/new`;
}

async function editPage(c: Context<PageEnv>, { flow, values, problems, shown, simulation }: Edited) {
  const products = await listProducts(c.var.ctx);
  const warnings = flow && !problems ? await warnOfProducts(c.var.ctx, givenConditions(flow)) : [];
  const { currency } = c.var.session.program;
  const actions = flow ? (
    <ActionLink class="button danger" href={`${AT}/${flow.id}/delete`}>
      Delete
    </ActionLink>
  ) : undefined;
  return framed(
    c,
    {
      ...{ title: flow ? flow.name : "Add flow", at: AT, problems },
      ...{ done: simulation || !flow ? {} : savedTexts(flow), head: { back: { href: AT, label: "Flows" }, actions } },
    },
    <>
      {warnings.map(({ message }) => (
        <Notice tone="warn">{message} Check the product's id.</Notice>
      ))}
      {simulation ? <SimulationResult of={simulation} texts={textsOf(simulation)} /> : null}
      <Form {...{ problems, values, shown }} action={addressOf(flow)} readable={true} class="card stack form-wide">
        <FlowFields {...{ values, currency, products }} />
        <IfMay right="manage">
          <Actions submit={flow ? "Save" : "Add flow"} cancel={{ href: AT, label: "Cancel" }}>
            <button type="submit" name="simulate" value="yes">
              Preview on past payments
            </button>
          </Actions>
        </IfMay>
      </Form>
    </>,
  );
}

interface Rate {
  /** The input. */
  value: string;
  typed: Pick<Flow, "action_type" | "action_value">;
  simulation: ShownSimulation;
}

/** Previews another rate that was typed in the list, with the button that saves it. */
function ratePage(c: Context<PageEnv>, flow: Flow, { value, typed, simulation }: Rate) {
  const money = moneyFormat(flow, c.var.session.program);
  const said = `${flow.name}: ${rateText(actionOf(typed), money)} in place of ${rateText(actionOf(flow), money)}`;
  const actions = (
    <a class="button" href={addressOf(flow)}>
      All of the flow
    </a>
  );
  return framed(
    c,
    { title: flow.name, at: AT, head: { back: { href: AT, label: "Flows" }, actions } },
    <Preview said={said}>
      <SimulationResult of={simulation} texts={textsOf(simulation)} said={said}>
        <Form action={addressOf(flow)} class="inline" shown={rateOf(flow)}>
          <Hidden values={{ rate: value, action_type: typed.action_type }} />
          <button type="submit" class="primary">
            Save<span class="visually-hidden"> {said}</span>
          </button>
        </Form>
      </SimulationResult>
    </Preview>,
  );
}

/** The flow's fields on the page of a rate. */
function rateOf({ event, action_type, action_value }: Flow): Shown {
  return { event, action_type, action_value };
}

function textsOf(shown: ShownSimulation, after = "With this flow") {
  const { simulation, count } = shown;
  const looked = plural(simulation.payments.length, "payment");
  const bounds = `They were ${periodText(shown)}.${simulation.more ? " Older payments are left out." : ""}`;
  return {
    title: "Preview: nothing is saved yet",
    none: "There are no payments to test it on yet",
    same: `It would not have changed any of the last ${looked}`,
    summary: `Of the last ${looked}, ${countText(count)} would have earned a different amount. ${bounds}`,
    changed: "Payments under another rule",
    before: "As it was",
    after,
  };
}

/** Amounts of a flow are in its currency. */
function moneyFormat({ currency }: Pick<Flow, "currency">, program: Program): MoneyFormat {
  return (amount_cents) => moneyText(settingOf({ ...program, currency: currency ?? program.currency }, amount_cents));
}

export type Listed = Pick<
  Flow,
  | "id"
  | "name"
  | "event"
  | "action_type"
  | "action_value"
  | "conditions"
  | "priority"
  | "active"
  | "starts_at"
  | "ends_at"
  | "currency"
>;

function FlowTable({ flows: shown, program }: { flows: readonly Listed[]; program: Program }) {
  return (
    <Table
      label="Flows in the order in which they are tried"
      columns={[
        { label: "Flow" },
        { label: "If" },
        { label: "Priority", align: "end" },
        { label: "Status" },
        { label: "Pays" },
        { label: "Switch", hidden: true },
      ]}
      rows={shown.map((flow) => [
        <a href={`${AT}/${flow.id}`}>{flow.name}</a>,
        <Conditions flow={flow} program={program} />,
        String(flow.priority),
        <Badge state={flow.active ? "active" : "off"} />,
        <Pays flow={flow} program={program} />,
        <ActionButton
          action={`${AT}/${flow.id}/switch`}
          values={{ active: String(!flow.active) }}
          label={
            <>
              {flow.active ? "Switch off" : "Switch on"}
              <span class="visually-hidden"> {flow.name}</span>
            </>
          }
        />,
      ])}
    />
  );
}

/** The rate of a flow as a form; the next page first previews the change. */
function Pays({ flow, program }: { flow: Listed; program: Program }) {
  const currency = flow.currency ?? program.currency;
  if (!useMay("manage")) return <>{rateText(actionOf(flow), moneyFormat(flow, program))}</>;
  const isFlat = flow.action_type === "flat";
  return (
    <form method="get" action={`${AT}/${flow.id}`} class="inline" data-preview="">
      <input
        name="action_value"
        value={isFlat ? moneyValue(flow.action_value, currency) : String(flow.action_value)}
        inputmode="decimal"
        size={6}
        maxlength={20}
        autocomplete="off"
        aria-label={`How much ${flow.name} pays`}
      />
      <span class="unit">{isFlat ? currency : "%"}</span>
      <button type="submit" class="quiet">
        Preview<span class="visually-hidden"> {flow.name}</span>
      </button>
    </form>
  );
}

function Conditions({ flow, program }: { flow: Listed; program: Program }) {
  const { every, name } = EVENT_TEXTS[flow.event];
  const money = moneyFormat(flow, program);
  const texts = [
    ...givenConditions(flow).map((condition) => conditionText(condition, money)),
    ...(flow.currency === null || flow.event === "lead_created" ? [] : [`The payment is in ${flow.currency}`]),
    ...(flow.starts_at === null ? [] : [`From ${dateText(flow.starts_at, program.time_zone)}`]),
    ...(flow.ends_at === null ? [] : [`Until ${dateText(lastInstant(flow.ends_at), program.time_zone)}`]),
  ];
  if (texts.length === 0) return <span class="muted">{every}</span>;
  return (
    <>
      {flow.event === "transaction_completed" ? null : <span class="second">{name}</span>}
      <ul class="plain-list">
        {texts.map((text) => (
          <li>{text}</li>
        ))}
      </ul>
    </>
  );
}

/** The last instant before a time: a flow that ends at midnight counts to the end of the day before. */
function lastInstant(at: string): string {
  return iso(Date.parse(at) - 1);
}

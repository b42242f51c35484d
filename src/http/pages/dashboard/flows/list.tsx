import { type Context, Hono } from "hono";
import {
  readChoices,
  readConditionNames,
  warnOfUnknown,
  type ConditionNames,
  type Warning,
} from "../../../../core/kernel/condition-names.ts";
import { reorderFlows } from "../../../../core/programs/flow-order.ts";
import { createFlows, deleteFlow, getFlow, listFlows, updateFlow } from "../../../../core/programs/flows.ts";
import type { Flow, Program } from "../../../../core/kernel/rows.ts";
import { StaleChange, type Shown } from "../../../../core/kernel/stale.ts";
import { simulateFlow } from "../../../../core/programs/simulate.ts";
import type { Condition } from "../../../../domain/condition.ts";
import { actionOf, flowProblem, givenConditions } from "../../../../domain/flow.ts";
import { flowCreate } from "../../../api/flows.ts";
import { iso } from "../../../../lib/time.ts";
import type { PageEnv } from "../../../session.ts";
import { refusedEdit, sentEdit, readShown, type EditForm } from "../../edits.ts";
import { CHECK_FIELDS, type FormFields, parseInput, problemsOf, type Parsed, type Problems } from "../../forms.ts";
import { framed, formPage } from "../../framed.tsx";
import { Form, Actions, Hidden } from "../../parts/form.tsx";
import { countText, plural, rateText } from "../../parts/figures.tsx";
import { flowSentence, Sentence } from "../../parts/flow-sentence.tsx";
import { Preview, PreviewPlace } from "../../parts/preview.tsx";
import { Empty } from "../../parts/table.tsx";
import { EVENT_TEXTS } from "../../parts/words.ts";
import { ActionLink, IfMay } from "../../rights.tsx";
import { CHANGE, changeForm, type Focus } from "./conditions.tsx";
import { FlowFields } from "./fields.tsx";
import {
  flowForm,
  flowInput,
  flowValues,
  formOf,
  NEW_FLOW,
  productLabels,
  ruledOf,
  typedFlow,
  type Choices,
  type FlowValues,
} from "./form.tsx";
import { afterwards, newFlows } from "./new-flows.ts";
import { Starts, startValues } from "./starts.tsx";
import { AT, FlowTable, moneyFormat } from "./table.tsx";
import { isPreview, previewPage } from "../rules/apply-from.tsx";
import { SimulationResult, nameSimulation, periodText, type ShownSimulation } from "../rules/simulation.tsx";
import type * as z from "zod";
import { sentFields } from "../../act.ts";
import { FLASH, addressWithNote } from "../../flash.ts";

/** The most recent payments that a preview covers. */
const SIMULATED = 500;

/** `/dashboard/flows` (PAGE-7): list, edit, simulate. */
export const flows = new Hono<PageEnv>()
  .get("/", (c) => listPage(c))
  .post("/order", async (c) => {
    const fields = await sentFields(c);
    const shown = fields.text("order").split(",");
    const move = fields.text("move");
    const order = fields.has("to") ? fields.text("to").split(",") : movedBy(shown, move);
    try {
      await reorderFlows(c.var.ctx, order, shown);
    } catch (error) {
      if (!(error instanceof StaleChange)) return listPage(c, problemsOf(error));
      const message = "Somebody changed the order or the flows meanwhile. This is the order now: move the flow again.";
      return listPage(c, { message, fields: {} });
    }
    const moved = move === "" ? "" : `&moved=${encodeURIComponent(move)}`;
    return c.redirect(`${AT}?done=ordered${moved}`, 303);
  })
  .get("/new", async (c) => {
    const start = c.req.query("start");
    const values = startValues(start, await listFlows(c.var.ctx), c.var.session.program);
    return editPage(c, { flow: null, values, start });
  })
  .post("/new", async (c) => {
    const fields = await sentFields(c);
    return save(c, null, fields, async (input) => {
      const { apply_from, ...first } = input;
      const inputs = await newFlowsOf(c, first, fields);
      const [flow] = await createFlows(c.var.ctx, inputs, { apply_from });
      const note = doneOf(input, inputs.length > 1 ? "added_all" : "added");
      return c.redirect(addressWithNote(inputs.length > 1 && note !== "applied" ? AT : `${AT}/${flow!.id}`, note), 303);
    });
  })
  .get("/:id", async (c) => {
    const flow = await getFlow(c.var.ctx, c.req.param("id"));
    const choices = await choicesOf(c);
    const values = flowValues(flow, c.var.session.program, choices.labels);
    const { action_value, apply_from } = c.req.query();
    // The links of traces preview the flow from a payment's day on.
    if (apply_from !== undefined) return save(c, flow, formOf({ ...values, apply_from }));
    if (action_value === undefined) return editPage(c, { flow, values, choices, shown: formOfFlow(c).columns(flow) });
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
    return formPage(
      c,
      {
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

function doneOf<Done extends string>({ apply_from }: Input, done: Done): Done | "applied" {
  return apply_from === undefined ? done : "applied";
}

/** The note after saving a flow: a disabled flow is not tried (FLOW-2), others only for their event. */
function savedTexts({ active, event }: Flow): Record<Saved, string> {
  if (!active) {
    const off = "It is switched off.";
    return { added: `The flow was added. ${off}`, saved: `Saved. ${off}`, applied: FLASH.partners.applied };
  }
  const applies = `Applies to new ${EVENT_TEXTS[event].name}s only.`;
  return {
    added: `The flow was added. ${applies}`,
    saved: `Saved. ${applies}`,
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
  const choices = await choicesOf(c);
  const { labels } = choices;
  const values = typedFlow(fields, flow ? flowValues(flow, program, labels) : NEW_FLOW);
  const edit = flow ? sentEdit(formOfFlow(c), flow, fields) : undefined;
  const shown = edit?.shown;
  if (fields.has("back")) return editPage(c, { flow, values, choices, shown });
  if (verb && fields.has(CHANGE))
    return editPage(c, { flow, ...changeForm(values, fields.text(CHANGE)), choices, shown });
  const parsed = parseFlow(flowInput(fields, program, labels));
  if (!parsed.ok) return editPage(c, { flow, values, choices, shown, problems: parsed.problems });
  try {
    const { apply_from, ...typed } = parsed.value;
    const rule = flow ? { flow: typed, flow_id: flow.id } : await newRule(c, typed, fields);
    if (isPreview(fields) && apply_from !== undefined) {
      const subject = `Apply “${typed.name}”`;
      return await previewPage(c, { at: AT, action: addressOf(flow), fields, subject, rule, apply_from });
    }
    if (verb && !fields.has("simulate")) return await verb(parsed.value);
    const simulation = await nameSimulation(c, await simulateFlow(c.var.ctx, { ...rule, last: SIMULATED }));
    if (!verb && flow) return await ratePage(c, flow, { value: values.action_value, typed, simulation });
    return await editPage(c, { flow, values, choices, shown, simulation });
  } catch (error) {
    if (error instanceof WrongForm) return editPage(c, { flow, values, choices, problems: error.problems });
    if (!edit) return editPage(c, { flow, values, choices, problems: problemsOf(error) });
    const again = await refusedEdit(c, formOfFlow(c), edit, error);
    const asTyped = typedFlow(again.fields ?? fields, flowValues(again.row, program, labels));
    return editPage(c, { flow: again.row, values: asTyped, choices, shown: again.shown, problems: again.problems });
  }
}

function parseFlow(input: unknown): Parsed<Input> {
  const parsed = parseInput(flowCreate, input);
  const problem = parsed.ok ? flowProblem(parsed.value) : null;
  if (problem === null) return parsed;
  const fields = { [problem.path]: problem.message };
  return { ok: false, problems: { message: CHECK_FIELDS, fields } };
}

/** A form that is refused for a field that is not a flow's. */
class WrongForm extends Error {
  readonly problems: Problems;
  constructor(path: string, message: string) {
    super(message);
    this.problems = { message: CHECK_FIELDS, fields: { [path]: message } };
  }
}

/** The flows that the form of a new one makes. @throws {WrongForm} */
async function newFlowsOf(c: Context<PageEnv>, first: Omit<Input, "apply_from">, fields: FormFields) {
  const { inputs, problem } = newFlows(first, fields, await listFlows(c.var.ctx), c.var.session.program);
  if (problem) throw new WrongForm(problem.path, problem.message);
  const later = inputs.length > 1 ? flowProblem(inputs[1]!) : null;
  if (later) throw new WrongForm(later.path === "action_value" ? "then_value" : later.path, later.message);
  return inputs;
}

/** The simulator's input for all flows that the form of a new one makes. */
async function newRule(c: Context<PageEnv>, first: Omit<Input, "apply_from">, fields: FormFields) {
  const [flow, ...further] = await newFlowsOf(c, first, fields);
  return { flow: flow!, further };
}

async function choicesOf(c: Context<PageEnv>): Promise<Choices> {
  const read = await readChoices(c.var.ctx);
  return { ...read, labels: productLabels(read.products) };
}

function formOfFlow(c: Context<PageEnv>): EditForm<Flow> {
  return flowForm(c.var.session.program);
}

interface Edited {
  flow: Flow | null;
  values: FlowValues;
  choices?: Choices;
  problems?: Problems | undefined;
  /** The form's original content, for a changed flow. */
  shown?: Shown | undefined;
  simulation?: ShownSimulation;
  focus?: Focus;
  /** The ready-made start of a new flow. */
  start?: string | undefined;
}

function addressOf(flow: Flow | null): string {
  return flow ? `${AT}/${flow.id}` : `${AT}/new`;
}

async function editPage(
  c: Context<PageEnv>,
  { flow, values, problems, shown, simulation, focus, start, ...given }: Edited,
) {
  const { program } = c.var.session;
  const choices = given.choices ?? (await choicesOf(c));
  const warnings = problems ? [] : await warnOf(c, choices, ruledOf(values, program, choices.labels).conditions);
  const { currency } = program;
  const actions = flow ? (
    <ActionLink class="button danger" href={`${AT}/${flow.id}/delete`}>
      Delete
    </ActionLink>
  ) : undefined;
  return framed(
    c,
    {
      ...{ title: flow ? flow.name : "Add flow", at: AT, previews: true, problems },
      ...{ done: simulation || !flow ? {} : savedTexts(flow), head: { back: { href: AT, label: "Flows" }, actions } },
    },
    <>
      {flow ? null : <Starts at={`${AT}/new`} chosen={start} />}
      {simulation ? <SimulationResult of={simulation} texts={textsOf(simulation)} /> : null}
      <Form
        {...{ problems, values, shown }}
        action={addressOf(flow)}
        readable={true}
        live={true}
        class="card stack form-wide"
      >
        <FlowFields
          {...{ values, currency, choices, focus }}
          isNew={flow === null}
          sentences={<Sentences {...{ values, choices, program, warnings }} />}
        />
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

function namesOf({ labels, groups }: Choices): ConditionNames {
  return { products: labels, groups: new Map(groups.map(({ slug, name }) => [slug.toLowerCase(), name])) };
}

/** Remarks about the conditions; reads only if the choices, which are the newest, lack a value. */
async function warnOf(c: Context<PageEnv>, choices: Choices, conditions: readonly Condition[]): Promise<Warning[]> {
  if (warnOfUnknown(namesOf(choices), conditions).length === 0) return [];
  return warnOfUnknown(await readConditionNames(c.var.ctx, conditions), conditions);
}

interface SentencesProps {
  values: FlowValues;
  choices: Choices;
  program: Program;
  warnings: readonly Warning[];
}

/** The flows of a form in words, and remarks about them. */
function Sentences({ values, choices, program, warnings }: SentencesProps) {
  const { labels } = choices;
  const names = namesOf(choices);
  const rule = ruledOf(values, program, labels);
  const later = values.then_value === "" ? null : afterwards(rule.conditions);
  const rules = later
    ? [rule, { ...ruledOf({ ...values, action_value: values.then_value }, program, labels), conditions: later }]
    : [rule];
  return (
    <>
      {rules.map((one) => (
        <p>
          <Sentence of={flowSentence(one, { ...program, names })} />
        </p>
      ))}
      {values.only ? (
        <p>
          Everything else earns <strong>nothing</strong>.
        </p>
      ) : null}
      {warnings.map(({ message }) => (
        <p class="warning">{message} It can be saved. Check the name or id.</p>
      ))}
    </>
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
  const [rate, before] = [typed, flow].map((of) => rateText(actionOf(of), money));
  const said = `${flow.name}: ${rate}${rate === before ? ", as before" : ` in place of ${before}`}`;
  const actions = (
    <a class="button" href={addressOf(flow)}>
      Edit flow
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

function textsOf(shown: ShownSimulation) {
  const { simulation, count } = shown;
  const looked = plural(simulation.payments.length, "payment");
  const bounds = `They were ${periodText(shown)}.${simulation.more ? " Older payments are left out." : ""}`;
  return {
    title: "Preview: nothing is saved yet",
    none: "There are no payments to test it on yet",
    same: `It would not have changed any of the last ${looked}`,
    summary: `Of the last ${looked}, ${countText(count)} would have earned a different amount. ${bounds}`,
    changed: "Affected payments",
    before: "As it was",
    after: "With this flow",
  };
}

/** The order of flows after a button; a move past an end does not change it. */
function movedBy(shown: readonly string[], move: string): string[] {
  const [way, id = ""] = move.split(":");
  const at = shown.indexOf(id);
  const to = at + (way === "up" ? -1 : 1);
  if (at === -1 || to < 0 || to >= shown.length) return [...shown];
  return shown.toSpliced(at, 1).toSpliced(to, 0, id);
}

async function listPage(c: Context<PageEnv>, problems?: Problems) {
  const list = await listFlows(c.var.ctx);
  const names = await readConditionNames(c.var.ctx, list.flatMap(givenConditions));
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
    { title: "Flows", at: AT, previews: true, done: FLASH.flows, head, problems },
    <>
      <section class="card flush">
        {list.length === 0 ? (
          <Empty title="No flows yet" action={addLink("Add your first flow")}>
            Every payment earns the partner's own rate or the program's. Add a flow for exceptions, such as a higher
            rate for large payments.
          </Empty>
        ) : (
          <FlowTable {...{ flows: list, names, program, problems }} moved={c.req.query("moved")} now={iso(c.var.now)} />
        )}
      </section>
      <PreviewPlace />
    </>,
  );
}

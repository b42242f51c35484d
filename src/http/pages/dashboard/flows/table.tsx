/** The flows in the order in which they are tried, each as a sentence, with buttons that move it (PAGE-33, PAGE-35). */
import type { ConditionNames } from "../../../../core/kernel/condition-names.ts";
import type { Flow, Program } from "../../../../core/kernel/rows.ts";
import { settingOf } from "../../../../domain/amount.ts";
import { actionOf, givenConditions, isOpenEnded } from "../../../../domain/flow.ts";
import { moneyValue, type Problems } from "../../forms.ts";
import { Badge, moneyText, rateText, type MoneyFormat } from "../../parts/figures.tsx";
import { flowSentence, Sentence } from "../../parts/flow-sentence.tsx";
import { ActionButton, Form } from "../../parts/form.tsx";
import { Table } from "../../parts/table.tsx";
import { useMay } from "../../rights.tsx";

export const AT = "/dashboard/flows";

export type Listed = Pick<
  Flow,
  | "id"
  | "name"
  | "event"
  | "action_type"
  | "action_value"
  | "conditions"
  | "active"
  | "base"
  | "hold_days"
  | "starts_at"
  | "ends_at"
  | "currency"
>;

/** Amounts of a flow are in its currency. */
export function moneyFormat({ currency }: Pick<Flow, "currency">, program: Program): MoneyFormat {
  return (amount_cents) => moneyText(settingOf({ ...program, currency: currency ?? program.currency }, amount_cents));
}

/** A button that moves a flow: `up` or `down`. */
export type Move = `${"up" | "down"}:${string}`;

interface FlowTableProps {
  flows: readonly Listed[];
  program: Program;
  names: ConditionNames;
  problems?: Problems | undefined;
  /** The button that has the focus, because it was pressed last. */
  moved?: string | undefined;
  /** ISO 8601. */
  now: string;
}

const ORDER_FORM = "flow-order";

export function FlowTable({ flows: shown, program, names, problems, moved, now }: FlowTableProps) {
  const canOrder = useMay("manage") && shown.length > 1;
  return (
    <div data-swap="flows">
      {canOrder ? (
        <Form action={`${AT}/order`} id={ORDER_FORM} problems={problems} class="order">
          <input type="hidden" name="order" value={shown.map(({ id }) => id).join(",")} />
          <input type="hidden" name="to" value="" disabled={true} />
        </Form>
      ) : null}
      <Table
        label="Flows in order"
        columns={[
          ...(canOrder ? [{ label: "Order", hidden: true }] : []),
          { label: "Flow", grow: true },
          { label: "Status" },
          { label: "Pays" },
          { label: "Switch", hidden: true },
        ]}
        rows={shown.map((flow, i) => [
          ...(canOrder ? [<MoveButtons flow={flow} index={i} count={shown.length} moved={moved} />] : []),
          <>
            <a href={`${AT}/${flow.id}`}>{flow.name}</a>
            <span class="second sentence">
              <Sentence of={flowSentence({ ...flow, conditions: givenConditions(flow) }, { ...program, names })} />
              {decidesAll(flow, now) ? " Flows below it and all other rates have no effect." : null}
            </span>
          </>,
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
    </div>
  );
}

/** Whether a flow applies to every payment from now on. */
function decidesAll(flow: Listed, now: string): boolean {
  const isForPayments = flow.active && flow.event === "transaction_completed";
  return isForPayments && isOpenEnded(flow, now) && givenConditions(flow).length === 0;
}

interface MoveProps {
  flow: Listed;
  index: number;
  count: number;
  moved: string | undefined;
}

function MoveButtons({ flow: { id, name }, index, count, moved }: MoveProps) {
  const place = `${index + 1} of ${count}`;
  const button = (way: "up" | "down", sign: string, isEnd: boolean) => (
    <button
      type="submit"
      form={ORDER_FORM}
      name="move"
      value={`${way}:${id}`}
      class="quiet"
      title={`Move ${way}`}
      aria-disabled={isEnd ? "true" : undefined}
      autofocus={moved === `${way}:${id}` ? true : undefined}
    >
      <span aria-hidden="true">{sign}</span>
      <span class="visually-hidden">
        Move {name} {way}, now {place}
      </span>
    </button>
  );
  return (
    <span class="moves" data-flow={id}>
      <span class="grip" aria-hidden="true" hidden={true} title="Drag to reorder">
        ⠿
      </span>
      {button("up", "↑", index === 0)}
      {button("down", "↓", index === count - 1)}
    </span>
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

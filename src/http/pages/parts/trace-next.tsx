/** The next step after each outcome of a payment, and the flows that are too young for it. */
import { useContext } from "../../jsx.ts";
import type { Commission, Payment } from "../../../core/kernel/rows.ts";
import type { LaterFlow } from "../../../core/ledger/rules.ts";
import type { ConditionField } from "../../../domain/condition.ts";
import type { FlowTrace } from "../../../domain/flow.ts";
import type { Outcome } from "../../../domain/payment.ts";
import { dayIn } from "../../../domain/time-zone.ts";
import { roleMay, type Right } from "../../../domain/member.ts";
import { dateText } from "../locale.ts";
import { ActionLink, ReaderContext, useMay } from "../rights.tsx";
import { plural, When } from "./figures.tsx";

interface NextProps {
  payment: Payment;
  rows: readonly Commission[];
  partner: { id: string; name: string } | null;
  /** The commission whose page it is. */
  current?: string | undefined;
}

/** A link to the page where a member with the right acts. */
interface Step {
  right: Right;
  href: string;
  text: string;
}

/** The next steps after an outcome; `text` if the owner need not act. */
interface Next {
  text?: string;
  steps: readonly Step[];
}

const DASHBOARD = "/dashboard";
const CODES: Step = { right: "manage", href: `${DASHBOARD}/payments/codes`, text: "Assign promotion codes" };
const BY_HAND: Step = { right: "money", href: `${DASHBOARD}/commissions/new`, text: "Credit a partner by hand" };
const EVENTS: Step = { right: "read", href: `${DASHBOARD}/integration`, text: "Check the provider's events" };

const NEXT: Record<Outcome, (props: NextProps) => Next> = {
  commission: (props) => ({ steps: props.rows.flatMap((row) => commissionStep(row, props)) }),
  no_ref: () => ({
    steps: [
      BY_HAND,
      { right: "manage", href: `${DASHBOARD}/partners/import`, text: "Assign customers to partners" },
      {
        right: "read",
        href: "/docs/integrate#2-pass-the-reference-at-checkout",
        text: "Check how your checkout passes references on",
      },
    ],
  }),
  unknown_ref: ({ payment }) => ({
    steps: [
      { right: "manage", href: `${DASHBOARD}/partners`, text: "Find the partner" },
      ...(payment.decision?.candidates.some(({ source }) => source === "promotion_code") ? [CODES] : []),
    ],
  }),
  unknown_code: () => ({ steps: [CODES] }),
  partner_not_active: (props) => ({ steps: [partnerStep("Activate or invite the partner", props)] }),
  partner_deactivated: (props) => ({ steps: [partnerStep("Reactivate the partner", props)] }),
  zero_amount: ({ payment: { decision, customer_id, customer_email } }) => {
    if (decision?.flow_id != null) {
      return { steps: [{ right: "manage", href: `${DASHBOARD}/flows/${decision.flow_id}`, text: "Open the flow" }] };
    }
    const customer = customer_id ?? customer_email;
    return {
      text: "Nothing to do: trials, free orders and payments from credit earn nothing. The customer's next payment does.",
      steps: customer === null ? [] : [paymentsStep(customer, "See the customer's payments")],
    };
  },
  unpaid: () => ({ text: "Nothing to do: it is decided when the provider reports the money.", steps: [EVENTS] }),
  test_mode: () => ({
    steps: [
      {
        right: "manage",
        href: `${DASHBOARD}/settings/commissions#f-live_only`,
        text: "Accept test payments in the settings",
      },
    ],
  }),
  no_flow: () => ({ steps: [{ right: "manage", href: `${DASHBOARD}/flows/new`, text: "Add a flow for leads" }] }),
  too_large: () => ({ steps: [BY_HAND] }),
  claimed_elsewhere: () => ({ text: "Nothing to do, unless it is a sale of this program.", steps: [EVENTS] }),
  merged: ({ payment }) => ({
    steps: [paymentsStep(payment.provider_transaction_id, "Find the payment that counts")],
  }),
};

function paymentsStep(search: string, text: string): Step {
  return { right: "read", href: `${DASHBOARD}/payments?${new URLSearchParams({ search }).toString()}`, text };
}

function partnerStep(text: string, { partner }: NextProps): Step {
  return { right: "manage", href: partner ? `${DASHBOARD}/partners/${partner.id}` : `${DASHBOARD}/partners`, text };
}

/** The next step for a commission; a commission's own page has the buttons already. */
function commissionStep({ id, status, payout_id }: Commission, { current }: NextProps): Step[] {
  if (payout_id !== null)
    return [{ right: "read", href: `${DASHBOARD}/payouts/${payout_id}`, text: "Open the payout" }];
  if (status === "approved") return [{ right: "money", href: `${DASHBOARD}/payouts/new`, text: "Prepare payouts" }];
  if (id === current) return [];
  const text = status === "rejected" ? "Review the rejected commission" : "Approve or reject the commission";
  return [{ right: "money", href: `${DASHBOARD}/commissions/${id}`, text }];
}

/** The next step after a payment's outcome, if the reader may take it. */
export function NextStep(props: NextProps) {
  const { role } = useContext(ReaderContext);
  const { text, steps } = NEXT[props.payment.outcome ?? "unpaid"](props);
  const shown = new Map(
    steps.filter(({ right }) => role === null || roleMay(role, right)).map((step) => [step.href, step]),
  );
  return (
    <>
      {text === undefined ? null : <p class="muted">{text}</p>}
      {shown.size === 0 ? null : (
        <ul class="plain-list next-steps">
          {[...shown.values()].map(({ href, text: label }) => (
            <li>
              <a href={href}>{label}</a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const OF_CUSTOMER: readonly ConditionField[] = ["payment_number", "months_since_first_payment", "new_customer"];

/** The values that the payment lacked when flows compared it, with the way to send them. */
export function Unknowns({ payment, flows }: { payment: Payment; flows: readonly FlowTrace[] }) {
  const compared = flows.flatMap(({ conditions }) => conditions);
  const isUnknown =
    payment.customer_id === null &&
    payment.customer_email === null &&
    payment.erased_at === null &&
    compared.some(({ field }) => OF_CUSTOMER.includes(field));
  const lacksProducts = compared.some(({ field, saw }) => field === "product_id" && saw === null);
  return (
    <>
      {isUnknown ? (
        <p class="muted">
          The customer is unknown, so the payment counts as a first one.{" "}
          <a href="/docs/integrate#facts-from-your-own-server">Send the customer's id or e-mail</a>
        </p>
      ) : null}
      {lacksProducts ? (
        <p class="muted">
          The products are unknown.{" "}
          <ActionLink href={`${DASHBOARD}/settings/providers`}>Add the provider's API key</ActionLink>, so that we can
          ask for them.
        </p>
      ) : null}
    </>
  );
}

interface LaterProps {
  payment: Payment;
  flows: readonly LaterFlow[];
  time_zone: string;
}

/** Flows that do not decide the payment because they are younger (PAY-16), each with the way to apply it (FLOW-11). */
export function LaterFlows({ payment, flows, time_zone }: LaterProps) {
  const may = useMay("manage");
  if (flows.length === 0) return null;
  const { created_at, event } = payment;
  const day = dayIn(time_zone, Date.parse(created_at));
  const isOne = flows.length === 1;
  const added = flows.every((flow) => flow.created_at > created_at) ? "added" : "added or switched on";
  return (
    <>
      <p>
        Your {isOne ? "flow was" : `${plural(flows.length, "flow")} were`} {added} after this{" "}
        {event === "lead_created" ? "lead" : "payment"} (<When at={created_at} />
        ), so {isOne ? "it does" : "they do"} not apply:
      </p>
      <ul class="flows-tried">
        {flows.map((flow) => (
          <li>
            Flow “{flow.name}”, added {dateText(flow.created_at, time_zone)}
            {may ? (
              <>
                {". "}
                <a href={`${DASHBOARD}/flows/${flow.flow_id}?apply_from=${day}`}>
                  Apply it to earlier payments
                  <span class="visually-hidden">: {flow.name}</span>
                </a>
              </>
            ) : null}
          </li>
        ))}
      </ul>
    </>
  );
}

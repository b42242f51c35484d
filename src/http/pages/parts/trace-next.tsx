/** The next step after each outcome of a payment, and the flows that are too young for it. */
import type { Child } from "../../jsx.ts";
import type { Commission, Payment } from "../../../core/kernel/rows.ts";
import type { LaterFlow } from "../../../core/ledger/rules.ts";
import type { ConditionField } from "../../../domain/condition.ts";
import type { FlowTrace } from "../../../domain/flow.ts";
import type { Outcome } from "../../../domain/payment.ts";
import { dayIn } from "../../../domain/time-zone.ts";
import { dateText } from "../locale.ts";
import { ActionLink, useMay } from "../rights.tsx";

interface NextProps {
  payment: Payment;
  rows: readonly Commission[];
  partner: { id: string; name: string } | null;
}

const DASHBOARD = "/dashboard";

/** The next step after each outcome; a text without a link if the owner need not act. */
const NEXT: Record<Outcome, (props: NextProps) => Child> = {
  commission: ({ rows }) => rows.filter(({ status }) => status === "rejected").map(rejectedStep),
  no_ref: () => [
    <a href="/docs/integrate">Check how your checkout passes references on</a>,
    <ActionLink href={`${DASHBOARD}/partners/import`}>Assign customers to partners</ActionLink>,
  ],
  unknown_ref: ({ payment }) => [
    <a href={`${DASHBOARD}/partners`}>Find the partner</a>,
    ...(payment.decision?.candidates.some(({ source }) => source === "promotion_code") ? [codesLink()] : []),
  ],
  unknown_code: () => [codesLink()],
  partner_not_active: (props) => [partnerLink("Activate or invite the partner", props)],
  partner_deactivated: (props) => [partnerLink("Reactivate the partner", props)],
  zero_amount: ({ payment: { decision } }) =>
    decision?.flow_id == null
      ? "Nothing to do: trials, free orders and payments from credit earn nothing. The customer's next payment does."
      : [<ActionLink href={`${DASHBOARD}/flows/${decision.flow_id}`}>Open the flow</ActionLink>],
  unpaid: () => "Nothing to do: it is decided when the provider reports the money.",
  test_mode: () => [<ActionLink href={`${DASHBOARD}/settings`}>Accept test payments in the settings</ActionLink>],
  no_flow: () => [<ActionLink href={`${DASHBOARD}/flows/new`}>Add a flow for leads</ActionLink>],
  too_large: () => [<ActionLink href={`${DASHBOARD}/commissions/new`}>Enter a commission by hand</ActionLink>],
  claimed_elsewhere: () => "Nothing to do here.",
  merged: ({ payment: { provider_transaction_id: id } }) => [
    <a href={`${DASHBOARD}/payments?${new URLSearchParams({ search: id }).toString()}`}>
      Find the payment that counts
    </a>,
  ],
};

function codesLink() {
  return <a href={`${DASHBOARD}/payments/codes`}>Assign promotion codes</a>;
}

function partnerLink(text: string, { partner }: NextProps) {
  return <a href={partner ? `${DASHBOARD}/partners/${partner.id}` : `${DASHBOARD}/partners`}>{text}</a>;
}

function rejectedStep({ id }: Commission) {
  return <a href={`${DASHBOARD}/commissions/${id}`}>Review the rejected commission</a>;
}

/** The next step after a payment's outcome, if the owner can act. */
export function NextStep(props: NextProps) {
  const { outcome } = props.payment;
  const next = NEXT[outcome ?? "unpaid"](props);
  if (typeof next === "string") return <p class="muted">{next}</p>;
  const links = Array.isArray(next) ? next.filter(Boolean) : [];
  if (links.length === 0) return null;
  return (
    <ul class="plain-list next-steps">
      {links.map((link) => (
        <li>{link as Child}</li>
      ))}
    </ul>
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
          <a href="/docs/integrate">Send the customer's id or e-mail</a>
        </p>
      ) : null}
      {lacksProducts ? (
        <p class="muted">
          The products are unknown. <ActionLink href={`${DASHBOARD}/settings`}>Add the provider's API key</ActionLink>,
          so that we can ask for them.
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
  const day = dayIn(time_zone, Date.parse(payment.created_at));
  return (
    <>
      <p class="muted">
        Made after this {payment.event === "lead_created" ? "lead" : "payment"}, so{" "}
        {flows.length === 1 ? "it does not apply" : "they do not apply"}:
      </p>
      <ul class="flows-tried">
        {flows.map(({ flow_id, name, created_at }) => (
          <li>
            Flow “{name}”, {created_at > payment.created_at ? "added" : "switched on after it; added"}{" "}
            {dateText(created_at, time_zone)}
            {may ? (
              <>
                {". "}
                <a href={`${DASHBOARD}/flows/${flow_id}?apply_from=${day}`}>
                  Preview it from {dateText(payment.created_at, time_zone)}
                  <span class="visually-hidden">: {name}</span>
                </a>
              </>
            ) : null}
          </li>
        ))}
      </ul>
    </>
  );
}

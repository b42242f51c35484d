/** Simulates an unsaved rule on past payments. */
import type { Context } from "hono";
import type { Child } from "../../../jsx.ts";
import { readPartnerNames, type PartnerName } from "../../../../core/partners/display-names.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import type { SimulatedPayment, Simulation } from "../../../../core/programs/simulation.ts";
import { amountOf, compareCurrencies, type Amount } from "../../../../domain/amount.ts";
import type { Rate } from "../../../../domain/commission.ts";
import { subtract, type Cents } from "../../../../domain/money.ts";
import type { PageEnv } from "../../../session.ts";
import { dateText } from "../../locale.ts";
import { countText, Money, moneyText, plural, rateText, When } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { PartnerLink } from "../../parts/partner.tsx";
import { Empty, Table, type Column } from "../../parts/table.tsx";
import { SOURCE_TEXTS } from "../../parts/words.ts";

/** How many of the payments that another rule decides are listed. */
const SHOWN = 20;

/** A simulation with the data of its page. */
export interface ShownSimulation {
  simulation: Simulation;
  /** The listed payments. */
  changed: Simulation["payments"];
  /** The number of payments that earn another amount. */
  count: number;
  names: Map<string, PartnerName>;
  program: Pick<Program, "currency" | "time_zone">;
}

/** The simulation with the names of the partners that its page lists. */
export async function nameSimulation(c: Context<PageEnv>, simulation: Simulation): Promise<ShownSimulation> {
  const { payments, partners } = simulation;
  const changed = payments.filter((row) => row.rule_changed).slice(0, SHOWN);
  const names = await readPartnerNames(
    c.var.ctx,
    [...changed, ...partners].map(({ partner_id }) => partner_id),
  );
  const isOther = (row: SimulatedPayment) =>
    row.old_amount_cents !== row.new_amount_cents || row.currency !== row.new_currency;
  return { simulation, changed, count: payments.filter(isOther).length, names, program: c.var.session.program };
}

/** "made May 3, 2026 to Jun 1, 2026" for the payments of a simulation; empty without one. */
export function periodText({ simulation: { from, to }, program }: ShownSimulation): string {
  if (from === null || to === null) return "";
  const [first, last] = [from, to].map((at) => dateText(at, program.time_zone));
  return first === last ? `made ${first}` : `made ${first} to ${last}`;
}

/** The labels of the amounts, and the texts for an empty result. */
interface Texts {
  title: string;
  /** Shown if the simulation does not cover a payment, or does not change one. */
  none: string;
  same: string;
  /** The number of covered and of changed payments. */
  summary: Child;
  changed: string;
  before: string;
  after: string;
}

interface ResultProps {
  of: ShownSimulation;
  texts: Texts;
  /** The change that the simulation shows. */
  said?: string;
  /** The actions. */
  children?: Child;
}

export function SimulationResult({ of: shown, texts, said, children }: ResultProps) {
  const { simulation, count } = shown;
  return (
    <section class="card flush" aria-labelledby="simulation">
      <div class="card-head">
        <div>
          <h2 id="simulation">{texts.title}</h2>
          {said === undefined ? null : <p class="muted">{said}</p>}
        </div>
        {children}
      </div>
      {simulation.payments.length === 0 ? (
        <Empty title={texts.none} />
      ) : simulation.changed_count === 0 ? (
        <Empty title={texts.same} />
      ) : (
        <>
          <div class="padded">
            <Notice tone="calm">
              <p>
                {count === 0 ? `${texts.same.replace(/\.$/, "")}.` : texts.summary} {sameAmountText(shown)}
              </p>
            </Notice>
          </div>
          <SumTable of={shown} texts={texts} />
          {simulation.partners.length === 0 ? null : <PartnerTable of={shown} texts={texts} />}
          <ChangedTable of={shown} texts={texts} />
        </>
      )}
    </section>
  );
}

/** The number of payments whose rule changes but not their amount. */
function sameAmountText({ simulation, count }: ShownSimulation): string {
  const same = simulation.changed_count - count;
  if (same <= 0) return "";
  return `For ${countText(same)}${count === 0 ? "" : " more"}, another rule gives the same amount.`;
}

interface TablesProps {
  of: ShownSimulation;
  texts: Texts;
}

function amountColumns({ before, after }: Texts): Column[] {
  return [
    { label: before, align: "end" },
    { label: after, align: "end" },
  ];
}

type Amounts = Simulation["sums"][number];

/** The amounts before and after, and their difference. */
function amountCells(sum: Amounts): Child[] {
  const { currency, old_amount_cents, new_amount_cents } = sum;
  const difference = subtract(new_amount_cents, old_amount_cents);
  return [
    <Money of={{ currency, amount_cents: old_amount_cents }} />,
    <Money of={{ currency, amount_cents: new_amount_cents }} />,
    <span class="one-line">
      {difference > 0 ? "+" : ""}
      <Money of={{ currency, amount_cents: difference }} />
    </span>,
  ];
}

function SumTable({ of: { simulation, program }, texts }: TablesProps) {
  return (
    <Table
      label="Commissions by currency"
      columns={[{ label: "Commissions" }, ...amountColumns(texts), { label: "Difference", align: "end" }]}
      rows={simulation.sums
        .toSorted((a, b) => compareCurrencies(a.currency, b.currency, program.currency))
        .map((sum) => [plural(sum.payments, "payment"), ...amountCells(sum)])}
    />
  );
}

function PartnerTable({ of: { simulation, names }, texts }: TablesProps) {
  const { partners, partner_count } = simulation;
  return (
    <>
      <h3 class="table-title">Affected partners</h3>
      <Table
        label="Affected partners"
        columns={[{ label: "Partner" }, ...amountColumns(texts), { label: "Difference", align: "end" }]}
        rows={partners.map((row) => [<PartnerLink partner={names.get(row.partner_id)} />, ...amountCells(row)])}
      />
      {partner_count > partners.length ? (
        <p class="table-note">And {countText(partner_count - partners.length)} smaller differences.</p>
      ) : null}
    </>
  );
}

function ChangedTable({ of: { simulation, changed, names }, texts }: TablesProps) {
  return (
    <>
      <h3 class="table-title">{texts.changed}</h3>
      <Table
        label={texts.changed}
        columns={[
          { label: "Payment" },
          { label: "Partner" },
          { label: "Net of tax", align: "end", named: true },
          ...amountColumns(texts),
        ]}
        rows={changed.map((row) => [
          <a href={`/dashboard/payments/${row.payment_id}`}>
            <When at={row.created_at} />
          </a>,
          <PartnerLink partner={names.get(row.partner_id ?? "")} />,
          <Money of={amountOf(row, subtract(row.txn_amount_cents, row.adjusted_cents))} />,
          <Ruled rate={row.old_rate} amount={amountOf(row, row.old_amount_cents)} />,
          <Ruled rate={row.new_rate} amount={{ currency: row.new_currency, amount_cents: row.new_amount_cents }} />,
        ])}
      />
      {simulation.changed_count > changed.length ? (
        <p class="table-note">
          The newest {countText(changed.length)} of {countText(simulation.changed_count)}.
        </p>
      ) : null}
    </>
  );
}

/** An amount, and the rule that gives it. */
function Ruled({ rate, amount }: { rate: Rate | null; amount: Amount }) {
  const money = (amount_cents: Cents) => moneyText({ ...amount, amount_cents });
  return (
    <span>
      <Money of={amount} />
      <span class="second">{rate ? `${SOURCE_TEXTS[rate.source]}: ${rateText(rate, money)}` : "no flow"}</span>
    </span>
  );
}

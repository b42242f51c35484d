/** Simulates an unsaved rule on past payments. */
import type { Context } from "hono";
import type { Child } from "../../../jsx.ts";
import { readPartnerNames, type PartnerName } from "../../../../core/partners/display-names.ts";
import type { Simulation } from "../../../../core/programs/simulate.ts";
import { amountOf, compareCurrencies } from "../../../../domain/amount.ts";
import { subtract } from "../../../../domain/money.ts";
import type { PageEnv } from "../../../session.ts";
import { countText, Money, plural } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { PartnerLink } from "../../parts/partner.tsx";
import { Empty, Table } from "../../parts/table.tsx";

/** How many of the changed payments are listed. */
const SHOWN = 20;

/** A simulation with the data of its page. */
export interface ShownSimulation {
  simulation: Simulation;
  /** The listed payments. */
  changed: Simulation["payments"];
  count: number;
  names: Map<string, PartnerName>;
  /** The program's currency. */
  currency: string;
}

/** The simulation with the names of the partners that its page lists. */
export async function nameSimulation(c: Context<PageEnv>, simulation: Simulation): Promise<ShownSimulation> {
  const all = simulation.payments.filter((row) => row.old_amount_cents !== row.new_amount_cents);
  const changed = all.slice(0, SHOWN);
  const names = await readPartnerNames(
    c.var.ctx,
    changed.map(({ partner_id }) => partner_id),
  );
  return { simulation, changed, count: all.length, names, currency: c.var.session.program.currency };
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
      ) : count === 0 ? (
        <Empty title={texts.same} />
      ) : (
        <>
          <div class="padded">
            <Notice tone="calm">
              <p>{texts.summary}</p>
            </Notice>
          </div>
          <SumTable of={shown} texts={texts} />
          <ChangedTable of={shown} texts={texts} />
        </>
      )}
    </section>
  );
}

function SumTable({ of: { simulation, currency }, texts }: { of: ShownSimulation; texts: Texts }) {
  return (
    <Table
      label="Sums by currency"
      columns={[{ label: "All of them" }, { label: texts.before, align: "end" }, { label: texts.after, align: "end" }]}
      rows={simulation.sums
        .toSorted((a, b) => compareCurrencies(a.currency, b.currency, currency))
        .map((sum) => [
          plural(sum.payments, "payment"),
          <Money of={amountOf(sum, sum.old_amount_cents)} />,
          <Money of={amountOf(sum, sum.new_amount_cents)} />,
        ])}
    />
  );
}

function ChangedTable({ of: { changed, count, names }, texts }: { of: ShownSimulation; texts: Texts }) {
  return (
    <>
      <h3 class="table-title">{texts.changed}</h3>
      <Table
        label={texts.changed}
        columns={[
          { label: "Payment" },
          { label: "Partner" },
          { label: "Net of tax", align: "end" },
          { label: texts.before, align: "end" },
          { label: texts.after, align: "end" },
        ]}
        rows={changed.map((row) => [
          <a href={`/dashboard/payments/${row.payment_id}`}>
            <code class="short-id">{row.payment_id.slice(-8)}</code>
          </a>,
          <PartnerLink partner={names.get(row.partner_id ?? "")} />,
          <Money of={amountOf(row, subtract(row.txn_amount_cents, row.adjusted_cents))} />,
          <Money of={amountOf(row, row.old_amount_cents)} />,
          <Money of={amountOf(row, row.new_amount_cents)} />,
        ])}
      />
      {count > changed.length ? (
        <p class="table-note">
          The newest {countText(changed.length)} of {countText(count)}.
        </p>
      ) : null}
    </>
  );
}

import { type Context, Hono } from "hono";
import { viewCommission, viewPayout, type PayoutView } from "../../../core/kernel/views.ts";
import { commissionsIn, readCommissionsIn } from "../../../core/payouts/own-commissions.ts";
import {
  readOwnStatement,
  statementLines,
  type Statement,
  type StatementHead,
  type StatementLine,
} from "../../../core/payouts/statement.ts";
import { csvRecord } from "../../../domain/csv.ts";
import { decimalAmount } from "../../../domain/currency.ts";
import { DAY, iso } from "../../../lib/time.ts";
import { csvDownload } from "../../download.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { dateText, inEnglish, usePageZone } from "../locale.ts";
import { countText, Money, When } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { payoutMethodText } from "../parts/payout-method.ts";
import { Conversions, earnedText, statementFacts, StatementLines, statementTitle } from "../parts/statement.tsx";
import { Facts } from "../parts/table.tsx";
import { whyText } from "./commission-words.ts";
import { CommissionTable } from "./commissions.tsx";
import { OwnStatus } from "./payouts.tsx";
import { ownPayout, programOf, selfOf } from "./self.ts";

const AT = "/portal/payouts";
/** The most commissions on the page. */
const MOST_SHOWN = 5_000;

/** `/portal/payouts/:id`: the statement of a payout, to read, to print and as a file (PORTAL-3, OUT-32). */
export const payoutDetail = new Hono<PageEnv>()
  .get("/:id", async (c) => {
    const statement = await read(c);
    const { payout } = statement;
    const shown = await readCommissionsIn(c.var.ctx, payout, { most: MOST_SHOWN });
    return framed(
      c,
      {
        title: "Payout",
        at: AT,
        head: {
          title: statementTitle(statement, "Statement of your payout"),
          back: { href: AT, label: "Payouts" },
          actions:
            statement.lines.length === 0 ? null : (
              <a class="button" href={`${AT}/${payout.id}/statement.csv`}>
                Download as CSV
              </a>
            ),
        },
      },
      <>
        {c.var.session.limited === null && payout.status === "pending" && payout.recipient === null ? (
          <Notice tone="warn">
            <p>
              This payout needs your payout details. <a href="/portal/details">Add your payout details</a>
            </p>
          </Notice>
        ) : null}
        {payout.status === "returned" ? (
          <Notice tone="warn">
            <p>
              The payment came back, often because of a wrong or closed account. No money is lost: another payout will
              pay it.
              {c.var.session.limited === null ? (
                <>
                  {" "}
                  <a href="/portal/details">Check your payout details</a>
                </>
              ) : null}
            </p>
          </Notice>
        ) : null}
        <PayoutFacts payout={ownPayout(c, viewPayout(payout))} statement={statement} to={selfOf(c).email} />
        {statement.lines.length === 0 ? null : (
          <section class="card flush">
            <h2>Commissions in it</h2>
            {payout.status === "returned" ? (
              <StatementLines {...statement} />
            ) : (
              <CommissionTable commissions={shown.map(viewCommission)} program={programOf(c)} />
            )}
          </section>
        )}
        {payout.commission_count <= MOST_SHOWN || payout.status === "returned" ? null : (
          <p class="muted">
            The first {countText(MOST_SHOWN)} commissions;{" "}
            <a href={`/portal/commissions?payout_id=${payout.id}`}>see all</a>
          </p>
        )}
        <Conversions payout={payout} />
      </>,
    );
  })
  .get("/:id/statement.csv", async (c) => {
    const statement = await read(c);
    return c.body(...csvDownload("statement", statementCsv(c, statement)));
  });

/** A session from the owner's link does not see the payee's name and tax data (EMBED-2). */
async function read(c: Context<PageEnv>): Promise<Statement> {
  const statement = await readOwnStatement(c.var.ctx, selfOf(c).id, c.req.param("id") ?? "");
  return c.var.session.limited === null ? statement : { ...statement, payee: NO_PAYEE, vat: null };
}

const NO_PAYEE = { name: null, address: null, country: null, kind: null, tax_id: null };

const COLUMNS = ["date", "commission_id", "kind", "calculation", "amount", "currency"];
/** Only a converted payout has it. */
const CONVERSION = ["rate", "rate_at", "converted", "converted_currency"];

/** The commissions of a returned payout can have changed since, so that their calculations are left out. */
async function* statementCsv(c: Context<PageEnv>, statement: Statement): AsyncGenerator<string> {
  const { payout } = statement;
  const isConverted = payout.source_amounts !== null;
  yield csvRecord(isConverted ? [...COLUMNS, ...CONVERSION] : COLUMNS);
  const program = programOf(c);
  const record = (line: StatementLine, calculation: string) => [
    ...[line.created_at, line.commission_id, line.kind, calculation],
    ...[decimalAmount(line.amount_cents, line.currency), line.currency],
    ...(isConverted ? CONVERSION.map(() => null) : []),
  ];
  if (payout.status === "returned") {
    for await (const lines of statementLines(c.var.ctx, statement)) {
      yield lines.map((line) => csvRecord(record(line, ""))).join("");
    }
  } else {
    for await (const some of commissionsIn(c.var.ctx, payout)) {
      const records = some.map(viewCommission).map((row) => {
        const calculation = inEnglish(() => whyText(row, program)).replaceAll("\u00a0", " ");
        return csvRecord(record({ ...row, commission_id: row.id }, calculation));
      });
      if (records.length > 0) yield records.join("");
    }
  }
  for (const part of payout.source_amounts ?? []) {
    yield csvRecord([
      ...[null, null, "conversion", null, decimalAmount(part.amount_cents, part.currency), part.currency],
      ...[part.rate, part.rate_at, decimalAmount(part.converted_cents, payout.currency), payout.currency],
    ]);
  }
}

/** A payout in its statement. */
export type Detailed = Pick<
  PayoutView,
  | ("id" | "amount_cents" | "currency" | "source_amounts" | "status" | "method" | "recipient")
  | (
      | "period_start"
      | "period_end"
      | "commission_count"
      | "due_at"
      | "created_at"
      | "paid_at"
      | "reference"
      | "held_until"
    )
>;

/** The last instant within the period, whose end is exclusive. */
function lastInstant({ period_end }: Pick<Detailed, "period_end">): string {
  return iso(Date.parse(period_end) - 1);
}

/** Whether an instant starts a UTC day, as the ends of monthly periods do. */
const isUtcDay = (at: string) => Date.parse(at) % DAY === 0;

/** The first and last day, in UTC if the period consists of UTC days, so that neighboring months do not share a day. */
function Period({ of: payout }: { of: Pick<Detailed, "period_start" | "period_end"> }) {
  const zone = usePageZone();
  const { period_start, period_end } = payout;
  const isUtc = isUtcDay(period_end) && (period_start === null || isUtcDay(period_start));
  const day = (at: string) => (
    <time datetime={at} title={at}>
      {dateText(at, isUtc ? "UTC" : zone)}
    </time>
  );
  return (
    <>
      {period_start === null ? "Up to " : day(period_start)}
      {period_start === null ? "" : " to "}
      {day(lastInstant(payout))}
      {isUtc && zone !== "UTC" ? " (UTC days)" : ""}
    </>
  );
}

interface PayoutFactsProps {
  payout: Detailed;
  statement: StatementHead;
  to: string;
}

function PayoutFacts({ payout, statement, to }: PayoutFactsProps) {
  const { status } = payout;
  const earned = earnedText(payout);
  return (
    <section class="card">
      <Facts
        rows={[
          ["Payout", <code>{payout.id}</code>],
          ...statementFacts(statement, to),
          [
            "Amount",
            <>
              <Money of={payout} />
              {earned === null ? null : ` for ${earned}`}
            </>,
          ],
          ["Status", <OwnStatus of={payout} />],
          ["Period", <Period of={payout} />],
          ["Commissions", countText(payout.commission_count)],
          ["Paid by", payoutMethodText(payout.method)],
          payout.recipient === null ? null : ["Paid to", payout.recipient],
          ["Prepared", <When at={payout.created_at} only="day" />],
          payout.paid_at === null
            ? status === "canceled"
              ? null
              : ["Due", <When at={payout.due_at} only="day" />]
            : ["Paid", <When at={payout.paid_at} only="day" />],
          payout.held_until === null
            ? null
            : [
                "Held until",
                <>
                  <When at={payout.held_until} /> (your payout details were added or changed)
                </>,
              ],
          payout.reference === null ? null : ["Reference", payout.reference],
        ]}
      />
    </section>
  );
}

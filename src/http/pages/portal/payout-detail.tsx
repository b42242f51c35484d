import { type Context, Hono } from "hono";
import type { Commission } from "../../../core/kernel/rows.ts";
import { viewCommission, viewPayout, type PayoutView } from "../../../core/kernel/views.ts";
import { openRecipient } from "../../../core/payouts/recipient.ts";
import { MOST_LINES, readStatement, statementLines } from "../../../core/payouts/statement.ts";
import { csvRecord } from "../../../domain/csv.ts";
import { decimalAmount } from "../../../domain/currency.ts";
import { DAY, iso } from "../../../lib/time.ts";
import { streamOf } from "../../api/payouts.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { dateText, inEnglish, usePageZone } from "../locale.ts";
import { Badge, countText, Money, When } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { payoutMethodText } from "../parts/payout-method.ts";
import { Facts } from "../parts/table.tsx";
import { whyText } from "./commission-words.ts";
import { CommissionTable } from "./commissions.tsx";
import { ownPayout, programOf, selfOf, type OwnProgram } from "./self.ts";
import { nameText, programText } from "../parts/shown-name.ts";

const AT = "/portal/payouts";

/** `/portal/payouts/:id`: the statement of a payout, to read, to print and as a file (PORTAL-3). */
export const payoutDetail = new Hono<PageEnv>()
  .get("/:id", async (c) => {
    const { payout, lines } = await read(c);
    // The name was fixed with the destination (OUT-5); only sessions that may see the destination see it.
    const recipient = c.var.session.limited === null ? await openRecipient(c.var.ctx, payout) : null;
    const to = nameText(recipient?.name ?? null) || selfOf(c).email;
    return framed(
      c,
      {
        title: "Payout",
        at: AT,
        head: {
          title: "Statement of your payout",
          back: { href: AT, label: "Payouts" },
          actions:
            lines.length === 0 ? null : (
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
        <PayoutFacts payout={ownPayout(c, viewPayout(payout))} to={to} program={programOf(c)} />
        {lines.length === 0 ? null : (
          <section class="card flush">
            <h2>Commissions in it</h2>
            <CommissionTable commissions={lines.map(viewCommission)} program={programOf(c)} />
          </section>
        )}
        {payout.commission_count <= MOST_LINES ? null : (
          <p class="muted">
            The first {countText(MOST_LINES)} commissions;{" "}
            <a href={`/portal/commissions?payout_id=${payout.id}`}>see all</a>
          </p>
        )}
      </>,
    );
  })
  .get("/:id/statement.csv", async (c) => {
    const lines = await statementLines(c.var.ctx, selfOf(c).id, c.req.param("id"));
    return c.body(streamOf(statementCsv(lines, programOf(c))), 200, {
      "Content-Type": "text/csv; charset=utf-8; header=present",
      "Content-Disposition": 'attachment; filename="statement.csv"',
    });
  });

async function read(c: Context<PageEnv>) {
  return readStatement(c.var.ctx, selfOf(c).id, c.req.param("id") ?? "");
}

const COLUMNS = ["date", "commission_id", "kind", "calculation", "amount", "currency"];

async function* statementCsv(lines: AsyncIterable<Commission[]>, program: OwnProgram): AsyncGenerator<string> {
  yield csvRecord(COLUMNS);
  for await (const some of lines) {
    const records = some
      .map(viewCommission)
      .map((row) => [
        row.created_at,
        row.id,
        row.kind,
        inEnglish(() => whyText(row, program)).replaceAll("\u00a0", " "),
        decimalAmount(row.amount_cents, row.currency),
        row.currency,
      ]);
    if (records.length > 0) yield records.map(csvRecord).join("");
  }
}

/** A payout in its statement. */
export type Detailed = Pick<
  PayoutView,
  | ("id" | "amount_cents" | "currency" | "status" | "method" | "recipient")
  | ("period_start" | "period_end" | "commission_count" | "due_at" | "created_at" | "paid_at" | "reference")
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
  to: string;
  program: OwnProgram;
}

function PayoutFacts({ payout, to, program }: PayoutFactsProps) {
  const { status } = payout;
  return (
    <section class="card">
      <Facts
        rows={[
          ["Payout", <code>{payout.id}</code>],
          ["From", programText(program)],
          ["To", to],
          ["Amount", <Money of={payout} />],
          ["Status", status === "failed" ? <Badge state="pending" label="delayed" /> : <Badge state={status} />],
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
          payout.reference === null ? null : ["Reference", payout.reference],
        ]}
      />
    </section>
  );
}

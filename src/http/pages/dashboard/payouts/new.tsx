import { type Context, Hono } from "hono";
import { connectionOf } from "../../../../core/kernel/connections.ts";
import { readPartnerNames } from "../../../../core/partners/display-names.ts";
import { generatePayouts, type Generation, type SkippedSum } from "../../../../core/payouts/generate.ts";
import type { Payout, Program } from "../../../../core/kernel/rows.ts";
import { amountOf, sumUp } from "../../../../domain/amount.ts";
import { TRANSFER_METHOD } from "../../../../domain/partner.ts";
import { minimumIn, type SkipReason } from "../../../../domain/payout.ts";
import { iso } from "../../../../lib/time.ts";
import type { PageEnv } from "../../../session.ts";
import { timeRange } from "../../../validate.ts";
import { filterOf } from "../../filters.ts";
import { type Problems } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { countText, Money, moneyText, plural, Sums, sumsText, When } from "../../parts/figures.tsx";
import { Notice, Refused } from "../../parts/notice.tsx";
import { PartnerLink, partnerText } from "../../parts/partner.tsx";
import { Empty, Table } from "../../parts/table.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { isOffered } from "../../parts/payout-move.ts";
import { TRANSFER_SERVICE } from "../../../../providers/registry.ts";
import { MAX_CHOSEN } from "./chosen.tsx";
import { act } from "../../act.ts";

const AT = "/dashboard/payouts";
/** The most payouts and partners that the page lists; the sums cover all. */
const SHOWN = 50;

const SKIP_TEXTS: Record<SkipReason, string> = {
  disputed: "a dispute is open",
  partner_invited: "the partner has not signed in yet",
  not_positive: "corrections equal or exceed the earnings",
  too_large: "above the limit of all payouts",
  below_minimum: "below the minimum payout",
};

const previewQuery = timeRange.pick({ to: true });

/** `/dashboard/payouts/new`: previews the payouts of a run and the amounts that it carries forward. */
export const payoutNew = new Hono<PageEnv>()
  .get("/", (c) => previewPage(c))
  .post("/", (c) =>
    act(c, {
      schema: timeRange.shape.from.unwrap(),
      input: (fields) => fields.text("period_end"),
      verb: async (period_end) =>
        donePage(c, await generatePayouts(c.var.ctx, { period_start: null, period_end, dry_run: false })),
      page: ({ problems }) => previewPage(c, problems),
    }),
  );

async function previewPage(c: Context<PageEnv>, problems?: Problems) {
  const filter = filterOf(c, previewQuery);
  // If the last day is today, the period ends now: a period cannot end in the future.
  const period_end = Math.min(filter.value.to ?? c.var.now, c.var.now);
  const plan = await generatePayouts(c.var.ctx, { period_start: null, period_end, dry_run: true });
  const names = await readPartnerNames(c.var.ctx, [
    ...[...plan.payouts.slice(0, SHOWN), ...plan.skipped.slice(0, SHOWN)].map(({ partner_id }) => partner_id),
    ...plan.without_details.partner_ids.slice(0, SHOWN),
  ]);
  const count = plan.totals.reduce((sum, total) => sum + total.payouts, 0);
  const { program } = c.var.session;
  return framed(
    c,
    {
      title: "Prepare payouts",
      at: AT,
      problems,
      head: {
        back: { href: AT, label: "Payouts" },
        lede: "Groups approved commissions into one payout per partner and currency. No money moves yet.",
      },
    },
    <>
      <PeriodForm to={filter.texts.to} />
      <Refused problems={problems} />
      <WithoutDetails plan={plan} names={names} />
      <section class="card flush">
        <div class="card-head">
          <h2>{count === 0 ? "Nothing to pay out" : `${plural(count, "payout")}: ${totalText(plan, program)}`}</h2>
          {count > 0 ? (
            <Form action={`${AT}/new`} class="inline">
              <input type="hidden" name="period_end" value={iso(period_end)} />
              <button type="submit" class="primary">
                Prepare {plural(count, "payout")}
              </button>
            </Form>
          ) : null}
        </div>
        {count === 0 ? (
          <Empty title={noneText(plan, filter.texts.to)}>
            <a href="/dashboard/commissions?status=pending">Review pending commissions</a>
          </Empty>
        ) : (
          <>
            <Prepared plan={plan} names={names} program={program} />
            <p class="table-note">
              {count > SHOWN ? `The first ${SHOWN} of ${countText(count)}. ` : ""}Due{" "}
              <When at={plan.due_at} only="day" /> ({program.payout_term}).
            </p>
          </>
        )}
      </section>
      <Skipped plan={plan} names={names} program={program} />
    </>,
  );
}

/** Partners without payout details, before their payouts are made (OUT-18). */
function WithoutDetails({ plan: { without_details }, names }: Pick<PreparedProps, "plan" | "names">) {
  const { partners, payouts, partner_ids } = without_details;
  if (partners === 0) return null;
  const more = partners - Math.min(partners, SHOWN);
  return (
    <Notice tone="warn">
      <p>
        {plural(partners, "partner")} {partners === 1 ? "has" : "have"} no payout details yet. You can prepare{" "}
        {payouts === 1 ? "the payout" : `their ${plural(payouts, "payout")}`} now: until paid, a payout takes the
        details as soon as they are added.
      </p>
      <p>
        {partner_ids.slice(0, SHOWN).map((id, i) => {
          const partner = names.get(id);
          return (
            <>
              {i === 0 ? "" : ", "}
              <a href={`/dashboard/partners/${id}`}>{partner ? partnerText(partner) : id}</a>
            </>
          );
        })}
        {more === 0 ? "" : ` and ${countText(more)} more`}
      </p>
    </Notice>
  );
}

/** The reason why a run up to the chosen day has no payouts. */
function noneText({ skipped }: Generation, to: string | undefined): string {
  const then = to === undefined ? "" : " by then";
  return skipped.length > 0
    ? `All that is approved${then} rolls over`
    : `No commission that is approved${then} is ready to pay`;
}

function Skipped({ plan: { skipped, totals }, names, program }: PreparedProps) {
  if (skipped.length === 0) return null;
  const count = totals.reduce((sum, total) => sum + total.skipped, 0);
  const whyOf = (row: SkippedSum) =>
    row.reason === "below_minimum"
      ? `${SKIP_TEXTS[row.reason]} of ${moneyText(amountOf(row, minimumIn(program, row.currency)))}`
      : SKIP_TEXTS[row.reason];
  return (
    <section class="card flush">
      <h2>Rolling over</h2>
      <Table
        label="Rolling over to the next payouts"
        columns={[{ label: "Partner" }, { label: "Why" }, { label: "Amount", align: "end" }]}
        rows={skipped
          .slice(0, SHOWN)
          .map((row) => [<PartnerLink partner={names.get(row.partner_id)} />, whyOf(row), <Money of={row} />])}
      />
      {count > SHOWN ? (
        <p class="table-note">
          The first {SHOWN} of {countText(count)}.
        </p>
      ) : null}
    </section>
  );
}

function totalText({ totals }: Generation, program: Program): string {
  return sumsText(sumUp(totals, program));
}

function donePage(c: Context<PageEnv>, made: Generation) {
  const count = made.totals.reduce((sum, total) => sum + total.payouts, 0);
  return framed(
    c,
    { title: "Payouts prepared", at: AT, head: { back: { href: AT, label: "Payouts" } } },
    <>
      <Notice tone="good">
        <p>
          {count === 0
            ? "There was nothing left to prepare."
            : `${plural(count, "payout")}: ${totalText(made, c.var.session.program)}.`}
        </p>
      </Notice>
      <PayNow made={made.payouts.flatMap((row) => ("id" in row ? [row] : []))} program={c.var.session.program} />
      <section class="card prose">
        <h2>Next steps</h2>
        <p>
          Pay them{" "}
          {connectionOf(c.var.session.program, TRANSFER_METHOD).api_key === null
            ? ""
            : `through ${TRANSFER_SERVICE} or `}
          by hand from <a href={`${AT}?status=pending`}>the list of open payouts</a>, or{" "}
          <a href={`${AT}/export.csv?status=pending&format=generic`}>export them</a> for your bank. Due{" "}
          <When at={made.due_at} only="day" />.
        </p>
      </section>
    </>,
  );
}

/** Links all prepared payouts to the page that confirms their payment. */
function PayNow({ made, program }: { made: readonly Payout[]; program: Program }) {
  const moves = {
    mark_paid: made.filter((row) => isOffered("mark_paid", row, program)),
    pay: made.filter((row) => isOffered("pay", row, program)),
  };
  return (
    <div class="actions">
      {(["pay", "mark_paid"] as const).map((move) =>
        moves[move].length === 0 || moves[move].length > MAX_CHOSEN[move] ? null : (
          <Form action={`${AT}/chosen`}>
            <input type="hidden" name="move" value={move} />
            {moves[move].map(({ id }) => (
              <input type="hidden" name="ids" value={id} />
            ))}
            <button type="submit" class={move === "mark_paid" ? undefined : "primary"}>
              {move === "mark_paid"
                ? `Mark ${plural(moves[move].length, "payout")} as paid…`
                : `Pay ${plural(moves[move].length, "payout")} through ${TRANSFER_SERVICE}…`}
            </button>
          </Form>
        ),
      )}
    </div>
  );
}

interface PreparedProps {
  plan: Generation;
  names: Awaited<ReturnType<typeof readPartnerNames>>;
  program: Program;
}

function Prepared({ plan, names, program }: PreparedProps) {
  return (
    <Table
      label="Payouts to prepare"
      columns={[
        { label: "Partner" },
        { label: "Paid by" },
        { label: "Commissions", align: "end" },
        { label: "Amount", align: "end" },
      ]}
      rows={[...Map.groupBy(plan.payouts.slice(0, SHOWN), (row) => row.partner_id)].map(([id, rows]) => [
        <PartnerLink partner={names.get(id)} />,
        <span class="one-line">{payoutMethodText(rows[0]?.method ?? null)}</span>,
        countText(rows.reduce((sum, row) => sum + row.commission_count, 0)),
        <Sums of={sumUp(rows, program)} />,
      ])}
    />
  );
}

function PeriodForm({ to }: { to: string | undefined }) {
  return (
    <form method="get" action={`${AT}/new`} class="filter" aria-label="Period">
      <Field name="to" label="Commissions up to and including" type="date" value={to} class="wide-label" />
      <button type="submit">Preview</button>
    </form>
  );
}

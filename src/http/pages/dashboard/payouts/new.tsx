import { type Context, Hono } from "hono";
import * as z from "zod";
import { readPartnerNames } from "../../../../core/partners/display-names.ts";
import { generatePayouts, type Generation, type SkippedSum } from "../../../../core/payouts/generate.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import { amountOf, sumUp } from "../../../../domain/amount.ts";
import { minimumIn, type SkipReason } from "../../../../domain/payout.ts";
import { iso } from "../../../../lib/time.ts";
import type { PageEnv } from "../../../session.ts";
import { timeRange } from "../../../validate.ts";
import { filterOf } from "../../filters.ts";
import { type Problems } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { Field, Form, Hidden } from "../../parts/form.tsx";
import { capitalized, countText, Money, moneyText, plural, Sums, sumsText, When } from "../../parts/figures.tsx";
import { Notice, Refused } from "../../parts/notice.tsx";
import { PartnerLink } from "../../parts/partner.tsx";
import { EarnedFor, RATE_SOURCE_TEXTS } from "../../parts/statement.tsx";
import { Empty, FirstOf, Table } from "../../parts/table.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { addedDetailsText } from "../../parts/payout-terms.ts";
import { act } from "../../act.ts";
import { AskButton, askedNotice, PartnersText } from "./ask.tsx";
import { withMoved } from "./moved.tsx";

const AT = "/dashboard/payouts";
/** The most payouts and partners that the page lists; the sums cover all. */
const SHOWN = 50;
/** Partners without payout details that the page names. */
const NAMED = 10;

const SKIP_TEXTS: Record<SkipReason, string> = {
  disputed: "a dispute is open",
  rate_missing: "no exchange rate",
  partner_invited: "the partner has not signed in yet",
  not_positive: "corrections equal or exceed the earnings",
  too_large: "above the limit of all payouts",
  below_minimum: "below the minimum payout",
  details_missing: "no payout details",
  tax_data_missing: "the partner has not given tax data",
};

const previewQuery = timeRange.pick({ to: true }).extend({ require_details: z.literal("yes").optional() });

const prepared = z.object({ period_end: timeRange.shape.from.unwrap(), require_details: z.boolean() });

/** `/dashboard/payouts/new`: previews the payouts of a run and the amounts that it carries forward. */
export const payoutNew = new Hono<PageEnv>()
  .get("/", (c) => previewPage(c))
  .post("/", (c) =>
    act(c, {
      schema: prepared,
      input: (fields) => ({
        period_end: fields.text("period_end"),
        require_details: fields.text("require_details") === "yes",
      }),
      verb: async ({ period_end, require_details }) => {
        await generatePayouts(c.var.ctx, { period_start: null, period_end, dry_run: false, require_details });
        return withMoved(`${AT}/pay`, { moved: "prepare", at: c.var.ctx.now });
      },
      page: ({ problems }) => previewPage(c, problems),
    }),
  );

async function previewPage(c: Context<PageEnv>, problems?: Problems) {
  const filter = filterOf(c, previewQuery);
  // If the last day is today, the period ends now: a period cannot end in the future.
  const period_end = Math.min(filter.value.to ?? c.var.now, c.var.now);
  const require_details = filter.value.require_details !== undefined;
  const plan = await generatePayouts(c.var.ctx, { period_start: null, period_end, dry_run: true, require_details });
  const names = await readPartnerNames(c.var.ctx, [
    ...[...plan.payouts.slice(0, SHOWN), ...plan.skipped.slice(0, SHOWN)].map(({ partner_id }) => partner_id),
    ...plan.without_details.partner_ids.slice(0, NAMED),
    ...partnersOf(heldIn(plan)).slice(0, NAMED),
  ]);
  const count = plan.totals.reduce((sum, total) => sum + total.payouts, 0);
  const { program } = c.var.session;
  return framed(
    c,
    {
      ...{ title: "Prepare payouts", at: AT, problems, notice: problems ? null : askedNotice(c) },
      head: {
        back: { href: AT, label: "Payouts" },
        lede: `Groups approved commissions into one payout per partner${plan.payout_currency === null ? " and currency" : `, in ${plan.payout_currency}`}. No money moves yet.`,
      },
    },
    <>
      <PeriodForm texts={filter.texts} />
      <Refused problems={problems} />
      <WithoutDetails {...{ c, plan, names, period_end }} texts={filter.texts} />
      <OnHold plan={plan} names={names} program={program} />
      <section class="card flush">
        <div class="card-head">
          <h2>{count === 0 ? "Nothing to pay out" : `${plural(count, "payout")}: ${totalText(plan, program)}`}</h2>
          {count > 0 ? (
            <Form action={`${AT}/new`} class="inline">
              <Hidden
                values={{ period_end: iso(period_end), ...(require_details ? { require_details: "yes" } : {}) }}
              />
              <button type="submit" class="primary">
                Prepare {plural(count, "payout")}
              </button>
            </Form>
          ) : null}
        </div>
        {count === 0 ? (
          <Empty title={noneText(plan, filter.texts["to"])}>
            <a href="/dashboard/commissions?status=pending">Review pending commissions</a>
          </Empty>
        ) : (
          <>
            <Prepared plan={plan} names={names} program={program} />
            <p class="table-note">
              {count > SHOWN ? `The first ${SHOWN} of ${countText(count)}. ` : ""}Due{" "}
              <When at={plan.due_at} only="day" /> ({program.payout_term}).
              <Rates plan={plan} />
            </p>
          </>
        )}
      </section>
      <RatesMissing plan={plan} />
      <Skipped plan={plan} names={names} program={program} />
    </>,
  );
}

interface WithoutDetailsProps extends Pick<PreparedProps, "plan" | "names"> {
  c: Context<PageEnv>;
  period_end: number;
  texts: Record<string, string>;
}

/** Partners without payout details, before their payouts are made (OUT-18): ask them, leave them out, or neither. */
function WithoutDetails({ c, plan, names, period_end, texts }: WithoutDetailsProps) {
  const { partners, payouts, partner_ids } = plan.without_details;
  const left_out = plan.reasons.get("details_missing") ?? 0;
  if (partners + left_out === 0) return null;
  const { require_details: _, ...period } = texts;
  const href = (query: Record<string, string>) => {
    const text = new URLSearchParams(query).toString();
    return text === "" ? `${AT}/new` : `${AT}/new?${text}`;
  };
  return (
    <Notice tone="warn">
      {left_out > 0 ? (
        <p>
          {plural(left_out, "amount")} of partners without payout details {left_out === 1 ? "is" : "are"} left out and
          {left_out === 1 ? " rolls" : " roll"} over.
        </p>
      ) : (
        <>
          <p>
            {plural(partners, "partner")} {partners === 1 ? "has" : "have"} no payout details: ask by e-mail, or leave{" "}
            {partners === 1 ? "it" : "them"} out. You can also prepare{" "}
            {payouts === 1 ? "the payout" : `their ${plural(payouts, "payout")}`} now.{" "}
            {addedDetailsText(c.var.session.program)}
          </p>
          <p>
            <PartnersText ids={partner_ids.slice(0, NAMED)} count={partners} names={names} />
          </p>
        </>
      )}
      <div class="actions">
        <AskButton
          {...{ c, back: "new" }}
          values={{ period_end: iso(period_end), ...(texts["to"] === undefined ? {} : { to: texts["to"] }) }}
        />
        {left_out > 0 ? (
          <a href={href(period)}>Include them</a>
        ) : (
          <a class="button" href={href({ ...period, require_details: "yes" })}>
            Leave them out
          </a>
        )}
      </div>
    </Notice>
  );
}

function heldIn({ payouts }: Generation) {
  return payouts.filter(({ held_until }) => held_until !== null);
}

function partnersOf(rows: readonly { partner_id: string }[]): string[] {
  return [...new Set(rows.map(({ partner_id }) => partner_id))];
}

/** Planned payouts that cannot be paid before the end of a hold (OUT-24). */
function OnHold({ plan, names, program }: PreparedProps) {
  const held = heldIn(plan);
  if (held.length === 0) return null;
  const ids = partnersOf(held);
  return (
    <Notice tone="warn">
      <p>
        {plural(held.length, "payout")} {held.length === 1 ? "is" : "are"} on hold once prepared, because payout details
        changed: {sumsText(sumUp(held, program))}. Check the change, then release the hold on the partner's page.
      </p>
      <p>
        <PartnersText ids={ids.slice(0, NAMED)} count={ids.length} names={names} />
      </p>
    </Notice>
  );
}

/** The reason why a run up to the chosen day has no payouts. */
function noneText({ skipped, reasons }: Generation, to: string | undefined): string {
  const then = to === undefined ? "" : " by then";
  const isBelow = skipped.length > 0 && [...reasons.keys()].every((why) => why === "below_minimum");
  return isBelow ? `Every amount${then} is below the minimum` : `Nothing is ready to pay${then}`;
}

function Skipped({ plan, names, program }: PreparedProps) {
  const { skipped, totals } = plan;
  if (skipped.length === 0) return null;
  const count = totals.reduce((sum, total) => sum + total.skipped, 0);
  const whyOf = (row: SkippedSum) =>
    row.reason === "below_minimum"
      ? `${SKIP_TEXTS[row.reason]} of ${moneyText(amountOf(row, minimumIn(program, row.currency)))}`
      : SKIP_TEXTS[row.reason];
  return (
    <section class="card flush">
      <h2>Rolling over</h2>
      <p class="table-note">
        {[...plan.reasons]
          .map(([reason, sums]) => `${capitalized(SKIP_TEXTS[reason])}: ${countText(sums)}`)
          .join(" · ")}
      </p>
      <Table
        label="Rolling over to the next payouts"
        columns={[{ label: "Partner" }, { label: "Why" }, { label: "Amount", align: "end" }]}
        rows={skipped
          .slice(0, SHOWN)
          .map((row) => [<PartnerLink partner={names.get(row.partner_id)} />, whyOf(row), <Money of={row} />])}
      />
      <FirstOf shown={SHOWN} count={count} />
    </section>
  );
}

function totalText({ totals }: Generation, program: Program): string {
  return sumsText(sumUp(totals, program));
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
        <PreparedSums rows={rows} program={program} />,
      ])}
    />
  );
}

/** The amounts of a partner's payouts; a payout with conversions is the partner's only one. */
function PreparedSums({ rows, program }: { rows: Generation["payouts"]; program: Program }) {
  const [first] = rows;
  return first && first.source_amounts !== null ? <EarnedFor of={first} /> : <Sums of={sumUp(rows, program)} />;
}

/** The rates with which the listed payouts are converted. */
function Rates({ plan: { payouts, payout_currency } }: Pick<PreparedProps, "plan">) {
  const used = new Map(
    payouts.flatMap(({ source_amounts }) => source_amounts ?? []).map((part) => [part.currency, part] as const),
  );
  const rates = [...used.values()].flatMap(({ currency, rate, rate_source, rate_at }) =>
    rate_source === null || rate_at === null ? [] : [{ currency, rate, rate_source, rate_at }],
  );
  if (rates.length === 0) return null;
  return (
    <>
      <br />
      Exchange rates:{" "}
      {rates.map(({ currency, rate, rate_source, rate_at }, i) => (
        <>
          {i === 0 ? "" : " · "}1 {currency} = {rate} {payout_currency} ({RATE_SOURCE_TEXTS[rate_source]},{" "}
          <When at={rate_at} only="day" />)
        </>
      ))}
    </>
  );
}

/** The sums without a rate (OUT-36), with a link to enter one. */
function RatesMissing({ plan: { reasons, skipped, payout_currency } }: Pick<PreparedProps, "plan">) {
  const count = reasons.get("rate_missing") ?? 0;
  if (count === 0) return null;
  const currencies = new Set(skipped.filter(({ reason }) => reason === "rate_missing").map((row) => row.currency));
  return (
    <Notice tone="warn">
      <p>
        {plural(count, "amount")} in {[...currencies].toSorted().join(", ")} {count === 1 ? "rolls" : "roll"} over:
        there is no exchange rate to {payout_currency}, or it is older than 35 days.{" "}
        <a href="/dashboard/settings/payouts#rates">Enter exchange rates</a>
      </p>
    </Notice>
  );
}

function PeriodForm({ texts: { to, require_details } }: { texts: Record<string, string> }) {
  return (
    <form method="get" action={`${AT}/new`} class="filter" aria-label="Period">
      <Field name="to" label="Commissions up to and including" type="date" value={to} class="wide-label" />
      {require_details === undefined ? null : <Hidden values={{ require_details }} />}
      <button type="submit">Preview</button>
    </form>
  );
}

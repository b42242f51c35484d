import type { Earnings } from "../../../core/overview/earnings.ts";
import type { Expected, OpenPayout } from "../../../core/payouts/expected.ts";
import { amountOf, sumUp, type Amount } from "../../../domain/amount.ts";
import { NOTHING, subtract } from "../../../domain/money.ts";
import { dueAt, minimumIn, nextRun } from "../../../domain/payout.ts";
import { iso } from "../../../lib/time.ts";
import type { Child } from "../../jsx.ts";
import { Money, moneyText, Stat, Sums, sumsText } from "../parts/figures.tsx";
import { dateText, usePageZone } from "../locale.ts";
import { payoutTermsText } from "../parts/payout-terms.ts";
import type { OwnProgram, Self } from "./self.ts";
import { programText } from "../parts/shown-name.ts";
import { lacksTaxData } from "./unpayable.ts";

interface EarningsProps {
  earnings: readonly Earnings[];
  program: OwnProgram;
}

interface CardProps extends EarningsProps {
  expected: Expected;
  partner: Pick<Self, "tax_data_id">;
  /** Milliseconds. */
  now: number;
}

/** The partner's next payout, and the earnings of each state by currency (PORTAL-5). */
export function EarningsCard(props: CardProps) {
  const { earnings, program } = props;
  const sums = (field: Extract<keyof Earnings, `${string}_cents`>) => (
    <Sums
      of={sumUp(
        earnings.map((of) => amountOf(of, of[field])),
        program,
      )}
    />
  );
  const owes = earnings.some(({ payable_cents }) => payable_cents < 0);
  return (
    <section class="card flush">
      <div class="card-head">
        <h2>Earnings</h2>
      </div>
      <div class="inset">
        <NextPayout {...props} />
      </div>
      <dl class="stats">
        <Stat
          label="Pending"
          value={sums("review_cents")}
          note={
            earnings.some(({ review_cents }) => review_cents !== 0) ? `until ${programText(program)} approves` : null
          }
        />
        {program.auto_approve_days === null ? null : (
          <Stat label="On hold" value={sums("held_cents")} note={<Holds earnings={earnings} />} />
        )}
        <Stat
          label="Ready to pay"
          value={sums("payable_cents")}
          note={owes ? "a negative amount is deducted from future earnings" : null}
        />
        <Stat label="In a payout" value={sums("in_payout_cents")} />
        <Stat label="Paid" value={sums("paid_cents")} />
      </dl>
    </section>
  );
}

/** The payouts on their way, else the approved sums that the next monthly run takes. */
function NextPayout({ earnings, expected: { open, disputed }, program, partner, now }: CardProps) {
  const zone = usePageZone();
  const [next] = open;
  if (next) {
    const isNext = ({ due_at }: OpenPayout) => due_at === next.due_at;
    return (
      <>
        <Line label="Next payout" note={`due ${dateText(next.due_at, zone)}`}>
          <a href="/portal/payouts">
            <Sums of={sumUp(open.filter(isNext), program)} />
          </a>
        </Line>
        {open
          .filter((payout) => !isNext(payout))
          .map((payout) => (
            <p class="muted small">
              Then <Money of={payout} />, due {dateText(payout.due_at, zone)}
            </p>
          ))}
      </>
    );
  }
  const run = nextRun(now);
  const ready = earnings.flatMap(({ currency, payable_cents }) => {
    const held = disputed.find((sum) => sum.currency === currency)?.amount_cents ?? NOTHING;
    const amount_cents = subtract(payable_cents, held);
    return amount_cents === 0 ? [] : [{ currency, amount_cents }];
  });
  const isPaid = ready.some(({ amount_cents }) => amount_cents > 0) && !lacksTaxData(partner, program);
  if (run === null || !isPaid) return <p class="muted">{payoutTermsText(program)}</p>;
  return <Forecast ready={ready} program={program} due={dateText(iso(dueAt(run, program.payout_term)), zone)} />;
}

interface ForecastProps {
  /** The sums of the next run by currency. */
  ready: readonly Amount[];
  program: OwnProgram;
  due: string;
}

function Forecast({ ready, program, due }: ForecastProps) {
  const { payout_currency } = program;
  const least = (currency: string) => ({ currency, amount_cents: minimumIn(program, currency) });
  if (payout_currency !== null && ready.some(({ currency }) => currency !== payout_currency)) {
    const minimum = least(payout_currency);
    return (
      <p>
        Next payout due <strong>{due}</strong>: what is ready and can be converted to {payout_currency}
        {minimum.amount_cents > 0 ? `, if that is at least ${moneyText(minimum)}` : ""}.
      </p>
    );
  }
  const paid = ready.filter(
    ({ currency, amount_cents }) => amount_cents > 0 && amount_cents >= least(currency).amount_cents,
  );
  const below = ready.filter(
    ({ currency, amount_cents }) => amount_cents > 0 && amount_cents < least(currency).amount_cents,
  );
  return (
    <>
      {paid.length === 0 ? null : (
        <Line label="Next payout" note={`approved so far, due ${due}`}>
          <Sums of={sumUp(paid, program)} />
        </Line>
      )}
      {below.length === 0 ? null : (
        <p class={paid.length === 0 ? "" : "muted small"}>
          {sumsText(sumUp(below, program))} {below.length === 1 ? "is" : "are"} below the minimum of{" "}
          {below.map(({ currency }) => moneyText(least(currency))).join(" and ")} and{" "}
          {below.length === 1 ? "rolls" : "roll"} over to a later payout.
        </p>
      )}
    </>
  );
}

function Line({ label, note, children }: { label: string; note: string; children?: Child }) {
  return (
    <p>
      <span class="muted">{label}</span>
      <span class="stat-value">{children}</span>
      <span class="stat-note">{note}</span>
    </p>
  );
}

/** The end of the hold period, for each currency with held commissions. */
function Holds({ earnings }: Pick<EarningsProps, "earnings">) {
  const zone = usePageZone();
  const held = earnings.flatMap(({ currency, held: span }) =>
    span === null ? [] : [{ currency, first: dateText(span.first, zone), last: dateText(span.last, zone) }],
  );
  return (
    <>
      {held.map(({ currency, first, last }) => (
        <span class="stat-note">
          {held.length === 1 ? "" : `${currency} `}
          {first === last ? `until ${first}` : `until ${first}, the last until ${last}`}
        </span>
      ))}
    </>
  );
}

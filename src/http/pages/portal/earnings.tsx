import type { Earnings } from "../../../core/overview/earnings.ts";
import { amountOf, sumUp } from "../../../domain/amount.ts";
import { minimumIn } from "../../../domain/payout.ts";
import { moneyText, Stat, Sums } from "../parts/figures.tsx";
import { dateText, usePageZone } from "../locale.ts";
import type { OwnProgram } from "./self.ts";
import { programText } from "../parts/shown-name.ts";

interface EarningsProps {
  earnings: readonly Earnings[];
  program: OwnProgram;
}

/** The partner's earnings by state, every currency in each (PORTAL-5). */
export function EarningsOf({ earnings, program }: EarningsProps) {
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
    <dl class="stats">
      <Stat label="Pending" value={sums("review_cents")} note={`until ${programText(program)} approves`} />
      {program.auto_approve_days === null ? null : (
        <Stat label="On hold" value={sums("held_cents")} note={<Holds earnings={earnings} />} />
      )}
      <Stat
        label="Approved"
        value={sums("payable_cents")}
        note={owes ? "a negative amount is deducted from future earnings" : payableText(earnings, program)}
      />
      <Stat label="In a payout" value={sums("in_payout_cents")} note="on its way" />
      <Stat label="Paid" value={sums("paid_cents")} note="so far" />
    </dl>
  );
}

/** When the approved sums are paid: those below the minimum of their currency roll over (OUT-19). */
function payableText(earnings: readonly Earnings[], program: OwnProgram): string {
  const below = earnings.flatMap(({ currency, payable_cents }) => {
    const least = minimumIn(program, currency);
    return payable_cents > 0 && payable_cents < least ? [moneyText({ amount_cents: least, currency })] : [];
  });
  return below.length === 0 ? "for the next payout" : `rolls over below ${below.join(" and ")}`;
}

/** The end of the hold period, for each currency with held commissions. */
function Holds({ earnings }: Pick<EarningsProps, "earnings">) {
  const zone = usePageZone();
  const held = earnings.flatMap(({ currency, held: span }) =>
    span === null ? [] : [{ currency, first: dateText(span.first, zone), last: dateText(span.last, zone) }],
  );
  if (held.length === 0) return "nothing on hold";
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

/** The rates, the click days and the payout terms on the application page (JOIN-10). */
import type { Program } from "../../../core/kernel/rows.ts";
import type { EventOffer, Offer } from "../../../domain/offer.ts";
import { minimumIn } from "../../../domain/payout.ts";
import { moneyText, percentText, plural } from "../parts/figures.tsx";
import { flowSentence, rateSentence, Sentence, type Part, type Ruled } from "../parts/flow-sentence.tsx";
import { payoutTermsText } from "../parts/payout-terms.ts";
import { programText } from "../parts/shown-name.ts";

interface OfferProps {
  program: Program;
  offer: Offer;
}

interface EarnedProps {
  program: Pick<Program, "currency" | "time_zone">;
  offer: Offer;
}

/** The offer to new partners; each statement is true for all of them. */
export function OfferText({ program, offer }: OfferProps) {
  const { cookie_days, attribution } = program;
  const facts = [
    `A click on your link counts for ${plural(cookie_days, "day")}. If a customer clicks the links of several partners, the ${attribution} one counts.`,
    holdText(program, offer),
    payoutTermsText(program),
    minimumText(program),
  ].filter((fact) => fact !== null);
  return (
    <div class="offer">
      <p>
        <Earned program={program} offer={offer} />
      </p>
      <ul>
        {facts.map((fact) => (
          <li>{fact}</li>
        ))}
      </ul>
    </div>
  );
}

const NO_NAMES = { products: new Map<string, string>(), groups: new Map<string, string>() };

export function Earned({ program, offer }: EarnedProps) {
  return <Sentence of={earnedParts(program, offer)} />;
}

/** The rates in sentences: those of all payments, and of the flow that can apply. */
export function earnedParts(
  { currency, time_zone }: EarnedProps["program"],
  { payments: { flow, varies }, leads, commission_pct: pct }: Offer,
): Part[] {
  const setting = { names: NO_NAMES, currency, time_zone };
  const every: Part[] = ["Earn ", { value: percentText(pct) }, " of every sale"];
  const ofPayments = (): Part[] => {
    if (flow === null && pct === 0) return ["What partners earn depends on the sale."];
    if (flow === null) return [...every, varies ? ", unless a special rate applies." : "."];
    if (isRaise(flow, pct)) return [...every, ", or ", ...rateSentence(ruledBy(flow), setting)];
    const others = isUnconditional(flow) ? "" : ` Other payments earn ${pct === 0 ? "nothing" : percentText(pct)}.`;
    return [...flowSentence(ruledBy(flow), setting), others];
  };
  return [...ofPayments(), ...(leads.flow === null ? [] : [" ", ...flowSentence(ruledBy(leads.flow), setting)])];
}

/** Whether some payments earn a higher percentage than all the others. */
function isRaise(flow: OfferedFlow, pct: number): boolean {
  return pct > 0 && flow.action_type === "percentage" && flow.action_value > pct && !isUnconditional(flow);
}

type OfferedFlow = NonNullable<EventOffer["flow"]>;

function ruledBy({ given, base = "payment", ...flow }: OfferedFlow): Ruled {
  return { ...flow, base, conditions: given };
}

function isUnconditional({ given, currency, starts_at, ends_at }: OfferedFlow): boolean {
  return given.length === 0 && currency === null && starts_at === null && ends_at === null;
}

/** The hold of the group or the program; null if flows for payments or leads may have another one. */
function holdText(program: Program, { hold_days, payments, leads }: Offer): string | null {
  if (program.auto_approve_days === null) return `${programText(program)} approves each commission.`;
  if ([payments, leads].some(({ varies, flow }) => varies || (flow?.hold_days ?? null) !== null)) return null;
  const days = hold_days ?? program.auto_approve_days;
  return days === 0 ? null : `Commissions are on hold for ${plural(days, "day")}, in case of refunds.`;
}

function minimumText(program: Program): string | null {
  const currency = program.payout_currency ?? program.currency;
  const amount_cents = minimumIn(program, currency);
  if (amount_cents === 0) return null;
  return `The minimum payout is ${moneyText({ amount_cents, currency })}. Smaller amounts roll over to the next one.`;
}

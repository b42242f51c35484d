import { openRefusalOf, refusalsOf } from "../../../../core/inbound/refusals.ts";
import type { Overview, Standing, Waiting } from "../../../../core/overview/overview.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import type { Child } from "../../../jsx.ts";
import { sumUp } from "../../../../domain/amount.ts";
import { isMaybeListed } from "../../../../domain/refusal.ts";
import { DAY, iso } from "../../../../lib/time.ts";
import { providerName, VENDORS } from "../../../../providers/registry.ts";
import { dayText } from "../../locale.ts";
import { Badge, countText, Flag, plural, sumsText, When } from "../../parts/figures.tsx";
import { ActionButton } from "../../parts/form.tsx";
import { REFUSAL_TEXTS } from "../../parts/words.ts";
import { ActionLink } from "../../rights.tsx";

/** How long a refused delivery is shown, as in the weekly summary: it may come from any sender. */
const REFUSALS_SHOWN = 7 * DAY;
const WEBHOOKS = "/dashboard/webhooks";
const KEYS = "/dashboard/settings/keys";
const RATES = "/dashboard/settings/payouts#rates";

interface Decision {
  what: Child;
  /** The reason for the wait, or the remedy. */
  why: Child;
}

interface ToDoProps {
  overview: Overview;
  program: Program;
  now: number;
  /** Whether the card is left out without a task. */
  hidden: boolean;
}

/** The owner's open decisions, most urgent first. */
export function ToDo({ overview, program, now, hidden }: ToDoProps) {
  const payable = overview.standing.filter(
    ({ account, amount_cents }: Standing) => account === "payable" && amount_cents > 0,
  );
  const decisions = [
    ...decisionsOf(overview.waiting, program),
    ...refusedWebhooks(program, now),
    ...(overview.failing.length === 0
      ? []
      : [{ what: <FailingLink failing={overview.failing} />, why: <Failing overview={overview} /> }]),
    ...(overview.ending.length === 0
      ? []
      : [
          {
            what: <a href={KEYS}>{plural(overview.ending.length, "API key")} to replace</a>,
            why: <Ending keys={overview.ending} />,
          },
        ]),
    ...endingRates(overview.rates_end, now),
    ...(overview.waiting.preparable === 0
      ? []
      : [
          {
            what: <ActionLink href="/dashboard/payouts/new">Prepare payouts</ActionLink>,
            why: readyText(payable, program),
          },
        ]),
  ];
  if (hidden && decisions.length === 0) return null;
  return (
    <section class="card" aria-labelledby="decide">
      <h2 id="decide">To do</h2>
      {decisions.length === 0 ? (
        <p class="muted">All done.</p>
      ) : (
        <ul class="todo">
          {decisions.map(({ what, why }) => (
            <li>
              <span class="todo-what">{what}</span>
              <span class="todo-why">{why}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function readyText(payable: readonly Standing[], program: Program): string {
  const hasMinimum = program.min_payout_cents > 0 || Object.keys(program.min_payouts).length > 0;
  return [
    // The debts of other partners can be larger.
    payable.length === 0 ? [] : `Ready to pay: ${sumsText(sumUp(payable, program))}.`,
    hasMinimum ? "Sums below the minimum wait." : [],
  ]
    .flat()
    .join(" ");
}

function link(href: string, text: string): Child {
  return <a href={href}>{text}</a>;
}

/** Payouts to pay, and those that cannot be paid yet. */
function pendingPayouts({ unpaid, on_hold }: Waiting): [number, Decision][] {
  return [
    [
      unpaid - on_hold,
      {
        what: link("/dashboard/payouts?status=pending", plural(unpaid - on_hold, "payout")),
        why: "Prepared but not paid yet.",
      },
    ],
    [
      on_hold,
      {
        what: link("/dashboard/payouts?status=pending", `${plural(on_hold, "payout")} on hold`),
        why: "The partner's payout details were added or changed. Check the change and release the hold on the partner's page, or wait.",
      },
    ],
  ];
}

function decisionsOf(waiting: Waiting, { auto_approve_days }: Program): Decision[] {
  const { pending, flagged, claims, applications, failed, held, unknown_codes } = waiting;
  const all: [number, Decision][] = [
    [
      failed,
      {
        what: link("/dashboard/payouts?status=failed", plural(failed, "failed payout")),
        why: "Try again or cancel it.",
      },
    ],
    [
      held,
      {
        what: link("/dashboard/payouts?status=processing", plural(held, "payout")),
        why: "The transfer continues once the right API key is in the settings. Each payout's page shows the reason.",
      },
    ],
    [
      flagged,
      {
        what: (
          <a href="/dashboard/commissions?status=pending&flagged=true" class="flag-link">
            <Flag label={`${countText(flagged)} flagged`} />
          </a>
        ),
        why: `${flagged === 1 ? "A commission" : "Commissions"} to review before payment.`,
      },
    ],
    [
      // Unflagged ones are approved automatically if the program has a number of days for it.
      auto_approve_days === null ? pending - flagged : 0,
      {
        what: link("/dashboard/commissions?status=pending&flagged=false", plural(pending - flagged, "commission")),
        why: "Approve or reject.",
      },
    ],
    [
      applications,
      {
        what: link("/dashboard/partners/applications", plural(applications, "application")),
        why: "Approve or decline.",
      },
    ],
    [
      claims,
      {
        what: link("/dashboard/claims", plural(claims, "claim")),
        why: "Missing sales to check.",
      },
    ],
    [
      unknown_codes,
      {
        what: link("/dashboard/payments/codes", plural(unknown_codes, "code")),
        why: "Codes used at checkout that belong to no partner. Assign them, or leave codes that are for everyone.",
      },
    ],
    ...pendingPayouts(waiting),
  ];
  return all.flatMap(([count, decision]) => (count > 0 ? [decision] : []));
}

/** The owner's exchange rates, if payouts cannot use them for long (OUT-37). */
function endingRates(rates_end: string | null, now: number): Decision[] {
  if (rates_end === null) return [];
  const isPast = rates_end <= iso(now);
  return [
    {
      what: <a href={RATES}>{isPast ? "Exchange rates expired" : "Exchange rates expire soon"}</a>,
      why: (
        <>
          {isPast ? "Payouts have not used your rates since" : "Payouts use your rates until"}{" "}
          <When at={rates_end} only="day" />. Enter new ones.
        </>
      ),
    },
  ];
}

/** Recent refusals, for each provider without a verified event since. */
function refusedWebhooks(program: Program, now: number): Decision[] {
  return VENDORS.flatMap(({ name }): Decision[] => {
    const refusal = openRefusalOf(program, name);
    if (refusal === null || refusal.at < iso(now - REFUSALS_SHOWN)) return [];
    return [
      {
        what: (
          <a href="/dashboard/integration/check">
            {isMaybeListed(refusal.reason) ? "Events" : "Webhooks"} of {providerName(name)} refused
          </a>
        ),
        why: (
          <>
            {countText(refusalsOf(program, name).refused)} so far, the last <When at={refusal.at} />:{" "}
            {REFUSAL_TEXTS[refusal.reason].why}.
          </>
        ),
      },
    ];
  });
}

/** Each key has the button that makes its successor. */
function Ending({ keys }: { keys: Overview["ending"] }) {
  return (
    <>
      In use, and expires soon. A new key works alongside it until then.
      <ul class="todo-each">
        {keys.map(({ id, name, last4, expires_at }) => (
          <li>
            <span>
              {name} <code>sk_…{last4}</code> ends <When at={expires_at} />
            </span>
            <ActionButton
              action={`${KEYS}/${id}/rotate`}
              label={
                <>
                  Rotate<span class="visually-hidden"> {name}</span>
                </>
              }
            />
          </li>
        ))}
      </ul>
    </>
  );
}

function FailingLink({ failing }: Pick<Overview, "failing">) {
  const [only, ...others] = failing;
  const href = only && others.length === 0 ? `${WEBHOOKS}/${only.id}` : WEBHOOKS;
  return <a href={href}>{plural(failing.length, "failing endpoint")}</a>;
}

/** Each endpoint has a button that resends its failed deliveries since the first of the shown days. */
function Failing({ overview: { failing, days } }: { overview: Overview }) {
  return (
    <>
      Deliveries fail. Each endpoint's page shows why.
      {failing.some(({ active }) => active === 1)
        ? ` Resend the events that failed since ${dayText(days.from)}.`
        : null}
      <ul class="todo-each">
        {failing.map(({ id, url, active }) => (
          <li>
            <a href={`${WEBHOOKS}/${id}`}>
              <code>{url}</code>
            </a>
            {active === 1 ? (
              <ActionButton
                action={`${WEBHOOKS}/${id}/recover`}
                values={{ since: `${days.from}T00:00:00Z` }}
                label={
                  <>
                    Resend<span class="visually-hidden"> what failed at {url}</span>
                  </>
                }
              />
            ) : (
              <Badge state="failed" label="disabled by us" />
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

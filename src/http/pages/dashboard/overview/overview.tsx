import { Hono } from "hono";
import { openRefusalOf, refusalsOf } from "../../../../core/inbound/refusals.ts";
import { readOverview, type Overview, type Standing, type Waiting } from "../../../../core/overview/overview.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import type { Child } from "../../../jsx.ts";
import { amountOf, sumUp } from "../../../../domain/amount.ts";
import { isMaybeListed } from "../../../../domain/refusal.ts";
import { DAY, iso } from "../../../../lib/time.ts";
import { providerName, VENDORS } from "../../../../providers/registry.ts";
import type { PageEnv } from "../../../session.ts";
import { framed } from "../../framed.tsx";
import { dayText } from "../../locale.ts";
import { Badge, countText, Flag, plural, Sums, When } from "../../parts/figures.tsx";
import { ActionButton } from "../../parts/form.tsx";
import { Notice } from "../../parts/notice.tsx";
import { CountPlot, MoneyPlots } from "../../parts/plot.tsx";
import { chosenDays, Spans } from "../../parts/spans.tsx";
import { REFUSAL_TEXTS } from "../../parts/words.ts";
import { ActionLink, IfMay } from "../../rights.tsx";
import { MoneyTable, Steps } from "./figures.tsx";
import { InviteForm } from "../partners/fields.tsx";
import { TopCodes, TopPartners, TopSources } from "./top.tsx";
import { Setup } from "./setup.tsx";

/** How long a refused delivery is shown, as in the weekly summary: it may come from any sender. */
const REFUSALS_SHOWN = 7 * DAY;
const WEBHOOKS = "/dashboard/webhooks";
const KEYS = "/dashboard/settings/keys";

/** `/dashboard` (PAGE-16): open decisions, the program's figures, and the remaining setup. */
export const overview = new Hono<PageEnv>().get("/", async (c) => {
  const days = chosenDays(c);
  const { program } = c.var.session;
  const seen = await readOverview(c.var.ctx, days);
  return framed(
    c,
    { title: "Overview", at: "/dashboard", head: { actions: <InviteForm /> } },
    <>
      <Books books={seen.books} />
      <Decisions overview={seen} program={program} now={c.var.now} />
      <IfMay right="manage">
        <Setup program={program} seen={seen.seen} />
      </IfMay>
      <div class="section-head">
        <div>
          <h2>
            {dayText(days.from)} to {dayText(days.to)}
          </h2>
          <p class="muted small">
            Before: {dayText(seen.daysBefore.from)} to {dayText(seen.daysBefore.to)}.
          </p>
        </div>
        <Spans at="/dashboard" days={days} now={c.var.now} />
      </div>
      <MoneyTable overview={seen} program={program} />
      <Steps overview={seen} days={days} />
      <Plots overview={seen} />
      <div class="grid pairs">
        <TopPartners overview={seen} />
        <TopCodes overview={seen} />
        <TopSources overview={seen} />
      </div>
      <Checked books={seen.books} />
    </>,
  );
});

/** Whether the ledger balances, once the daily check has run. */
function Books({ books: { differences, deliveries_left } }: { books: Overview["books"] }) {
  if (differences > 0) {
    return (
      <Notice tone="bad">
        <p>
          <strong>{plural(differences, "difference")} in the ledger.</strong> The daily check found amounts that do not
          add up. We have not changed anything. Do not pay them out, look at{" "}
          <a href="/dashboard/events?type=reconciliation.failed">the expected and the found amounts</a>, and inform the
          operator of this service. This notice disappears once a check finds no difference.
        </p>
      </Notice>
    );
  }
  if (deliveries_left > 0) {
    return (
      <Notice tone="warn">
        <p>
          The daily check found <strong>{plural(deliveries_left, "delivery", "deliveries")}</strong> to your{" "}
          <a href="/dashboard/webhooks">webhook endpoints</a> more than an hour late.
        </p>
      </Notice>
    );
  }
  return null;
}

function Checked({ books: { reconciled_at, differences, deliveries_left } }: { books: Overview["books"] }) {
  if (reconciled_at === null || differences > 0 || deliveries_left > 0) return null;
  return (
    <p class="muted small after">
      The ledger was last checked without a difference <When at={reconciled_at} />.
    </p>
  );
}

interface Decision {
  what: Child;
  /** The reason for the wait, or the remedy. */
  why: Child;
}

interface DecisionsProps {
  overview: Overview;
  program: Program;
  now: number;
}

/** The owner's open decisions, most urgent first. */
function Decisions({ overview, program, now }: DecisionsProps) {
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
    ...(payable.length === 0
      ? []
      : [
          {
            what: <ActionLink href="/dashboard/payouts/new">Prepare payouts</ActionLink>,
            why: (
              <>
                Ready to pay: <Sums of={sumUp(payable, program)} />
              </>
            ),
          },
        ]),
  ];
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

function decisionsOf(waiting: Waiting, { auto_approve_days }: Program): Decision[] {
  const { pending, flagged, claims, applications, unpaid, failed, held, unknown_codes } = waiting;
  const link = (href: string, text: string) => <a href={href}>{text}</a>;
  const all: [number, Decision][] = [
    [
      failed,
      {
        what: link("/dashboard/payouts?status=failed", plural(failed, "failed payout")),
        why: "The transfer was refused. Try again or cancel it.",
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
        why: "People who want to become partners.",
      },
    ],
    [
      claims,
      {
        what: link("/dashboard/claims", plural(claims, "claim")),
        why: "Partners who report a missing sale.",
      },
    ],
    [
      unknown_codes,
      {
        what: link("/dashboard/payments/codes", plural(unknown_codes, "code")),
        why: "Codes used at checkout that belong to no partner. Assign them, or leave codes that are for everyone.",
      },
    ],
    [
      unpaid,
      {
        what: link("/dashboard/payouts?status=pending", plural(unpaid, "payout")),
        why: "Prepared but not paid yet.",
      },
    ],
  ];
  return all.flatMap(([count, decision]) => (count > 0 ? [decision] : []));
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
      Your server is returning errors.
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
                    Send again<span class="visually-hidden"> what failed at {url}</span>
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

/** Plots in rows of two, of equal size. */
function Plots({ overview }: { overview: Overview }) {
  const { now, before } = overview;
  return (
    <div class="grid pairs">
      <section class="card">
        <CountPlot
          title="Clicks"
          tone="one"
          points={overview.clicks}
          total={countText(now.clicks)}
          before={countText(before.clicks)}
        />
      </section>
      <section class="card">
        <CountPlot
          title="Sales"
          tone="two"
          points={overview.sales}
          total={countText(now.sales)}
          before={countText(before.sales)}
        />
      </section>
      <MoneyPlots
        title="Commissions"
        tone="three"
        amounts={overview.commissions}
        before={overview.earned.map((row) => amountOf(row, row.before))}
      />
    </div>
  );
}

import { Hono } from "hono";
import { readPartnerOverview, type PartnerOverview } from "../../../core/overview.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { CopyLine } from "../parts/copy.tsx";
import { Count, countText, Money, moneyText, Stat } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { DailyPlot } from "../parts/plot.tsx";
import { redirectLink, referralLink } from "../parts/snippets.ts";
import { selfOf } from "./self.ts";

const DAYS = 30;

/** `/portal`: the partner's link, and what came of it. */
export const overview = new Hono<PageEnv>().get("/", async (c) => {
  const partner = selfOf(c);
  const { program } = c.var.session;
  const { origin } = new URL(c.req.url);
  const seen = await readPartnerOverview(c.var.ctx, partner.id, DAYS);
  const money = (cents: number) => moneyText(cents, program.currency);
  const clicks = total(seen.clicks);
  const rate = partner.commission_pct ?? program.default_commission_pct;
  return framed(
    c,
    { title: "Overview", at: "/portal" },
    <>
      <PageHead
        title={partner.first_name ? `Hello ${partner.first_name}` : "Your overview"}
        lede={`You earn ${rate} % of what your customers pay at ${program.name}, unless a special rate applies.`}
      />
      {partner.payout_method === null ? (
        <Notice tone="warn">
          <p>
            How would you like to be paid? <a href="/portal/details">Add your payout details</a>
          </p>
        </Notice>
      ) : null}
      <section class="card">
        <h2>Your link</h2>
        {program.domain === null ? (
          <p class="muted">Your link will be here as soon as {program.name} has set its domain.</p>
        ) : (
          <>
            <CopyLine label="your link" text={referralLink(program, partner.slug)} />
            <p class="muted small">
              Any page works: add <code>?ref={partner.slug}</code> to its address. For places without a browser, such as
              apps or printed codes, this one counts too:
            </p>
            <CopyLine label="your short link" text={redirectLink(origin, program, partner.slug)} />
          </>
        )}
      </section>
      <Sums overview={seen} currency={program.currency} clicks={clicks} />
      <div class="grid">
        <section class="card">
          <DailyPlot
            title={`Clicks, ${DAYS} days`}
            tone="one"
            points={seen.clicks}
            format={countText}
            total={countText(clicks)}
          />
        </section>
        <section class="card">
          <DailyPlot
            title={`Commissions, ${DAYS} days`}
            tone="three"
            points={seen.commissions}
            format={money}
            total={money(total(seen.commissions))}
          />
        </section>
      </div>
    </>,
  );
});

function Sums({ overview, currency, clicks }: { overview: PartnerOverview; currency: string; clicks: number }) {
  const own = overview.sums.find((row) => row.currency === currency);
  const others = overview.sums.filter((row) => row.currency !== currency);
  const beside = (pick: "pending_cents" | "approved_cents" | "paid_cents", else_: string) =>
    others
      .filter((row) => row[pick] !== 0)
      .map((row) => `+ ${moneyText(row[pick], row.currency)}`)
      .join(" ") || else_;
  return (
    <dl class="stats">
      <Stat label={`Clicks, ${DAYS} days`} value={<Count of={clicks} />} />
      <Stat
        label="Pending"
        value={<Money cents={own?.pending_cents ?? 0} currency={currency} />}
        note={beside("pending_cents", "being checked")}
      />
      <Stat
        label="Approved"
        value={<Money cents={own?.approved_cents ?? 0} currency={currency} />}
        note={beside("approved_cents", "with the next payout")}
      />
      <Stat
        label="Paid"
        value={<Money cents={own?.paid_cents ?? 0} currency={currency} />}
        note={beside("paid_cents", "so far")}
      />
    </dl>
  );
}

function total(points: { value: number }[]): number {
  return points.reduce((sum, { value }) => sum + value, 0);
}

import { Hono } from "hono";
import { lastDays } from "../../../core/partners/code-stats.ts";
import { listCodesWithStats } from "../../../core/partners/codes.ts";
import type { PartnerCode } from "../../../core/kernel/rows.ts";
import { readPartnerOverview } from "../../../core/overview/overview.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { CodeStatsCard } from "../parts/code-stats.tsx";
import { CopyLine } from "../parts/copy.tsx";
import { countText, percentText } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { CountPlot, MoneyPlots, countOf } from "../parts/plot.tsx";
import { UtcDays } from "../parts/spans.tsx";
import { EarningsOf } from "./earnings.tsx";
import { buildLink, LinkBuilder } from "./link-builder.tsx";
import { programOf, selfOf } from "./self.ts";
import { nameText, programText } from "../parts/shown-name.ts";
import { unpayableText } from "./unpayable.ts";

const DAYS = 30;

/** `/portal`: the partner's link and its results. */
export const overview = new Hono<PageEnv>().get("/", async (c) => {
  const partner = selfOf(c);
  const program = programOf(c);
  const first = nameText(partner.first_name);
  const { domain } = program;
  const built = domain === null ? null : buildLink(c, { ...program, domain }, partner);
  const seen = await readPartnerOverview(c.var.ctx, partner.id, DAYS);
  const { codes, stats } = await listCodesWithStats(c.var.ctx, partner.id, lastDays(c.var.now, DAYS));
  const clicks = countOf(seen.clicks);
  const unpayable = unpayableText(partner, program);
  const rate = partner.commission_pct ?? program.default_commission_pct;
  return framed(
    c,
    {
      title: "Overview",
      at: "/portal",
      status: built?.problems ? 422 : 200,
      head: {
        title: first ? `Hello ${first}` : "Your overview",
        lede: `You earn ${percentText(rate)} of what your customers pay at ${programText(program)}, unless a special rate applies.`,
      },
    },
    <>
      {unpayable !== null && c.var.session.limited === null ? (
        <Notice tone="warn">
          <p>
            {unpayable} <a href="/portal/details">Add your payout details</a>
          </p>
        </Notice>
      ) : null}
      <section class="card">
        <h2>Your link</h2>
        {built === null ? (
          <p class="muted">Your link will be here as soon as {programText(program)} has set its domain.</p>
        ) : (
          <LinkBuilder built={built} />
        )}
      </section>
      <EarningsOf earnings={seen.earnings} program={program} />
      <Codes codes={codes} />
      <CodeStatsCard stats={stats} days={DAYS} hidesSales={program.sale_amounts === "hidden"} />
      <UtcDays />
      <div class="grid pairs">
        <section class="card">
          <CountPlot title={`Clicks, ${DAYS} days`} tone="one" points={seen.clicks} total={countText(clicks)} />
        </section>
        <MoneyPlots title="Commissions" days={DAYS} tone="three" amounts={seen.commissions} />
      </div>
    </>,
  );
});

export type OwnCode = Pick<PartnerCode, "code">;

function Codes({ codes }: { codes: readonly OwnCode[] }) {
  if (codes.length === 0) return null;
  return (
    <section class="card">
      <h2>Your codes</h2>
      <p class="muted small">Purchases with these codes count for you, even without your link:</p>
      {[...new Set(codes.map(({ code }) => code))].map((code) => (
        <CopyLine label={`code ${code}`} text={code} />
      ))}
    </section>
  );
}

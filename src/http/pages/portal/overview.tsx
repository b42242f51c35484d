import { Hono } from "hono";
import { readPartnerOverview } from "../../../core/overview/overview.ts";
import { readExpected } from "../../../core/payouts/expected.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { CopyLine } from "../parts/copy.tsx";
import { Earned } from "../join/offer.tsx";
import { Notice } from "../parts/notice.tsx";
import { PartnerPlots, PLOT_DAYS } from "../parts/partner-plots.tsx";
import { referralLink } from "../parts/snippets.ts";
import { EarningsCard } from "./earnings.tsx";
import { programOf, selfOf } from "./self.ts";
import { nameText, programText } from "../parts/shown-name.ts";
import { unpayableText } from "./unpayable.ts";

/** `/portal`: the partner's earnings, link and results. */
export const overview = new Hono<PageEnv>().get("/", async (c) => {
  const partner = selfOf(c);
  const program = programOf(c);
  const first = nameText(partner.first_name);
  const seen = await readPartnerOverview(c.var.ctx, partner.id, PLOT_DAYS);
  const expected = await readExpected(c.var.ctx, partner);
  const unpayable = unpayableText(partner, program);
  return framed(
    c,
    {
      title: "Overview",
      at: "/portal",
      utcDays: true,
      head: {
        title: first ? `Hello ${first}` : "Your overview",
        lede: <Earned program={program} offer={expected.offer} />,
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
      <EarningsCard {...{ earnings: seen.earnings, expected, program, partner, now: c.var.now }} />
      <section class="card">
        <h2>Your link</h2>
        {program.domain === null ? (
          <p class="muted">Your link will be here as soon as {programText(program)} has set its domain.</p>
        ) : (
          <>
            <CopyLine label="your link" text={referralLink(program, partner.slug)} />
            <p class="after">
              <a href="/portal/assets">QR code, texts, promotion codes and links to other pages</a>
            </p>
          </>
        )}
      </section>
      <PartnerPlots c={c} seen={seen} />
    </>,
  );
});

import { Hono } from "hono";
import { readStatement } from "../../../../core/payouts/statement.ts";
import { statementReply } from "../../../api/statements.ts";
import type { PageEnv } from "../../../session.ts";
import { framed } from "../../framed.tsx";
import { Badge, Money, When } from "../../parts/figures.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { Conversions, statementFacts, StatementLines, statementTitle } from "../../parts/statement.tsx";
import { Facts } from "../../parts/table.tsx";

const AT = "/dashboard/payouts";

/** `/dashboard/payouts/:id/statement`: to print, and as a file (OUT-32). */
export const payoutStatement = new Hono<PageEnv>()
  .get("/:id/statement", async (c) => {
    const statement = await readStatement(c.var.ctx, c.req.param("id"));
    const { payout, lines } = statement;
    const title = statementTitle(statement, "Statement");
    return framed(
      c,
      {
        ...{ title, at: AT },
        head: {
          back: { href: `${AT}/${payout.id}`, label: "Payout" },
          actions: (
            <a class="button" href={`${AT}/${payout.id}/statement.csv`}>
              Download as CSV
            </a>
          ),
        },
      },
      <>
        <section class="card">
          <Facts
            rows={[
              ...statementFacts(statement, payout.partner_id),
              ["Amount", <Money of={payout} />],
              ["Status", <Badge state={payout.status} />],
              ["Paid by", payoutMethodText(payout.method)],
              payout.paid_at === null ? null : ["Paid", <When at={payout.paid_at} only="day" />],
              payout.reference === null ? null : ["Reference", payout.reference],
              ["Payout", <code>{payout.id}</code>],
            ]}
          />
        </section>
        {lines.length === 0 ? null : (
          <section class="card flush">
            <h2>Commissions in it</h2>
            <StatementLines {...statement} />
          </section>
        )}
        <Conversions payout={payout} />
      </>,
    );
  })
  .get("/:id/statement.csv", async (c) =>
    c.body(...statementReply(c.var.ctx, await readStatement(c.var.ctx, c.req.param("id")))),
  );

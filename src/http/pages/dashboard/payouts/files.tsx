import { Hono } from "hono";
import { countWalletPayouts, MOST_IN_UPLOAD } from "../../../../core/payouts/export.ts";
import { WALLET_SERVICE } from "../../../../domain/partner.ts";
import type { PageEnv } from "../../../session.ts";
import { framed } from "../../framed.tsx";
import { Count, countText } from "../../parts/figures.tsx";
import { Empty, Table } from "../../parts/table.tsx";

const AT = "/dashboard/payouts";

/** `/dashboard/payouts/files`: files for mass payments at the wallet's service, one for each currency (OUT-8). */
export const payoutFiles = new Hono<PageEnv>().get("/", async (c) => {
  const currencies = await countWalletPayouts(c.var.ctx);
  const most = countText(MOST_IN_UPLOAD);
  return framed(
    c,
    {
      title: `Files for ${WALLET_SERVICE}`,
      at: AT,
      head: {
        title: `Files for mass payments of ${WALLET_SERVICE}`,
        lede: `Upload each file unchanged at ${WALLET_SERVICE}, then mark its payouts as paid. Until then the next file includes them again.`,
        back: { href: AT, label: "Payouts" },
      },
    },
    <>
      <section class="card flush">
        {currencies.length === 0 ? (
          <Empty title="Nothing to pay there">
            A pending payout by {WALLET_SERVICE} with an address at the time of preparation appears here.
          </Empty>
        ) : (
          <Table
            label="Files by currency"
            columns={[{ label: "Currency" }, { label: "Payouts", align: "end" }, { label: "File", hidden: true }]}
            rows={currencies.map(({ currency, count }) => [
              currency,
              <Count of={count} />,
              <a class="button" href={`${AT}/export.csv?format=wallet&currency=${currency}`}>
                Download<span class="visually-hidden"> {currency}</span>
              </a>,
            ])}
          />
        )}
      </section>
      <section class="card prose">
        <ul>
          <li>
            {WALLET_SERVICE} takes {most} payouts in a file. If there are more, the file has the oldest {most}: mark
            them as paid before you download the next.
          </li>
          <li>
            Amounts have a decimal point. If your country uses a comma, {WALLET_SERVICE} asks for it at the upload, in
            quotes: <code>"5,45"</code>.
          </li>
          <li>Do not save it from a spreadsheet, which may change addresses and amounts.</li>
        </ul>
      </section>
    </>,
  );
});

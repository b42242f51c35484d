import { type Context, Hono } from "hono";
import type { Child } from "../../../jsx.ts";
import type { PartnerName } from "../../../../core/partners/display-names.ts";
import { askPayoutDetails } from "../../../../core/payouts/ask-details.ts";
import type { PageEnv } from "../../../session.ts";
import { timeRange } from "../../../validate.ts";
import { sentFields } from "../../act.ts";
import { parseInput } from "../../forms.ts";
import { countText, plural } from "../../parts/figures.tsx";
import { Form, Hidden } from "../../parts/form.tsx";
import { Notice } from "../../parts/notice.tsx";
import { partnerText } from "../../parts/partner.tsx";

const AT = "/dashboard/payouts";
/** The pages with the button. */
const PAGES = ["new", "pay"] as const;
type AskPage = (typeof PAGES)[number];

/** `/dashboard/payouts/ask`: asks partners for payout details by e-mail (OUT-30). */
export const payoutAsk = new Hono<PageEnv>().post("/", async (c) => {
  const fields = await sentFields(c);
  const back = PAGES.find((page) => page === fields.text("back")) ?? "pay";
  const end = parseInput(timeRange.shape.from, fields.textOrNull("period_end") ?? undefined);
  const period_end = end.ok && end.value !== undefined ? { period_end: end.value } : {};
  const { asked, asked_recently, not_active, remaining } = await askPayoutDetails(c.var.ctx, period_end);
  const query = new URLSearchParams(fields.text("to") === "" ? {} : { to: fields.text("to") });
  for (const [name, count] of Object.entries({ asked, asked_recently, not_active, remaining })) {
    query.set(name, String(count));
  }
  return c.redirect(`${AT}/${back}?${query.toString()}`, 303);
});

/** Parameters of the page after the button. */
const ASKED = ["asked", "asked_recently", "not_active", "remaining"] as const;

/** The result of the button, from the address. */
export function askedNotice(c: Context<PageEnv>): Child {
  const [asked, recently, inactive, remaining] = ASKED.map((name) => Number(c.req.query(name)));
  const counts = [asked, recently, inactive, remaining].map((count) => (Number.isSafeInteger(count) ? count! : 0));
  if (c.req.query("asked") === undefined || counts.some((count) => count < 0)) return null;
  const [now, before, others, left] = counts as [number, number, number, number];
  return (
    <Notice tone={now > 0 ? "good" : "calm"}>
      <p>
        {now > 0 ? `We e-mailed ${plural(now, "partner")}. ` : "No partner was e-mailed. "}
        {before > 0 ? `${plural(before, "partner")} ${were(before)} asked within the last seven days. ` : ""}
        {others > 0 ? `${plural(others, "partner")} ${are(others)} not active and cannot sign in. ` : ""}
        {left > 0 ? `${countText(left)} more are left: ask again.` : ""}
      </p>
    </Notice>
  );
}

const were = (count: number) => (count === 1 ? "was" : "were");
const are = (count: number) => (count === 1 ? "is" : "are");

/** The button that asks all of them, hidden if the service sends no e-mail. `values`: the period, and the filter. */
export function AskButton({
  c,
  back,
  values = {},
}: {
  c: Context<PageEnv>;
  back: AskPage;
  values?: Record<string, string>;
}) {
  if (c.var.ctx.mailer === null) return null;
  return (
    <Form action={`${AT}/ask`} class="inline">
      <Hidden values={{ back, ...values }} />
      <button type="submit">Ask by e-mail</button>
    </Form>
  );
}

interface PartnersTextProps {
  ids: readonly string[];
  count: number;
  names: ReadonlyMap<string, PartnerName>;
}

/** "Ada, Grace and 105 more", each a link. */
export function PartnersText({ ids, count, names }: PartnersTextProps) {
  return (
    <>
      {ids.map((id, i) => {
        const partner = names.get(id);
        return (
          <>
            {i === 0 ? "" : ", "}
            <a href={`/dashboard/partners/${id}`}>{partner ? partnerText(partner) : id}</a>
          </>
        );
      })}
      {count === ids.length ? "" : ` and ${countText(count - ids.length)} more`}
    </>
  );
}

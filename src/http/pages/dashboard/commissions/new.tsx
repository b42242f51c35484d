import { type Context, Hono } from "hono";
import * as z from "zod";
import { createManualCommission } from "../../../../core/commissions/commissions.ts";
import { parsePage } from "../../../../core/kernel/list-page.ts";
import { readPartnerNames, type PartnerName } from "../../../../core/partners/display-names.ts";
import { listPartners } from "../../../../core/partners/partner-list.ts";
import { SEARCHED_WORDS } from "../../../../domain/partner.ts";
import { commissionCreate } from "../../../api/commissions.ts";
import type { PageEnv } from "../../../session.ts";
import { pageQuery } from "../../../validate.ts";
import { filterOf } from "../../filters.ts";
import { type Problems } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { Badge } from "../../parts/figures.tsx";
import { Field, Form, Actions } from "../../parts/form.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { Empty, Table } from "../../parts/table.tsx";
import { COMMISSIONS } from "./columns.tsx";
import { act, type Sent } from "../../act.ts";
import { addressWithNote } from "../../flash.ts";

const AT = `${COMMISSIONS}/new`;
/** The most partners that a search shows; a longer search finds the others. */
const SHOWN = 10;

const searchQuery = z.object({ search: z.string().trim().max(200).optional() });

/** `/dashboard/commissions/new`: a manual commission for a chosen partner. */
export const commissionNew = new Hono<PageEnv>()
  .get("/", (c) => newPage(c, c.req.query("partner_id") ?? ""))
  .post("/", (c) =>
    act(c, {
      schema: commissionCreate,
      input: (fields) => ({
        partner_id: fields.text("partner_id"),
        amount_cents: fields.money("amount", c.var.session.program.currency),
        note: fields.text("note"),
      }),
      verb: async (value) => {
        const { id } = await createManualCommission(c.var.ctx, value);
        return addressWithNote(`${COMMISSIONS}/${id}`, "added");
      },
      page: (sent) => newPage(c, sent.fields.text("partner_id"), sent),
    }),
  );

async function newPage(c: Context<PageEnv>, partner_id: string, sent?: Sent) {
  const partner = (await readPartnerNames(c.var.ctx, [partner_id || null])).get(partner_id);
  const head = {
    title: "Add a commission by hand",
    back: { href: COMMISSIONS, label: "Commissions" },
    lede: "A bonus, a sale that was not tracked, or a negative amount to lower the partner's next payout.",
  };
  return framed(
    c,
    { title: "Add a commission", at: COMMISSIONS, problems: sent?.problems, head },
    partner ? <AmountForm c={c} partner={partner} sent={sent} /> : await choosePartner(c),
  );
}

function AmountForm({ c, partner, sent }: { c: Context<PageEnv>; partner: PartnerName; sent: Sent | undefined }) {
  const problems = sent?.problems;
  const problem = problems?.fields["partner_id"];
  return (
    <Form action={AT} class="card stack form-narrow" problems={problems} values={sent?.fields ?? EMPTY}>
      <input type="hidden" name="partner_id" value={partner.id} />
      <div class="field">
        <p class="as-label">Partner</p>
        <p>
          <strong>{partnerText(partner)}</strong> <code>{partner.slug}</code> <Badge state={partner.status} />{" "}
          <a href={AT}>Choose another</a>
        </p>
        {problem === undefined ? null : <p class="problem">{problem}</p>}
      </div>
      <Field
        name="amount"
        label="Amount"
        problems={withField(problems, "amount_cents", "amount")}
        required={true}
        inputmode="decimal"
        unit={c.var.session.program.currency}
      />
      <Field name="note" label="Reason" required={true} maxlength={500} />
      <Actions submit="Add" cancel={{ href: COMMISSIONS, label: "Cancel" }} />
    </Form>
  );
}

const EMPTY = { amount: "", note: "" };

/** The newest active partners, or those that match a search, as links to the next step. */
async function choosePartner(c: Context<PageEnv>) {
  const { search } = filterOf(c, searchQuery).value;
  const request = pageQuery.parse({ per_page: String(SHOWN) });
  const found = parsePage(await listPartners(c.var.ctx, { ...request, search, status: "active" }));
  return (
    <>
      <form method="get" action={AT} class="filter" role="search" aria-label="Partners">
        <Field name="search" label={`Partner: ${SEARCHED_WORDS}`} type="search" value={search} class="grow" />
        <button type="submit">Search</button>
      </form>
      <section class="card flush">
        {found.total === 0 ? (
          <Empty title={search ? `No active partner matches “${search}”` : "There is no active partner yet"}>
            Only active partners get commissions. <a href="/dashboard/partners">See all partners</a>
          </Empty>
        ) : (
          <>
            <Table
              label="Active partners"
              columns={[
                { label: "Partner" },
                { label: "E-mail" },
                { label: "Slug" },
                { label: "Choose", hidden: true },
              ]}
              rows={found.data.map((partner) => [
                <strong>{partnerText(partner)}</strong>,
                partner.email,
                <code>{partner.slug}</code>,
                <a class="button" href={`${AT}?partner_id=${partner.id}`}>
                  Choose<span class="visually-hidden"> {partnerText(partner)}</span>
                </a>,
              ])}
            />
            {found.total > SHOWN ? (
              <p class="table-note">
                The newest {SHOWN} of {found.total}. Search for the others.
              </p>
            ) : null}
          </>
        )}
      </section>
    </>
  );
}

/** The problem of an API field under the form's name for it. */
function withField(problems: Problems | undefined, from: string, to: string): Problems | undefined {
  const message = problems?.fields[from];
  return problems && message !== undefined ? { ...problems, fields: { ...problems.fields, [to]: message } } : problems;
}

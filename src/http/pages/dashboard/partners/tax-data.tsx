import { type Context, Hono } from "hono";
import { readTaxData, type OwnTaxData } from "../../../../core/partners/tax-data.ts";
import type { PageEnv } from "../../../session.ts";
import { FLASH } from "../../flash.ts";
import { framed } from "../../framed.tsx";
import { Actions, Form } from "../../parts/form.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { openTaxEdit, saveTaxData, TaxFields, taxValues, type TaxEdit } from "../../parts/tax-fields.tsx";
import { IfMay } from "../../rights.tsx";

const PARTNERS = "/dashboard/partners";
const atOf = (id: string) => `${PARTNERS}/${id}/tax-data`;

/** `/dashboard/partners/:id/tax-data`: in full, with an event (OUT-33). */
export const partnerTaxData = new Hono<PageEnv>()
  .get("/:id/tax-data", async (c) => taxDataPage(c, await readTaxData(c.var.ctx, c.req.param("id"))))
  .post("/:id/tax-data", (c) => {
    const partner_id = c.req.param("id");
    return saveTaxData(c, {
      ...{ partner_id, at: atOf(partner_id), read: () => readTaxData(c.var.ctx, partner_id) },
      page: (own, edit) => taxDataPage(c, own, edit),
    });
  });

function taxDataPage(c: Context<PageEnv>, own: OwnTaxData, edit: TaxEdit = openTaxEdit(own)) {
  const { partner } = own;
  const { problems, shown } = edit;
  const name = partnerText(partner);
  const lede = "For statements and invoices. The event log notes that you opened this page.";
  return framed(
    c,
    {
      ...{ title: `Tax data of ${name}`, at: PARTNERS, problems, done: FLASH.tax_data },
      head: { title: "Tax data", lede, back: { href: `${PARTNERS}/${partner.id}`, label: name } },
    },
    <Form
      {...{ action: atOf(partner.id), problems, shown }}
      readable={true}
      class="card stack form-narrow"
      values={taxValues(edit)}
    >
      <TaxFields />
      <IfMay right="manage">
        <Actions submit="Save" />
      </IfMay>
    </Form>,
  );
}

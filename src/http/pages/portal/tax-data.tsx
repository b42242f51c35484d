import { type Context, Hono } from "hono";
import { ownTaxData, type OwnTaxData } from "../../../core/partners/tax-data.ts";
import type { PageEnv } from "../../session.ts";
import { FLASH } from "../flash.ts";
import { framed } from "../framed.tsx";
import { Actions, Form } from "../parts/form.tsx";
import { programText } from "../parts/shown-name.ts";
import { openTaxEdit, saveTaxData, TaxFields, taxValues, type TaxEdit } from "../parts/tax-fields.tsx";
import { programOf, selfOf } from "./self.ts";

const DETAILS = "/portal/details";
const AT = `${DETAILS}/tax-data`;

const readOwn = (c: Context<PageEnv>) => ownTaxData(c.var.ctx, selfOf(c).id);

/** `/portal/details/tax-data`: the partner's own tax data (OUT-33). */
export const ownTaxDataPage = new Hono<PageEnv>()
  .get("/", async (c) => taxDataPage(c, await readOwn(c)))
  .post("/", (c) =>
    saveTaxData(c, {
      ...{ partner_id: selfOf(c).id, at: AT, read: () => readOwn(c) },
      page: (own, edit) => taxDataPage(c, own, edit),
    }),
  );

function taxDataPage(c: Context<PageEnv>, own: OwnTaxData, edit: TaxEdit = openTaxEdit(own)) {
  const { problems, shown } = edit;
  return framed(
    c,
    {
      ...{ title: "Tax data", at: DETAILS, problems, done: FLASH.tax_data },
      head: {
        lede: `${programText(programOf(c))} puts them on your statements and invoices.`,
        back: { href: DETAILS, label: "Payout details" },
      },
    },
    <Form {...{ action: AT, problems, shown }} class="card stack form-narrow" values={taxValues(edit)}>
      <TaxFields />
      <Actions submit="Save" />
    </Form>,
  );
}

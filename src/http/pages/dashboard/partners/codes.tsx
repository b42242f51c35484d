import { type Context, Hono } from "hono";
import { daysOf } from "../../../../core/overview/days.ts";
import { createCode, deleteCode, listCodesWithStats } from "../../../../core/partners/codes.ts";
import { getPartner } from "../../../../core/partners/partners.ts";
import type { PartnerCode, Program } from "../../../../core/kernel/rows.ts";
import { MAX_CODE } from "../../../../domain/code.ts";
import { VENDOR_NAMES } from "../../../../providers/registry.ts";
import type { PageEnv } from "../../../session.ts";
import { codeCreate } from "../../../api/codes.ts";
import { framed } from "../../framed.tsx";
import { CodeStatsCard } from "../../parts/code-stats.tsx";
import { ActionButton, Checkbox, Field, Form, SelectField, Actions } from "../../parts/form.tsx";
import { providerText, When } from "../../parts/figures.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { chosenCurrency, chosenDays, currenciesIn, Spans } from "../../parts/spans.tsx";
import { Empty, Table } from "../../parts/table.tsx";
import { act, type Sent } from "../../act.ts";
import { FLASH, addressWithNote } from "../../flash.ts";

const PARTNERS = "/dashboard/partners";

const LEDES: Record<Program["code_precedence"], string> = {
  link: "A payment with one of these codes belongs to this partner, unless another partner's link led to it.",
  code: "A payment with one of these codes belongs to this partner, even if another partner's link led to it.",
};

/** `/dashboard/partners/:id/codes`: a partner's promotion codes. */
export const partnerCodes = new Hono<PageEnv>()
  .get("/:id/codes", (c) => codesPage(c, c.req.param("id")))
  .post("/:id/codes", (c) => {
    const id = c.req.param("id");
    return act(c, {
      schema: codeCreate,
      input: (fields) => ({
        ...{ code: fields.given("code"), provider: fields.given("provider") },
        ...{ provider_code_id: fields.textOrNull("provider_code_id"), move: fields.isTicked("move") },
      }),
      verb: async (value) => {
        await createCode(c.var.ctx, id, value);
        return addressWithNote(`${PARTNERS}/${id}/codes`, "given");
      },
      page: (sent) => codesPage(c, id, sent),
    });
  })
  .post("/:id/codes/:code_id/remove", async (c) => {
    await deleteCode(c.var.ctx, c.req.param("code_id"));
    return c.redirect(addressWithNote(`${PARTNERS}/${c.req.param("id")}/codes`, "removed"), 303);
  });

async function codesPage(c: Context<PageEnv>, id: string, sent?: Sent) {
  const { partner } = await getPartner(c.var.ctx, id);
  const days = chosenDays(c);
  const { codes, stats } = await listCodesWithStats(c.var.ctx, id, days);
  const at = `${PARTNERS}/${id}/codes`;
  const currencies = currenciesIn(stats, c.var.session.program);
  const currency = chosenCurrency(c, currencies);
  const head = {
    title: "Promotion codes",
    lede: LEDES[c.var.session.program.code_precedence],
    back: { href: `${PARTNERS}/${id}`, label: partnerText(partner) },
  };
  const done = { given: FLASH.codes[partner.status], ...FLASH.partner_codes };
  return framed(
    c,
    { title: `Codes of ${partnerText(partner)}`, at: PARTNERS, problems: sent?.problems, done, head, utcDays: true },
    <>
      <Spans {...{ at, days, currencies, currency }} now={c.var.now} />
      <section class="card flush">
        {codes.length === 0 ? (
          <Empty title="No codes yet">
            Create the promotion code at your payment provider, then add it here under the same name.
          </Empty>
        ) : (
          <CodeTable codes={codes} at={at} />
        )}
      </section>
      <CodeStatsCard {...{ stats, currency }} days={daysOf(days).length} />
      <Form action={at} class="card stack form-narrow" problems={sent?.problems} values={sent?.fields}>
        <h2>Add a code</h2>
        <Field name="code" label="Code" required={true} maxlength={MAX_CODE} hint="As customers enter it." />
        <SelectField
          name="provider"
          label="Provider"
          options={VENDOR_NAMES.map((value) => ({ value, label: providerText(value) }))}
        />
        <Field
          name="provider_code_id"
          label="Provider's id"
          maxlength={255}
          hint="The id of the promotion code, coupon or discount. Without it we use the provider's events."
        />
        <Checkbox
          name="move"
          label="Move it from its current partner"
          hint="For new payments only; earlier ones stay with the other partner."
        />
        <Actions submit="Add code" />
      </Form>
    </>,
  );
}

export type Listed = Pick<PartnerCode, "id" | "code" | "provider" | "provider_code_id" | "created_at">;

function CodeTable({ codes, at }: { codes: readonly Listed[]; at: string }) {
  return (
    <Table
      label="Codes"
      columns={[{ label: "Code" }, { label: "Provider" }, { label: "Assigned" }, { label: "Remove", hidden: true }]}
      rows={codes.map((code) => [
        <code>{code.code}</code>,
        <span>
          {providerText(code.provider)}
          {code.provider_code_id === null ? null : <span class="second">{code.provider_code_id}</span>}
        </span>,
        <When at={code.created_at} />,
        <ActionButton
          action={`${at}/${code.id}/remove`}
          label={
            <>
              Remove<span class="visually-hidden"> {code.code}</span>
            </>
          }
        />,
      ])}
    />
  );
}

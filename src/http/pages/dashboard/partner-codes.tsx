import type { Context } from "hono";
import { Hono } from "hono";
import { daysOf } from "../../../core/overview/days.ts";
import { createCode, deleteCode, listCodesWithStats } from "../../../core/partners/codes.ts";
import { getPartner } from "../../../core/partners/partners.ts";
import type { Decided, PartnerCode, Program } from "../../../core/kernel/rows.ts";
import { MAX_CODE } from "../../../domain/code.ts";
import { VENDOR_NAMES } from "../../../providers/registry.ts";
import type { PageEnv } from "../../session.ts";
import { codeCreate } from "../../api/codes.ts";
import { FormFields, parseInput, problemsOf, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { CodeStatsCard } from "../parts/code-stats.tsx";
import { ActionButton, Checkbox, Field, Form, SelectField } from "../parts/form.tsx";
import { providerText, When } from "../parts/figures.tsx";
import { Done } from "../parts/notice.tsx";
import { partnerText } from "../parts/partner.tsx";
import { chosenDays, Spans } from "../parts/spans.tsx";
import { Empty, Table } from "../parts/table.tsx";
import { CODE_GIVEN } from "../parts/words.ts";

const PARTNERS = "/dashboard/partners";

const REMOVED = "The code is nobody's now. What it has earned stays, and so do renewals of what began with it.";

const LEDES: Record<Program["code_precedence"], string> = {
  link: "A payment made with one of them is this partner's, unless the link of another partner led to it.",
  code: "A payment made with one of them is this partner's, whatever link led to it.",
};

/** `/dashboard/partners/:id/codes`: a partner's promotion codes. */
export const partnerCodes = new Hono<PageEnv>()
  .get("/:id/codes", (c) => codesPage(c, c.req.param("id"), null))
  .post("/:id/codes", async (c) => {
    const id = c.req.param("id");
    const fields = new FormFields(await c.req.formData());
    const parsed = parseInput(codeCreate, {
      code: fields.given("code"),
      provider: fields.given("provider"),
      provider_code_id: fields.textOrNull("provider_code_id"),
      move: fields.isTicked("move"),
    });
    if (!parsed.ok) return codesPage(c, id, fields, parsed.problems);
    try {
      await createCode(c.var.ctx, id, parsed.value);
      return c.redirect(`${PARTNERS}/${id}/codes?done=given`, 303);
    } catch (error) {
      return codesPage(c, id, fields, problemsOf(error));
    }
  })
  .post("/:id/codes/:code_id/remove", async (c) => {
    await deleteCode(c.var.ctx, c.req.param("code_id"));
    return c.redirect(`${PARTNERS}/${c.req.param("id")}/codes?done=removed`, 303);
  });

async function codesPage(c: Context<PageEnv>, id: string, fields: FormFields | null, problems?: Problems) {
  const { partner } = await getPartner(c.var.ctx, id);
  const days = chosenDays(c);
  const { codes, stats } = await listCodesWithStats(c.var.ctx, id, days);
  const at = `${PARTNERS}/${id}/codes`;
  return framed(
    c,
    { title: `Codes of ${partnerText(partner)}`, at: PARTNERS, status: problems ? 422 : 200 },
    <>
      <Done code={c.req.query("done")} texts={{ given: CODE_GIVEN[partner.status], removed: REMOVED }} />
      <PageHead
        title="Promotion codes"
        lede={LEDES[c.var.session.program.code_precedence]}
        back={{ href: `${PARTNERS}/${id}`, label: partnerText(partner) }}
      />
      <Spans at={at} days={days} now={c.var.now} />
      <section class="card flush">
        {codes.length === 0 ? (
          <Empty title="No codes yet">
            Make the promotion code at your payment provider, then add it here under the same name.
          </Empty>
        ) : (
          <CodeTable codes={codes} at={at} />
        )}
      </section>
      <CodeStatsCard stats={stats} days={daysOf(days).length} />
      <CodeForm at={at} fields={fields} problems={problems} />
    </>,
  );
}

function CodeForm({ at, fields, problems }: { at: string; fields: FormFields | null; problems: Problems | undefined }) {
  return (
    <Form action={at} class="card stack form-narrow" problems={problems}>
      <h2>Add a code</h2>
      <Field
        name="code"
        label="Code"
        value={fields?.text("code")}
        problems={problems}
        required={true}
        maxlength={MAX_CODE}
        hint="As customers type it."
      />
      <SelectField
        name="provider"
        label="Provider"
        value={fields?.text("provider")}
        problems={problems}
        options={VENDOR_NAMES.map((value) => ({ value, label: providerText(value) }))}
      />
      <Field
        name="provider_code_id"
        label="Its id at the provider"
        value={fields?.text("provider_code_id")}
        problems={problems}
        maxlength={255}
        hint="Of the promotion code, coupon or discount. Without it the provider's events say which code is which."
      />
      <Checkbox
        name="move"
        label="Take it from the partner who has it"
        checked={fields?.isTicked("move")}
        hint="From now on; what was paid before stays theirs."
      />
      <div class="actions">
        <button type="submit" class="primary">
          Add code
        </button>
      </div>
    </Form>
  );
}

/** A code in the list. */
export type Listed = Decided<
  PartnerCode,
  "id" | "code" | "provider" | "provider_code_id" | "created_at",
  "program_id" | "partner_id" | "code_key" | "ended_at"
>;

function CodeTable({ codes, at }: { codes: readonly Listed[]; at: string }) {
  return (
    <Table
      label="Codes"
      columns={[{ label: "Code" }, { label: "Provider" }, { label: "Given" }, { label: "Remove", hidden: true }]}
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

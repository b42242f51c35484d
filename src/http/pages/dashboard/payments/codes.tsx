import { type Context, Hono } from "hono";
import { UNKNOWN_AMONG } from "../../../../core/kernel/seen-codes.ts";
import { giveCodeToSlug, readUnknownCodes, type UnknownCode } from "../../../../core/partners/unknown-codes.ts";
import { readCodeStats } from "../../../../core/partners/code-stats.ts";
import { exportCodes } from "../../../../core/partners/export-codes.ts";
import { readPartnerNames } from "../../../../core/partners/display-names.ts";
import { daysOf } from "../../../../core/overview/days.ts";
import { MAX_CODE } from "../../../../domain/code.ts";
import type { PageEnv } from "../../../session.ts";
import { codeCreate } from "../../../api/codes.ts";
import { csvDownload } from "../../../download.ts";
import { text } from "../../../../resources/input.ts";
import { type Problems } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { CodeStatsCard } from "../../parts/code-stats.tsx";
import { ActionButton, Field, Form, Hidden } from "../../parts/form.tsx";
import { Count, providerText, When } from "../../parts/figures.tsx";
import { PartnerInFull } from "../../parts/partner.tsx";
import { chosenCurrency, chosenDays, currenciesIn, Spans } from "../../parts/spans.tsx";
import { Empty, Table } from "../../parts/table.tsx";
import { act } from "../../act.ts";
import { FLASH, addressWithNote } from "../../flash.ts";
import { Refused } from "../../parts/notice.tsx";

const PAYMENTS = "/dashboard/payments";
const AT = `${PAYMENTS}/codes`;

/** Unchanged from the provider: blanks around a name are a part of it and of the comparison (CODE-2). */
const asWritten = codeCreate.extend({ code: text(MAX_CODE) });

/** `/dashboard/payments/codes`: results of promotion codes, and codes without a partner, assigned by one click. */
export const codes = new Hono<PageEnv>()
  .get("/", (c) => unknownPage(c))
  .get("/export.csv", async (c) => c.body(...csvDownload("codes", await exportCodes(c.var.ctx))))
  .post("/give", (c) =>
    act(c, {
      schema: asWritten,
      input: (fields) => ({ code: fields.raw("code"), provider: fields.given("provider") }),
      verb: async (value, fields) => {
        const { status } = await giveCodeToSlug(c.var.ctx, { ...value, slug: fields.text("slug") });
        return addressWithNote(AT, status);
      },
      page: ({ problems }) => unknownPage(c, problems),
    }),
  );

async function unknownPage(c: Context<PageEnv>, problems?: Problems) {
  const { ctx, now } = c.var;
  const unknown = await readUnknownCodes(ctx);
  const days = chosenDays(c);
  const stats = await readCodeStats(ctx, days);
  const currencies = currenciesIn(stats, ctx.program);
  const currency = chosenCurrency(c, currencies);
  const names = await readPartnerNames(
    ctx,
    stats.map(({ partner_id }) => partner_id),
  );
  const head = {
    lede: `Results of partners' codes, and codes used at checkout that belong to no partner: from the newest ${UNKNOWN_AMONG} payments with an unknown reference, and as many without.`,
    back: { href: PAYMENTS, label: "Payments" },
    actions: (
      <a class="button" href={`${AT}/export.csv`}>
        All partners' codes as CSV
      </a>
    ),
  };
  return framed(
    c,
    { title: "Promotion codes", at: PAYMENTS, problems, done: FLASH.codes, head, utcDays: true },
    <>
      <Spans at={AT} {...{ days, now, currencies, currency }} />
      <Refused problems={problems} />
      <CodeStatsCard {...{ stats, names, currency }} days={daysOf(days).length} />
      <section class="card flush">
        <h2>Unknown codes</h2>
        {unknown.length === 0 ? (
          <Empty title="No unknown codes">
            A code without a partner appears here once it is used in a payment that belongs to no partner. Leave codes
            that are for everyone.
          </Empty>
        ) : (
          <UnknownTable unknown={unknown} />
        )}
      </section>
    </>,
  );
}

function UnknownTable({ unknown }: { unknown: readonly UnknownCode[] }) {
  return (
    <Table
      label="Unknown codes"
      columns={[
        { label: "Code" },
        { label: "Payments", align: "end" },
        { label: "Last" },
        { label: "Assign to a partner", hidden: true },
      ]}
      rows={unknown.map((one, i) => [
        <span>
          <code>{one.code}</code>
          <span class="second">{providerText(one.provider)}</span>
        </span>,
        <Count of={one.payments} />,
        <a href={`/dashboard/payments/${one.last_payment_id}`}>
          <When at={one.last_at} />
        </a>,
        <Give of={one} id={`slug-${i}`} />,
      ])}
    />
  );
}

/** A button for each partner with a similar name, and a form for any other. */
function Give({ of: { code, provider, suggested }, id }: { of: UnknownCode; id: string }) {
  return (
    <>
      {suggested.map((partner) => (
        <ActionButton
          action={`${AT}/give`}
          label={
            <>
              Give<span class="visually-hidden"> {code}</span> to <PartnerInFull partner={partner} />
            </>
          }
          values={{ code, provider, slug: partner.slug }}
          kind="primary"
        />
      ))}
      <Form action={`${AT}/give`} class="inline">
        <Hidden values={{ code, provider }} />
        <Field
          name="slug"
          id={id}
          label={
            <>
              Slug of the partner<span class="visually-hidden"> of {code}</span>
            </>
          }
          required={true}
          maxlength={64}
        />
        <button type="submit">Give</button>
      </Form>
    </>
  );
}

import type { Context } from "hono";
import { Hono } from "hono";
import { getClaim, listClaims } from "../../../core/claims/claims.ts";
import { declineClaim, grantClaim } from "../../../core/claims/decide.ts";
import { parsePage } from "../../../core/kernel/list-page.ts";
import type { Decided, SaleClaim } from "../../../core/kernel/rows.ts";
import type { ClaimView } from "../../../core/kernel/views.ts";
import { readPartnerNames, type PartnerName } from "../../../core/partners/display-names.ts";
import { CLAIM_STATUSES, MAX_CLAIM_NOTE } from "../../../domain/claim.ts";
import { claimDecline, claimGrant } from "../../api/claims.ts";
import { claimQuery } from "../../queries.ts";
import type { PageEnv } from "../../session.ts";
import { FormFields, parseInput, problemsOf, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { csvOf } from "../list-csv.ts";
import {
  ListFilter,
  ListFoot,
  ListTable,
  partnerColumn,
  readList,
  textColumn,
  timeColumn,
  type ListOf,
} from "../list.tsx";
import { CLAIM_TEXTS, SaleOf } from "../parts/claim-words.tsx";
import { Badge, When } from "../parts/figures.tsx";
import { ActionButton, Field, Form, SelectField, TextArea } from "../parts/form.tsx";
import { Done, Notice } from "../parts/notice.tsx";
import { partnerText } from "../parts/partner.tsx";
import { Empty, Facts } from "../parts/table.tsx";
import { Trace } from "../parts/trace.tsx";
import { IfMay } from "../rights.tsx";

const AT = "/dashboard/claims";

const DONE = {
  granted: "The sale is the partner's. The partner sees it.",
  declined: "The claim is declined. The partner sees it.",
};

/** `/dashboard/claims`: sales that partners miss, and the decision about each beside the payments that it can be about. */
export const claims = new Hono<PageEnv>()
  .get("/", async (c) => {
    const shown = await readList(c, LIST);
    return framed(
      c,
      { title: "Claims", at: AT },
      <>
        <PageHead title="Claims" lede="Sales that partners miss among their commissions." />
        <ListFilter list={LIST} shown={shown} path={AT}>
          <SelectField
            name="status"
            label="State"
            value={shown.filter.texts["status"]}
            options={[
              { value: "", label: "Any" },
              ...CLAIM_STATUSES.map((value) => ({ value, label: CLAIM_TEXTS[value] })),
            ]}
          />
        </ListFilter>
        <section class="card flush">
          {shown.page.total === 0 ? (
            <NoClaims isFiltered={shown.isFiltered} />
          ) : (
            <>
              <ListTable list={LIST} shown={shown} />
              <ListFoot shown={shown} path={AT} />
            </>
          )}
        </section>
      </>,
    );
  })
  .get("/list.csv", (c) => csvOf(c, LIST))
  .get("/:id", (c) => claimPage(c, c.req.param("id"), null))
  .post("/:id/grant", async (c) => {
    const id = c.req.param("id");
    const fields = new FormFields(await c.req.formData());
    const parsed = parseInput(claimGrant, { payment_id: fields.text("payment_id") || undefined });
    if (!parsed.ok) return claimPage(c, id, fields, parsed.problems);
    try {
      await grantClaim(c.var.ctx, id, parsed.value);
      return c.redirect(`${AT}/${id}?done=granted`, 303);
    } catch (error) {
      return claimPage(c, id, fields, problemsOf(error));
    }
  })
  .post("/:id/decline", async (c) => {
    const id = c.req.param("id");
    const fields = new FormFields(await c.req.formData());
    const parsed = parseInput(claimDecline, { note: fields.raw("note").trim() || null });
    if (!parsed.ok) return claimPage(c, id, fields, parsed.problems);
    try {
      await declineClaim(c.var.ctx, id, parsed.value);
      return c.redirect(`${AT}/${id}?done=declined`, 303);
    } catch (error) {
      return claimPage(c, id, fields, problemsOf(error));
    }
  });

function NoClaims({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No claim matches">
      <a href={AT}>Show all claims</a>
    </Empty>
  ) : (
    <Empty
      title="No claims yet"
      action={
        <a class="button" href="/dashboard/payments?outcome=no_ref">
          See payments that name no partner
        </a>
      }
    >
      When a partner misses a sale, the portal asks for the order, and it appears here.
    </Empty>
  );
}

/** A claim in the list. */
export type Listed = Decided<
  ClaimView,
  | ("id" | "partner_id" | "status" | "order_id" | "day" | "email_domain" | "payment_id" | "note")
  | ("created_at" | "decided_at"),
  "program_id"
>;

const LIST: ListOf<typeof claimQuery, Listed> = {
  name: "claims",
  label: "Claims",
  query: claimQuery,
  read: async (c, filter) => parsePage(await listClaims(c.var.ctx, filter)),
  partnerOf: (claim) => claim.partner_id,
  columns: [
    {
      key: "claim",
      label: "Claim",
      cell: (claim) => (
        <a href={`${AT}/${claim.id}`}>
          <When at={claim.created_at} />
        </a>
      ),
      csv: { claim_id: (claim) => claim.id, created_at: (claim) => claim.created_at },
    },
    partnerColumn(),
    {
      key: "sale",
      label: "Sale",
      cell: (claim) => <SaleOf claim={claim} />,
      csv: {
        order_id: (claim) => claim.order_id,
        day: (claim) => claim.day,
        email_domain: (claim) => claim.email_domain,
      },
    },
    textColumn("payment_id", "Payment", (claim) => claim.payment_id),
    textColumn("note", "Note", (claim) => claim.note),
    timeColumn("decided_at", "Decided", (claim) => claim.decided_at),
    {
      key: "status",
      label: "State",
      cell: ({ status }) => <Badge state={status} label={CLAIM_TEXTS[status]} />,
      csv: { status: (claim) => claim.status },
    },
  ],
};

async function claimPage(c: Context<PageEnv>, id: string, fields: FormFields | null, problems?: Problems) {
  const { claim, payments } = await getClaim(c.var.ctx, id);
  const names = await readPartnerNames(c.var.ctx, [
    claim.partner_id,
    ...payments.map(({ payment }) => payment.partner_id),
  ]);
  const partner = names.get(claim.partner_id);
  const isOpen = claim.status === "open";
  return framed(
    c,
    { title: "Claim", at: AT, status: problems ? 422 : 200 },
    <>
      {problems ? null : <Done code={c.req.query("done")} texts={DONE} />}
      <PageHead title={partner ? `Claim of ${partnerText(partner)}` : "Claim"} back={{ href: AT, label: "Claims" }} />
      {problems ? (
        <Notice tone="bad">
          <p>{Object.values(problems.fields)[0] ?? problems.message}</p>
        </Notice>
      ) : null}
      <ClaimFacts claim={claim} partner={partner} />
      {payments.length === 0 ? (
        <section class="card flush">
          <Empty title="No payment was found">
            No payment that a partner can have has this order id, and none without a partner is of this day and domain.
            Where you know the payment, enter its id below; else decline.
          </Empty>
        </section>
      ) : null}
      {payments.map(({ payment, commissions }) => {
        const whose = payment.partner_id === null ? undefined : names.get(payment.partner_id);
        return (
          <section class="card">
            <h2>
              <a href={`/dashboard/payments/${payment.id}`}>
                Payment of <When at={payment.created_at} />
              </a>
            </h2>
            <Trace
              payment={payment}
              rows={commissions}
              partner={whose ? { id: whose.id, name: partnerText(whose) } : null}
            />
            {isOpen ? (
              <IfMay right="manage">
                <p class="more">
                  <ActionButton
                    action={`${AT}/${id}/grant`}
                    label="Give it to the partner"
                    values={{ payment_id: payment.id }}
                    kind="primary"
                  />
                </p>
              </IfMay>
            ) : null}
          </section>
        );
      })}
      {isOpen ? (
        <Decision at={`${AT}/${id}`} isOrder={claim.order_id !== null} fields={fields} problems={problems} />
      ) : null}
    </>,
  );
}

/** A claim in its details. */
export type Detailed = Decided<
  SaleClaim,
  | ("id" | "partner_id" | "status" | "order_id" | "day" | "email_domain" | "note")
  | ("created_at" | "decided_at" | "payment_id"),
  "program_id"
>;

function ClaimFacts({ claim, partner }: { claim: Detailed; partner: PartnerName | undefined }) {
  return (
    <section class="card">
      <h2>What the partner says</h2>
      <Facts
        rows={[
          ["Sale", <SaleOf claim={claim} />],
          [
            "Partner",
            <a href={`/dashboard/partners/${claim.partner_id}`}>{partner ? partnerText(partner) : claim.partner_id}</a>,
          ],
          ["State", <Badge state={claim.status} label={CLAIM_TEXTS[claim.status]} />],
          ["Sent", <When at={claim.created_at} />],
          claim.decided_at === null ? null : ["Decided", <When at={claim.decided_at} />],
          claim.payment_id === null
            ? null
            : ["Payment", <a href={`/dashboard/payments/${claim.payment_id}`}>Open the payment</a>],
          claim.note === null ? null : ["Note to the partner", claim.note],
          ["Id", <code>{claim.id}</code>],
        ]}
      />
    </section>
  );
}

/** What the partner reads of a declined claim, by an order's id and by day (CLAIM-3). */
const OUTCOME_SHOWN = "The partner also reads the outcome of the payment, or that there is none.";
const OUTCOME_HIDDEN = "The partner reads that the claim was declined, and your note.";

interface DecisionProps {
  at: string;
  isOrder: boolean;
  fields: FormFields | null;
  problems: Problems | undefined;
}

function Decision({ at, isOrder, fields, problems }: DecisionProps) {
  return (
    <>
      <Form action={`${at}/grant`} class="card stack form-narrow">
        <h2>Another payment</h2>
        <Field
          name="payment_id"
          label="Id of the payment"
          value={fields?.text("payment_id")}
          problems={problems}
          required={true}
          maxlength={64}
          hint="It begins with pmt_. Its page among the payments has it in its address."
        />
        <div class="actions">
          <button type="submit">Give it to the partner</button>
        </div>
      </Form>
      <Form action={`${at}/decline`} class="card stack form-narrow">
        <h2>Decline</h2>
        <TextArea
          name="note"
          label="Note to the partner"
          value={fields?.raw("note")}
          problems={problems}
          hint={`At most ${MAX_CLAIM_NOTE} characters. ${isOrder ? OUTCOME_SHOWN : OUTCOME_HIDDEN}`}
        />
        <div class="actions">
          <button type="submit" class="danger">
            Decline
          </button>
        </div>
      </Form>
    </>
  );
}

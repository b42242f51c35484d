import { type Context, Hono } from "hono";
import * as z from "zod";
import { createClaim, listOwnClaims, type ClaimInput } from "../../../core/claims/claims.ts";
import type { SaleClaim } from "../../../core/kernel/rows.ts";
import { isDate } from "../../../domain/time-zone.ts";
import { claimDomain, MAX_ORDER_ID, type ClaimAnswer } from "../../../domain/claim.ts";
import type { Outcome } from "../../../domain/payment.ts";
import type { PageEnv } from "../../session.ts";
import { text } from "../../../resources/input.ts";
import { type FormFields, parseInput, refusalOf, type Parsed, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { ANSWER_TEXTS, CLAIM_TEXTS, SaleOf } from "../parts/claim-words.tsx";
import { Field, Form, Actions } from "../parts/form.tsx";
import { Badge, When } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { Empty, Table } from "../parts/table.tsx";
import { programOf, selfOf } from "./self.ts";
import { sentFields, type Sent } from "../act.ts";
import { FLASH, addressWithNote } from "../flash.ts";

const AT = "/portal/claims";

const byOrder = z.strictObject({
  order_id: text(MAX_ORDER_ID).refine(
    (value) => !value.includes("@"),
    "This is an e-mail address. Enter the order id, or the day and domain below.",
  ),
});

const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*$/;

const byDay = z.strictObject({
  day: z.string().refine(isDate, "This must be a date, such as 2026-11-02."),
  email_domain: z
    .string()
    .transform(claimDomain)
    .pipe(z.string().max(253).regex(DOMAIN, "This must be a domain, such as example.com.")),
});

/** The problem if neither of the two ways to name a sale was used. */
const NOTHING_ENTERED: Problems = {
  message: "Enter an order id, or the day and the domain of the customer's e-mail address.",
  fields: { order_id: "Fill this in, or the two fields below." },
};

/** `/portal/claims`: the partner reports a missing sale, and reads the answer. Customers stay unnamed. */
export const claims = new Hono<PageEnv>()
  .get("/", (c) => claimsPage(c))
  .post("/", async (c) => {
    const fields = await sentFields(c);
    const parsed = readClaim(fields);
    if (!parsed.ok) return claimsPage(c, { fields, problems: parsed.problems });
    try {
      const made = await createClaim(c.var.ctx, selfOf(c).id, parsed.value);
      if ("theirs" in made) return await claimsPage(c, { fields, theirs: made.theirs });
      return c.redirect(addressWithNote(AT, made.isNew ? "made" : "known"), 303);
    } catch (error) {
      return claimsPage(c, { fields, problems: refusalOf(c, error) });
    }
  });

/** The claim in the form: an order, or a day and a domain. */
export function readClaim(fields: FormFields): Parsed<ClaimInput> {
  const order_id = fields.text("order_id");
  if (order_id !== "") return parseInput(byOrder, { order_id });
  const [day, email_domain] = [fields.text("day"), fields.text("email_domain")];
  if (day === "" && email_domain === "") return { ok: false, problems: NOTHING_ENTERED };
  return parseInput(byDay, { day, email_domain });
}

interface ClaimsState extends Partial<Sent> {
  /** The outcome of a payment that already belongs to the partner. */
  theirs?: Outcome;
}

async function claimsPage(c: Context<PageEnv>, { fields, problems, theirs }: ClaimsState = {}) {
  const own = await listOwnClaims(c.var.ctx, selfOf(c).id);
  const head = {
    lede: `Did you refer a customer to ${programOf(c).name} whose purchase is not among your commissions? Which sale was it?`,
  };
  const notice =
    theirs === undefined ? null : (
      <Notice tone="good">
        <p>{ANSWER_TEXTS[theirs]}</p>
      </Notice>
    );
  return framed(
    c,
    { title: "Missing sale?", at: AT, problems, done: FLASH.own_claims, notice, head },
    <>
      <Form action={AT} class="card stack form-narrow" problems={problems} values={fields}>
        <Field
          name="order_id"
          label="Order id"
          maxlength={MAX_ORDER_ID}
          autocomplete="off"
          hint="The number of the customer's order, invoice or receipt."
        />
        <p class="muted">Without an order id, enter both of these:</p>
        <Field name="day" label="Day of the sale" type="date" />
        <Field
          name="email_domain"
          label="Domain of the customer's e-mail address"
          maxlength={254}
          autocomplete="off"
          placeholder="example.com"
          hint="The part after the @."
        />
        <Actions submit="Send" />
      </Form>
      <section class="card flush">
        <h2>Your claims</h2>
        {own.length === 0 ? (
          <Empty title="No claims yet">Your claims and their answers appear here.</Empty>
        ) : (
          <ClaimTable claims={own} />
        )}
      </section>
    </>,
  );
}

/** A claim as its partner sees it. */
export type OwnClaim = Pick<SaleClaim, "status" | "order_id" | "day" | "email_domain" | "note" | "created_at"> & {
  answer: ClaimAnswer;
};

function ClaimTable({ claims: shown }: { claims: readonly OwnClaim[] }) {
  return (
    <Table
      label="Your claims"
      columns={[{ label: "Sale" }, { label: "Sent" }, { label: "State" }, { label: "Answer", grow: true }]}
      rows={shown.map((claim) => [
        <SaleOf claim={claim} />,
        <When at={claim.created_at} only="day" />,
        <Badge state={claim.status} label={CLAIM_TEXTS[claim.status]} />,
        <span>
          {ANSWER_TEXTS[claim.answer]}
          {claim.note === null ? null : <span class="second">{claim.note}</span>}
        </span>,
      ])}
    />
  );
}

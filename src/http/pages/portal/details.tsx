import { type Context, Hono } from "hono";
import { StaleChange } from "../../../core/kernel/stale.ts";
import { startOnboarding } from "../../../core/partners/onboarding.ts";
import { updatePartner } from "../../../core/partners/partners.ts";
import { TRANSFER_METHOD } from "../../../domain/partner.ts";
import { COLUMN_OF, FIELDS_OF } from "../../../domain/payout-details.ts";
import { AppError } from "../../../lib/errors.ts";
import { MINUTE } from "../../../lib/time.ts";
import { publicUrl } from "../../../lib/public-url.ts";
import { onboardingStart } from "../../api/onboarding.ts";
import { partnerPatch } from "../../api/partners.ts";
import { connectOf } from "../../connect.ts";
import type { PageEnv } from "../../session.ts";
import { openEdit, refusedEdit, sentEdit, type Edit, type EditForm } from "../edits.ts";
import { parseInput, refusalOf, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { Field, Form, Actions } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { PayoutFields, typedDetails, typedTexts } from "../parts/payout-fields.tsx";
import { PAYOUT_METHOD_OPTIONS } from "../parts/payout-method.ts";
import { Facts } from "../parts/table.tsx";
import { programOf, selfOf, type OwnProgram, type Self } from "./self.ts";
import { TRANSFER_SERVICE } from "../../../providers/registry.ts";
import { programText } from "../parts/shown-name.ts";
import { ADDRESS_MISSING, DETAILS_MISSING, notOffered, offersTransfers, unpayableText } from "./unpayable.ts";
import { act, sentFields } from "../act.ts";
import { FLASH, addressWithNote } from "../flash.ts";

const AT = "/portal/details";

/** The fields that partners may change; only the owner changes the others. */
const own = partnerPatch.pick({ payout_method: true, payout_email: true, first_name: true, last_name: true });

const OWN_FORM: EditForm<Self> = {
  columns: ({ payout_method, payout_email, first_name, last_name }) => ({
    ...{ payout_method, payout_email, first_name, last_name },
  }),
  texts: (partner) => partner,
  changes: ({ id }) => ({ type: "partner.updated", about: ["partner_id", id] }),
};

type Values = Record<keyof typeof own.shape, string | null>;

/** The input, or the stored value of fields that were not sent. */
function valuesOf({ row, fields }: Edit<Self>): Values {
  return {
    payout_method: fields?.given("payout_method") ?? row.payout_method,
    payout_email: fields?.given("payout_email") ?? row.payout_email,
    first_name: fields?.given("first_name") ?? row.first_name,
    last_name: fields?.given("last_name") ?? row.last_name,
  };
}

/** `/portal/details`: how the partner is paid. */
export const details = new Hono<PageEnv>()
  .get("/", (c) => detailsPage(c))
  .post("/", async (c) => {
    const edit = sentEdit(OWN_FORM, selfOf(c), await sentFields(c));
    const again = (problems: Problems) => detailsPage(c, { edit: { ...edit, problems } });
    const { fields } = edit;
    const values = valuesOf(edit);
    const parsed = parseInput(own, {
      payout_method: fields.textOrNull("payout_method"),
      payout_email: fields.textOrNull("payout_email"),
      first_name: fields.textOrNull("first_name"),
      last_name: fields.textOrNull("last_name"),
    });
    if (!parsed.ok) return again(parsed.problems);
    const typed = typedDetails(fields);
    const missing = typed.details ? null : missingDetails({ ...edit.row, ...values });
    if (missing) return again(missing);
    try {
      await updatePartner(c.var.ctx, edit.row.id, { ...parsed.value, ...typed }, edit.sent);
      return c.redirect(addressWithNote(AT, "saved"), 303);
    } catch (error) {
      if (error instanceof StaleChange) return detailsPage(c, { edit: await refusedEdit(c, OWN_FORM, edit, error) });
      return again(refusalOf(c, error));
    }
  })
  .post("/provider-a-account", (c) =>
    act(c, {
      schema: onboardingStart,
      input: (fields) => (fields.text("country") === "" ? {} : { country: fields.text("country").toUpperCase() }),
      verb: async ({ country }) => {
        const at = `${publicUrl(c.env)}${AT}`;
        const input = { return_url: addressWithNote(at, "connected"), refresh_url: at, country };
        const { url } = await startOnboarding(c.var.ctx, selfOf(c).id, input, connectOf(c.env));
        return continuePage(c, url);
      },
      page: ({ problems }) => detailsPage(c, { accountProblems: problems }),
      refuse: (error) => accountProblems(c, error),
    }),
  );

/** The problem of a method without details. The account for transfers is set up afterwards. */
function missingDetails(partner: Omit<Self, keyof Values> & Values): Problems | null {
  const { payout_method: method } = partner;
  if (method === "wallet" && !partner.payout_email) {
    return { message: ADDRESS_MISSING, fields: { payout_email: ADDRESS_MISSING } };
  }
  if ((method !== "bank_transfer" && method !== "crypto") || partner[COLUMN_OF[method]] !== null) return null;
  const message = DETAILS_MISSING[method];
  return { message, fields: { [FIELDS_OF[method][0]]: message } };
}

function accountProblems(c: Context<PageEnv>, error: unknown): Problems {
  // The reason stays between the owner and the provider.
  if (error instanceof AppError && error.code === "provider_not_configured") {
    return { message: notOffered(programOf(c)), fields: {} };
  }
  if (error instanceof AppError && error.code === "provider_unavailable") {
    const message = `${TRANSFER_SERVICE} cannot be reached right now. Please try again in a minute.`;
    return { message, fields: {} };
  }
  const { fields, ...problems } = refusalOf(c, error);
  const { country, ...others } = fields;
  return { ...problems, fields: { ...others, ...(country === undefined ? {} : { account_country: country }) } };
}

/** The destination of future payouts, by the saved details. */
function destinationText(partner: Self, program: OwnProgram): string {
  return unpayableText(partner, program) ?? "New payouts go there. So do open payouts without payout details.";
}

interface DetailsState {
  edit?: Edit<Self>;
  accountProblems?: Problems;
}

function detailsPage(
  c: Context<PageEnv>,
  { edit = openEdit(OWN_FORM, selfOf(c)), accountProblems: wrong }: DetailsState = {},
) {
  const partner = selfOf(c);
  const { problems, shown } = edit;
  const program = programOf(c);
  const done = { ...FLASH.own_details, saved: `Saved. ${destinationText(partner, program)}` };
  const isOffered = offersTransfers(program) || partner.payout_method === TRANSFER_METHOD;
  return framed(
    c,
    { title: "Payout details", at: AT, problems: problems ?? wrong, done, head: {} },
    <>
      <section class="card form-narrow">
        <Form
          {...{ action: AT, problems, shown }}
          class="stack"
          values={{ ...valuesOf(edit), ...typedTexts(edit.fields) }}
        >
          <PayoutFields
            stored={partner}
            label="Pay me by"
            options={PAYOUT_METHOD_OPTIONS.filter(({ value }) => isOffered || value !== TRANSFER_METHOD)}
          />
          <div class="fields two">
            <Field name="first_name" label="First name" autocomplete="given-name" maxlength={200} />
            <Field name="last_name" label="Last name" autocomplete="family-name" maxlength={200} />
          </div>
          <Actions submit="Save" />
        </Form>
      </section>
      <AccountSection partner={partner} program={program} problems={wrong} />
      <AboutYou partner={partner} program={program} />
    </>,
  );
}

/** A link, not a redirect: the policy limits forms of these pages to this service. */
function continuePage(c: Context<PageEnv>, url: string) {
  c.set("kept_for", MINUTE);
  const title = `Continue at ${TRANSFER_SERVICE}`;
  return framed(
    c,
    { title, at: AT, head: { back: { href: AT, label: "Payout details" } } },
    <section class="card form-narrow prose">
      <Notice tone="calm">
        <p>The link works once and for a few minutes. Afterwards you come back here.</p>
      </Notice>
      <p>
        <a class="button primary" href={url} rel="noreferrer">
          {title}
        </a>
      </p>
    </section>,
  );
}

function AboutYou({ partner, program }: { partner: Self; program: OwnProgram }) {
  return (
    <section class="card form-narrow">
      <h2>About you</h2>
      <Facts
        rows={[
          ["E-mail", partner.email],
          ["Your slug", <code>{partner.slug}</code>],
        ]}
      />
      <p class="muted small">Something wrong here? {programText(program)} can change it.</p>
      <p class="actions more">
        <a class="button" href={`${AT}/sessions`}>
          See your sessions
        </a>
        <a class="button" href={`${AT}/mails`}>
          Choose your e-mails
        </a>
      </p>
    </section>
  );
}

interface AccountSectionProps {
  partner: Self;
  program: OwnProgram;
  problems: Problems | undefined;
}

function AccountSection({ partner, program, problems }: AccountSectionProps) {
  return (
    <section class="card form-narrow">
      <h2>Account at {TRANSFER_SERVICE}</h2>
      {!offersTransfers(program) ? (
        <p class="muted">{notOffered(program)}</p>
      ) : (
        <Form action={`${AT}/provider-a-account`} class="stack" problems={problems}>
          {partner.provider_a_account_id === null ? (
            <>
              <p>{TRANSFER_SERVICE} pays directly to your bank, and asks for your identity and your account.</p>
              <Field
                name="country"
                id="account_country"
                label="Country"
                maxlength={2}
                placeholder="DE"
                autocomplete="country"
                hint="Two letters: the country of your bank account. You cannot change it later."
              />
            </>
          ) : (
            <p>
              Your account: <code>{partner.provider_a_account_id}</code>. You can continue, or change your details.
            </p>
          )}
          <Actions
            submit={partner.provider_a_account_id === null ? "Set up the account" : "Open the account"}
            kind="plain"
          />
        </Form>
      )}
    </section>
  );
}

import { type Context, Hono } from "hono";
import { StaleChange } from "../../../core/kernel/stale.ts";
import { askForOnboarding } from "../../../core/partners/onboarding.ts";
import {
  discardPendingChange,
  NO_MAIL,
  readPendingChange,
  type PendingChange,
} from "../../../core/partners/own-change.ts";
import { updateOwnDetails } from "../../../core/partners/partners.ts";
import { TRANSFER_METHOD } from "../../../domain/partner.ts";
import { COLUMN_OF, FIELDS_OF } from "../../../domain/payout-details.ts";
import { AppError } from "../../../lib/errors.ts";
import { iso } from "../../../lib/time.ts";
import { onboardingStart } from "../../api/onboarding.ts";
import { partnerPatch } from "../../api/partners.ts";
import { connectOf } from "../../connect.ts";
import { changeLines } from "../../mails/payout-details.ts";
import type { PageEnv } from "../../session.ts";
import { openEdit, refusedEdit, sentEdit, type Edit, type EditForm } from "../edits.ts";
import { parseInput, refusalOf, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { ActionButton, Actions, Field, Form } from "../parts/form.tsx";
import { When } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { PayoutFields, typedDetails, typedTexts } from "../parts/payout-fields.tsx";
import { PAYOUT_METHOD_OPTIONS } from "../parts/payout-method.ts";
import { Facts } from "../parts/table.tsx";
import { programOf, selfOf, type OwnProgram, type Self } from "./self.ts";
import { TRANSFER_SERVICE } from "../../../providers/registry.ts";
import { programText } from "../parts/shown-name.ts";
import {
  ADDRESS_MISSING,
  DETAILS_MISSING,
  destinationText,
  lacksTaxData,
  notOffered,
  offersTransfers,
} from "./unpayable.ts";
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
      const { waits } = await updateOwnDetails(c.var.ctx, edit.row.id, { ...parsed.value, ...typed }, edit.sent);
      return c.redirect(addressWithNote(AT, waits ? "confirm" : "saved"), 303);
    } catch (error) {
      if (error instanceof StaleChange) return detailsPage(c, { edit: await refusedEdit(c, OWN_FORM, edit, error) });
      return again(refusalOf(c, error));
    }
  })
  .post("/provider-a-account", (c) =>
    act(c, {
      schema: onboardingStart,
      input: (fields) => (fields.text("country") === "" ? {} : { country: fields.text("country").toUpperCase() }),
      verb: async ({ country = null }) => {
        await askForOnboarding(c.var.ctx, selfOf(c).id, country, connectOf(c.env));
        return addressWithNote(AT, "confirm");
      },
      page: ({ problems }) => detailsPage(c, { accountProblems: problems }),
      refuse: (error) => accountProblems(c, error),
    }),
  )
  .post("/discard", async (c) => {
    await discardPendingChange(c.var.ctx, selfOf(c).id);
    return c.redirect(addressWithNote(AT, "discarded"), 303);
  });

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
  const { fields, ...problems } = refusalOf(c, error);
  const { country, ...others } = fields;
  return { ...problems, fields: { ...others, ...(country === undefined ? {} : { account_country: country }) } };
}

interface DetailsState {
  edit?: Edit<Self>;
  accountProblems?: Problems;
}

async function detailsPage(
  c: Context<PageEnv>,
  { edit = openEdit(OWN_FORM, selfOf(c)), accountProblems: wrong }: DetailsState = {},
) {
  const partner = selfOf(c);
  const { problems, shown } = edit;
  const program = programOf(c);
  const { ctx, session } = c.var;
  const pending = session.partner && (await readPendingChange(ctx, session.partner));
  const canConfirm = ctx.mailer !== null;
  const done = { ...FLASH.own_details, saved: `Saved. ${destinationText(partner, program)}` };
  const isOffered = offersTransfers(program) || partner.payout_method === TRANSFER_METHOD;
  return framed(
    c,
    { title: "Payout details", at: AT, problems: problems ?? wrong, done, head: {} },
    <>
      <Held partner={partner} now={c.var.now} />
      {pending ? <Pending pending={pending} email={partner.email} /> : null}
      <section class="card form-narrow">
        {canConfirm ? null : (
          <Notice tone="warn">
            <p>{NO_MAIL}</p>
          </Notice>
        )}
        <Form
          {...{ action: AT, problems, shown }}
          class="stack"
          values={{ ...valuesOf(edit), ...typedTexts(edit.fields) }}
        >
          {canConfirm ? (
            <>
              <PayoutFields
                stored={partner}
                label="Pay me by"
                options={PAYOUT_METHOD_OPTIONS.filter(({ value }) => isOffered || value !== TRANSFER_METHOD)}
              />
              <p class="hint">We e-mail you a link to confirm a change of how you are paid.</p>
            </>
          ) : null}
          <div class="fields two">
            <Field name="first_name" label="First name" autocomplete="given-name" maxlength={200} />
            <Field name="last_name" label="Last name" autocomplete="family-name" maxlength={200} />
          </div>
          <Actions submit="Save" />
        </Form>
      </section>
      <section class="card form-narrow" id="tax">
        <h2>Tax data</h2>
        <p>
          {lacksTaxData(partner, program)
            ? `${programText(program)} needs your name, address and tax id before it can pay you.`
            : "Your name, address and tax id on statements and invoices."}
        </p>
        <p class="more">
          <a class="button" href={`${AT}/tax-data`}>
            {partner.tax_data_id === null ? "Add your tax data" : "See your tax data"}
          </a>
        </p>
      </section>
      {canConfirm && isOffered ? <AccountSection partner={partner} program={program} problems={wrong} /> : null}
      <AboutYou partner={partner} program={program} />
    </>,
  );
}

/** The hold of the partner's payouts (OUT-24). */
function Held({ partner: { payouts_held_until: until }, now }: { partner: Self; now: number }) {
  if (until === null || until <= iso(now)) return null;
  return (
    <Notice tone="calm">
      <p>
        Your payouts are held until <When at={until} />, because your payout details were added or changed. This
        protects you if it was somebody else.
      </p>
    </Notice>
  );
}

/** The change that waits for its link (OUT-25). */
function Pending({ pending: { change, changes, expires_at }, email }: { pending: PendingChange; email: string }) {
  return (
    <section class="card form-narrow">
      <h2>Awaiting your confirmation</h2>
      {"account" in change ? (
        <p>A link to your account at {TRANSFER_SERVICE}.</p>
      ) : (
        <ul>
          {changeLines(changes).map((line) => (
            <li>{line}</li>
          ))}
        </ul>
      )}
      <p>
        Open the link that we e-mailed to {email}. It works until <When at={expires_at} />.
      </p>
      <ActionButton action={`${AT}/discard`} label="Discard the change" />
    </section>
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

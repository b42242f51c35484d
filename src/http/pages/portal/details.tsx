import type { Context } from "hono";
import { Hono } from "hono";
import { StaleChange } from "../../../core/kernel/stale.ts";
import { startOnboarding } from "../../../core/partners/onboarding.ts";
import { updatePartner } from "../../../core/partners/partners.ts";
import { TRANSFER_METHOD, WALLET_SERVICE } from "../../../domain/partner.ts";
import { AppError } from "../../../lib/errors.ts";
import { MINUTE } from "../../../lib/time.ts";
import { publicUrl } from "../../../lib/public-url.ts";
import { onboardingStart } from "../../api/onboarding.ts";
import { partnerPatch } from "../../api/partners.ts";
import { connectOf } from "../../connect.ts";
import type { PageEnv } from "../../session.ts";
import { openEdit, refusedEdit, sentEdit, type Edit, type EditForm } from "../edits.ts";
import { FormFields, parseInput, refusalOf, type Problems, type Refusal } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { Field, Form, SelectField } from "../parts/form.tsx";
import { Done, Notice } from "../parts/notice.tsx";
import { PAYOUT_METHOD_OPTIONS } from "../parts/payout-method.ts";
import { Facts } from "../parts/table.tsx";
import { programOf, selfOf, type OwnProgram, type Self } from "./self.ts";
import { TRANSFER_SERVICE } from "../../../providers/registry.ts";
import { programText } from "../parts/shown-name.ts";
import { ADDRESS_MISSING, notOffered, offersTransfers, unpayableText } from "./unpayable.ts";

const AT = "/portal/details";

const CONNECTED = "Welcome back. It may take a moment until what you entered is checked.";

/** What partners may change about themselves; the rest is the owner's. */
const own = partnerPatch.pick({ payout_method: true, payout_email: true, first_name: true, last_name: true });

const OWN_FORM: EditForm<Self> = {
  columns: ({ payout_method, payout_email, first_name, last_name }) => ({
    ...{ payout_method, payout_email, first_name, last_name },
  }),
  texts: (partner) => partner,
  changes: ({ id }) => ({ type: "partner.updated", about: ["partner_id", id] }),
};

/** What was typed, and of what was not sent what is stored. */
function valuesOf({ row, fields }: Edit<Self>): Record<keyof typeof own.shape, string | null> {
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
    const fields = new FormFields(await c.req.formData());
    const edit = sentEdit(OWN_FORM, selfOf(c), fields);
    const values = valuesOf(edit);
    const parsed = parseInput(own, {
      payout_method: fields.textOrNull("payout_method"),
      payout_email: fields.textOrNull("payout_email"),
      first_name: fields.textOrNull("first_name"),
      last_name: fields.textOrNull("last_name"),
    });
    if (!parsed.ok) return detailsPage(c, { edit: { ...edit, problems: parsed.problems } });
    if (values.payout_method === "wallet" && !values.payout_email) {
      const problems = { message: ADDRESS_MISSING, fields: { payout_email: ADDRESS_MISSING } };
      return detailsPage(c, { edit: { ...edit, problems } });
    }
    try {
      await updatePartner(c.var.ctx, edit.row.id, parsed.value, edit.sent);
      return c.redirect(`${AT}?done=saved`, 303);
    } catch (error) {
      if (error instanceof StaleChange) return detailsPage(c, { edit: await refusedEdit(c, OWN_FORM, edit, error) });
      const { problems, status } = refusalOf(c, error);
      return detailsPage(c, { edit: { ...edit, problems }, status });
    }
  })
  .post("/provider-a-account", async (c) => {
    const fields = new FormFields(await c.req.formData());
    const origin = publicUrl(c.env);
    const country = fields.text("country").toUpperCase();
    const parsed = parseInput(onboardingStart, country === "" ? {} : { country });
    if (!parsed.ok) return detailsPage(c, { accountProblems: parsed.problems });
    try {
      const started = await startOnboarding(
        c.var.ctx,
        selfOf(c).id,
        { return_url: `${origin}${AT}?done=connected`, refresh_url: `${origin}${AT}`, country: parsed.value.country },
        connectOf(c.env),
      );
      return continuePage(c, started.url);
    } catch (error) {
      return detailsPage(c, accountRefusal(c, error));
    }
  });

function accountRefusal(c: Context<PageEnv>, error: unknown): DetailsState {
  // Why is between the owner and the provider.
  if (error instanceof AppError && error.code === "provider_not_configured") {
    return { accountProblems: { message: notOffered(programOf(c)), fields: {} } };
  }
  if (error instanceof AppError && error.code === "provider_unavailable") {
    const message = `${TRANSFER_SERVICE} cannot be reached right now. Please try again in a minute.`;
    return { accountProblems: { message, fields: {} } };
  }
  const { problems, status } = refusalOf(c, error);
  return { accountProblems: problems, status };
}

/** Where payouts to the partner go from now on, with the details that are saved. */
function destinationText(partner: Self, program: OwnProgram): string {
  const { payout_method } = partner;
  const isAsked = payout_method === "bank_transfer" || payout_method === "crypto";
  const where = isAsked ? `are paid that way; ${programText(program)} will ask you where to` : "go there";
  const next = `Payouts that are prepared from now on ${where}. The same holds for open payouts that had no payout details.`;
  return unpayableText(partner, program) ?? next;
}

interface DetailsState {
  edit?: Edit<Self>;
  accountProblems?: Problems;
  /** Of what is wrong; 422 unless given. */
  status?: Refusal["status"];
}

function detailsPage(c: Context<PageEnv>, state: DetailsState = {}) {
  const { accountProblems: wrong, status = 422 } = state;
  const partner = selfOf(c);
  const edit = state.edit ?? openEdit(OWN_FORM, partner);
  const { problems, shown } = edit;
  const values = valuesOf(edit);
  const program = programOf(c);
  const isWrong = problems !== undefined || wrong !== undefined;
  const done = { saved: `Saved. ${destinationText(partner, program)}`, connected: CONNECTED };
  const isOffered = offersTransfers(program) || partner.payout_method === TRANSFER_METHOD;
  return framed(
    c,
    { title: "Payout details", at: AT, status: isWrong ? status : 200 },
    <>
      {isWrong ? null : <Done code={c.req.query("done")} texts={done} />}
      <PageHead title="Payout details" />
      <section class="card form-narrow">
        <Form action={AT} class="stack" problems={problems} shown={shown}>
          <SelectField
            name="payout_method"
            label="Pay me by"
            options={PAYOUT_METHOD_OPTIONS.filter(({ value }) => isOffered || value !== TRANSFER_METHOD)}
            value={values.payout_method}
            problems={problems}
            hint={`For a bank transfer or crypto, ${programText(program)} will ask you where to.`}
          />
          <Field
            name="payout_email"
            label={`Your e-mail at ${WALLET_SERVICE}`}
            type="email"
            value={values.payout_email}
            problems={problems}
            autocomplete="email"
            maxlength={254}
            hint={`Only for payouts by ${WALLET_SERVICE}.`}
          />
          <div class="fields two">
            <Field
              name="first_name"
              label="First name"
              value={values.first_name}
              problems={problems}
              autocomplete="given-name"
              maxlength={200}
            />
            <Field
              name="last_name"
              label="Last name"
              value={values.last_name}
              problems={problems}
              autocomplete="family-name"
              maxlength={200}
            />
          </div>
          <div class="actions">
            <button type="submit" class="primary">
              Save
            </button>
          </div>
        </Form>
      </section>
      <AccountSection partner={partner} program={program} problems={wrong} />
      <AboutYou partner={partner} program={program} />
    </>,
  );
}

/** A link, not a redirect: forms of these pages lead nowhere but here. */
function continuePage(c: Context<PageEnv>, url: string) {
  c.set("kept_for", MINUTE);
  const title = `Continue at ${TRANSFER_SERVICE}`;
  return framed(
    c,
    { title, at: AT },
    <>
      <PageHead title={title} back={{ href: AT, label: "Payout details" }} />
      <section class="card form-narrow prose">
        <Notice tone="calm">
          <p>The link works once and for a few minutes. Afterwards you come back here.</p>
        </Notice>
        <p>
          <a class="button primary" href={url} rel="noreferrer">
            {title}
          </a>
        </p>
      </section>
    </>,
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
              <p>{TRANSFER_SERVICE} pays straight to your bank. It will ask who you are and where your account is.</p>
              <Field
                name="country"
                label="Country"
                problems={problems}
                maxlength={2}
                placeholder="DE"
                autocomplete="country"
                hint="Two letters, where your bank account is. It cannot be changed later."
              />
            </>
          ) : (
            <p>
              Your account: <code>{partner.provider_a_account_id}</code>. You can go on with it, or change what you
              entered.
            </p>
          )}
          <div class="actions">
            <button type="submit">
              {partner.provider_a_account_id === null ? "Set up the account" : "Open the account"}
            </button>
          </div>
        </Form>
      )}
    </section>
  );
}

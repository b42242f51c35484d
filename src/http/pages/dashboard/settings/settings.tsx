import { type Context, Hono } from "hono";
import type { Child } from "../../../jsx.ts";
import { connectionOf } from "../../../../core/kernel/connections.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import { readExchangeRates, replaceExchangeRates } from "../../../../core/payouts/exchange-rates.ts";
import { regenerateApiKey, updateProgram } from "../../../../core/programs/programs.ts";
import { MINUTE } from "../../../../lib/time.ts";
import { publicUrl } from "../../../../lib/public-url.ts";
import { VENDORS, SECRET_SETTINGS, type Setting } from "../../../../providers/registry.ts";
import { exchangeRatesInput } from "../../../api/exchange-rates.ts";
import { programPatch } from "../../../api/programs.ts";
import { dropSessionAndShow, type PageEnv } from "../../../session.ts";
import { openEdit, type Edit, type EditForm } from "../../edits.ts";
import { CHECK_FIELDS, parseInput, type Problems } from "../../forms.ts";
import { framed, formPage } from "../../framed.tsx";
import { Plain } from "../../layout.tsx";
import { page } from "../../page.tsx";
import { CopyBlock, CopyLine } from "../../parts/copy.tsx";
import { Actions, Field, Form } from "../../parts/form.tsx";
import { plural, providerText } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { scriptTag } from "../../parts/snippets.ts";
import { IfMay } from "../../rights.tsx";
import { isUsual, mistakenSecret } from "./pasted-secret.ts";
import { ExchangeRates, ratesInput } from "./rates.tsx";
import { isPreview, previewPage, applyFromInput } from "../rules/apply-from.tsx";
import { PROGRAM_TABS, programForm, programInput, programValues, type ProgramTab } from "./fields.tsx";
import { SETTINGS, SettingsTabs, type SettingsTab } from "./tabs.tsx";
import { ProviderSecrets } from "../integration/provider-secret.tsx";
import { act, change, sentFields, type Sent } from "../../act.ts";
import { FLASH, addressWithNote } from "../../flash.ts";

const AT = SETTINGS;
const PAYOUTS = `${SETTINGS}/payouts` as const;
const KEYS = `${SETTINGS}/keys` as const;
const PROVIDERS = `${SETTINGS}/providers` as const;
const BACK = { href: PROVIDERS, label: "Settings" };

const TAB_AT = {
  general: SETTINGS,
  commissions: `${SETTINGS}/commissions`,
  payouts: PAYOUTS,
  portal: `${SETTINGS}/portal`,
} as const satisfies Record<ProgramTab, SettingsTab>;

/** `/dashboard/settings` (PAGE-7): the program's settings, API key regeneration, provider secrets, the script tag. */
export const settings = new Hono<PageEnv>()
  .get("/", (c) => programPage(c, "general"))
  .post("/", (c) => save(c, "general"))
  .get("/commissions", (c) => programPage(c, "commissions"))
  .post("/commissions", (c) => save(c, "commissions"))
  .get("/payouts", (c) => programPage(c, "payouts"))
  .post("/payouts", (c) => save(c, "payouts"))
  .get("/portal", (c) => programPage(c, "portal"))
  .post("/portal", (c) => save(c, "portal"))
  .get("/providers", (c) => providersPage(c))
  .post("/secrets", async (c) => {
    const fields = await sentFields(c);
    const found = settingNamed(fields.text("name"));
    if (found === undefined) return providersPage(c);
    const secret = fields.text("secret");
    const problem = secret === "" ? "Paste the secret here." : mistakenSecret(found, secret);
    if (problem !== null) {
      const message = secret === "" ? "Nothing was pasted." : CHECK_FIELDS;
      return providersPage(c, { message, fields: { [found.setting]: problem } });
    }
    return saveSecret(c, found, secret);
  })
  .get("/secrets/:name/remove", async (c) => {
    const found = settingNamed(c.req.param("name"));
    if (found === undefined) return c.redirect(PROVIDERS, 303);
    return formPage(
      c,
      {
        ...{ title: "Remove the secret", heading: "Remove the secret?", at: AT, back: BACK },
        ...{ submit: "Remove", kind: "danger", cancel: "Keep it" },
      },
      <p>{found.field.removed}</p>,
    );
  })
  .post("/secrets/:name/remove", async (c) => {
    const found = settingNamed(c.req.param("name"));
    return found === undefined ? providersPage(c) : saveSecret(c, found, null);
  })
  .post("/payout-hold", (c) =>
    change(c, {
      ...{ form: HOLD_FORM, row: c.var.session.program, schema: programPatch },
      input: (fields) => ({ payout_change_hold_days: fields.number("payout_change_hold_days") }),
      verb: async (value, { sent }) => {
        await updateProgram(c.var.ctx, value, sent);
        return `${addressWithNote(PAYOUTS, "saved")}#payout-hold`;
      },
      page: (hold) => programPage(c, "payouts", { hold }),
    }),
  )
  .post("/rates", (c) =>
    act(c, {
      schema: exchangeRatesInput,
      input: ratesInput,
      verb: async (value) => {
        await replaceExchangeRates(c.var.ctx, value);
        return `${addressWithNote(PAYOUTS, "saved")}#rates`;
      },
      page: (rates) => programPage(c, "payouts", { rates }),
    }),
  )
  .get("/api-key", (c) =>
    formPage(
      c,
      {
        ...{ title: "New API key", heading: "Create a new API key?", at: KEYS, action: `${AT}/api-key` },
        back: { href: KEYS, label: "API keys" },
        ...{ submit: "Create a new key", kind: "danger", cancel: "Keep the old one" },
      },
      <p>
        The key that ends in <code>{c.var.session.program.api_key_last4}</code> stops working right away, everywhere;{" "}
        <a href={KEYS}>further keys</a> keep working. Your whole team is signed out, including you. The next page shows
        the new key once.
      </p>,
    ),
  )
  .post("/api-key", async (c) => {
    const { api_key } = await regenerateApiKey(c.var.ctx);
    await dropSessionAndShow(c);
    return keyPage(c, api_key);
  });

function settingNamed(name: string): Setting | undefined {
  return SECRET_SETTINGS.find(({ setting }) => setting === name);
}

/** Saves a page of the program's settings. */
function save(c: Context<PageEnv>, tab: ProgramTab): Promise<Response> {
  const { program } = c.var.session;
  const at = TAB_AT[tab];
  return change(c, {
    ...{ form: programForm(tab), row: program, schema: programPatch },
    input: (fields) => ({ ...programInput(fields, program.currency), ...applyFromInput(fields, program) }),
    verb: async (value, { fields, sent }) => {
      const { apply_from, default_commission_pct } = value;
      if (isPreview(fields) && apply_from !== undefined && default_commission_pct !== undefined) {
        const subject = `Apply the rate of ${default_commission_pct}\u00a0%`;
        const rule = { default_commission_pct };
        return previewPage(c, { at: AT, action: at, fields, subject, rule, apply_from });
      }
      await updateProgram(c.var.ctx, value, sent);
      return addressWithNote(at, apply_from === undefined ? "saved" : "applied");
    },
    page: (edit) => programPage(c, tab, { edit }),
  });
}

async function saveSecret(c: Context<PageEnv>, { setting, provider, field }: Setting, secret: string | null) {
  const parsed = parseInput(programPatch, { [setting]: secret });
  if (!parsed.ok) return providersPage(c, parsed.problems);
  const untilOf = (program: Program) => connectionOf(program, provider.name).webhook_secret_previous_until;
  const until = untilOf(await updateProgram(c.var.ctx, parsed.value));
  const isKept = until !== null && until !== untilOf(c.var.session.program);
  const isOdd = secret !== null && !isUsual(field, secret);
  const done = secret === null ? "cleared" : isOdd ? "odd" : isKept ? "replaced" : "secret";
  // Without the provider's anchor, which would scroll the note out of view.
  return c.redirect(addressWithNote(PROVIDERS, done), 303);
}

interface TabState {
  edit?: Edit<Program>;
  hold?: Edit<Program>;
  rates?: Sent;
}

async function programPage(c: Context<PageEnv>, tab: ProgramTab, { edit, hold, rates }: TabState = {}) {
  const { row, shown, fields, problems } = edit ?? openEdit(programForm(tab), c.var.session.program);
  const Fields = PROGRAM_TABS[tab];
  const at = TAB_AT[tab];
  return settingsPage(
    c,
    at,
    problems ?? hold?.problems ?? rates?.problems,
    <>
      <section class="card" id="program">
        <Form {...{ action: at, problems, shown }} readable={true} class="stack" values={programValues(row, fields)}>
          <Fields program={row} fields={fields} />
          <IfMay right="manage">
            <Actions submit="Save" />
          </IfMay>
        </Form>
      </section>
      {tab === "payouts" ? await payoutSections(c, hold, rates) : null}
      {tab === "general" ? <ScriptCard program={row} origin={publicUrl(c.env)} /> : null}
    </>,
  );
}

async function payoutSections(c: Context<PageEnv>, hold: Edit<Program> | undefined, rates: Sent | undefined) {
  const { program } = c.var.session;
  const known = program.payout_currency === null ? null : await readExchangeRates(c.var.ctx);
  return (
    <>
      {known === null ? null : <ExchangeRates rates={known} at={`${AT}/rates`} sent={rates} />}
      <PayoutHold edit={hold ?? openEdit(HOLD_FORM, program)} />
    </>
  );
}

function providersPage(c: Context<PageEnv>, problems?: Problems) {
  const { program } = c.var.session;
  return settingsPage(
    c,
    PROVIDERS,
    problems,
    <>
      {VENDORS.map((provider) => (
        <section class="card" id={provider.name}>
          <h2>{providerText(provider.name)}</h2>
          <ProviderSecrets {...{ program, provider, problems }} origin={publicUrl(c.env)} now={c.var.now} />
        </section>
      ))}
    </>,
  );
}

function settingsPage(c: Context<PageEnv>, tab: SettingsTab, problems: Problems | undefined, body: Child) {
  const head = { tabs: <SettingsTabs at={tab} /> };
  return framed(c, { title: "Settings", at: AT, problems, done: FLASH.settings, head }, body);
}

function ScriptCard({ program, origin }: { program: Program; origin: string }) {
  return (
    <section class="card" id="script">
      <h2>Script</h2>
      <p>
        On every page of your site, before the closing body tag. More on the{" "}
        <a href="/dashboard/integration">integration page</a>.
      </p>
      <CopyBlock label="Script tag" text={scriptTag(origin, program)} />
      <p class="more">
        <a class="button" href="/dashboard/integration/check">
          Check the installation
        </a>
      </p>
      <p class="muted small">Program id:</p>
      <CopyLine label="program id" text={program.id} />
    </section>
  );
}

const HOLD_FORM: EditForm<Program> = {
  columns: ({ payout_change_hold_days }) => ({ payout_change_hold_days }),
  texts: ({ payout_change_hold_days }) => ({ payout_change_hold_days }),
  changes: programForm("payouts").changes,
};

function PayoutHold({ edit: { row, fields, problems, shown } }: { edit: Edit<Program> }) {
  const days = row.payout_change_hold_days;
  return (
    <section class="card" id="payout-hold">
      <h2>Payout hold</h2>
      <p>
        When the destination of a partner's payouts changes, we e-mail you and the partner, and hold the partner's
        payouts. So a stolen account cannot redirect money unnoticed. Now: {plural(days, "day")}.
      </p>
      <Form
        {...{ action: `${AT}/payout-hold`, problems, shown }}
        values={{ payout_change_hold_days: fields?.given("payout_change_hold_days") ?? String(days) }}
        class="stack"
        to="change the hold"
      >
        <Field
          name="payout_change_hold_days"
          label="Hold payouts for"
          required={true}
          inputmode="numeric"
          unit="days"
          hint="0 to 30. 0: no hold. For changes from now on."
        />
        <Actions submit="Save" />
      </Form>
    </section>
  );
}

/** Outside the frame: the session has ended with the old key. */
function keyPage(c: Context<PageEnv>, api_key: string) {
  c.set("kept_for", MINUTE);
  return page(
    c,
    { title: "Your new API key" },
    <Plain>
      <div class="card prose">
        <h1>Your new API key</h1>
        <Notice tone="warn">
          <p>Copy it now: we show it only once.</p>
        </Notice>
        <CopyLine label="API key" text={api_key} />
        <p>For your server only. The old key no longer works, and the whole team has been signed out.</p>
        <p>
          <a class="button primary wide" href="/sign-in">
            Sign in again
          </a>
        </p>
      </div>
    </Plain>,
  );
}

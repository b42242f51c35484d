import { type Context, Hono } from "hono";
import { connectionOf } from "../../../../core/kernel/connections.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import { regenerateApiKey, updateProgram } from "../../../../core/programs/programs.ts";
import { MINUTE } from "../../../../lib/time.ts";
import { publicUrl } from "../../../../lib/public-url.ts";
import { VENDORS, SECRET_SETTINGS, type Setting } from "../../../../providers/registry.ts";
import { programPatch } from "../../../api/programs.ts";
import { dropSessionAndShow, type PageEnv } from "../../../session.ts";
import { openEdit, type Edit } from "../../edits.ts";
import { parseInput, type Problems } from "../../forms.ts";
import { framed, formPage } from "../../framed.tsx";
import { Plain } from "../../layout.tsx";
import { page } from "../../page.tsx";
import { CopyBlock, CopyLine } from "../../parts/copy.tsx";
import { Form, Actions } from "../../parts/form.tsx";
import { providerText } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { scriptTag } from "../../parts/snippets.ts";
import { IfMay } from "../../rights.tsx";
import { FirstKey } from "./api-keys.tsx";
import { isPreview, previewPage, applyFromInput } from "../rules/apply-from.tsx";
import { PROGRAM_FORM, ProgramFields, programValues, programInput } from "./fields.tsx";
import { ProviderSecrets } from "../integration/provider-secret.tsx";
import { change, sentFields } from "../../act.ts";
import { FLASH, addressWithNote } from "../../flash.ts";

const AT = "/dashboard/settings";
const BACK = { href: AT, label: "Settings" };

/** `/dashboard/settings` (PAGE-7): program, API key regeneration, provider secrets, the script tag. */
export const settings = new Hono<PageEnv>()
  .get("/", (c) => settingsPage(c))
  .post("/", (c) => {
    const { program } = c.var.session;
    return change(c, {
      ...{ form: PROGRAM_FORM, row: program, schema: programPatch },
      input: (fields) => ({ ...programInput(fields, program.currency), ...applyFromInput(fields, program) }),
      verb: async (value, { fields, sent }) => {
        const { apply_from, default_commission_pct } = value;
        if (isPreview(fields) && apply_from !== undefined && default_commission_pct !== undefined) {
          const subject = `Apply the rate of ${default_commission_pct}\u00a0%`;
          const rule = { default_commission_pct };
          return previewPage(c, { at: AT, action: AT, fields, subject, rule, apply_from });
        }
        await updateProgram(c.var.ctx, value, sent);
        return addressWithNote(AT, apply_from === undefined ? "saved" : "applied");
      },
      page: (edit) => settingsPage(c, { edit }),
    });
  })
  .post("/secrets", async (c) => {
    const fields = await sentFields(c);
    const found = settingNamed(fields.text("name"));
    if (found === undefined) return settingsPage(c);
    const secret = fields.text("secret");
    if (secret === "") {
      const problems = { message: "Nothing was pasted.", fields: { [found.setting]: "Paste the secret here." } };
      return settingsPage(c, { secretProblems: problems });
    }
    return saveSecret(c, found, secret);
  })
  .get("/secrets/:name/remove", async (c) => {
    const found = settingNamed(c.req.param("name"));
    if (found === undefined) return c.redirect(AT, 303);
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
    return found === undefined ? settingsPage(c) : saveSecret(c, found, null);
  })
  .get("/api-key", (c) =>
    formPage(
      c,
      {
        ...{ title: "New API key", heading: "Create a new API key?", at: AT, back: BACK, action: `${AT}/api-key` },
        ...{ submit: "Create a new key", kind: "danger", cancel: "Keep the old one" },
      },
      <p>
        The key that ends in <code>{c.var.session.program.api_key_last4}</code> stops working right away, everywhere;{" "}
        <a href={`${AT}/keys`}>further keys</a> keep working. Your whole team is signed out, including you. The next
        page shows the new key once.
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

async function saveSecret(c: Context<PageEnv>, { setting, provider }: Setting, secret: string | null) {
  const parsed = parseInput(programPatch, { [setting]: secret });
  if (!parsed.ok) return settingsPage(c, { secretProblems: parsed.problems });
  const untilOf = (program: Program) => connectionOf(program, provider.name).webhook_secret_previous_until;
  const until = untilOf(await updateProgram(c.var.ctx, parsed.value));
  const isKept = until !== null && until !== untilOf(c.var.session.program);
  const done = secret === null ? "cleared" : isKept ? "replaced" : "secret";
  return c.redirect(`${addressWithNote(AT, done)}#${provider.name}`, 303);
}

interface SettingsState {
  edit?: Edit<Program>;
  secretProblems?: Problems;
}

function settingsPage(c: Context<PageEnv>, { edit, secretProblems }: SettingsState = {}) {
  const { program } = c.var.session;
  const { row, shown, fields, problems } = edit ?? openEdit(PROGRAM_FORM, program);
  const origin = publicUrl(c.env);
  return framed(
    c,
    { title: "Settings", at: AT, problems: problems ?? secretProblems, done: FLASH.settings, head: {} },
    <>
      <section class="card" id="program">
        <h2>Program</h2>
        <Form {...{ action: AT, problems, shown }} readable={true} class="stack" values={programValues(row, fields)}>
          <ProgramFields program={row} fields={fields} />
          <IfMay right="manage">
            <Actions submit="Save" />
          </IfMay>
        </Form>
      </section>
      {VENDORS.map((provider) => (
        <section class="card" id={provider.name}>
          <h2>{providerText(provider.name)}</h2>
          <ProviderSecrets {...{ program, origin, provider }} now={c.var.now} problems={secretProblems} />
        </section>
      ))}
      <section class="card" id="api-key">
        <h2>API keys</h2>
        <FirstKey {...program} />
        <p>Give each of your systems its own key, with only the permissions it needs.</p>
        <p class="more">
          <a class="button" href={`${AT}/keys`}>
            Further keys
          </a>
        </p>
      </section>
      <YourSections />
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
    </>,
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

/** Links to the pages of the team, the reader's own settings, and e-mails. */
function YourSections() {
  return (
    <section class="card" id="sessions">
      <h2>Team</h2>
      <p>The people who can sign in to this dashboard, and their roles.</p>
      <p class="more">
        <a class="button" href={`${AT}/team`}>
          See the team
        </a>
      </p>
      <h2>Sessions</h2>
      <p>Sign out devices you don't recognize, or sign out everywhere.</p>
      <p class="more">
        <a class="button" href={`${AT}/sessions`}>
          See your sessions
        </a>
      </p>
      <IfMay right="details">
        <h2>E-mails</h2>
        <p>Choose your program's e-mails, and see those that did not arrive.</p>
        <p class="more">
          <a class="button" href={`${AT}/mails`}>
            See the e-mails
          </a>
        </p>
      </IfMay>
    </section>
  );
}

import { Hono, type Context } from "hono";
import { connectionOf } from "../../../../core/kernel/connections.ts";
import {
  checkInstallation,
  readLastClick,
  type ClicksSeen,
  type Installation,
} from "../../../../core/overview/installation.ts";
import type { Check, CheckName } from "../../../../domain/installation.ts";
import { AppError } from "../../../../lib/errors.ts";
import { publicUrl } from "../../../../lib/public-url.ts";
import { providerName, VENDORS } from "../../../../providers/registry.ts";
import { installationQuery } from "../../../api/integrations.ts";
import { statusOf } from "../../../errors.ts";
import type { PageEnv } from "../../../session.ts";
import { scriptUrl, siteReachOf } from "../../../site-reach.ts";
import { parseInput, problemsOf, type Problems } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { When } from "../../parts/figures.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { ConnectionState } from "./connection-state.tsx";
import { sentFields } from "../../act.ts";
import { providerSettings } from "../settings/tabs.tsx";

const AT = "/dashboard/integration";

interface CheckState {
  url?: string;
  found?: Installation;
  problems?: Problems;
  status?: 422 | 429;
}

/** `/dashboard/integration/check` (PROG-12): whether the script works on a page, and the providers' last events. */
export const integrationCheck = new Hono<PageEnv>()
  .get("/", (c) => checkPage(c))
  .post("/", async (c) => {
    const typed = (await sentFields(c)).text("url");
    // People type addresses without the scheme.
    const url = typed === "" || typed.includes("://") ? typed : `https://${typed}`;
    const parsed = parseInput(installationQuery, url === "" ? {} : { url });
    if (!parsed.ok) return checkPage(c, { url: typed, problems: parsed.problems, status: 422 });
    try {
      const input = { ...parsed.value, script_url: scriptUrl(publicUrl(c.env)) };
      const found = await checkInstallation(c.var.ctx, input, siteReachOf(c));
      return checkPage(c, { url: found.url, found });
    } catch (error) {
      if (error instanceof AppError && error.code === "rate_limited") {
        c.header("Retry-After", String(error.retryAfter));
        return checkPage(c, {
          url: typed,
          problems: { message: TOO_OFTEN, fields: {} },
          status: statusOf(error.code) as 429,
        });
      }
      return checkPage(c, { url: typed, problems: problemsOf(error), status: 422 });
    }
  });

const TOO_OFTEN = "Too many checks. Try again in a minute.";

const NAMES: Record<CheckName, string> = {
  page: "The page",
  script: "The script",
  program: "The script's program",
  script_policy: "Permission to load",
  click_policy: "Permission to report clicks",
  click_address: "The address for clicks",
  click: "A click",
};

const MARKS: Record<Check["result"], { mark: string; said: string }> = {
  ok: { mark: "✓", said: "done" },
  failed: { mark: "!", said: "to do" },
  unknown: { mark: "–", said: "not known yet" },
};

async function checkPage(c: Context<PageEnv>, { url, found, problems, status }: CheckState = {}) {
  const { program } = c.var.session;
  const clicks = await readLastClick(c.var.ctx);
  return framed(
    c,
    {
      title: "Check the installation",
      at: AT,
      status: status ?? 200,
      head: {
        back: { href: AT, label: "Integration" },
        lede: "We open a page of your site like a visitor and list what is missing.",
      },
    },
    <>
      <section class="card">
        <Form action={`${AT}/check`} class="stack form-narrow" problems={problems}>
          <Field
            name="url"
            label="Page of your site"
            value={url ?? (program.domain === null ? null : `https://${program.domain}/`)}
            required={true}
            maxlength={2048}
            placeholder="https://shop.example/"
            hint="A public page with the script."
          />
          <div class="actions">
            <button type="submit" class="primary">
              {found === undefined ? "Check" : "Check again"}
            </button>
          </div>
        </Form>
      </section>
      {found === undefined ? null : <Found found={found} />}
      <section class="card prose">
        <h2>Clicks</h2>
        <LastClick clicks={clicks} />
      </section>
      {VENDORS.map((provider) => (
        <section class="card prose">
          <h2>Webhooks of {providerName(provider.name)}</h2>
          <ConnectionState program={program} provider={provider} />
          {connectionOf(program, provider.name).webhook_secret === null ? (
            <p>
              <a href={providerSettings(provider.name)}>Connect {providerName(provider.name)}</a>
            </p>
          ) : null}
        </section>
      ))}
    </>,
  );
}

function LastClick({ clicks: { last_at, dropped } }: { clicks: ClicksSeen }) {
  if (last_at !== null) {
    return (
      <p>
        The last click came <When at={last_at} />. <a href="/dashboard/events/clicks">See the clicks</a>
      </p>
    );
  }
  return (
    <p>
      {dropped
        ? "There were clicks, but none led to an active partner: check your partners' status and the slugs in their links. Known bots do not count."
        : "No click on a partner's link yet."}{" "}
      <a href="/dashboard/partners">See the partners</a>
    </p>
  );
}

function Found({ found: { url, installed, checks } }: { found: Installation }) {
  return (
    <section class="card" aria-labelledby="found">
      <div class="card-head">
        <h2 id="found">{installed ? "The script works" : "Something is missing"}</h2>
        <span class="muted small wrap">{url}</span>
      </div>
      <ol class="steps">
        {checks.map(({ check, result, text }) => (
          <li class={result === "ok" ? "step yes" : "step"}>
            <span class="step-mark" aria-hidden="true">
              {MARKS[result].mark}
            </span>
            <div class="step-body">
              <p class="step-title">
                {NAMES[check]}
                <span class="visually-hidden">, {MARKS[result].said}</span>
              </p>
              <div class="muted wrap">{text}</div>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

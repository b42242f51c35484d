import { Hono, type Context } from "hono";
import { makeDestination } from "../../../../core/inbound/destination.ts";
import { reconcileEvents } from "../../../../core/inbound/read-list.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import { dataParam, IMPORT_PRODUCT_IDS } from "../../../import/product.ts";
import { CONSENT_CALL } from "../../../../domain/installation.ts";
import { AppError, type ErrorCode } from "../../../../lib/errors.ts";
import { publicUrl } from "../../../../lib/public-url.ts";
import { VENDORS } from "../../../../providers/registry.ts";
import { listReadBody } from "../../../api/integrations.ts";
import { destinationsOf, readsOf } from "../../../connect.ts";
import { statusOf } from "../../../errors.ts";
import type { PageEnv } from "../../../session.ts";
import { parseInput } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { CopyBlock, CopyLine } from "../../parts/copy.tsx";
import { Notice } from "../../parts/notice.tsx";
import { OldLinks } from "../../parts/old-links.tsx";
import { apiSnippet, redirectLink, referralLink, saleSnippet, scriptTag, tagManagerTag } from "../../parts/snippets.ts";
import { ActionLink } from "../../rights.tsx";
import { Checkout } from "./checkout.tsx";
import { placeAfter, resultIn, type ActionResult } from "./provider-actions.tsx";
import { sentFields } from "../../act.ts";

const AT = "/dashboard/integration";
const EXAMPLE_SLUG = "ada";

/** `/dashboard/integration`: snippets to copy, with the program's own values, and actions at a provider. */
export const integration = new Hono<PageEnv>()
  .get("/", (c) => {
    const done = resultIn(c.req.query("done"), c.req.queries("note"));
    return integrationPage(c, done && { provider: c.req.query("provider") ?? "", ...done });
  })
  .post("/:provider/reconcile", async (c) => {
    const fields = await sentFields(c);
    const provider = c.req.param("provider");
    const since = fields.startOfDate("since", c.var.session.program.time_zone);
    const parsed = parseInput(listReadBody, since === "" ? {} : { since });
    if (!parsed.ok) return integrationPage(c, { provider, did: "not read", problems: parsed.problems });
    return act(c, provider, async () => {
      await reconcileEvents(c.var.ctx, { provider, since: parsed.value.since }, readsOf(c.env));
      return placeAfter(provider, "read");
    });
  })
  .post("/:provider/destination", async (c) => {
    const fields = await sentFields(c);
    const provider = c.req.param("provider");
    const input = { provider, origin: publicUrl(c.env), replace: fields.text("replace") === "yes" };
    return act(c, provider, async () => {
      return placeAfter(provider, await makeDestination(c.var.ctx, input, destinationsOf(c.env)));
    });
  });

/** Runs a button's action and redirects to the address from `work`; fixable problems show in the provider's card. */
async function act(c: Context<PageEnv>, provider: string, work: () => Promise<string>) {
  try {
    return c.redirect(await work(), 303);
  } catch (error) {
    if (!(error instanceof AppError) || !SAID.has(error.code)) throw error;
    if (error.retryAfter !== undefined) c.header("Retry-After", String(error.retryAfter));
    return integrationPage(c, { provider, did: "nothing", error });
  }
}

const SAID = new Set<ErrorCode>([
  ...(["already_exists", "invalid_transition", "provider_not_configured"] as const),
  ...(["provider_unavailable", "validation_failed"] as const),
]);

function integrationPage(c: Context<PageEnv>, pressed: (ActionResult & { provider: string }) | null) {
  const { program } = c.var.session;
  const origin = publicUrl(c.env);
  const product = IMPORT_PRODUCT_IDS.find((id) => id === c.req.query("links"));
  const param = product === undefined ? null : dataParam(product);
  return framed(
    c,
    {
      title: "Integration",
      at: AT,
      status: statusAfter(pressed),
      head: {
        lede: "Three steps: keep the partner's reference on your site, pass it to the checkout, and let the payment provider report payments to us.",
      },
    },
    <>
      {program.domain === null ? (
        <Notice tone="warn">
          <p>
            Your domain is not set yet, so links below are examples. <a href="/dashboard/settings">Set it</a>
          </p>
        </Notice>
      ) : null}
      <ScriptCard program={program} origin={origin} param={param} />
      {VENDORS.map((provider, i) => (
        <Checkout
          program={program}
          origin={origin}
          provider={provider}
          slug={EXAMPLE_SLUG}
          isFirst={i === 0}
          result={pressed?.provider === provider.name ? pressed : null}
          now={c.var.now}
        />
      ))}
      <ApiCard program={program} origin={origin} />
    </>,
  );
}

/** The tag of the script; `param` is the `data-param` for links of another product. */
function ScriptCard({ program, origin, param }: { program: Program; origin: string; param: string | null }) {
  return (
    <section class="card" id="script">
      <h2>1. The script on your site</h2>
      <p>
        On every page, before the closing body tag. It is about a kilobyte, sets one first-party cookie and never breaks
        the page.
      </p>
      <CopyBlock label="Script tag" text={scriptTag(origin, program, param)} />
      <p class="more">
        <a class="button" href={`${AT}/check`}>
          Check the installation
        </a>
      </p>
      <p class="muted">
        Partners share links such as <code>{referralLink(program, EXAMPLE_SLUG)}</code>. Where no script runs, links
        through <code>{redirectLink(origin, program, EXAMPLE_SLUG)}</code> count as well. If visitors must consent
        first, or can decline, add <code>data-consent="required"</code>, and have your consent tool run this on every
        page once they agree:
      </p>
      <CopyBlock label="Consent" text={CONSENT_CALL} />
      <details class="spaced">
        <summary>Do you use a tag manager?</summary>
        <p>
          Tag managers drop <code>data-</code> attributes. Use this tag, with the options in the script's address, and
          run it on every page:
        </p>
        <CopyBlock label="Tag for a tag manager" text={tagManagerTag(origin, program, param)} />
      </details>
      <details class="spaced">
        <summary>Coming from another product?</summary>
        <p>
          <ActionLink href="/dashboard/partners/import">Import its partners</ActionLink>, and their links keep working:
          the script reads the code from the parameter that <code>data-param</code> names, beside <code>?ref=</code> of
          the new links.
        </p>
        <OldLinks />
      </details>
    </section>
  );
}

function statusAfter(result: ActionResult | null) {
  if (result?.did === "nothing") return statusOf(result.error.code);
  return result?.did === "not read" ? 422 : 200;
}

/** The program's id, its key, and first calls for the owner's server. */
function ApiCard({ program, origin }: { program: Program; origin: string }) {
  return (
    <section class="card" id="api">
      <h2>3. The API (optional)</h2>
      <p>
        The API does everything that these pages do. Its reference is at <a href="/docs">/docs</a>, the description for
        tools at <a href="/openapi.json">/openapi.json</a>. Your program's id:
      </p>
      <CopyLine label="program id" text={program.id} />
      <CopyBlock label="First call" text={apiSnippet(origin)} />
      <p>
        Your server reports sales without a payment provider: sign-ups, sales and refunds, without tax, each under an id
        of your own. <a href="/docs/integrate#facts-from-your-own-server">How</a>
      </p>
      <CopyBlock label="Your own sale" text={saleSnippet(origin, EXAMPLE_SLUG)} />
      <p class="muted">
        The key ends in <code>{program.api_key_last4}</code>. Use it on your server only. Lost it?{" "}
        <a href="/dashboard/settings/keys">Create a new one</a>
      </p>
    </section>
  );
}

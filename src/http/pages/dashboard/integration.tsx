import { Hono } from "hono";
import type { Program } from "../../../core/kernel/rows.ts";
import { dataParam, IMPORT_PRODUCT_IDS } from "../../../domain/import-product.ts";
import { publicUrl } from "../../../lib/public-url.ts";
import { VENDORS } from "../../../providers/registry.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { CopyBlock, CopyLine } from "../parts/copy.tsx";
import { Notice } from "../parts/notice.tsx";
import { OldLinks } from "../parts/old-links.tsx";
import { apiSnippet, redirectLink, referralLink, saleSnippet, scriptTag } from "../parts/snippets.ts";
import { Checkout } from "./checkout.tsx";

const AT = "/dashboard/integration";
const EXAMPLE_SLUG = "ada";

/** `/dashboard/integration`: everything to copy, filled with the program's own values. */
export const integration = new Hono<PageEnv>().get("/", (c) => {
  const { program } = c.var.session;
  const origin = publicUrl(c.env);
  const product = IMPORT_PRODUCT_IDS.find((id) => id === c.req.query("links"));
  const param = product === undefined ? null : dataParam(product);
  return framed(
    c,
    { title: "Integration", at: AT },
    <>
      <PageHead
        title="Integration"
        lede="Three steps: keep the partner's reference on your site, pass it to the checkout, and let the payment provider report payments to us."
      />
      {program.domain === null ? (
        <Notice tone="warn">
          <p>
            Your domain is not set yet, so links below are examples. <a href="/dashboard/settings#program">Set it</a>
          </p>
        </Notice>
      ) : null}
      <section class="card" id="script">
        <h2>1. The script on your site</h2>
        <p>
          On every page, before the closing body tag. It is less than a kilobyte, sets one first-party cookie and never
          breaks the page.
        </p>
        <CopyBlock label="Script tag" text={scriptTag(origin, program, param)} />
        <p class="muted">
          Partners share links such as <code>{referralLink(program, EXAMPLE_SLUG)}</code>. Where no script runs, links
          through <code>{redirectLink(origin, program, EXAMPLE_SLUG)}</code> count as well. If visitors must agree
          first, add <code>data-consent="required"</code> and call <code>Service.consent()</code> when they do.
        </p>
        <details class="spaced">
          <summary>You come from another product?</summary>
          <p>
            <a href="/dashboard/partners/import">Import its partners</a>, and their links go on working: the script
            finds the code behind the parameter that <code>data-param</code> names, beside <code>?ref=</code> of the
            links made here.
          </p>
          <OldLinks />
        </details>
      </section>
      {VENDORS.map((provider, i) => (
        <Checkout
          program={program}
          origin={origin}
          provider={provider}
          slug={EXAMPLE_SLUG}
          isFirst={i === 0}
          now={c.var.now}
        />
      ))}
      <ApiCard program={program} origin={origin} />
    </>,
  );
});

/** The program's id, its key, and first calls: what an owner's server needs. */
function ApiCard({ program, origin }: { program: Program; origin: string }) {
  return (
    <section class="card" id="api">
      <h2>3. The API, if you like</h2>
      <p>
        Whatever these pages do, the API does too. Its reference is at <a href="/docs">/docs</a>, the description for
        tools at <a href="/openapi.json">/openapi.json</a>. Your program's id:
      </p>
      <CopyLine label="program id" text={program.id} />
      <CopyBlock label="First call" text={apiSnippet(origin)} />
      <p>
        What you sell without a payment provider your server reports itself: sign-ups, sales and refunds, without tax
        and each under an id of your own. <a href="/docs/integrate#facts-from-your-own-server">How</a>
      </p>
      <CopyBlock label="A sale of your own" text={saleSnippet(origin, EXAMPLE_SLUG)} />
      <p class="muted">
        The key ends in <code>{program.api_key_last4}</code>. It is for your server only. Lost it?{" "}
        <a href="/dashboard/settings#api-key">Make a new one</a>
      </p>
    </section>
  );
}

import type { Context } from "hono";
import * as z from "zod";
import { partnerLink, sitePage, SUB_PATTERN, UTM_NAMES, type LinkParts } from "../../../domain/link.ts";
import type { Partner, Program } from "../../../core/kernel/rows.ts";
import { publicUrl } from "../../../lib/public-url.ts";
import type { PageEnv } from "../../session.ts";
import type { Problems } from "../forms.ts";
import { CopyLine } from "../parts/copy.tsx";
import { Field, FieldsOf } from "../parts/form.tsx";
import { QrFigure } from "../parts/qr.tsx";
import { redirectLink } from "../parts/snippets.ts";

const MAX_PAGE = 1_024;
const utm = z.string().max(100, "Use at most 100 characters.").optional();

/** The form's fields, in the address, so that the result can be bookmarked. */
const parts = z.object({
  page: z.string().max(MAX_PAGE, `This is at most ${MAX_PAGE} characters long.`).optional(),
  sub: z.string().regex(SUB_PATTERN, "Use 1 to 64 letters, digits, - or _.").optional(),
  utm_source: utm,
  utm_medium: utm,
  utm_campaign: utm,
});
const NAMES = Object.keys(parts.shape);

const UTM_LABELS: Record<(typeof UTM_NAMES)[number], string> = {
  utm_source: "Campaign source",
  utm_medium: "Campaign medium",
  utm_campaign: "Campaign name",
};

/** A built link: the input, and the link or its problems. */
export interface BuiltLink {
  typed: Record<string, string>;
  link: string;
  /** The link through this service, for places without the site's script; null if it cannot lead there. */
  short: string | null;
  domain: string;
  problems: Problems | undefined;
}

/** The partner's link to the page in the address; invalid parts are ignored. */
export function buildLink(
  c: Context<PageEnv>,
  program: Pick<Program, "id"> & { domain: string },
  { slug }: Pick<Partner, "slug">,
): BuiltLink {
  const query = c.req.query();
  const typed = Object.fromEntries(
    NAMES.flatMap((name) => (query[name]?.trim() ? [[name, query[name].trim()] as const] : [])),
  );
  const fields: Record<string, string> = {};
  for (const issue of parts.safeParse(typed).error?.issues ?? []) fields[String(issue.path[0])] ??= issue.message;
  const page = sitePage(program.domain, fields["page"] === undefined ? (typed["page"] ?? "") : "");
  if (page === null) fields["page"] = `This must be a page of ${program.domain}.`;
  const target = page ?? new URL(`https://${program.domain}/`);
  const wanted: LinkParts = { ref: slug };
  for (const name of ["sub", ...UTM_NAMES] as const) {
    if (typed[name] !== undefined && fields[name] === undefined) wanted[name] = typed[name];
  }
  return {
    typed,
    link: partnerLink(target, wanted),
    short:
      target.hostname === program.domain
        ? shortLink(redirectLink(publicUrl(c.env), program, slug), target, wanted)
        : null,
    domain: program.domain,
    problems: Object.keys(fields).length === 0 ? undefined : { message: "Please check the marked fields.", fields },
  };
}

function shortLink(base: string, page: URL, { ref: _, sub, ...utm }: LinkParts): string {
  const url = new URL(base);
  const to = new URL(page);
  for (const [name, value] of Object.entries(utm)) if (value) to.searchParams.set(name, value);
  const path = `${to.pathname}${to.search}${to.hash}`;
  if (path !== "/") url.searchParams.set("to", path);
  if (sub) url.searchParams.set("sub", sub);
  return url.href;
}

/** Builds a link to any page of the site, with its placement. Works without a script: the reply contains the link. */
export function LinkBuilder({ built: { typed, problems, domain, link, short } }: { built: BuiltLink }) {
  return (
    <>
      <CopyLine label="your link" text={link} />
      <details class="builder">
        <summary>QR code</summary>
        <QrFigure label={`QR code of ${link}`} text={link} />
      </details>
      <details class="builder" open={Object.keys(typed).length > 0}>
        <summary>Link to another page, or track each place separately</summary>
        <form method="get" action="/portal/assets" class="stack" novalidate={true} aria-label="Build a link">
          <FieldsOf values={typed} problems={problems}>
            <Field
              name="page"
              label={`Page of ${domain}`}
              inputmode="url"
              maxlength={MAX_PAGE}
              placeholder={`https://${domain}/pricing`}
            />
            <Field
              name="sub"
              label="Sub-id"
              maxlength={64}
              placeholder="newsletter"
              hint="The place of the link: clicks are counted for each sub-id."
            />
            {UTM_NAMES.map((name) => (
              <Field name={name} label={UTM_LABELS[name]} maxlength={100} />
            ))}
          </FieldsOf>
          <div class="actions">
            <button type="submit" class="primary">
              Create link
            </button>
            {Object.keys(typed).length > 0 ? <a href="/portal/assets">Start over</a> : null}
          </div>
        </form>
      </details>
      {short === null ? null : (
        <>
          <p class="muted small">Short link for apps and print:</p>
          <CopyLine label="your short link" text={short} />
        </>
      )}
    </>
  );
}

import { type Context, Hono } from "hono";
import { bannerHtml, textWithLink, type Asset } from "../../../domain/asset.ts";
import { partnerLink, sitePage } from "../../../domain/link.ts";
import type { PartnerCode } from "../../../core/kernel/rows.ts";
import { listCodes } from "../../../core/partners/codes.ts";
import { addOwnSlug, listSlugs } from "../../../core/partners/own-links.ts";
import type { PageEnv } from "../../session.ts";
import { act } from "../act.ts";
import { addressWithNote, FLASH } from "../flash.ts";
import { framed } from "../framed.tsx";
import { limitByAddress } from "../limited.ts";
import { CopyBlock, CopyLine } from "../parts/copy.tsx";
import { referralLink } from "../parts/snippets.ts";
import { programText } from "../parts/shown-name.ts";
import { buildLink, LinkBuilder } from "./link-builder.tsx";
import { FurtherLinks, ownSlug, slugInput } from "./links.tsx";
import { programOf, selfOf, type OwnProgram } from "./self.ts";

const AT = "/portal/assets";

/** `/portal/assets`: all that a partner shares: links, codes, and the owner's material with the link in it (PORTAL-8). */
export const assets = new Hono<PageEnv>()
  .get("/", (c) => sharePage(c))
  .post("/links", async (c) => {
    await limitByAddress(c, "links");
    return act(c, {
      schema: ownSlug,
      input: slugInput,
      verb: async ({ slug }) => {
        await addOwnSlug(c.var.ctx, selfOf(c).id, slug);
        return addressWithNote(AT, "added");
      },
      page: (sent) => sharePage(c, sent),
    });
  });

async function sharePage(c: Context<PageEnv>, sent?: Parameters<typeof FurtherLinks>[0]["sent"]) {
  const program = programOf(c);
  const { id, slug } = selfOf(c);
  const { domain } = program;
  const codes = await listCodes(c.var.ctx, id);
  const slugs = program.partner_links && domain !== null ? await listSlugs(c.var.ctx, id) : null;
  const built = domain === null ? null : buildLink(c, { ...program, domain }, { slug });
  return framed(
    c,
    {
      ...{ title: "Share", at: AT, head: {}, done: FLASH.own_links },
      problems: sent?.problems ?? built?.problems,
    },
    <>
      <section class="card">
        <h2>Your link</h2>
        {built === null ? (
          <p class="muted">Your link will be here as soon as {programText(program)} has set its domain.</p>
        ) : (
          <LinkBuilder built={built} />
        )}
      </section>
      {slugs === null ? null : <FurtherLinks {...{ program, slug, slugs, sent }} />}
      <Codes codes={codes} />
      {domain === null ? null : <Assets program={{ ...program, domain }} slug={slug} />}
    </>,
  );
}

export type OwnCode = Pick<PartnerCode, "code">;

function Codes({ codes }: { codes: readonly OwnCode[] }) {
  if (codes.length === 0) return null;
  return (
    <section class="card">
      <h2>Your promotion codes</h2>
      <p class="muted small">Purchases with these codes count for you, even without your link.</p>
      {[...new Set(codes.map(({ code }) => code))].map((code) => (
        <CopyLine label={`code ${code}`} text={code} />
      ))}
    </section>
  );
}

/** The owner's assets; without a text among them, two short ones. */
function Assets({ program, slug }: { program: OwnProgram & { domain: string }; slug: string }) {
  const listed = program.assets ?? [];
  const own = listed.some(({ kind }) => kind === "text") ? [] : defaultTexts(programText(program));
  return (
    <>
      {[...own, ...listed].map((asset) => (
        <section class="card">
          <h2>{asset.name}</h2>
          <AssetBody asset={asset} domain={program.domain} slug={slug} />
        </section>
      ))}
    </>
  );
}

function defaultTexts(name: string): Asset[] {
  return [
    { kind: "text", name: "Short text", content: `I recommend ${name}: {link}` },
    {
      kind: "text",
      name: "Text with a disclosure",
      content: `Take a look at ${name}: {link}\nThis is a partner link: if you buy, I earn a commission.`,
    },
  ];
}

function AssetBody({ asset, domain, slug }: { asset: Asset; domain: string; slug: string }) {
  const { kind, name, content } = asset;
  const link = referralLink({ domain }, slug);
  if (kind === "text") {
    const text = textWithLink(content, link);
    return (
      <CopyBlock label={`the text “${name}”`} text={text} wraps>
        Text with your link
      </CopyBlock>
    );
  }
  if (kind === "banner") {
    const html = bannerHtml(asset, link);
    return (
      <>
        <p>
          <a href={content} target="_blank" rel="noopener noreferrer">
            Look at the picture
          </a>
        </p>
        <CopyBlock label={`the HTML of “${name}”`} text={html}>
          HTML with your link
        </CopyBlock>
      </>
    );
  }
  const page = sitePage(domain, content);
  return page === null ? (
    <p class="muted">This page is not at {domain}, so a link to it cannot count for you.</p>
  ) : (
    <CopyLine label={`your link to “${name}”`} text={partnerLink(page, { ref: slug })} />
  );
}

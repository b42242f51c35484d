import { Hono } from "hono";
import { bannerHtml, textWithLink, type Asset } from "../../../domain/asset.ts";
import { partnerLink, sitePage } from "../../../domain/link.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { CopyBlock, CopyLine } from "../parts/copy.tsx";
import { referralLink } from "../parts/snippets.ts";
import { Empty } from "../parts/table.tsx";
import { programOf, selfOf } from "./self.ts";

const AT = "/portal/assets";

/** `/portal/assets`: the owner's material for partners, with the partner's link in it (PORTAL-8). */
export const assets = new Hono<PageEnv>().get("/", (c) => {
  const { assets: listed, domain, name } = programOf(c);
  const { slug } = selfOf(c);
  return framed(
    c,
    {
      title: "Banners and texts",
      at: AT,
      head: { lede: `Ready to use material from ${name}, with your link included.` },
    },
    <>
      {listed === null || domain === null ? (
        <section class="card flush">
          <Empty
            title="Nothing yet"
            action={
              <a class="button" href="/portal">
                Get your link
              </a>
            }
          >
            What {name} gives its partners to use appears here. Your link works without it.
          </Empty>
        </section>
      ) : (
        listed.map((asset) => (
          <section class="card">
            <h2>{asset.name}</h2>
            <AssetBody asset={asset} domain={domain} slug={slug} />
          </section>
        ))
      )}
    </>,
  );
});

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

import { raw } from "../http/jsx.ts";
import changelog from "../docs/changelog.md";
import costs from "../docs/costs.md";
import deploy from "../docs/deploy.md";
import firstDeploy from "../docs/first-deploy.md";
import integrate from "../docs/integrate.md";
import migrate from "../docs/migrate.md";
import operate from "../docs/operate.md";
import payouts from "../docs/payouts.md";
import providerEvents from "../docs/provider-events.md";
import rules from "../docs/rules.md";
import script from "../docs/script.md";
import security from "../docs/security.md";
import signatures from "../docs/signatures.md";
import start from "../docs/start.md";
import testing from "../docs/testing.md";
import webhooks from "../docs/webhooks.md";
import { PageHead } from "../http/pages/layout.tsx";
import { DocsFrame } from "./frame.tsx";
import { guideHtml } from "./guide-html.ts";
import { GUIDES, guideTarget, type Guide } from "./guide-list.ts";
import { textOfHtml } from "./html-text.ts";

const SOURCES: Record<string, string> = {
  ...{
    changelog,
    costs,
    deploy,
    integrate,
    migrate,
    operate,
    payouts,
    rules,
    script,
    security,
    signatures,
    start,
    testing,
    webhooks,
  },
  "first-deploy": firstDeploy,
  "provider-events": providerEvents,
};

export interface RenderedGuide extends Guide {
  source: string;
  html: string;
}

/** Renders every guide. @throws if a guide of the list has no source */
export function renderGuides(): RenderedGuide[] {
  return GUIDES.map((guide) => {
    const source = SOURCES[guide.name];
    if (source === undefined) throw new Error(`src/site/guides.tsx does not import the guide ${guide.name}`);
    return { ...guide, source, html: guideHtml(source, guide.name) };
  });
}

export function GuidePage({ name, title, about, html: contents }: RenderedGuide) {
  const sections = [...contents.matchAll(/<h2 id="([^"]+)">([^\n]*)<\/h2>/g)].map(([, id = "", label = ""]) => ({
    href: `#${id}`,
    label: textOfHtml(label),
  }));
  return (
    <DocsFrame at={`/docs/${name}`} places={sections}>
      <PageHead title={title} lede={about} />
      {/* A text of ours: it is the only page text that is not escaped here. */}
      <article class="card prose guide">{raw(contents)}</article>
    </DocsFrame>
  );
}

const CODE_BLOCK = /(^```.*?^```$)/ms;
const LINK = /\[([^\]]*)\]\(([^)\s]+)\)/g;

/** The guide as Markdown whose links lead to the served guides. */
export function guideMarkdown({ title, source }: RenderedGuide): string {
  const link = (_: string, label: string, href: string) => {
    const target = guideTarget(href);
    return target === null ? label : `[${label}](${target})`;
  };
  // The columns of a table are aligned for people.
  const narrow = (line: string) =>
    line.startsWith("|") ? line.replaceAll(/ {2,}/g, " ").replaceAll(/-{2,}/g, "-") : line;
  return source
    .replace(/^# .*/, `# ${title}`)
    .split(CODE_BLOCK)
    .map((part, i) => (i % 2 === 1 ? part : part.replaceAll(LINK, link).split("\n").map(narrow).join("\n")))
    .join("");
}

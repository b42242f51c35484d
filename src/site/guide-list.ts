export interface Guide {
  /** `src/docs/<name>.md` is its source, `/docs/<name>` its address. */
  name: string;
  title: string;
  about: string;
}

/** The guides for people who use the service, in the order of the navigation. */
export const GUIDES: readonly Guide[] = [
  { name: "start", title: "Start", about: "The local service, and a first sale step by step" },
  { name: "integrate", title: "Integrate", about: "From the script tag to the first sale, the API, the typed client" },
  { name: "testing", title: "Test without real money", about: "Sandboxes, test payments, webhooks on your machine" },
  { name: "script", title: "The script", about: "Its options, consent, tag managers, damaged links" },
  { name: "rules", title: "Commission rules", about: "Whose a payment is, at which rate, and conditions of flows" },
  { name: "provider-events", title: "Provider events", about: "What each event of the payment providers does" },
  { name: "payouts", title: "Payouts", about: "From an approved commission to the partner's money" },
  { name: "webhooks", title: "Webhooks", about: "Endpoints, deliveries and retries" },
  {
    name: "signatures",
    title: "Verify signatures",
    about: "In TypeScript, Python, PHP, Go and Ruby, with a test vector",
  },
  { name: "migrate", title: "Migrate", about: "Imports from another product" },
  { name: "first-deploy", title: "First deploy", about: "From an empty account to a service that answers" },
  { name: "costs", title: "What it costs", about: "The platform's price for three shops" },
  { name: "deploy", title: "Deploy", about: "Configuration, upgrade, rollback, more than one database" },
  { name: "operate", title: "Operate", about: "E-mail, monitoring, backups, rotating keys" },
  { name: "security", title: "Security", about: "What is protected by what, and what is not" },
  { name: "changelog", title: "Changelog", about: "Changes of the API, by date" },
];

/** The address in a served guide of a link in its source; null if it leads to a file that only the repository has. */
export function guideTarget(href: string): string | null {
  if (/^(?:https:|#)/.test(href)) return href;
  const [, name, anchor = ""] = /^([a-z-]+)\.md(#.*)?$/.exec(href) ?? [];
  return GUIDES.some((guide) => guide.name === name) ? `/docs/${name}${anchor}` : null;
}

export interface Guide {
  /** `src/docs/<name>.md` is its source, `/docs/<name>` its address. */
  name: string;
  title: string;
  about: string;
}

/** The guides for people who use the service, in the order of the navigation. */
export const GUIDES: readonly Guide[] = [
  { name: "start", title: "Start", about: "The local service, and a first sale step by step" },
  { name: "integrate", title: "Integrate", about: "The script, the API, the typed client" },
  { name: "migrate", title: "Migrate", about: "Imports from another product" },
  { name: "payouts", title: "Payouts", about: "From an approved commission to the partner's money" },
  { name: "webhooks", title: "Webhooks", about: "Endpoints, deliveries, and how to verify them" },
  { name: "deploy", title: "Deploy", about: "Configuration, upgrade, rollback, more than one database" },
  { name: "operate", title: "Operate", about: "E-mail, monitoring, backups, rotating keys" },
  { name: "security", title: "Security", about: "What is protected by what, and what is not" },
  { name: "changelog", title: "Changelog", about: "Changes of the API, by date" },
];

/** The address in a served guide of a link in its source; null if it leads to a file that only the repository has. */
export function guideTarget(href: string): string | null {
  if (/^(?:https:|#)/.test(href)) return href;
  const [, name, anchor = ""] = /^([a-z]+)\.md(#.*)?$/.exec(href) ?? [];
  return GUIDES.some((guide) => guide.name === name) ? `/docs/${name}${anchor}` : null;
}

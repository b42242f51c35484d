import { VENDOR_NAMES, providerName } from "../../../../providers/registry.ts";
import type { Place } from "../../layout.tsx";
import { mayRequest, useRole } from "../../rights.tsx";

export const SETTINGS = "/dashboard/settings";

/** The pages of the settings, in the order in which a new program needs them. */
const SETTINGS_TABS = [
  { href: SETTINGS, label: "General" },
  { href: `${SETTINGS}/commissions`, label: "Commissions" },
  { href: `${SETTINGS}/payouts`, label: "Payouts" },
  { href: `${SETTINGS}/portal`, label: "Joining and portal" },
  { href: `${SETTINGS}/providers`, label: VENDOR_NAMES.map(providerName).join(" and ") },
  { href: `${SETTINGS}/keys`, label: "API keys" },
  { href: `${SETTINGS}/team`, label: "Team" },
  { href: `${SETTINGS}/mails`, label: "E-mails" },
  { href: `${SETTINGS}/sessions`, label: "Sessions" },
] as const satisfies Place[];

export type SettingsTab = (typeof SETTINGS_TABS)[number]["href"];

/** The place that pages below a provider's settings lead to: its card. */
export function providerSettings(name: string): string {
  return `${SETTINGS}/providers#${name}`;
}

/** Links to the settings' pages that the member may open. */
export function SettingsTabs({ at }: { at: SettingsTab }) {
  const role = useRole();
  return (
    <nav aria-label="Settings" class="tabs">
      {SETTINGS_TABS.filter(({ href }) => mayRequest(role, "GET", href)).map(({ href, label }) => (
        <a href={href} aria-current={href === at ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}

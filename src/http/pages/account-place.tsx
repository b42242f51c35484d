import { SettingsTabs } from "./dashboard/settings/tabs.tsx";
import type { PageHeadProps } from "./layout.tsx";

/** The head of an account's page: a tab of the owner's settings, or a page below the partner's details. */
export function placeInFrame(
  parent: "/dashboard/settings" | "/portal/details",
  page: "mails" | "sessions",
): Partial<PageHeadProps> {
  if (parent === "/portal/details") return { back: { href: parent, label: "Payout details" } };
  return { tabs: <SettingsTabs at={`${parent}/${page}`} /> };
}

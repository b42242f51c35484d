import type { OwnerProvider } from "../provider.ts";
import { eventOf, KEPT_BY } from "./events.ts";
import { reportedValues } from "./reported-values.ts";

/** Reports of the owner's server with the program's API key (FACT-1): it has no webhook, no secret and no vendor. */
export const ownersServer = {
  name: "api" as const,
  text: "your server (API)",
  reported_by: "owner" as const,
  kept_by: KEPT_BY,
  id_pattern: /^[\w.:/=+~-]{1,200}$/,
  eventOf,
  reportedValues,
} satisfies OwnerProvider;

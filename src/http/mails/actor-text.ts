import { isFirstKey, type Actor } from "../../domain/actor.ts";
import { oneLine } from "../../lib/mail.ts";
import { providerName } from "../../providers/registry.ts";

/** A partner who acts in the portal. */
export const SELF = "the partner, signed in to the portal";

/** The name of an actor in e-mails to the program's team. */
export function actorText(actor: Actor): string {
  const { type, name } = actor;
  const who = oneLine(name ?? "");
  switch (type) {
    case "partner":
      return `${SELF} (${who})`;
    case "member":
      return `${who}, signed in to the dashboard`;
    case "api_key":
      return isFirstKey(actor) ? `the program's API key that ends in ${who}` : `the program's API key “${who}”`;
    case "operator":
      return "the operator of the service";
    case "provider":
      return `the payment provider (${oneLine(providerName(name ?? ""))})`;
    case "cron":
    case "visitor":
      return `the service itself (${who})`;
  }
}

import type { MailReader } from "../../domain/mail.ts";
import { oneLine } from "../../lib/mail.ts";
import type { Footer } from "./frame.ts";

/** The text below a letter to this reader; `unsubscribe` is null for a letter that cannot be switched off. */
export function footerFor({ audience }: MailReader, { name }: { name: string }, unsubscribe: string | null): Footer {
  const links = unsubscribe === null ? [] : [{ label: "Unsubscribe, or choose your e-mails", url: unsubscribe }];
  // A name may end with a full stop of its own: "Example Ltd."
  return { reason: `You get this e-mail ${reasonFor(audience, oneLine(name))}.`.replace(/\.\.$/, "."), links };
}

function reasonFor(audience: MailReader["audience"], program: string): string {
  switch (audience) {
    case "owner":
      return `because you run the affiliate program ${program}`;
    case "partner":
      return `as a partner of ${program}`;
    case "applicant":
      return `because this address was given to ${program}`;
  }
}

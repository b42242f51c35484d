import type { Identity } from "../../core/sessions/identities.ts";
import { oneLine, type Mail } from "../../lib/mail.ts";
import { framed } from "./frame.ts";

/** The e-mail that carries a sign-in link: from the program, where the address has one account only. */
export function signInMail(to: string, url: string, identities: readonly Identity[]): Mail {
  const [only] = identities.length === 1 ? identities : [];
  const where = only ? oneLine(only.program_name) : "your affiliate programs";
  const letter = {
    to,
    subject: `Your sign-in link for ${where}`,
    program: { name: where, brand_color: only?.brand_color ?? null },
    parts: [`Sign in to ${where}. The link works once and for 15 minutes.`],
    action: { label: "Sign in", url },
  };
  return framed(letter, {
    reason: "This address was entered on the sign-in page. If you did not ask for the link, ignore this e-mail.",
    links: [],
  });
}

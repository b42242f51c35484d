import type { Mail } from "../../lib/mail.ts";

/** An e-mail that a local service accepted. */
export interface LocalMail extends Mail {
  id: string;
}

/** The limit of kept e-mails; the local service also writes each to a file (`dev/local-mails.ts`). */
const KEPT = 200;

const taken = new Map<string, LocalMail>();

/** Keeps an e-mail instead of sending it; one with an id once. */
export function keepLocalMail(mail: LocalMail): void {
  if (taken.has(mail.id)) return;
  taken.set(mail.id, mail);
  const [oldest] = taken.keys();
  if (taken.size > KEPT && oldest !== undefined) taken.delete(oldest);
}

/** The e-mails that the service accepted since it started, the newest first. */
export function localMails(): LocalMail[] {
  return [...taken.values()].toReversed();
}

export function localMail(id: string): LocalMail | null {
  return taken.get(id) ?? null;
}

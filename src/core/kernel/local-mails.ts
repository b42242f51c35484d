import type { Mail } from "../../lib/mail.ts";

/** An e-mail that a local service took. */
export interface LocalMail extends Mail {
  id: string;
}

/** So many are kept; the local service writes each to a file too (`dev/local-mails.ts`). */
const KEPT = 200;

const taken = new Map<string, LocalMail>();

/** Keeps an e-mail in place of sending it; one with an id once. */
export function keepLocalMail(mail: LocalMail): void {
  if (taken.has(mail.id)) return;
  taken.set(mail.id, mail);
  const [oldest] = taken.keys();
  if (taken.size > KEPT && oldest !== undefined) taken.delete(oldest);
}

/** What the service took since it started, the newest first. */
export function localMails(): LocalMail[] {
  return [...taken.values()].toReversed();
}

export function localMail(id: string): LocalMail | null {
  return taken.get(id) ?? null;
}

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Returns the id of the stored e-mail that a line of the Worker's log reports, or null for any other line. */
export function keptMail(message: string): string | null {
  try {
    const { what, mail_id } = JSON.parse(message) as { what?: unknown; mail_id?: unknown };
    const isMail = what === "no e-mail is set up" && typeof mail_id === "string" && /^mail_[0-9a-z]+$/.test(mail_id);
    return isMail ? mail_id : null;
  } catch {
    return null;
  }
}

/** Writes both parts of an e-mail of the service at `url` to `<folder>/<id>.html` and `.txt`. @throws if it was deleted */
export async function writeMail(url: string, id: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [part, ending] of [
    ["html", "html"],
    ["text", "txt"],
  ] as const) {
    const response = await fetch(`${url}/dev/mails/${id}/${part}`);
    if (!response.ok) throw new Error(`GET /dev/mails/${id}/${part} answered ${response.status}`);
    await writeFile(join(folder, `${id}.${ending}`), await response.text());
  }
}

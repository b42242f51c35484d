import * as z from "zod";
import type { BaseCtx } from "../../core/kernel/context.ts";
import type { ChoosingReader } from "../../core/mails/preferences.ts";
import { MAIL_KINDS, type MailKind } from "../../domain/mail.ts";
import type { Sealed } from "../../lib/seal.ts";

type Sealer = BaseCtx["sealer"];

/** The reader of a link to unsubscribe, and the e-mails that it stops. */
export interface Unsubscribing {
  program_id: string;
  reader: ChoosingReader;
  kind: MailKind;
  /** The e-mail's recipient. The link works only while the address is still the reader's. */
  address: string;
}

/** No e-mail has this id, so a sealed token cannot be opened as an e-mail. */
const PLACE = { table: "mails", column: "content", row: "unsubscribe" } as const;

const KINDS = Object.keys(MAIL_KINDS) as MailKind[];
const CONTENT = z.tuple([z.string(), z.string(), z.enum(KINDS), z.string()]);

/** Only this deployment can make a token, and its content cannot be read. It works while its key is known. */
export async function unsubscribeToken(
  sealer: Sealer,
  { program_id, reader, kind, address }: Unsubscribing,
): Promise<string> {
  const sealed = await sealer.seal(JSON.stringify([program_id, reader.partner_id ?? "", kind, address]), PLACE);
  return sealed.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "~");
}

/** Null for an invalid token. */
export async function readUnsubscribeToken(sealer: Sealer, token: string): Promise<Unsubscribing | null> {
  if (!/^[\w.~-]{1,1000}$/.test(token)) return null;
  const sealed = token.replaceAll("-", "+").replaceAll("_", "/").replaceAll("~", "=") as Sealed;
  const opened = await sealer.openOrNull(sealed, PLACE);
  const content = CONTENT.safeParse(JSON.parse(opened ?? "null"));
  if (!content.success) return null;
  const [program_id, partner_id, kind, address] = content.data;
  return {
    program_id,
    kind,
    address,
    reader: partner_id === "" ? { audience: "owner" } : { audience: "partner", partner_id },
  };
}

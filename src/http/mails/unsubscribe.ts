import * as z from "zod";
import type { BaseCtx } from "../../core/kernel/context.ts";
import type { ChoosingReader } from "../../core/kernel/mail-preferences.ts";
import { MAIL_KINDS, type MailKind } from "../../domain/mail.ts";
import type { Sealed } from "../../lib/seal.ts";

type Sealer = BaseCtx["sealer"];

/** Who a link to unsubscribe is for, and from which e-mails. */
export interface Unsubscribing {
  program_id: string;
  reader: ChoosingReader;
  kind: MailKind;
  /** Where the e-mail went: who has the link is the reader only as long as that is theirs. */
  address: string;
}

/** No e-mail has this id: what is sealed for it opens as nothing else. */
const PLACE = { table: "mails", column: "content", row: "unsubscribe" } as const;

const KINDS = Object.keys(MAIL_KINDS) as MailKind[];
const CONTENT = z.tuple([z.string(), z.string(), z.enum(KINDS), z.string()]);

/** Nobody else can make one, and nothing can be read from it. It works for as long as its key is known. */
export async function unsubscribeToken(
  sealer: Sealer,
  { program_id, reader, kind, address }: Unsubscribing,
): Promise<string> {
  const sealed = await sealer.seal(JSON.stringify([program_id, reader.partner_id ?? "", kind, address]), PLACE);
  return sealed.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "~");
}

/** Null for what is no such token. */
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

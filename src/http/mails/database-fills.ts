import { sendNow } from "../../core/mails/senders.ts";
import type { Warn } from "../../core/operations/size-warning.ts";
import { bindingName } from "../../domain/shard.ts";
import type { Bindings } from "../../env.ts";
import { randomToken } from "../../lib/crypto.ts";
import type { Mail } from "../../lib/mail.ts";
import { renderLetter } from "./frame.ts";
import { mailOf } from "./mailer.ts";

/** Warns the operator of a filling database; null without e-mail or an operator's address. */
export function warnOperator(env: Bindings): Warn | null {
  const { OPERATOR_EMAIL: to } = env;
  const { senders } = mailOf(env);
  if (!to || senders.length === 0) return null;
  return async ({ shard, percent }) =>
    sendNow(senders, { id: `size-${randomToken(12)}`, ...databaseFillsMail(to, bindingName(shard), percent) });
}

export function databaseFillsMail(to: string, database: string, percent: number): Mail {
  return renderLetter(
    {
      to,
      subject: `The database ${database} is ${percent} % full`,
      program: { name: "Affiliate program service", brand_color: null },
      parts: [
        `${database} has ${percent} % of the 10 GB that D1 stores in one database. At 90 % clicks are only counted. A full database cannot store payments.`,
        "Move old clicks to a bucket (CLICK_RETENTION_DAYS and ARCHIVE), and send new programs to another database (NEW_PROGRAM_SHARD).",
      ],
    },
    { reason: "You get this e-mail because OPERATOR_EMAIL is this address.", links: [] },
  );
}

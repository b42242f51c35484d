/** A partner's own change of payout details, and the e-mailed link that confirms it (OUT-25). */
import { openMailbox, type Mailbox } from "./mailbox.ts";
import { makeVisitor, signInPartner, type Fields, type Visitor } from "./visitor.ts";
import { callWith } from "./watched-database.ts";
import type { Reply, TestProgram } from "./program.ts";

/** A browser at a deployment with e-mail. */
export function visitorWithMail({ bindings }: Pick<Mailbox, "bindings">): Visitor {
  return makeVisitor((path, init) => callWith<string>(bindings, path, init));
}

/** The newest link that was e-mailed to the address. */
export function changeLinkIn(mails: Mailbox["mails"], to: string): string {
  const texts = mails.filter((mail) => mail.to === to).map(({ text }) => text);
  const [token] = texts.toReversed().flatMap((text) => /confirm-payout-details\?token=([\w-]+)/.exec(text)?.[1] ?? []);
  if (token === undefined) throw new Error(`no link was e-mailed to ${to}`);
  return token;
}

/** Opens a link as a person does: looks at its page, presses the button. */
export async function confirmLink(visitor: Visitor, token: string): Promise<Reply<string>> {
  // The page of a link that cannot be used has no form.
  await visitor.get("/sign-in");
  await visitor.get(`/confirm-payout-details?token=${token}`);
  return visitor.post("/confirm-payout-details", { token });
}

/** A partner who changes payout details in the portal and confirms the change from the e-mail. */
export async function changeOwnDetails(
  program: TestProgram,
  email: string,
  fields: Fields,
  { mailbox = openMailbox(), path = "/portal/details" } = {},
): Promise<{ asked: Reply<string>; confirmed: Reply<string>; portal: Visitor }> {
  const portal = await signInPartner(email, visitorWithMail(mailbox));
  await portal.get("/portal/details");
  const asked = await portal.post(path, fields);
  await mailbox.deliver(program.id);
  const confirmed = await confirmLink(visitorWithMail(mailbox), changeLinkIn(mailbox.mails, email));
  return { asked, confirmed, portal };
}

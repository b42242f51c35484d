/** The e-mails around joining a program (JOIN-4, JOIN-6, PART-13). */
import type { MailedLink, NoticeOf } from "../../core/kernel/notices.ts";
import type { Partner, Program } from "../../core/kernel/rows.ts";
import { oneLine } from "../../lib/mail.ts";
import { earnedParts } from "../pages/join/offer.tsx";
import { textOf } from "../pages/parts/flow-sentence.tsx";
import { referralLink } from "../pages/parts/snippets.ts";
import { dayFor, type Letter, type PlainLetter } from "./letter.ts";

const APPLICANT = { audience: "applicant" } as const;

/** Reports the state of the address to the sender of the form, which only its reader may learn (JOIN-4). */
export function addressLetters(notice: NoticeOf<"application_address">, origin: string | null): Letter[] {
  const { program, email, state } = notice;
  const name = oneLine(program.name);
  const letter = { to: email, reader: APPLICANT, program };
  const ignore = "If it was not you, ignore this e-mail.";
  switch (state.is) {
    case "new":
      return [
        {
          ...letter,
          subject: `Confirm your application to ${name}`,
          parts: [
            `You applied to ${name} to become a partner. Confirm your e-mail address to send your application.`,
            program.applications === "auto"
              ? "You are then a partner at once, and we e-mail you your link."
              : `Then ${name} reviews it and e-mails you the decision.`,
            `The link works for 24 hours. If you do not use it, we delete your application. ${ignore}`,
          ],
          action: actionTo(origin, "Confirm your address", `/join/${program.id}/confirm?token=${state.token}`),
        },
      ];
    case "waiting":
      return [
        {
          ...letter,
          subject: `Your application to ${name} is waiting`,
          parts: [
            `You applied to ${name} again. Your first application is still waiting for a decision and has not changed.`,
            `We e-mail you as soon as it is decided. ${ignore}`,
          ],
        },
      ];
    case "partner":
      return [alreadyLetter(letter, state.status !== "deactivated", ignore, origin)];
  }
}

function alreadyLetter(
  letter: Pick<Letter, "to" | "reader" | "program">,
  isOpen: boolean,
  ignore: string,
  origin: string | null,
): Letter {
  const name = oneLine(letter.program.name);
  return {
    ...letter,
    subject: `You are already a partner of ${name}`,
    parts: [
      `Someone applied to ${name} with this address, which already belongs to a partner.`,
      isOpen
        ? `Sign in with this address to see your link. ${ignore}`
        : `Your account is not active. Ask ${name} to reactivate it. ${ignore}`,
    ],
    action: isOpen ? actionTo(origin, "Sign in", "/sign-in") : undefined,
  };
}

/** Confirms the receipt to the applicant; not sent if the address is erased. */
export function receivedLetters({ program, application: { email } }: NoticeOf<"application_received">): Letter[] {
  if (email === null) return [];
  const name = oneLine(program.name);
  const parts = [
    `Your address is confirmed, and your application to become a partner of ${name} has arrived.`,
    `${name} will review it and e-mail you. If it is approved, the e-mail has your link and a button that signs you in.`,
  ];
  return [{ to: email, reader: APPLICANT, subject: `Your application to ${name} has arrived`, program, parts }];
}

export function approvedLetters(notice: NoticeOf<"application_approved">, origin: string | null): Letter[] {
  const { program, partner, link } = notice;
  const name = oneLine(program.name);
  return [
    {
      ...signInLetter(program, partner, link, origin),
      subject: `You are a partner of ${name}`,
      parts: [
        `Your application to ${name} was approved: you are a partner now.`,
        `Your link: ${referralLink(program, partner.slug)}`,
        `Share it, and add your payout details, so that you can be paid. ${lifetime(program, link)}`,
      ],
    },
  ];
}

/** Reports the decision to the applicant; not sent if the address is erased. */
export function declinedLetters({ program, application }: NoticeOf<"application_declined">): Letter[] {
  const { email, note } = application;
  if (email === null) return [];
  const name = oneLine(program.name);
  const parts = [
    `Your application to become a partner of ${name} was declined.`,
    ...(note === null ? [] : [`${name} writes:\n${note}`]),
    "Your application is deleted after 90 days.",
  ];
  return [{ to: email, reader: APPLICANT, subject: `Your application to ${name} was declined`, program, parts }];
}

/** Invites a partner that the owner has added. It states no rate if a flow for all payments replaces the partner's. */
export function invitationLetters(notice: NoticeOf<"invitation">, origin: string | null): Letter[] {
  const { program, partner, link, offer } = notice;
  const name = oneLine(program.name);
  const earned = offer.is_replaced ? "" : ` ${textOf(earnedParts(program, offer))}`;
  return [
    {
      ...signInLetter(program, partner, link, origin),
      subject: `${name} invites you to become a partner`,
      parts: [
        `${name} has invited you to its affiliate program: you earn on sales that come through your link.${earned}`,
        `Your link: ${referralLink(program, partner.slug)}`,
        `You start earning once you sign in for the first time. ${lifetime(program, link)}`,
      ],
    },
  ];
}

function signInLetter(program: Program, { id, email }: Partner, { token }: MailedLink, origin: string | null) {
  const reader = { audience: "partner", partner_id: id } as const;
  return { to: email, reader, program, action: actionTo(origin, "Sign in", `/sign-in?token=${token}`) };
}

function lifetime(program: Program, { expires_at }: MailedLink): string {
  return `The button signs you in once, until ${dayFor(program, expires_at)}; after that, request a link on the sign-in page.`;
}

function actionTo(origin: string | null, label: string, path: string): PlainLetter["action"] {
  return origin === null ? undefined : { label, url: `${origin}${path}` };
}

import type { NoticeOf } from "../../core/kernel/notices.ts";
import { ROLE_TITLES } from "../../domain/member.ts";
import { oneLine } from "../../lib/mail.ts";
import { dayFor, type Letter } from "./letter.ts";

/** Notifies a person that they were added to the team of a program (TEAM-4). */
export function memberInvitedLetters(notice: NoticeOf<"member_invited">, origin: string | null): Letter[] {
  const { program, member, link } = notice;
  const name = oneLine(program.name);
  return [
    {
      to: member.email,
      reader: { audience: "owner" },
      subject: `You are in the team of ${name}`,
      program,
      parts: [
        `You are now in the team that runs ${name}'s affiliate program. Your role: ${ROLE_TITLES[member.role]}.`,
        `The button signs you in once, until ${dayFor(program, link.expires_at)}; after that, request a link on the sign-in page.`,
      ],
      action: origin === null ? undefined : { label: "Sign in", url: `${origin}/sign-in?token=${link.token}` },
    },
  ];
}

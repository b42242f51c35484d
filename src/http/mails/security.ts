import type { NoticeOf, SecurityEvent } from "../../core/kernel/notices.ts";
import { MEMBER_ROLES, ROLE_TITLES } from "../../domain/member.ts";
import { oneLine } from "../../lib/mail.ts";
import { providerName, SECRET_SETTINGS } from "../../providers/registry.ts";
import { timeText } from "../pages/locale.ts";
import { actorText } from "./actor-text.ts";
import type { Letter } from "./letter.ts";

/** Notifies an owner, or a former one, that access to the program has changed (PROOF-4). */
export function securityLetters({ program, recipient, events }: NoticeOf<"security">, origin: string | null): Letter[] {
  const name = oneLine(program.name);
  const [first] = events;
  if (!first) return [];
  const by = first.actor === null ? "unknown" : actorText(first.actor);
  return [
    {
      to: recipient,
      reader: { audience: "owner" },
      subject: `Security change at ${name}`,
      program,
      parts: [
        `This changed in your affiliate program ${name}:`,
        events.flatMap((event) => linesOf(event, program.time_zone)).join("\n"),
        `By: ${by}.\nAt: ${timeText(first.created_at, program.time_zone)} (${program.time_zone}).`,
        "If you or your team did this, you don't need to do anything.",
        "If not: sign in, sign out everywhere, and undo it under Team, API keys, Webhooks or Settings. If you can no longer sign in, ask the operator " +
          "of this service for a new API key of the program at once, and use it to add yourself to the team again.",
      ],
      action:
        origin === null ? undefined : { label: "See your sessions", url: `${origin}/dashboard/settings/sessions` },
    },
  ];
}

function linesOf(event: SecurityEvent, zone: string): string[] {
  switch (event.type) {
    case "member.added":
      return [`${oneLine(event.payload.email)} was added to the team. Role: ${ROLE_TITLES[event.payload.role]}.`];
    case "member.changed":
      return [`${oneLine(event.payload.email)} of the team was changed. ${changed(event, "role", roleText)}`];
    case "member.removed":
      return [`${oneLine(event.payload.email)} (${ROLE_TITLES[event.payload.role]}) was removed from the team.`];
    case "api_key.created": {
      const { scopes, expires_at } = event.payload;
      const until = expires_at === null ? "until it is deleted" : `until ${timeText(expires_at, zone)}`;
      return [`${keyText(event.payload)} was created. It may: ${scopes.join(", ")}. It works ${until}.`];
    }
    case "api_key.deleted":
      return [`${keyText(event.payload)} was deleted.`];
    case "api_key.regenerated":
      return [`The program's first API key was replaced. The new one ends in ${event.payload.last4}.`];
    case "passkey.added":
    case "passkey.removed": {
      const { email, device } = event.payload;
      const what = event.type === "passkey.added" ? "added" : "removed";
      return [`A passkey of ${oneLine(email)} was ${what}${device === null ? "" : ` (${device})`}.`];
    }
    case "webhook_endpoint.created":
      return [
        `A webhook endpoint at ${hostOf(event.payload.url)} was added. It is sent: ${event.payload.events.join(", ")}.`,
      ];
    case "webhook_endpoint.updated":
      return [
        ...(isChanged(event, "url") ? [`A webhook endpoint was changed. ${changed(event, "url", hostOf)}`] : []),
        ...(isChanged(event, "secret")
          ? [`The signing secret of the endpoint at ${hostOf(event.payload.url)} was replaced.`]
          : []),
      ];
    case "partner.hold_released": {
      const { slug, held_until } = event.payload;
      return [
        `The hold of payouts to the partner ${slug} was released. It was in force until ${timeText(held_until, zone)}.`,
      ];
    }
    case "program.updated":
      return [
        ...(isChanged(event, "owner_email")
          ? [`The program's own address was changed. ${changed(event, "owner_email", oneLine)}`]
          : []),
        ...(isChanged(event, "payout_change_hold_days")
          ? [
              `The hold after a change of payout details was changed. ${changed(event, "payout_change_hold_days", String)}`,
            ]
          : []),
        ...SECRET_SETTINGS.flatMap(({ setting, provider, field }) => {
          const pair = event.changes?.[setting];
          if (!pair) return [];
          const [before, after] = pair;
          const what = after === null ? "removed" : before === null ? "stored" : "replaced";
          const within = providerName(provider.name);
          const label = field.label(within);
          return [`${label.includes(within) ? label : `${label} of ${within}`}: ${what}.`];
        }),
      ];
  }
}

function isChanged({ changes }: SecurityEvent, field: string): boolean {
  return changes?.[field] !== undefined;
}

/** `Role: Finance → Owner.` */
function changed({ changes }: SecurityEvent, field: string, text: (value: string) => string): string {
  const [before, after] = changes?.[field] ?? [];
  const shown = (value: unknown) => {
    return typeof value === "string" || typeof value === "number" ? text(String(value)) : "none";
  };
  return `${FIELDS[field] ?? field}: ${shown(before)} → ${shown(after)}.`;
}

const FIELDS: Record<string, string> = {
  role: "Role",
  url: "Host",
  owner_email: "E-mail",
  payout_change_hold_days: "Days",
};

function roleText(value: string): string {
  const role = MEMBER_ROLES.find((one) => one === value);
  return role === undefined ? oneLine(value) : ROLE_TITLES[role];
}

/** Without the path and the query, which may hold a secret. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "an unknown host";
}

function keyText({ name, last4 }: { name: string; last4: string }): string {
  return `The API key “${oneLine(name)}”, which ends in ${last4},`;
}

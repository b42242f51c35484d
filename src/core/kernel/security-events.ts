import type { Actor, Changes } from "../../domain/actor.ts";
import type { AuditEventType, EventPayloads } from "../../domain/event.ts";
import { SECRET_SETTINGS } from "../../providers/registry.ts";

type Counts = (changes: Changes | null | undefined) => boolean;

const always: Counts = () => true;
const changing = (...fields: string[]): Counts => {
  return (changes) => fields.some((field) => changes?.[field] !== undefined);
};

/**
 * The events that change who gets into a program, or who is sent what happens in it; of some types those alone that change one of these
 * fields. The commit of such an event e-mails every owner, whoever makes it: no verb can leave it out (PROOF-4).
 */
const SECURITY_EVENTS = {
  "member.added": always,
  "member.changed": always,
  "member.removed": always,
  "api_key.created": always,
  "api_key.regenerated": always,
  "api_key.deleted": always,
  "passkey.added": always,
  "passkey.removed": always,
  "webhook_endpoint.created": always,
  "webhook_endpoint.updated": changing("url", "secret"),
  "program.updated": changing("owner_email", ...SECRET_SETTINGS.map(({ setting }) => setting)),
} as const satisfies Partial<Record<AuditEventType, Counts>>;

export type SecurityEventType = keyof typeof SECURITY_EVENTS;

/** An event of these as the audit log has it: secrets in it are masked. */
export type SecurityEvent = {
  [T in SecurityEventType]: {
    type: T;
    payload: EventPayloads[T];
    changes: Changes | null;
    actor: Actor | null;
    created_at: string;
  };
}[SecurityEventType];

export interface Occurred {
  id: string;
  type: AuditEventType;
  payload: object;
  changes?: Changes;
}

/** Whether the owners are e-mailed about it. */
export function isSecurityEvent({ type, changes }: Occurred): boolean {
  return (SECURITY_EVENTS as Partial<Record<string, Counts>>)[type]?.(changes) ?? false;
}

import type { Actor, Changes } from "../../domain/actor.ts";
import type { AuditEventType, EventPayloads } from "../../domain/event.ts";
import { SECRET_SETTINGS } from "../../providers/registry.ts";

type Counts = (changes: Changes | null | undefined) => boolean;

const always: Counts = () => true;
const changing = (...fields: string[]): Counts => {
  return (changes) => fields.some((field) => changes?.[field] !== undefined);
};

/**
 * The events that change access to a program, or the recipients of its data; for some types only if one of these fields
 * changes. The commit of such an event, by any actor, e-mails every owner: a verb cannot leave it out (PROOF-4).
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

/** A security event as in the audit log: its secrets are masked. */
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

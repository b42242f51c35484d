/** The author of an event (EVT-2): `actor: {type: api_key|member|partner|provider|operator|cron|visitor, id, name}`. */
export const ACTOR_TYPES = ["api_key", "member", "partner", "provider", "operator", "cron", "visitor"] as const;

export interface Actor {
  type: (typeof ACTOR_TYPES)[number];
  id: string | null;
  name: string | null;
}

export const KEY_ID_PREFIX = "key_";
/** Characters of the key's hash that form its id: no two keys share them, and the key cannot be derived from them. */
export const KEY_ID_CHARACTERS = 16;

/** Makes the actor for each way into the service. */
export const actors = {
  /** The program's first API key: an id made from its hash, and its last four characters. */
  apiKey: ({ api_key_hash, api_key_last4 }: { api_key_hash: string; api_key_last4: string }): Actor => ({
    type: "api_key",
    id: `${KEY_ID_PREFIX}${api_key_hash.slice(0, KEY_ID_CHARACTERS)}`,
    name: api_key_last4,
  }),
  /** An API key that the program has in addition to its first. */
  furtherKey: ({ id, name }: { id: string; name: string }): Actor => ({ type: "api_key", id, name }),
  /** A team member, by verified address. */
  member: (email: string): Actor => ({ type: "member", id: email.toLowerCase(), name: email }),
  partner: ({ id, email, first_name, last_name }: PartnerNames): Actor => ({
    type: "partner",
    id,
    name: [first_name, last_name].filter(Boolean).join(" ") || email,
  }),
  /** A payment provider, with the vendor's event id once it is known. */
  provider: (name: string, event_id: string | null = null): Actor => ({ type: "provider", id: event_id, name }),
  /** The bearer of ADMIN_TOKEN. */
  operator: (): Actor => ({ type: "operator", id: null, name: "operator" }),
  /** A periodic job, by its name in `JOBS`. */
  cron: (job: string): Actor => ({ type: "cron", id: null, name: job }),
  /** An unidentified person, who clicks or applies. */
  visitor: (): Actor => ({ type: "visitor", id: null, name: null }),
};

/** Whether the actor is a program's first key, whose name is its last four characters. */
export function isFirstKey({ type, id }: Actor): boolean {
  return type === "api_key" && id?.length === KEY_ID_PREFIX.length + KEY_ID_CHARACTERS;
}

interface PartnerNames {
  id: string;
  email: string;
  first_name: string | null;
  last_name: string | null;
}

/** The actor of every click; click events do not store one. */
export const VISITOR: Actor = actors.visitor();

/** `{field: [old, new]}` (EVT-2). */
export type Changes = Record<string, [before: unknown, after: unknown]>;

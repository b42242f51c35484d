/** Events and their recipients: the audit log, clicks, endpoints and deliveries, replies, sign-in, jobs. */
import { sql } from "drizzle-orm";
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { Actor, Changes } from "../domain/actor.ts";
import type { ClickDropReason } from "../domain/click.ts";
import type { DeliveryStatus } from "../domain/delivery.ts";
import type { AuditEventType, SentEventType, Subscription } from "../domain/event.ts";
import type { Check, Figures } from "../domain/reconciliation.ts";
import type { Scope } from "../domain/scope.ts";
import type { PasskeyKey } from "../lib/passkey.ts";
import type { Sealed } from "../lib/seal.ts";
import { programs } from "./schema-program.ts";

/** The audit log: the key provides the list order, the time filter and the pages. WITHOUT ROWID. */
export const events = sqliteTable(
  "events",
  {
    program_id: text().notNull(),
    id: text().notNull(),
    type: text().$type<AuditEventType>().notNull(),
    payload: text({ mode: "json" }).$type<Record<string, unknown>>().notNull(),
    created_at: text().notNull(),
    /** Null for clicks, whose actor is always a visitor, and for events from before actors existed. */
    actor: text({ mode: "json" }).$type<Actor>(),
    changes: text({ mode: "json" }).$type<Changes>(),
    /** 1: a click that is left to the roll-up, which counts it once `click_rollups.until` passes it. */
    uncounted: integer().$type<1>(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.id] }),
    index("events_type")
      .on(t.program_id, t.type, t.id)
      .where(sql`type <> 'click'`),
  ],
);

/** Events by UTC day, kept by every write of an event except clicks left to the roll-up. WITHOUT ROWID. */
export const eventCounts = sqliteTable(
  "event_counts",
  {
    program_id: text().notNull(),
    type: text().notNull(),
    day: text().notNull(),
    count: integer().notNull(),
    /** How many of them are archived and no longer in `events`. */
    archived: integer().notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.type, t.day] })],
);

/** Events by UTC hour; `minutes` splits them: `{"05": 3}`. Triggers update `event_counts`. WITHOUT ROWID. */
export const eventHours = sqliteTable(
  "event_hours",
  {
    program_id: text().notNull(),
    hour: text().notNull(),
    type: text().notNull(),
    count: integer().notNull(),
    minutes: text({ mode: "json" }).$type<Record<string, number>>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.hour, t.type] })],
);

/**
 * Archived stretches of clicks: `count` clicks of a UTC day, no longer in `events`. Late ones make stretches overlap.
 * WITHOUT ROWID.
 */
export const clickArchives = sqliteTable(
  "click_archives",
  {
    program_id: text().notNull(),
    last_id: text().notNull(),
    first_id: text().notNull(),
    day: text().notNull(),
    count: integer().notNull(),
    key: text().notNull(),
    created_at: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.last_id] })],
);

/** UTC days of clicks that wait to be archived. WITHOUT ROWID. */
export const clickArchiveDays = sqliteTable(
  "click_archive_days",
  {
    program_id: text().notNull(),
    day: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.day] })],
);

/** Recorded clicks by partner and UTC day, except those left to the roll-up. WITHOUT ROWID. */
export const clickCounts = sqliteTable(
  "click_counts",
  {
    program_id: text().notNull(),
    partner_id: text().notNull(),
    day: text().notNull(),
    count: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.partner_id, t.day] })],
);

/**
 * Recorded clicks by page of the site and by sub-id; for the program as a whole, whose `partner_id` is empty, by page,
 * referring host and country. The empty value stands for all values without a row (`core/kernel/click-sources.ts`).
 * WITHOUT ROWID.
 */
export const clickSources = sqliteTable(
  "click_sources",
  {
    program_id: text().notNull(),
    partner_id: text().notNull(),
    day: text().notNull(),
    kind: text().$type<"landing" | "sub" | "referrer" | "country">().notNull(),
    value: text().notNull(),
    count: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.partner_id, t.day, t.kind, t.value] })],
);

/** A program's roll-up: clicks before id `until` are counted; next at `next_at`, or null. WITHOUT ROWID. */
export const clickRollups = sqliteTable("click_rollups", {
  program_id: text().primaryKey(),
  until: text().notNull(),
  next_at: text(),
});

/** Clicks not recorded, by reason and UTC day; `over_budget` closes its day. WITHOUT ROWID. */
export const clickDrops = sqliteTable(
  "click_drops",
  {
    program_id: text().notNull(),
    day: text().notNull(),
    reason: text().$type<ClickDropReason>().notNull(),
    count: integer().notNull(),
    /** For `over_budget`: the e-mail about it is stored. */
    mailed: integer().$type<1>(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.day, t.reason] }),
    index("click_drops_unmailed")
      .on(t.program_id, t.day)
      .where(sql`reason = 'over_budget' and mailed is null`),
  ],
);

/** Each fullness (percent) of this database about which the operator received an e-mail. WITHOUT ROWID. */
export const sizeWarnings = sqliteTable(
  "size_warnings",
  {
    percent: integer().notNull(),
    warned_at: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.percent] })],
);

/** Batches of clicks already flushed, so that a repeated flush has no effect. WITHOUT ROWID. */
export const clickBatches = sqliteTable("click_batches", {
  id: text().primaryKey(),
  flushed_at: text().notNull(),
});

/** The click objects that ever took a click, so that the cron finds clicks for which no Worker came. WITHOUT ROWID. */
export const clickObjects = sqliteTable("click_objects", {
  name: text().primaryKey(),
  created_at: text().notNull(),
});

export const webhookEndpoints = sqliteTable(
  "webhook_endpoints",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    url: text().notNull(),
    /** The previous one signs too until `secret_previous_until`. */
    secret: text().$type<Sealed>().notNull(),
    secret_previous: text().$type<Sealed>(),
    secret_previous_until: text(),
    events: text({ mode: "json" }).$type<Subscription[]>().notNull(),
    description: text(),
    active: integer({ mode: "boolean" }).notNull().default(true),
    /** Failed attempts since the last success, and since when: the basis of automatic disabling. */
    failing_since: text(),
    failure_count: integer().notNull().default(0),
    disabled_at: text(),
    deleted_at: text(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (t) => [
    index("webhook_endpoints_program")
      .on(t.program_id, t.id)
      .where(sql`deleted_at is null`),
  ],
);

/** The exact body of an event as it is signed and sent, once for all its deliveries. WITHOUT ROWID. */
export const messages = sqliteTable("messages", {
  event_id: text().primaryKey(),
  program_id: text().notNull(),
  event: text().$type<SentEventType>().notNull(),
  body: text().notNull(),
  created_at: text().notNull(),
});

export const deliveries = sqliteTable(
  "deliveries",
  {
    id: text().primaryKey(),
    program_id: text().notNull(),
    endpoint_id: text()
      .notNull()
      .references(() => webhookEndpoints.id),
    event_id: text().notNull(),
    event: text().$type<SentEventType>().notNull(),
    status: text().$type<DeliveryStatus>().notNull().default("pending"),
    attempt_count: integer().notNull().default(0),
    next_attempt_at: text(),
    /** While `delivering`: no other process may attempt it before this instant. */
    claimed_until: text(),
    created_at: text().notNull(),
    completed_at: text(),
  },
  (t) => [
    index("deliveries_endpoint").on(t.endpoint_id, t.id),
    index("deliveries_event").on(t.event_id),
    // Endpoint first: the next delivery of each is found at once, however many wait at one endpoint.
    index("deliveries_lane")
      .on(t.endpoint_id, t.status, t.next_attempt_at)
      .where(sql`status in ('pending', 'delivering')`),
  ],
);

/** Subscribed events missed by an inactive endpoint; read by `recover`. WITHOUT ROWID. */
export const missedDeliveries = sqliteTable(
  "missed_deliveries",
  {
    endpoint_id: text().notNull(),
    event_id: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.endpoint_id, t.event_id] })],
);

/** WITHOUT ROWID. */
export const deliveryAttempts = sqliteTable(
  "delivery_attempts",
  {
    delivery_id: text().notNull(),
    number: integer().notNull(),
    started_at: text().notNull(),
    duration_ms: integer().notNull(),
    status_code: integer(),
    error: text(),
    response_excerpt: text(),
  },
  (t) => [primaryKey({ columns: [t.delivery_id, t.number] })],
);

/** Replies kept for `Idempotency-Key`; a row without a reply belongs to a request that still runs. WITHOUT ROWID. */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    program_id: text().notNull(),
    key: text().notNull(),
    request_hash: text().notNull(),
    claimed_by: text().notNull(),
    status_code: integer(),
    body: text().$type<Sealed>(),
    created_at: text().notNull(),
    /** The reply contains data of a customer: erasure reads it. */
    names_customer: integer({ mode: "boolean" }),
    /** The scopes of the key that received the reply; null: all. */
    scopes: text({ mode: "json" }).$type<Scope[]>(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.key] }),
    index("idempotency_keys_age").on(t.created_at),
    index("idempotency_keys_customer")
      .on(t.program_id)
      .where(sql`names_customer = 1`),
  ],
);

/** One-time sign-in links, by the SHA-256 of their token. WITHOUT ROWID. */
export const signInLinks = sqliteTable(
  "sign_in_links",
  {
    token_hash: text().primaryKey(),
    audience: text().$type<"owner" | "partner">().notNull(),
    email: text().notNull(),
    /** The account it was made for; null if its address was not looked up before. */
    program_id: text(),
    partner_id: text(),
    created_at: text().notNull(),
    expires_at: text().notNull(),
    used_at: text(),
    /** When it was first tried after being used or expired; the attempt is in the audit log. */
    failed_at: text(),
    /** The path to open after sign-in. */
    return_to: text(),
    /** Decides its lifetime and the accounts it opens (`core/sessions/sign-in.ts`). */
    purpose: text().$type<"sign_in" | "invitation">().notNull().default("invitation"),
    /** Keyed hashes of the requesting networks (PAGE-2); null if not requested, and outside the platform. */
    network: text(),
    site: text(),
  },
  (t) => [index("sign_in_links_email").on(t.email, t.created_at)],
);

/** WITHOUT ROWID. */
export const sessions = sqliteTable(
  "sessions",
  {
    token_hash: text().primaryKey(),
    audience: text().$type<"owner" | "partner">().notNull(),
    email: text().notNull(),
    program_id: text().notNull(),
    partner_id: text(),
    created_at: text().notNull(),
    expires_at: text().notNull(),
    /** Accurate to five minutes; null until it is used. */
    last_seen_at: text(),
    /** The device that opened it, in words of `domain/device.ts`. */
    device: text(),
    /** The one account (`identityKey`) of its link; null if the address was verified at `created_at`. */
    proven_as: text(),
  },
  (t) => [
    index("sessions_program").on(t.program_id, t.audience),
    index("sessions_partner").on(t.partner_id),
    index("sessions_email").on(t.email),
  ],
);

/** Passkeys of members' devices, which sign in like a link: each belongs to an address, not to a program. */
export const passkeys = sqliteTable(
  "passkeys",
  {
    id: text().primaryKey(),
    /** The program of the session in which it was added. */
    program_id: text()
      .notNull()
      .references(() => programs.id),
    /** In lower case. */
    email: text().notNull(),
    /** The device's own id of it, in base64url. */
    credential_id: text().notNull(),
    public_key: text({ mode: "json" }).$type<PasskeyKey>().notNull(),
    /** The device's signature counter at the last use; 0 if it does not count. */
    sign_count: integer().notNull(),
    /** When the challenge of the last use was made (ms): older ones, and the same one again, are refused. */
    challenged_at: integer().notNull(),
    /** The device that added it, in words of `domain/device.ts`. */
    device: text(),
    created_at: text().notNull(),
    last_used_at: text(),
  },
  (t) => [uniqueIndex("passkeys_credential").on(t.credential_id), index("passkeys_email").on(t.email)],
);

/** The progress of each job (`core/jobs/job-runs.ts`): a round goes through owners in laps. WITHOUT ROWID. */
export const jobRuns = sqliteTable("job_runs", {
  job: text().primaryKey(),
  /** The last owner served in this lap; empty before the first. */
  position: text().notNull(),
  /** How many owners up to there have more work left, and how many failed. */
  more: integer().notNull(),
  failed: integer().notNull(),
  /** When the round began; `finished_at` is null until it is over. */
  began_at: text().notNull(),
  finished_at: text(),
  /** The job has no work before then. */
  next_at: text().notNull(),
});

/** The reconciler's position in a program (`core/reconcile/reconcile.ts`). WITHOUT ROWID. */
export const reconciliations = sqliteTable("reconciliations", {
  program_id: text().primaryKey(),
  /** Incremented by every step: of two that begin at the same place one is kept. */
  revision: integer().notNull(),
  /** Start of the current or last round; `finished_at` is null while it runs. */
  began_at: text().notNull(),
  finished_at: text(),
  /** The end of the last round that left no difference. */
  reconciled_at: text(),
  mailed_at: text(),
  /** Every row that events before this id touched has been compared. */
  event_id: text().notNull(),
  position: text().notNull(),
  /** Deliveries found waiting beyond their time. */
  deliveries_left: integer().notNull(),
});

/** Differences that the reconciler found and that still exist, each reported once. WITHOUT ROWID. */
export const differences = sqliteTable(
  "differences",
  {
    program_id: text().notNull(),
    kind: text().$type<Check>().notNull(),
    subject: text().notNull(),
    expected: text({ mode: "json" }).$type<Figures>().notNull(),
    found: text({ mode: "json" }).$type<Figures>().notNull(),
    found_at: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.kind, t.subject] })],
);

/** Detects a lost race: an insert here fails the whole batch (`core/kernel/commit.ts`). */
export const commitGuards = sqliteTable("commit_guards", { lost_race: integer().notNull() }, () => [
  check("lost_race", sql`lost_race = 0`),
]);

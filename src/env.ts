import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { BaseCtx, Caller, Ctx, ProgramCtx } from "./core/kernel/context.ts";
import type { FurtherDatabases } from "./core/kernel/database.ts";

/** Optional bindings of a deployment, typed here whether or not its `wrangler.toml` has them. */
type Optional =
  | ("ADMIN_TOKEN" | "ENCRYPTION_KEY" | "NEW_PROGRAM_SHARD" | "READ_REPLICATION" | "ARCHIVE" | "CLICK_RETENTION_DAYS")
  | "CLICK_FLUSH_SECONDS"
  | keyof FurtherDatabases;

/** The Worker's bindings: those of `wrangler.toml`, and the further databases, secrets and options of a deployment. */
export interface Bindings extends Omit<Cloudflare.Env, Optional>, FurtherDatabases {
  /** The shard for new programs; default 0. */
  NEW_PROGRAM_SHARD?: string | number;
  /** `on`: lists and gets of the API may read from a replica of the database near the caller. */
  READ_REPLICATION?: string;
  /** Opens /admin; without it, or outside development with one of less than 32 characters, /admin answers 404. */
  ADMIN_TOKEN?: string;
  /** Base64 of 32 bytes; seals the secrets at rest. */
  ENCRYPTION_KEY?: string;
  /** Earlier keys, comma-separated, which still open the values they sealed. */
  ENCRYPTION_KEY_PREVIOUS?: string;
  /** The archive for clicks beyond their retention; without it clicks are not archived. */
  ARCHIVE?: R2Bucket;
  /** Days after which clicks are archived; by default they stay in the database. */
  CLICK_RETENTION_DAYS?: string | number;
  /** Seconds that clicks wait for the flush if few arrive; default and maximum 15. */
  CLICK_FLUSH_SECONDS?: string | number;
  EMAIL?: SendEmail;
  EMAIL_FROM?: string;
  /** An HTTP service that sends e-mails: its address, its key, and its API, `resend` (the default) or `postmark`. */
  EMAIL_API_URL?: string;
  EMAIL_API_KEY?: string;
  EMAIL_API_STYLE?: string;
  /** The recipient of warnings about a database that fills up. */
  OPERATOR_EMAIL?: string;
}

export interface AppEnv {
  Bindings: Bindings;
  Variables: {
    request_id: string;
    /** The instant of the request (ms); the only clock that the layers below see. */
    now: number;
    /** Without a program and an actor: for sign-in and provider routes. */
    base: BaseCtx;
    /** Under /admin. */
    operator: Ctx;
    /** Under /api/v1: the bearer of the presented key, which the first read verifies. */
    ctx: Caller;
    /** A route's answer, for the reply stored beside its commit (`http/idempotency.ts`). */
    reply?: { view: (result: unknown, ctx: ProgramCtx) => unknown; status: ContentfulStatusCode };
  };
}

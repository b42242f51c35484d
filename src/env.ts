import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { BaseCtx, Caller, Ctx, ProgramCtx } from "./core/kernel/context.ts";
import type { FurtherDatabases } from "./core/kernel/database.ts";

/** What a deployment may have or lack, typed here whether or not its `wrangler.toml` has it. */
type Optional =
  | ("ADMIN_TOKEN" | "ENCRYPTION_KEY" | "NEW_PROGRAM_SHARD" | "READ_REPLICATION" | "ARCHIVE" | "CLICK_RETENTION_DAYS")
  | "CLICK_FLUSH_SECONDS"
  | keyof FurtherDatabases;

/** The Worker's bindings: those of `wrangler.toml`, and the further databases, secrets and options of a deployment. */
export interface Bindings extends Omit<Cloudflare.Env, Optional>, FurtherDatabases {
  /** The shard that new programs go to; 0 unless set. */
  NEW_PROGRAM_SHARD?: string | number;
  /** `on`: lists and gets of the API may be read from a copy of the database near the caller. */
  READ_REPLICATION?: string;
  /** Opens /admin; without it, or with one of less than 32 characters outside development, /admin answers 404. */
  ADMIN_TOKEN?: string;
  /** Base64 of 32 bytes; seals the secrets at rest. */
  ENCRYPTION_KEY?: string;
  /** Earlier keys, comma-separated, that still open what they sealed. */
  ENCRYPTION_KEY_PREVIOUS?: string;
  /** Where clicks beyond their retention go; without it none goes anywhere. */
  ARCHIVE?: R2Bucket;
  /** After how many days clicks go to the archive; kept in the database unless set. */
  CLICK_RETENTION_DAYS?: string | number;
  /** How long clicks wait for the flush where few come; 15 unless set, which is the most. */
  CLICK_FLUSH_SECONDS?: string | number;
  EMAIL?: SendEmail;
  EMAIL_FROM?: string;
  /** An HTTP service that sends e-mails: its address, its key, and whose API it has, `resend` (unless set) or `postmark`. */
  EMAIL_API_URL?: string;
  EMAIL_API_KEY?: string;
  EMAIL_API_STYLE?: string;
  /** Who is warned of a database that fills up. */
  OPERATOR_EMAIL?: string;
}

export interface AppEnv {
  Bindings: Bindings;
  Variables: {
    request_id: string;
    /** The instant of the request (ms); the only clock the layers below see. */
    now: number;
    /** Not bound to a program, and without an actor: sign-in and provider routes. */
    base: BaseCtx;
    /** Under /admin. */
    operator: Ctx;
    /** Under /api/v1: the bearer of the presented key, which the first read proves. */
    ctx: Caller;
    /** What a route answers with, for the reply stored beside its commit (`http/idempotency.ts`). */
    reply?: { view: (result: unknown, ctx: ProgramCtx) => unknown; status: ContentfulStatusCode };
  };
}

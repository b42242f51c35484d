import { join } from "node:path";
import { ROOT } from "./root.ts";

/**
 * Keeps wrangler quiet and offline, in this process and its children: no telemetry, update check or look-up of request
 * properties over the network; the logs stay in the project's folder. Call it before wrangler is loaded.
 */
export function quietWrangler(): void {
  Object.assign(process.env, {
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV: "false",
    DO_NOT_TRACK: "1",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_LOG_PATH: join(ROOT, ".wrangler", "logs"),
    WRANGLER_NO_SKILLS_UPDATE_PROMPTS: "true",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    WRANGLER_SEND_METRICS: "false",
  });
}

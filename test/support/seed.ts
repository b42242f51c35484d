/** The seed of all properties and stories of a run; a failure names it, and PROPERTY_SEED repeats it. */
import { env } from "cloudflare:workers";
import { configureGlobal } from "fast-check";

export const SEED = Number(env.PROPERTY_SEED);

configureGlobal({ seed: SEED });

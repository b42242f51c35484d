/** The seed of every property, whether or not the test names it. */
import { env } from "cloudflare:workers";
import { configureGlobal } from "fast-check";

if (env.PROPERTY_SEED) configureGlobal({ seed: Number(env.PROPERTY_SEED) });

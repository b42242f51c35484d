import { DurableObject } from "cloudflare:workers";
import { app } from "./app.ts";
import type { Bindings } from "./env.ts";

export class ClickCounter extends DurableObject {}

export default {
  fetch: app.fetch,
} satisfies ExportedHandler<Bindings>;

import { app } from "./app.ts";
import type { Bindings } from "./env.ts";

export { ClickCounter } from "./clicks/counter.ts";

export default {
  fetch: app.fetch,
} satisfies ExportedHandler<Bindings>;

import { DurableObject } from "cloudflare:workers";

export class ClickCounter extends DurableObject {}

export default {
  fetch: () => new Response("ok"),
} satisfies ExportedHandler;

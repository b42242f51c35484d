import { env } from "cloudflare:workers";
import type { TestProgram } from "./program.ts";

/** The stored bodies, by the vendor's event id. */
export async function bodies(program: TestProgram): Promise<Record<string, boolean>> {
  const { results } = await env.DB.prepare(
    "select event_id, body is not null as kept from provider_events where program_id = ?",
  )
    .bind(program.id)
    .all<{ event_id: string; kept: 0 | 1 }>();
  return Object.fromEntries(results.map(({ event_id, kept }) => [event_id, kept === 1]));
}

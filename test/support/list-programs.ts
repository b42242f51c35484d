/** Programs whose lists of events are read with an API key, their events, and their status. */
import { DAY, iso } from "../../src/lib/time.ts";
import type { ListedVendor } from "../../src/providers/registry.ts";
import { LIST_KEYS } from "./event-lists.ts";
import { makeProgram, type ProgramFields, type TestProgram } from "./program.ts";
import { sessionCompleted } from "./provider-a.ts";

/** Provider A counts whole seconds. */
export const NOW = Math.floor(Date.now() / 1000) * 1000;

export interface ListStatus {
  configured: boolean;
  last_event_at: string | null;
  api_key_set: boolean;
  complete_from: string | null;
  complete_until: string | null;
  recovered: number;
  is_reading: boolean;
  read_failure: { reason: string; at: string; since: string } | null;
  last_refusal: { reason: string } | null;
}

export async function statusOf(program: TestProgram, provider: ListedVendor = "provider_a"): Promise<ListStatus> {
  return (await program.api<Record<string, ListStatus>>("GET", "/api/v1/integrations/status")).body[provider]!;
}

/** A program of 90 days with an API key of each provider. */
export const withKeys = (fields: ProgramFields = {}) =>
  makeProgram({
    created_at: iso(NOW - 90 * DAY),
    ...{ provider_a_api_key: LIST_KEYS.provider_a, provider_b_api_key: LIST_KEYS.provider_b },
    ...fields,
  });

export const keyOfA = (fields: ProgramFields = {}) => withKeys({ provider_b_api_key: null, ...fields });

/** A purchase at provider A, at an instant (ms). */
export function bought(at: number, fields: Parameters<typeof sessionCompleted>[0] = {}) {
  return sessionCompleted({ ref: "jane", created: Math.floor(at / 1000), ...fields });
}

export async function commissionsOf(program: TestProgram): Promise<number> {
  return (await program.api<{ total: number }>("GET", "/api/v1/commissions")).body.total;
}

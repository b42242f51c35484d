/** Events that only name what happened are read at the provider (IN-18). */
import type { UnreadReason } from "../../domain/refusal.ts";
import type { ParseResult, Vendor } from "../../providers/provider.ts";
import type { ThinEvent, VendorReads } from "../../providers/reads.ts";
import { connectionOf } from "../kernel/connections.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { openApiKey } from "../kernel/provider-secrets.ts";

/** A body as it came, and as it is parsed. */
export interface Arrived {
  value: unknown;
  text: string;
}

/** Why an event could not be read in full. Nothing of it is stored. */
export interface Unread {
  reason: UnreadReason;
  /** How long the provider asks to wait; null when it says nothing. */
  retry_after_ms: number | null;
}

/** What a body says, and the body that says it in full; or why it could not be read. */
export type Understood = (Arrived & { parsed: ParseResult }) | Unread;

/**
 * Reads a verified thin event (`arrived`) at the provider with the program's API key: it is never acknowledged without. Test
 * events that the program does not take affect nothing, so nothing is read of them.
 */
export async function readThin(
  ctx: ProgramCtx,
  provider: Vendor,
  arrived: Arrived,
  thin: ThinEvent,
  reads: VendorReads | null,
): Promise<Understood> {
  if (thin.test && ctx.program.live_only) return { ...arrived, parsed: { ok: true, event: unreadTest(thin) } };
  const isNone = connectionOf(ctx.program, provider.name).api_key === null;
  if (isNone || !reads?.readEvent) return { reason: "no_api_key", retry_after_ms: null };
  const api_key = await openApiKey(ctx, provider.name);
  // One that cannot be opened any more is as good as none that the provider accepts.
  if (api_key === null) return { reason: "api_key_refused", retry_after_ms: null };
  if (!thin.test && reads.isTestKey(api_key)) return { reason: "test_key", retry_after_ms: null };
  const answer = await reads.readEvent(api_key, thin);
  if (answer.outcome === "failed") return answer;
  const { body } = answer;
  return { value: body, text: JSON.stringify(body), parsed: provider.parse(body) };
}

function unreadTest({ event_id, event_type, occurred_at, test }: ThinEvent) {
  return { event_id, event_type, occurred_at, test, facts: [], ignored: null };
}

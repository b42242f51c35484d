/** Reads thin events, which contain only ids, in full at the provider (IN-18). */
import type { UnreadReason } from "../../domain/refusal.ts";
import type { ParseResult, Vendor } from "../../providers/provider.ts";
import type { ThinEvent, VendorReads } from "../../providers/reads.ts";
import { connectionOf } from "../kernel/connections.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { openApiKey } from "../kernel/provider-secrets.ts";

/** A body as received, and as parsed. */
export interface Arrived {
  value: unknown;
  text: string;
}

/** Why an event could not be read in full. Then it is not stored. */
export interface Unread {
  reason: UnreadReason;
  /** The wait that the provider requests; null if it does not request one. */
  retry_after_ms: number | null;
}

/** The parsed event and its full body, or why it could not be read. */
export type Understood = (Arrived & { parsed: ParseResult }) | Unread;

/** Reads a verified thin event with the program's API key. Unaccepted test events have no effect and are not read. */
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
  // A key that can no longer be opened counts as refused by the provider.
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

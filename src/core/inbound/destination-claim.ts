/** Which destination of a vendor's webhooks has the stored secret, and which call is making one. */
import { sql } from "drizzle-orm";
import type { VendorName } from "../../domain/provider-name.ts";
import { randomToken } from "../../lib/crypto.ts";
import { AppError } from "../../lib/errors.ts";
import { iso, MINUTE } from "../../lib/time.ts";
import { connectionOf } from "../kernel/connections.ts";
import type { ProgramCtx } from "../kernel/context.ts";

/** How long an aborted call keeps others out: a request to the vendor takes up to 20 seconds. */
const CLAIMED_FOR = 3 * MINUTE;

/** The destination whose secret is stored, and that secret's fingerprint: a pasted one is not the destination's. */
export interface KnownDestination {
  id: string;
  secret: string;
}

interface Kept {
  known: KnownDestination | null;
  claim: { token: string; until: string } | null;
}

export interface Claim {
  /** The text that is stored while this call works: if it is different, another call has taken over. */
  text: string;
  known: KnownDestination | null;
  /** Lets the next call begin if this one did not store a destination. */
  release(): Promise<void>;
}

export function destinationText(known: KnownDestination | null): string {
  return JSON.stringify({ known, claim: null } satisfies Kept);
}

/** Lets one call at a time make a destination. @throws `invalid_transition` while another one does. */
export async function claimDestination(ctx: ProgramCtx, provider: VendorName): Promise<Claim> {
  const { db, program, now } = ctx;
  const before = connectionOf(program, provider).destination;
  const { known, claim } = before === null ? { known: null, claim: null } : (JSON.parse(before) as Kept);
  const text = JSON.stringify({
    known,
    claim: { token: randomToken(9), until: iso(now + CLAIMED_FOR) },
  } satisfies Kept);
  const isTaken = claim !== null && claim.until > iso(now);
  if (isTaken || !(await change(before, text))) {
    throw new AppError(
      "invalid_transition",
      "Another call is doing this now. Try again in three minutes at the latest.",
    );
  }
  return { text, known, release: async () => void (await change(text, destinationText(known))) };

  async function change(from: string | null, to: string): Promise<boolean> {
    const { meta } = await db.run(sql`update provider_connections set destination = ${to}
      where program_id = ${program.id} and provider = ${provider} and destination is ${from}`);
    return meta.changes > 0;
  }
}

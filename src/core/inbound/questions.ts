/** What a provider is asked after its list of events was read to the end: payments of refunds (IN-19), lines of invoices (IN-22), names of codes (CODE-8). */
import type { VendorName } from "../../domain/provider-name.ts";
import { isPassing } from "../../domain/read-trouble.ts";
import type { ReadFailure, VendorReads } from "../../providers/reads.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { openApiKey } from "../kernel/provider-secrets.ts";
import { linkPayment, unlinkedOf } from "./links.ts";
import { askLines, unreadLinesOf } from "./lines.ts";
import { nameCode } from "./code-names.ts";
import { unnamedOf } from "./unnamed-codes.ts";

interface Question {
  ask: typeof linkPayment;
  subject: string;
}

/** A bounded number of questions. */
export interface Questions {
  /** Of the one that broke them off, as the provider asks to come later or fails, else of the first that was not answered. */
  readonly failure: ReadFailure | null;
  /** Asks one of them; whether another is to be asked now. */
  next(): Promise<boolean>;
}

/** So many of each kind are asked after a reading of the list, of so many that are looked at. */
const AT_ONCE = 20;
const LOOKED_AT = 200;

/** The same in a circle from another one on. */
function from<T>(all: readonly T[], place: number): T[] {
  const first = all.length === 0 ? 0 : place % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

/**
 * Null where nothing is to be asked. `failed`: how often in a row some were not answered. Each time others come first, so that
 * what is never answered keeps none waiting for good.
 */
export async function openQuestions(
  ctx: ProgramCtx,
  provider: VendorName,
  reads: VendorReads,
  failed: number,
): Promise<Questions | null> {
  const unlinked = reads.readLinks ? await unlinkedOf(ctx, provider, LOOKED_AT) : [];
  const unread = reads.readLines ? await unreadLinesOf(ctx, provider, LOOKED_AT) : [];
  const unnamed = reads.readCode ? await unnamedOf(ctx, provider, LOOKED_AT) : [];
  const some = (subjects: readonly string[], ask: Question["ask"]) =>
    from(subjects, failed)
      .slice(0, AT_ONCE)
      .map((subject): Question => ({ ask, subject }));
  let open = from([...some(unlinked, linkPayment), ...some(unread, askLines), ...some(unnamed, nameCode)], failed);
  if (open.length === 0) return null;
  let failure: ReadFailure | null = null;
  return {
    get failure() {
      return failure;
    },
    /**
     * Where the provider does not answer, no more is asked; an answer of no use keeps no other waiting, and a permission
     * that the key lacks keeps only those of its kind.
     */
    async next() {
      const [first, ...others] = open;
      const api_key = await openApiKey(ctx, provider);
      if (!first || api_key === null) return false;
      const failed = await first.ask(ctx, provider, reads, api_key, first.subject);
      failure = failed && isPassing(failed.reason) ? failed : (failure ?? failed);
      const isForbidden = failed?.reason === "permission_missing";
      open = isForbidden ? others.filter(({ ask }) => ask !== first.ask) : others;
      return open.length > 0 && (failed === null || failed.reason === "unreadable" || isForbidden);
    },
  };
}

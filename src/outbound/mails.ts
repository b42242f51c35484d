import type { BaseCtx } from "../core/kernel/context.ts";
import type { Work } from "../core/kernel/work.ts";
import {
  claimMails,
  keepWritten,
  openMail,
  programsWithMails,
  recordMails,
  withholdMail,
  type ClaimedMail,
} from "../core/mails/mails.ts";
import type { MailSender } from "../core/mails/senders.ts";
import { readMailWakeUp } from "../domain/delivery.ts";
import type { MailResult } from "../domain/mail.ts";
import { logLine } from "../lib/log.ts";
import { openSlots, type Slots } from "../lib/slots.ts";
import { SECOND } from "../lib/time.ts";
import type { WakeUps } from "./consumer.ts";
import { readNotice } from "./mail-subjects.ts";

/** The senders and their settings. */
export interface MailDeps {
  senders: readonly MailSender[];
  /** Whether a sent e-mail stays readable: in development, for the page that shows them. */
  keepsContent: boolean;
}

type Ctx = Pick<BaseCtx, "db" | "now" | "sealer" | "mailer">;

/** Concurrent attempts. */
export const MAILS_AT_ONCE = 4;
/** How long an invocation begins attempts. */
const SERVE_MS = 15 * SECOND;

/** Answers a wake-up: sends a program's due e-mails while there is time. `connections` are its invocation's. */
export async function sendDueMails(
  ctx: Ctx,
  program_id: string,
  deps: MailDeps,
  now: () => number,
  connections: Slots = openSlots(MAILS_AT_ONCE),
): Promise<void> {
  const until = now() + SERVE_MS;
  for (let isMore = true; isMore;) {
    // Before the claim, whose time covers the attempts but not the wait for slots.
    await connections.take(MAILS_AT_ONCE);
    let held = MAILS_AT_ONCE;
    const give = (count: number) => {
      held -= count;
      connections.give(count);
    };
    try {
      isMore = now() < until && (await sendSome({ ...ctx, now: now() }, program_id, deps, give));
    } finally {
      give(held);
    }
  }
}

/** Sends due e-mails as a job, for those without a wake-up and for retries. Null if sending is not configured. */
export function sendMails(ctx: Ctx, deps: MailDeps, onCall: (calls: number) => void): Work | null {
  if (deps.senders.length === 0) return null;
  return {
    // A claim of four statements, the recording, and for each e-mail its subject, its text and the attempt.
    cost: 5 + 4 * MAILS_AT_ONCE,
    due: (after) => programsWithMails(ctx, after),
    serve: async ({ key }) => {
      onCall(MAILS_AT_ONCE);
      return sendSome(ctx, key, deps, () => {});
    },
  };
}

/** Sends one round; returns whether there may be more. `give` returns connections that it no longer needs. */
async function sendSome(
  ctx: Ctx,
  program_id: string,
  { senders, keepsContent }: MailDeps,
  give: (count: number) => void,
): Promise<boolean> {
  if (senders.length === 0) return false;
  const claimed = await claimMails(ctx, program_id, senders, MAILS_AT_ONCE);
  if (claimed.length === 0) return false;
  give(MAILS_AT_ONCE - claimed.length);
  const attempts = await Promise.allSettled(
    claimed.map(async (claim) => {
      try {
        const written = await writtenOf(ctx, claim);
        return written ? [{ claim: written, result: await attempt(ctx, written, senders) }] : [];
      } finally {
        give(1);
      }
    }),
  );
  const made = attempts.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  await recordMails(ctx, senders, made, keepsContent);
  // One whose result could not be stored waits for the end of its claim; the others were sent and recorded.
  const failed = attempts.find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
  // An e-mail that one sender refused may be due at once for the next.
  return true;
}

/** The claim with its text, composed now if needed. Null without content, or if another claim holds it. */
async function writtenOf(ctx: Ctx, claim: ClaimedMail): Promise<ClaimedMail | null> {
  if (claim.content !== null || claim.subject_id === null) return claim;
  const notice = await readNotice(ctx, claim);
  const [written] = notice && ctx.mailer ? await ctx.mailer.compose(notice) : [];
  if (written) return keepWritten(ctx, claim, written.mail);
  await withholdMail(ctx, claim);
  return null;
}

async function attempt(ctx: Ctx, claim: ClaimedMail, senders: readonly MailSender[]): Promise<MailResult> {
  const mail = await openMail(ctx.sealer, claim);
  const sender = senders.find(({ name }) => name === claim.sender);
  // A key may be missing for a while, which is no property of the address.
  if (!mail || !sender)
    return { result: "busy", reason: "its text cannot be read", is_limited: false, retry_after: null };
  const result = await sender.send(mail);
  if (result.result !== "accepted") {
    const { id: mail_id, program_id, attempt_count } = claim;
    const attempt_number = attempt_count + 1;
    logLine("info", {
      what: "e-mail not sent",
      mail_id,
      program_id,
      attempt_number,
      sender: sender.name,
      reason: result.reason,
    });
  }
  return result;
}

/** Answers the wake-ups of a batch that are for e-mails, each program once; returns the other messages. */
export function consumeMailWakeUps({ messages }: WakeUps, send: (program_id: string) => void): WakeUps["messages"] {
  const own = new Map(messages.map((message) => [message, readMailWakeUp(message.body)]));
  for (const program_id of new Set([...own.values()].flatMap((wakeUp) => wakeUp?.mails_of ?? []))) send(program_id);
  for (const [message, wakeUp] of own) if (wakeUp) message.ack();
  return messages.filter((message) => !own.get(message));
}

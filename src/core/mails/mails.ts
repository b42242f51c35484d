import { sql, type SQL } from "drizzle-orm";
import { literal, literals, runBatch } from "../../db/client.ts";
import { flag, nullable, sealed, selectRows, text, textOf, whole, type Columns } from "../../db/rows.ts";
import { UNPROVED_FOR_MS } from "../../domain/application.ts";
import {
  afterMailAttempt,
  TO_APPLICANTS,
  TO_DEACTIVATED,
  TO_INVITED,
  TO_OWNER,
  TO_OWNERS,
  TO_UNPROVED,
  type MailKind,
  type MailResult,
} from "../../domain/mail.ts";
import type { Mail } from "../../lib/mail.ts";
import type { Sealed } from "../../lib/seal.ts";
import { HOUR, iso, MINUTE } from "../../lib/time.ts";
import type { BaseCtx, ProgramCtx, Reader, Statement } from "../kernel/context.ts";
import { OWNER, type Owner } from "../kernel/work.ts";
import type { MailSender } from "./senders.ts";
import { placeOf } from "./plan.ts";

/**
 * The life of an e-mail's row. `pending` with `next_attempt_at` → claimed: `sending` until `claimed_until` → recorded:
 * `pending` again, or final. If a claim is never recorded (the process died), or an attempt has no answer, it is
 * unknown whether the e-mail was handed over: from then on it is `unsure`, and is handed over again only by the same
 * sender, if that deduplicates.
 */

/** Longer than an attempt and its recording. */
const LEASE_MS = MINUTE;

/** How long a deduplicating sender stores an e-mail's id. */
const REPEATABLE_MS = 20 * HOUR;

type Content = Omit<Mail, "to">;

/** An e-mail that only the holder of this claim may send. */
export interface ClaimedMail {
  id: string;
  program_id: string;
  kind: MailKind;
  recipient: string;
  /** The subject of an e-mail that is composed when sent. */
  subject_id: string | null;
  content: Sealed | null;
  attempt_count: number;
  claimed_until: string;
  sender: string;
  created_at: string;
  /** Whether an earlier attempt may have succeeded. */
  unsure: 0 | 1 | null;
}

const CLAIMED: Columns<ClaimedMail> = {
  id: text,
  program_id: text,
  kind: textOf<MailKind>(),
  recipient: text,
  subject_id: nullable(text),
  content: nullable(sealed),
  attempt_count: whole,
  claimed_until: text,
  sender: text,
  created_at: text,
  unsure: nullable(flag),
};

/** The index of open ones is used only if its own condition is in the query. */
const OPEN = sql.raw(`status in ('pending', 'sending')`);

const IS_TO_UNPROVED = sql`kind = ${literal(TO_UNPROVED)}`;
/** The kept recipient of an e-mail that is done without being sent. */
const KEPT_RECIPIENT = sql`iif(${IS_TO_UNPROVED}, '', recipient)`;

/** The present owner's address, for an e-mail to the owner. */
const OWNER_NOW = sql`(select owner_email from programs where programs.id = mails.program_id)`;
const IS_OWNER_NOW = sql`exists (select 1 from program_members o
  where o.program_id = mails.program_id and o.role = 'owner' and lower(o.email) = lower(mails.recipient))`;
/** Whether an e-mail was stored, or composed, for a former owner. */
const IS_TO_FORMER = sql`(partner_id is null and kind in ${literals(TO_OWNER)} and recipient <> ${OWNER_NOW}
  and not (kind = ${literal(TO_OWNERS)} and ${IS_OWNER_NOW}))`;

/**
 * An unwanted e-mail `m`: deactivated partners receive only warnings; switched-off kinds, expired links and invitations
 * to former members are not sent.
 */
function unwanted(now: number): SQL {
  return sql`((m.kind <> ${literal(TO_DEACTIVATED)}
      and exists (select 1 from partners p where p.id = m.partner_id and p.status = 'deactivated'))
    or exists (select 1 from mail_preferences f where f.program_id = m.program_id and f.reader = coalesce(m.partner_id, '')
      and f.kind = m.kind)
    or (m.kind = ${literal(TO_INVITED)} and not exists (select 1 from program_members t
      where t.program_id = m.program_id and lower(t.email) = lower(m.recipient)))
    or (m.kind = ${literal(TO_UNPROVED)} and m.created_at <= ${iso(now - UNPROVED_FOR_MS)}))`;
}

type Clocked = Pick<BaseCtx, "db" | "now">;

/**
 * Claims due e-mails of a program, the longest due first, each for the sender whose turn it is. Claims of a dead
 * process end, or are due again if their sender deduplicates. An e-mail that was not handed over goes to the present
 * owner, and is composed again. One round trip.
 */
export async function claimMails(
  { db, now }: Clocked,
  program_id: string,
  senders: readonly MailSender[],
  limit: number,
): Promise<ClaimedMail[]> {
  const names = JSON.stringify(senders.map(({ name }) => name));
  const repeatable = JSON.stringify(senders.filter((one) => one.is_repeatable).map(({ name }) => name));
  const isOpen = sql`${OPEN} and program_id = ${program_id}`;
  const isLeft = sql`status = 'sending' and claimed_until <= ${iso(now)}`;
  const isUnsure = sql`status = 'pending' and unsure = 1 and next_attempt_at <= ${iso(now)}`;
  // An e-mail that is not composed yet was not handed over either.
  const again = sql`(content is null and subject_id is not null or sender in (select value from json_each(${repeatable})) and created_at > ${iso(now - REPEATABLE_MS)}
    and not ${IS_TO_FORMER})`;
  const due = sql`select id from mails indexed by mails_open
    where ${isOpen} and status = 'pending' and next_attempt_at <= ${iso(now)} order by next_attempt_at limit ${literal(limit)}`;
  const [, , , rows] = await runBatch(db, [
    db.run(sql`update mails indexed by mails_open set status = 'unknown', content = null, recipient = ${KEPT_RECIPIENT},
        completed_at = ${iso(now)}, next_attempt_at = null, claimed_until = null, error = iif(status = 'sending', 'interrupted', error) where ${isOpen} and (${isLeft} or ${isUnsure}) and not ${again}`),
    db.run(sql`update mails indexed by mails_open set status = 'pending', claimed_until = null,
        unsure = iif(content is null, unsure, 1) where ${isOpen} and ${isLeft}`),
    db.run(sql`update mails as m set status = 'withheld', content = null, recipient = ${KEPT_RECIPIENT},
        completed_at = ${iso(now)}, next_attempt_at = null
      where id in (${due}) and ${unwanted(now)}`),
    selectRows(
      db,
      CLAIMED,
      sql`update mails set status = 'sending', claimed_until = ${iso(now + LEASE_MS)},
          content = iif(subject_id is not null and ${IS_TO_FORMER}, null, content),
          recipient = iif(${IS_TO_FORMER}, ${OWNER_NOW}, recipient),
          sender = case when sender in (select value from json_each(${names})) then sender
            else (select value from json_each(${names}) where key = attempt_count % ${literal(senders.length)}) end
        where id in (${due})
        returning id, program_id, kind, recipient, subject_id, content, attempt_count, claimed_until, sender, created_at, unsure`,
    ),
  ]);
  return rows;
}

/**
 * Stores a claimed e-mail's text and address, which stay until it is accepted. @returns null if another run holds it
 */
export async function keepWritten(
  { db, sealer }: Pick<BaseCtx, "db" | "sealer">,
  claim: ClaimedMail,
  { to: recipient, ...content }: Mail,
): Promise<ClaimedMail | null> {
  const kept = await sealer.seal(JSON.stringify(content), placeOf(claim.id));
  const [held] = await runBatch(db, [
    selectRows(
      db,
      { id: text },
      sql`update mails set content = ${kept}, recipient = ${recipient} where ${isHeld(claim)} returning id`,
    ),
  ]);
  return held.length > 0 ? { ...claim, content: kept, recipient } : null;
}

/** Ends a claimed e-mail that no longer has any content. */
export async function withholdMail({ db, now }: Clocked, claim: ClaimedMail): Promise<void> {
  await runBatch(db, [
    db.run(sql`update mails set status = 'withheld', claimed_until = null, next_attempt_at = null,
      completed_at = ${iso(now)} where ${isHeld(claim)}`),
  ]);
}

function isHeld({ id, claimed_until }: ClaimedMail): SQL {
  return sql`id = ${id} and status = 'sending' and claimed_until = ${claimed_until}`;
}

/** The e-mail for the sender; null if it can no longer be opened. */
export async function openMail(sealer: BaseCtx["sealer"], { id, recipient, content }: ClaimedMail) {
  const opened = content === null ? null : await sealer.openOrNull(content, placeOf(id));
  return opened === null ? null : { id, to: recipient, ...(JSON.parse(opened) as Content) };
}

/** Records the results of attempts whose claims are still held. Repeating it has no effect. */
export async function recordMails(
  { db, now }: Clocked,
  senders: readonly MailSender[],
  attempts: readonly { claim: ClaimedMail; result: MailResult }[],
  keepsContent: boolean,
): Promise<void> {
  const rows = attempts.map(({ claim, result }) => {
    const number = claim.attempt_count + 1;
    const at = senders.findIndex(({ name }) => name === claim.sender);
    const created_ms = Date.parse(claim.created_at);
    const known_ms = senders[at]?.is_repeatable ? Math.max(created_ms + REPEATABLE_MS - now, 0) : 0;
    const is_unsure = claim.unsure === 1;
    const after = afterMailAttempt({ number, senders: senders.length, known_ms, now, created_ms, is_unsure, result });
    const { status, delay_ms, keeps_sender, is_counted } = after;
    const next = is_counted ? null : (senders[(at + 1) % senders.length]?.name ?? null);
    return {
      id: claim.id,
      claimed_until: claim.claimed_until,
      number: is_counted ? number : claim.attempt_count,
      status,
      error: "reason" in result ? result.reason : null,
      next_attempt_at: delay_ms === null ? null : iso(now + delay_ms),
      sender: delay_ms === null || keeps_sender ? claim.sender : next,
      unsure: keeps_sender ? 1 : null,
    };
  });
  const of = (name: string): SQL => sql`r.value ->> ${literal(name)}`;
  const keeps = literal(keepsContent ? 1 : 0);
  await runBatch(db, [
    db.run(sql`update mails as m set status = ${of("status")}, attempt_count = ${of("number")}, error = ${of("error")},
        refused_at = case when ${of("error")} is null then refused_at else ${iso(now)} end,
        next_attempt_at = ${of("next_attempt_at")}, sender = ${of("sender")}, unsure = ${of("unsure")}, claimed_until = null,
        completed_at = case when ${of("status")} = 'pending' then null else ${iso(now)} end,
        content = case when ${of("status")} = 'pending' or ${keeps} or (${of("status")} = 'failed' and not ${IS_TO_UNPROVED})
          then content end,
        recipient = case when ${of("status")} = 'pending' or ${keeps} then recipient
          when ${of("status")} = 'sent' and kind in ${literals(TO_APPLICANTS)} then '' else ${KEPT_RECIPIENT} end
      from json_each(${JSON.stringify(rows)}) r
      where m.id = ${of("id")} and m.status = 'sending' and m.claimed_until = ${of("claimed_until")}`),
  ]);
}

/** Deletes e-mails to an applicant's address (in lower case), and stops unsent ones; sent ones lose the address. */
export function forgetMailsToApplicant({ db, program }: ProgramCtx, address: string): { statement: Statement }[] {
  const own = sql`program_id = ${program.id} and kind in ${literals(TO_APPLICANTS)} and lower(recipient) = ${address}`;
  const open = sql`delete from mails indexed by mails_open where ${OPEN} and ${own}`;
  const failed = sql`delete from mails indexed by mails_failed where status in ('refused', 'failed', 'unknown') and ${own}`;
  const sent = sql`update mails set recipient = '', content = null where status = 'sent' and ${own}`;
  return [open, failed, sent].map((statement) => ({ statement: db.run(statement) }));
}

/** The newest attempt for a program's e-mails that was not accepted; no row if there was no such attempt. */
export function lastRefusedMail({ db, programId }: Reader) {
  return selectRows(
    db,
    { at: text, reason: nullable(text) },
    sql`select refused_at as at, error as reason from mails indexed by mails_refused
      where program_id = ${programId} and refused_at is not null order by refused_at desc limit 1`,
  );
}

/** The first program after another that has e-mails which are due, or whose claim has ended. */
export async function programsWithMails({ db, now }: Clocked, after: string): Promise<Owner[]> {
  return selectRows(
    db,
    OWNER,
    sql`select program_id as key from mails indexed by mails_open
      where ${OPEN} and program_id > ${after} and next_attempt_at <= ${iso(now)}
        and (status = 'pending' or claimed_until <= ${iso(now)}) order by program_id limit 1`,
  );
}

import { sql, type SQL } from "drizzle-orm";
import { literal, literals } from "../../db/client.ts";
import { nullable, selectRows, text, whole } from "../../db/rows.ts";
import type { Changes } from "../../domain/actor.ts";
import type { SecurityEventType } from "../../domain/event.ts";
import { TO_STRANGERS } from "../../domain/mail.ts";
import { AppError } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { partsOf } from "../../lib/slices.ts";
import { DAY, iso, SECOND } from "../../lib/time.ts";
import { SECRET_SETTINGS } from "../../providers/registry.ts";
import { refuseIf } from "../kernel/conflict.ts";
import type { Mailer, ProgramCtx, Statement } from "../kernel/context.ts";
import type { MailsAbout, NewMail, Notice, Occurred, OwnerMail } from "../kernel/notices.ts";

/** The mailer of a deployment: `compose` writes its e-mails, `wake` has a program's due ones sent. */
export function openMailer(compose: Mailer["compose"], wake: Mailer["wake"]): Mailer {
  return {
    compose,
    wake,
    async plan(ctx, occurrences, { notices = [], mailsAbout = [], ownerMails = [] }) {
      const changed = occurrences.flatMap(({ payoutDetails }) => payoutDetails ?? []);
      const { program, actor } = ctx;
      const details: Notice[] =
        changed.length > 0 ? [{ kind: "payout_details", program, actor, owners: await readOwners(ctx), changed }] : [];
      const mails = (await Promise.all([...details, ...notices].map(compose))).flat();
      const written = mails.length > 0 ? [...(await insertMails(ctx, mails)), ...admitInvitations(ctx, mails)] : [];
      const now = [...written, ...mailsAbout.map((about) => insertMailsAbout(ctx, about))];
      // These have no wake-up: the job that runs every minute sends them.
      const later = ownerMails.map((mail) => insertOwnerMail(ctx, mail));
      const security = securityMails(ctx, occurrences);
      return {
        before: security.before,
        after: [...now, ...later, ...security.after],
        isDue: now.length > 0 || security.after.length > 0,
        explainRefusal: () => refuseBeyondBudget(ctx, notices),
      };
    },
  };
}

/** E-mails of one statement share one parameter: each has at most a hundredth of its limit in bytes. */
const INSERTED_TOGETHER = 100;

/** The statements that store e-mails, each sealed, with their change. */
export async function insertMails(ctx: ProgramCtx, mails: readonly NewMail[]): Promise<Statement[]> {
  const rows = await Promise.all(
    mails.map(async ({ kind, reader, mail: { to, ...content } }) => {
      const id = newId("mail", ctx.now);
      return {
        id,
        kind,
        to,
        partner_id: reader.partner_id,
        content: await ctx.sealer.seal(JSON.stringify(content), placeOf(id)),
      };
    }),
  );
  return Array.from(partsOf(rows, INSERTED_TOGETHER), (part) =>
    ctx.db.run(sql`insert into mails
      (id, program_id, kind, recipient, partner_id, content, status, attempt_count, next_attempt_at, created_at)
    select m.value ->> 'id', ${ctx.program.id}, m.value ->> 'kind', m.value ->> 'to', m.value ->> 'partner_id', m.value ->> 'content', 'pending',
      0, ${iso(ctx.now)}, ${iso(ctx.now)} from json_each(${JSON.stringify(part)}) m`),
  );
}

/** The statement that stores them, one of its kind for each subject, however often it runs. */
function insertMailsAbout({ db, program, now }: ProgramCtx, { kind, from }: MailsAbout): Statement {
  const id = sql`${newId("mail", now).slice(0, -RANDOM_CHARACTERS)} || lower(hex(randomblob(${literal(RANDOM_CHARACTERS / 2)})))`;
  return db.run(sql`insert into mails
      (id, program_id, kind, recipient, partner_id, subject_id, status, attempt_count, next_attempt_at, created_at)
    select ${id}, ${program.id}, ${kind}, f.recipient, f.partner_id, f.subject_id, 'pending', 0, ${iso(now)}, ${iso(now)}
    from (${from}) f where true on conflict do nothing`);
}

const RANDOM_CHARACTERS = 16;

/** The place for which the content of an e-mail is sealed. */
export function placeOf(row: string) {
  return { table: "mails", column: "content", row } as const;
}

/**
 * The statement that stores the e-mail about it (MAIL-11). There is at most one of a kind within a day: a task after it
 * was composed is in the next one, which is due a day later; a task before that is in the one that waits. One that had
 * no content when it was due does not delay others; a kind that is switched off still has one row a day.
 */
function insertOwnerMail({ db, program, now }: ProgramCtx, { kind, where = sql`true` }: OwnerMail): Statement {
  const own = sql`program_id = ${program.id} and kind = ${literal(kind)} and subject_id is not null`;
  const isOff = sql`exists (select 1 from mail_preferences f
    where f.program_id = ${program.id} and f.reader = '' and f.kind = ${literal(kind)})`;
  const newest = sql`(select max(subject_id) from mails where ${own} and (status <> 'withheld' or ${isOff}))`;
  // No two have the same subject, including those without content.
  const last = sql`(select max(subject_id) from mails where ${own})`;
  const later = (time: SQL, by: SQL) => sql`coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ${time}, ${by}), '')`;
  return db.run(sql`insert into mails
      (id, program_id, kind, recipient, subject_id, status, attempt_count, next_attempt_at, created_at)
    select ${newId("mail", now)}, ${program.id}, ${literal(kind)}, ${program.owner_email}, s.due, 'pending', 0, s.due, s.due
    from (select max(${iso(now)}, ${later(newest, sql`'+1 day'`)}, ${later(last, sql`'+0.001 seconds'`)}) as due) s
    where (${where}) and not exists (
      select 1 from mails where ${own} and subject_id = ${newest} and status = 'pending' and content is null)
    on conflict do nothing`);
}

type Counts = (changes: Changes | null | undefined) => boolean;

const always: Counts = () => true;
const changing = (...fields: string[]): Counts => {
  return (changes) => fields.some((field) => changes?.[field] !== undefined);
};

/** Whether a change of each type counts: for some types only if one of these fields changes. */
const SECURITY_EVENTS: Record<SecurityEventType, Counts> = {
  "member.added": always,
  "member.changed": always,
  "member.removed": always,
  "api_key.created": always,
  "api_key.regenerated": always,
  "api_key.deleted": always,
  "passkey.added": always,
  "passkey.removed": always,
  "webhook_endpoint.created": always,
  "webhook_endpoint.updated": changing("url", "secret"),
  "partner.hold_released": always,
  "program.updated": changing(
    "owner_email",
    "payout_change_hold_days",
    ...SECRET_SETTINGS.map(({ setting }) => setting),
  ),
};

/** Whether the owners are e-mailed about it. */
function isSecurityEvent({ type, changes }: Occurred): boolean {
  return (SECURITY_EVENTS as Partial<Record<string, Counts>>)[type]?.(changes) ?? false;
}

function selectOwners({ program }: ProgramCtx): SQL {
  return sql`select email as recipient from program_members where program_id = ${program.id} and role = 'owner'`;
}

async function readOwners(ctx: ProgramCtx): Promise<string[]> {
  const [rows] = await ctx.read(selectRows(ctx.db, { recipient: text }, selectOwners(ctx)));
  return rows.map(({ recipient }) => recipient);
}

/** The statements of a commit that e-mail its owners before and after it; each address gets one e-mail. */
function securityMails(ctx: ProgramCtx, occurrences: readonly Occurred[]): { before: Statement[]; after: Statement[] } {
  const notified = occurrences.filter(isSecurityEvent);
  if (notified.length === 0) return { before: [], after: [] };
  // A new member is e-mailed the invitation instead.
  const others = notified.flatMap(({ type, payload }) =>
    "email" in payload && typeof payload.email === "string" && type !== "member.added" ? [payload.email] : [],
  );
  const ids = notified.map(({ id }) => id).join();
  const owners = selectOwners(ctx);
  const named = sql`select value as recipient from json_each(${JSON.stringify(others)})`;
  const mailing = (recipients: typeof owners) =>
    insertMailsAbout(ctx, {
      kind: "security",
      from: sql`select recipient, null as partner_id, ${ids} || ' ' || lower(recipient) as subject_id from (${recipients})`,
    });
  return { before: [mailing(sql`${owners} union all ${named}`)], after: [mailing(owners)] };
}

/** E-mails of a program within `WINDOW` to addresses that have not signed in to it (MAIL-15). */
const MOST = 200;
const WINDOW = DAY;

/**
 * The statement that refuses a commit whose e-mails exceed the program's invitation budget; empty if no e-mail is to a
 * stranger. It comes after the e-mails are inserted, so that commits at the same time cannot exceed the budget
 * together.
 */
function admitInvitations(ctx: ProgramCtx, mails: readonly Pick<NewMail, "kind">[]): Statement[] {
  if (!mails.some(isToStranger)) return [];
  return [ctx.db.run(refuseIf(sql`(select count(*) ${counted(ctx)}) > ${literal(MOST)}`))];
}

/** Names the budget as the reason. @throws `rate_limited` if it is used up, until the oldest e-mail expires */
async function refuseBeyondBudget(ctx: ProgramCtx, mails: readonly Pick<NewMail, "kind">[]): Promise<void> {
  if (!mails.some(isToStranger)) return;
  const [[used]] = await ctx.read(
    selectRows(
      ctx.db,
      { count: whole, oldest: nullable(text) },
      sql`select count(*) as count, min(m.created_at) as oldest ${counted(ctx)}`,
    ),
  );
  if (!used || used.count < MOST || used.oldest === null) return;
  const wait_ms = Date.parse(used.oldest) + WINDOW - ctx.now;
  throw new AppError(
    "rate_limited",
    `The program has e-mailed ${MOST} addresses within 24 hours that have not signed in. Please try again later.`,
    { retryAfter: Math.max(Math.ceil(wait_ms / SECOND), 1) },
  );
}

function isToStranger({ kind }: Pick<NewMail, "kind">): boolean {
  return TO_STRANGERS.includes(kind);
}

/** A reader with a session of the program has accepted. A session that a key opened (`portal_links`) does not count. */
function counted({ program, now }: ProgramCtx): SQL {
  return sql`from mails m indexed by mails_to_strangers
    where m.kind in ${literals(TO_STRANGERS)} and m.program_id = ${program.id} and m.created_at > ${iso(now - WINDOW)}
      and not exists (select 1 from sessions s where s.email = lower(m.recipient) and s.program_id = m.program_id)`;
}

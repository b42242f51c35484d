import { type Context, Hono } from "hono";
import { actingAs, type ProgramCtx } from "../../core/kernel/context.ts";
import { isReaderAt, readSwitchedOff, switchMails } from "../../core/mails/preferences.ts";
import { openProgram } from "../../core/programs/programs.ts";
import { actors } from "../../domain/actor.ts";
import { MAIL_KINDS, type MailKind } from "../../domain/mail.ts";
import { oneLine } from "../../lib/mail.ts";
import { readUnsubscribeToken, type Unsubscribing } from "../mails/unsubscribe.ts";
import type { PageEnv } from "../session.ts";
import { readShown } from "./edits.ts";
import { FormFields } from "./forms.ts";
import { Mark, Plain } from "./layout.tsx";
import { chosenIn, MailChoices, shownMails } from "./mails.tsx";
import { page } from "./page.tsx";
import { Form } from "./parts/form.tsx";
import { Notice } from "./parts/notice.tsx";

/**
 * The target of the unsubscribe link in e-mails (MAIL-8, RFC 8058). It does not need a session or a form token, because
 * the link is the secret. A GET does not change data, because mail programs open links. The choice applies to the
 * person who received the e-mail, and not to a later reader of the same role.
 */
export const unsubscribe = new Hono<PageEnv>()
  .get("/:token", async (c) => {
    const opened = await openLink(c);
    const texts = { saved: "Saved.", stopped: opened ? stoppedText(opened.kind) : "" };
    const done = Object.entries(texts).find(([code]) => code === c.req.query("done"))?.[1];
    return opened?.is_reader ? choicesPage(c, opened, done) : noChoicePage(c, opened);
  })
  .post("/:token", async (c) => {
    const opened = await openLink(c);
    if (!opened?.is_reader) return noChoicePage(c, opened);
    const { ctx, reader, kind } = opened;
    const fields = await sentFields(c);
    const isChoice = fields.has("choices");
    if (isChoice) await switchMails(ctx, reader, chosenIn(fields), readShown(fields));
    else await switchMails(ctx, reader, { [kind]: false });
    // One-click mail programs do not follow redirects (RFC 8058).
    if (!isChoice && !fields.has("stop")) return choicesPage(c, opened, stoppedText(kind));
    return c.redirect(`${c.req.path}?done=${isChoice ? "saved" : "stopped"}`, 303);
  });

function stoppedText(kind: MailKind): string {
  return `You no longer get this e-mail: ${MAIL_KINDS[kind].title}.`;
}

interface Opened extends Unsubscribing {
  ctx: ProgramCtx;
  is_reader: boolean;
}

async function openLink(c: Context<PageEnv>): Promise<Opened | null> {
  const link = await readUnsubscribeToken(c.var.base.sealer, c.req.param("token") ?? "");
  if (!link) return null;
  const actor = actors.cron("unsubscribe");
  const ctx = await openProgram(actingAs(c.var.base, actor), link.program_id);
  return { ...link, ctx, is_reader: await isReaderAt(ctx, link.reader, link.address) };
}

/** A reader who has left no longer gets e-mails, so this is not an error. */
function noChoicePage(c: Context<PageEnv>, opened: Opened | null) {
  if (opened === null) return refusedPage(c);
  return page(
    c,
    { title: "Your e-mails" },
    <Plain>
      <Mark />
      <div class="card prose">
        <h1>Nothing to switch off</h1>
        <p>{oneLine(opened.ctx.program.name)} no longer sends these e-mails to this address.</p>
      </div>
    </Plain>,
  );
}

/** A holder of the link wants to unsubscribe. A body that is not a form makes no other choice. */
async function sentFields(c: Context<PageEnv>): Promise<FormFields> {
  try {
    return new FormFields(await c.req.formData());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return new FormFields(new FormData());
  }
}

async function choicesPage(c: Context<PageEnv>, { ctx, reader, kind }: Opened, done?: string) {
  const off = await readSwitchedOff(ctx, reader);
  return page(
    c,
    { title: "Your e-mails" },
    <Plain>
      <Mark />
      <div class="card prose">
        <h1>Your e-mails from {oneLine(ctx.program.name)}</h1>
        {done === undefined ? null : (
          <Notice tone="good">
            <p>{done}</p>
          </Notice>
        )}
        {off.has(kind) ? null : (
          <Form class="stack">
            <input type="hidden" name="stop" value="yes" />
            <p>
              This e-mail: <strong>{MAIL_KINDS[kind].title}</strong>
            </p>
            <button type="submit" class="primary wide">
              Stop these e-mails
            </button>
          </Form>
        )}
        <h2>Choose your e-mails</h2>
        <Form class="stack" shown={shownMails(reader, off)}>
          <input type="hidden" name="choices" value="1" />
          <MailChoices reader={reader} off={off} />
          <button type="submit" class="wide">
            Save
          </button>
        </Form>
      </div>
    </Plain>,
  );
}

function refusedPage(c: Context<PageEnv>) {
  return page(
    c,
    { title: "This link does not work", status: 410 },
    <Plain>
      <Mark />
      <div class="card prose">
        <h1>This link does not work</h1>
        <p>It is incomplete or too old. Use the link in a newer e-mail, or sign in and choose your e-mails there.</p>
        <p>
          <a class="button primary wide" href="/sign-in">
            Sign in
          </a>
        </p>
      </div>
    </Plain>,
  );
}

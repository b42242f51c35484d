import { Hono } from "hono";
import { readFailedMails, sendMailAgain, type FailedMail } from "../../core/mails/failed-mails.ts";
import { readSwitchedOff, switchMails, type ChoosingReader } from "../../core/mails/preferences.ts";
import type { Shown } from "../../core/kernel/stale.ts";
import { kindsFor, MAIL_KINDS, type MailKind } from "../../domain/mail.ts";
import type { Session } from "../../core/sessions/sessions.ts";
import type { PageEnv } from "../session.ts";
import { readShown } from "./edits.ts";
import type { FormFields } from "./forms.ts";
import { framed } from "./framed.tsx";
import { When } from "./parts/figures.tsx";
import { ActionButton, Checkbox, Form, Actions } from "./parts/form.tsx";
import { IfMay } from "./rights.tsx";
import { Empty, Table } from "./parts/table.tsx";
import { sentFields } from "./act.ts";
import { FLASH, addressWithNote } from "./flash.ts";
import { placeInFrame } from "./account-place.tsx";

/** The account's e-mail settings, below the page `parent`; for the owner also undelivered e-mails. */
export function mails(parent: "/dashboard/settings" | "/portal/details"): Hono<PageEnv> {
  const at = `${parent}/mails`;
  return new Hono<PageEnv>()
    .get("/", async (c) => {
      const { ctx, session } = c.var;
      const reader = readerOf(session);
      const [off, failed] = await Promise.all([
        readSwitchedOff(ctx, reader),
        reader.audience === "owner" ? readFailedMails(ctx) : [],
      ]);
      const head = {
        lede: `Notifications for ${session.partner ? session.record.email : session.program.owner_email}.`,
        ...placeInFrame(parent, "mails"),
      };
      return framed(
        c,
        { title: "E-mails", at: parent, done: FLASH.mails, head },
        <>
          <section class="card form-narrow">
            <Form action={at} readable={true} class="stack" shown={shownMails(reader, off)}>
              <MailChoices reader={reader} off={off} />
              <IfMay right="manage">
                <Actions submit="Save" />
              </IfMay>
            </Form>
          </section>
          {reader.audience === "owner" ? <FailedMails failed={failed} at={at} /> : null}
        </>,
      );
    })
    .post("/", async (c) => {
      const { ctx, session } = c.var;
      const fields = await sentFields(c);
      await switchMails(ctx, readerOf(session), chosenIn(fields), readShown(fields));
      return c.redirect(addressWithNote(at, "saved"), 303);
    });
}

export const failedMails = new Hono<PageEnv>().post("/:id/send-again", async (c) => {
  await sendMailAgain(c.var.ctx, c.req.param("id"));
  return c.redirect(addressWithNote("/dashboard/settings/mails", "again"), 303);
});

function readerOf({ partner }: Session): ChoosingReader {
  return partner ? { audience: "partner", partner_id: partner.id } : { audience: "owner" };
}

/** The form's original content: whether each kind that may be switched off is on. */
export function shownMails(reader: ChoosingReader, off: ReadonlySet<MailKind>): Shown {
  const own = kindsFor(reader.audience).filter(({ may_be_off }) => may_be_off);
  return Object.fromEntries(own.map(({ kind }) => [kind, !off.has(kind)]));
}

/** The ticked boxes by kind; a kind that the form lacks stays unchanged. */
export function chosenIn(fields: FormFields): Partial<Record<MailKind, boolean>> {
  const kinds = Object.keys(MAIL_KINDS) as MailKind[];
  return Object.fromEntries(kinds.map((kind) => [kind, fields.isTicked(kind)]));
}

/** A box for each kind that the reader may switch off, and the list of the other kinds. */
export function MailChoices({ reader, off }: { reader: ChoosingReader; off: ReadonlySet<MailKind> }) {
  const kinds = kindsFor(reader.audience);
  const always = kinds.filter(({ may_be_off }) => !may_be_off).map(({ title }) => title);
  return (
    <>
      {kinds
        .filter(({ may_be_off }) => may_be_off)
        .map(({ kind, title }) => (
          <Checkbox name={kind} label={title} checked={!off.has(kind)} />
        ))}
      <p class="muted small">
        Always sent, because your money or your account may depend on it: {["Sign-in link", ...always].join("; ")}.
      </p>
    </>
  );
}

const STATES: Record<FailedMail["status"], string> = {
  refused: "The address was refused",
  failed: "Failed",
  unknown: "May have arrived",
};

function FailedMails({ failed, at }: { failed: FailedMail[]; at: string }) {
  return (
    <section class="card flush">
      <h2>Undelivered e-mails</h2>
      {failed.length === 0 ? (
        <Empty title="None in the last 90 days" />
      ) : (
        <Table
          label="Undelivered e-mails"
          columns={[
            { label: "E-mail" },
            { label: "To", grow: true },
            { label: "State" },
            { label: "When" },
            { label: "Resend", hidden: true },
          ]}
          rows={failed.map((mail) => [
            MAIL_KINDS[mail.kind].title,
            mail.recipient,
            <span>
              {STATES[mail.status]}
              <span class="second">{mail.error}</span>
            </span>,
            mail.completed_at === null ? "–" : <When at={mail.completed_at} />,
            mail.may_be_sent_again === 1 ? (
              <ActionButton action={`${at}/${mail.id}/send-again`} label="Resend" />
            ) : null,
          ])}
        />
      )}
    </section>
  );
}

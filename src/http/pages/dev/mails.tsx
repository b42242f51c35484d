import { Hono } from "hono";
import { localMail, localMails, type LocalMail } from "../../../core/mails/local-mails.ts";
import { notFound } from "../../../lib/errors.ts";
import { instantOf } from "../../../lib/id.ts";
import { iso } from "../../../lib/time.ts";
import type { PageEnv } from "../../session.ts";
import { PageHead } from "../layout.tsx";
import { page } from "../page.tsx";
import { When } from "../parts/figures.tsx";
import { Empty, Table } from "../parts/table.tsx";

/** The policy of the HTML part: no scripts, no external resources, links in another tab, framed by the page only. */
const MAIL_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "sandbox allow-popups allow-popups-to-escape-sandbox",
  "frame-ancestors 'self'",
  "base-uri 'none'",
].join("; ");

/** The unsent e-mails of a local service; 404 in every other deployment (MAIL-4). */
export const devMails = new Hono<PageEnv>()
  .use(async (c, next) => {
    if (c.env.ENVIRONMENT !== "development") throw notFound("page");
    await next();
  })
  .get("/mails", (c) => page(c, { title: "E-mails", zone: "UTC" }, <MailList mails={localMails()} />))
  .get("/mails/:id", (c) => {
    const mail = found(c.req.param("id"));
    return page(c, { title: mail.subject, frames: true, zone: "UTC" }, <MailView mail={mail} />);
  })
  .get("/mails/:id/html", (c) => {
    const mail = found(c.req.param("id"));
    c.header("Content-Security-Policy", MAIL_POLICY);
    return c.html(mail.html.replace("<head>", '<head><base target="_blank">'));
  })
  .get("/mails/:id/text", (c) => c.text(found(c.req.param("id")).text));

function found(id: string): LocalMail {
  const mail = localMail(id);
  if (!mail) throw notFound("e-mail");
  return mail;
}

function MailList({ mails }: { mails: LocalMail[] }) {
  return (
    <main id="main" class="mail-view">
      <PageHead
        title="E-mails"
        lede="E-mails that this service would have sent since it started. They are files in its state folder, under mails."
      />
      <section class="card flush">
        {mails.length === 0 ? (
          <Empty title="No e-mails yet" />
        ) : (
          <Table
            label="E-mails"
            columns={[{ label: "Subject" }, { label: "To" }, { label: "Sent", align: "end" }]}
            rows={mails.map(({ id, subject, to }) => [
              <a href={`/dev/mails/${id}`}>{subject}</a>,
              <span class="who">{to}</span>,
              <When at={iso(instantOf(id))} />,
            ])}
          />
        )}
      </section>
    </main>
  );
}

function MailView({ mail }: { mail: LocalMail }) {
  return (
    <main id="main" class="mail-view">
      <PageHead
        title={mail.subject}
        lede={
          <>
            To {mail.to}, <When at={iso(instantOf(mail.id))} />
          </>
        }
        back={{ href: "/dev/mails", label: "E-mails" }}
      />
      <iframe
        title="The HTML part"
        src={`/dev/mails/${mail.id}/html`}
        sandbox="allow-popups allow-popups-to-escape-sandbox"
      ></iframe>
      <h2>Text</h2>
      <pre tabindex={0}>{mail.text}</pre>
    </main>
  );
}

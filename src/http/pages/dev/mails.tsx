import { Hono } from "hono";
import { localMail, localMails, type LocalMail } from "../../../core/kernel/local-mails.ts";
import { notFound } from "../../../lib/errors.ts";
import { instantOf } from "../../../lib/id.ts";
import { iso } from "../../../lib/time.ts";
import type { PageEnv } from "../../session.ts";
import { Mark, Plain } from "../layout.tsx";
import { page } from "../page.tsx";

/** Of the HTML part alone: it runs nothing and loads nothing, its links open in another tab, and the page frames it. */
const MAIL_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "sandbox allow-popups allow-popups-to-escape-sandbox",
  "frame-ancestors 'self'",
  "base-uri 'none'",
].join("; ");

/** The e-mails of a local service, which nobody is sent; 404 in every other deployment (MAIL-4). */
export const devMails = new Hono<PageEnv>()
  .use(async (c, next) => {
    if (c.env.ENVIRONMENT !== "development") throw notFound("page");
    await next();
  })
  .get("/mails", (c) => page(c, { title: "E-mails" }, <MailList mails={localMails()} />))
  .get("/mails/:id", (c) => {
    const mail = found(c.req.param("id"));
    return page(c, { title: mail.subject, frames: true }, <MailView mail={mail} />);
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
    <Plain>
      <Mark />
      <div class="card prose">
        <h1>E-mails</h1>
        <p class="muted">
          What this service would have sent since it started. All of them are files in its state folder, under mails.
        </p>
        {mails.length === 0 ? <p>None so far.</p> : null}
        <ul>
          {mails.map(({ id, subject, to }) => (
            <li>
              <a href={`/dev/mails/${id}`}>{subject}</a>
              <br />
              <span class="muted small">
                To {to}, {iso(instantOf(id))}
              </span>
            </li>
          ))}
        </ul>
      </div>
    </Plain>
  );
}

function MailView({ mail }: { mail: LocalMail }) {
  return (
    <main class="mail-view">
      <p>
        <a href="/dev/mails">All e-mails</a>
      </p>
      <h1>{mail.subject}</h1>
      <p class="muted">To {mail.to}</p>
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

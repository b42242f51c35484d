import type { Context } from "hono";
import { Hono } from "hono";
import type { Child } from "hono/jsx";
import { sendNow } from "../../../core/kernel/mail-senders.ts";
import { findIdentity, identitiesOf, identityKey, type Identity } from "../../../core/sessions/identities.ts";
import { confirmPasskey } from "../../../core/sessions/passkeys.ts";
import {
  confirmLink,
  countRequest,
  openRequest,
  readLink,
  type Confirmation,
  type LinkRequest,
} from "../../../core/sessions/sign-in.ts";
import { switchSession } from "../../../core/sessions/sessions.ts";
import { deviceOf } from "../../../domain/device.ts";
import { ROLE_TITLES } from "../../../domain/member.ts";
import { TOKEN_PATTERN } from "../../../domain/shard.ts";
import { AppError } from "../../../lib/errors.ts";
import { logLine, reasonOf } from "../../../lib/log.ts";
import { newId } from "../../../lib/id.ts";
import { publicUrl } from "../../../lib/public-url.ts";
import { mailOf } from "../../mails/mailer.ts";
import { askerOf, signInMail } from "../../mails/sign-in.ts";
import {
  currentSession,
  dropSession,
  refuseLimited,
  requireSession,
  requireVisit,
  startSession,
  type PageEnv,
} from "../../session.ts";
import { email } from "../../validate.ts";
import { FormFields, parseInput, type Problems } from "../forms.ts";
import { Mark, Plain } from "../layout.tsx";
import { limitByAddress } from "../limited.ts";
import { page } from "../page.tsx";
import { readAnswer, requestOptions } from "../passkey-answer.ts";
import { homeOf, returnPath, signInAddress } from "../return-to.ts";
import { Field, Form, Hidden } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { PasskeyForm } from "../parts/passkey-form.tsx";
import { programText } from "../parts/shown-name.ts";

/** Signing in and out (PAGE-2). A link is used by a POST only: whoever fetches it with a GET changes nothing. */
export const signIn = new Hono<PageEnv>()
  .use("/sign-in/*", requireVisit())
  .get("/sign-in", async (c) => {
    const token = c.req.query("token");
    if (token !== undefined) {
      await limitByAddress(c, "look");
      return confirmPage(c, token, TOKEN_PATTERN.test(token) ? await readLink(c.var.base, token) : null);
    }
    const to = returnPath(c.req.query("to"));
    const session = await currentSession(c);
    return session ? c.redirect(homeOf(session.record.audience, to), 303) : requestPage(c, { to });
  })
  .post("/sign-in/passkey", async (c) => {
    await limitByAddress(c);
    const fields = new FormFields(await c.req.formData());
    const credential = fields.text("credential");
    const to = returnPath(fields.text("to"));
    const answered = await readAnswer(c, "get", credential);
    const device = deviceOf(c.req.header("user-agent") ?? "");
    const confirmed: Confirmation = answered
      ? await confirmPasskey(c.var.base, answered, fields.text("as") || null, device)
      : { outcome: "link_refused" };
    if (confirmed.outcome === "signed_in") {
      await startSession(c, confirmed.session);
      return c.redirect(homeOf(confirmed.session.audience, to), 303);
    }
    if (confirmed.outcome === "choose") {
      return choicePage(c, "/sign-in/passkey", confirmed, { credential, to: to ?? "" });
    }
    return confirmed.outcome === "nobody"
      ? refusedPage(c, "You cannot sign in", NOBODY)
      : refusedPage(
          c,
          "This passkey was not accepted",
          "It may have been removed here, or the page was open for too long.",
        );
  })
  .post("/sign-in", async (c) => {
    await limitByAddress(c);
    const fields = new FormFields(await c.req.formData());
    const parsed = parseInput(email, fields.text("email"));
    const to = returnPath(fields.text("to"));
    if (!parsed.ok) {
      const problems = { message: "Please check the address.", fields: { email: parsed.problems.fields[""] ?? "" } };
      return requestPage(c, { to, value: fields.text("email"), problems });
    }
    const base = publicUrl(c.env);
    const request = await countRequest(c.var.base, parsed.value, to);
    const reply = await sentPage(c, parsed.value, to);
    // Who has the address, and the e-mail, after the reply: nothing in it may show that there is something to send.
    c.executionCtx.waitUntil(sendLink(c, base, parsed.value, request));
    return reply;
  })
  .post("/sign-in/confirm", async (c) => {
    await limitByAddress(c);
    const fields = new FormFields(await c.req.formData());
    const token = fields.text("token");
    const confirmed = TOKEN_PATTERN.test(token)
      ? await confirmLink(c.var.base, token, fields.text("as") || null, deviceOf(c.req.header("user-agent") ?? ""))
      : ({ outcome: "link_refused" } as const);
    switch (confirmed.outcome) {
      case "signed_in":
        await startSession(c, confirmed.session);
        return c.redirect(homeOf(confirmed.session.audience, returnPath(confirmed.return_to ?? undefined)), 303);
      case "choose":
        return c.redirect(`/sign-in?token=${token}`, 303);
      case "link_refused":
        return refusedPage(c, "This link no longer works", "Its time is over, or it or a newer one was used already.");
      case "nobody":
        return refusedPage(c, "You cannot sign in", NOBODY);
    }
  })
  .use("/sign-out", requireSession())
  .post("/sign-out", async (c) => {
    await dropSession(c);
    return c.redirect("/sign-in", 303);
  })
  .use("/switch", requireSession(), refuseLimited())
  .get("/switch", async (c) => {
    const { record } = c.var.session;
    const identities = await identitiesOf(c.var.base, record.email);
    return choicePage(c, "/switch", { email: record.email, identities }, {}, record.partner_id ?? record.program_id);
  })
  .post("/switch", async (c) => {
    const { session } = c.var;
    const fields = new FormFields(await c.req.formData());
    const chosen = findIdentity(await identitiesOf(c.var.base, session.record.email), fields.text("as"));
    if (!chosen) throw new AppError("not_found", "This address has no such account.");
    const opened = await switchSession(c.var.base, session, chosen);
    if (!opened) {
      return refusedPage(
        c,
        "Please sign in again",
        "A session of the dashboard lasts 12 hours; yours began longer ago than that.",
      );
    }
    await startSession(c, opened);
    return c.redirect(homeOf(opened.audience), 303);
  });

const NOBODY = "There is no active account for this address any more.";

/** Never throws: nobody waits for it. */
async function sendLink(c: Context<PageEnv>, base: string, to: string, request: LinkRequest): Promise<void> {
  const { request_id } = c.var;
  try {
    const opened = await openRequest(c.var.base, request);
    if (!opened) return;
    const url = `${base}/sign-in?token=${opened.link.token}`;
    const mail = signInMail(to, url, opened.identities, askerOf(c.req.raw));
    await sendNow(mailOf(c.env).senders, { id: newId("mail", c.var.now), ...mail }, request_id);
  } catch (error) {
    logLine("error", { what: "sign-in link not sent", request_id, reason: reasonOf(error) });
  }
}

interface Asked {
  /** Where it leads back to. */
  to: string | null;
  value?: string;
  problems?: Problems;
}

async function requestPage(c: Context<PageEnv>, { to, value = "", problems }: Asked) {
  const options = await requestOptions(c);
  const values = to === null ? {} : { to };
  return page(
    c,
    { title: "Sign in", status: problems ? 422 : 200 },
    <Welcome title="Sign in">
      <WhySignIn hasEnded={c.req.query("ended") !== undefined} isLeadBack={to !== null} />
      <p class="muted">For partners, and for the people who run a program. We send you a link; there is no password.</p>
      <Form action="/sign-in" class="stack" problems={problems}>
        <Hidden values={values} />
        <Field
          name="email"
          label="E-mail address"
          type="email"
          value={value}
          problems={problems}
          required={true}
          autocomplete="email"
          inputmode="email"
          maxlength={254}
        />
        <button type="submit" class="primary wide">
          E-mail me a link
        </button>
      </Form>
      {options ? (
        <PasskeyForm
          action="/sign-in/passkey"
          purpose="get"
          options={options}
          label="Sign in with a passkey"
          class="wide"
          values={values}
        />
      ) : null}
    </Welcome>,
  );
}

/** Why somebody who opened another page is here. */
function WhySignIn({ hasEnded, isLeadBack }: { hasEnded: boolean; isLeadBack: boolean }) {
  if (!hasEnded && !isLeadBack) return null;
  const why = hasEnded
    ? "You were signed out: your session has ended."
    : "The page that you opened needs you to sign in.";
  return (
    <Notice tone="calm">
      <p>
        {why} {isLeadBack ? "Sign in, and you are taken to it." : ""}
      </p>
    </Notice>
  );
}

/** The same for every address, known or not. */
function sentPage(c: Context<PageEnv>, address: string, to: string | null) {
  return page(
    c,
    { title: "Check your e-mail" },
    <Welcome title="Check your e-mail">
      <p>
        If <strong>{address}</strong> belongs to a partner or to somebody who runs a program, a sign-in link is on its
        way. It works once and for 15 minutes.
      </p>
      <p class="muted small">
        Nothing there? Look in the spam folder, or ask whoever runs the program which address they have.
      </p>
      <p>
        <a href={signInAddress(to)}>Use another address</a>
      </p>
    </Welcome>,
  );
}

/** Whose accounts a proven address opens. */
interface Account {
  email: string;
  identities: readonly Identity[];
}

/**
 * Names the account, so that nobody is signed in to another's unknowingly by a link that somebody else had made. A link
 * that is used or expired is refused when it is used: whoever only looks finds out nothing.
 */
function confirmPage(c: Context<PageEnv>, token: string, account: Account | null) {
  if (account && account.identities.length > 1) return choicePage(c, "/sign-in/confirm", account, { token });
  return page(
    c,
    { title: "Sign in" },
    <Welcome title="One more click">
      {account && account.identities.length > 0 ? (
        <>
          <p>
            You sign in as <strong>{account.email}</strong>:
          </p>
          <ul>
            {account.identities.map((identity) => (
              <li>
                {roleText(identity)} of{" "}
                <bdi>{programText({ name: identity.program_name, id: identity.program_id })}</bdi>
              </li>
            ))}
          </ul>
          <p class="muted">Not your address? Then close this page: somebody else asked for this link.</p>
        </>
      ) : null}
      <p class="muted">
        The button is there because some mail software opens links automatically, which would use yours up.
      </p>
      <Form action="/sign-in/confirm" class="stack">
        <input type="hidden" name="token" value={token} />
        <button type="submit" class="primary wide" autofocus={true}>
          Sign in
        </button>
      </Form>
    </Welcome>,
  );
}

function roleText({ role }: Identity): string {
  return role === null ? "Partner" : ROLE_TITLES[role];
}

function choicePage(
  c: Context<PageEnv>,
  action: string,
  { email, identities }: Account,
  values: Record<string, string>,
  current?: string,
) {
  return page(
    c,
    { title: "Choose an account" },
    <Welcome title="Choose an account">
      <p>
        The accounts of <strong>{email}</strong>:
      </p>
      <Form action={action} class="choices">
        <Hidden values={values} />
        {identities.map((identity) => (
          <button type="submit" name="as" value={identityKey(identity)}>
            <bdi>{programText({ name: identity.program_name, id: identity.program_id })}</bdi>
            <small>
              {roleText(identity)}
              {identityKey(identity) === current ? ", signed in now" : ""}
            </small>
          </button>
        ))}
      </Form>
      {current === undefined ? (
        <p class="muted">Not your address? Then close this page: somebody else asked to sign in with it.</p>
      ) : (
        <p>
          <a href="/">Stay where you are</a>
        </p>
      )}
    </Welcome>,
  );
}

function refusedPage(c: Context<PageEnv>, title: string, reason: string) {
  return page(
    c,
    { title, status: 410 },
    <Welcome title={title}>
      <p>{reason}</p>
      <p>
        <a class="button primary wide" href="/sign-in">
          Get a new link
        </a>
      </p>
    </Welcome>,
  );
}

/** A page before a session: one thing in the middle. */
export function Welcome({ title, children }: { title: string; children: Child }) {
  return (
    <Plain>
      <Mark />
      <div class="card prose">
        <h1>{title}</h1>
        {children}
      </div>
    </Plain>
  );
}

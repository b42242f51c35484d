import { type Context, Hono } from "hono";
import type { Child } from "../../jsx.ts";
import { sendNow } from "../../../core/mails/senders.ts";
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
import { switchSession, type OpenedSession, type Session } from "../../../core/sessions/sessions.ts";
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
import { hashNetworks } from "../../rate-limit.ts";
import { parseInput, type Problems } from "../forms.ts";
import { Mark, Plain } from "../layout.tsx";
import { limitByAddress } from "../limited.ts";
import { page } from "../page.tsx";
import { readAnswer, requestOptions } from "../passkey-answer.ts";
import { Field, Form, Hidden } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { PasskeyForm } from "../parts/passkey-form.tsx";
import { programText } from "../parts/shown-name.ts";
import { homeOf, returnPath, signInAddress } from "../return-to.ts";
import { sentFields } from "../act.ts";

/** Signing in and out (PAGE-2). Only a POST uses a link: a GET does not change data. */
export const signIn = new Hono<PageEnv>()
  .use("/sign-in/*", requireVisit())
  .get("/sign-in", async (c) => {
    const token = c.req.query("token");
    const onward = onwardOf((name) => c.req.query(name));
    if (token !== undefined) {
      await limitByAddress(c, "look");
      return confirmPage(c, token, onward.as, TOKEN_PATTERN.test(token) ? await readLink(c.var.base, token) : null);
    }
    const session = await currentSession(c);
    return session ? c.redirect(homeOf(session.record.audience, onward.to), 303) : requestPage(c, { onward });
  })
  .get("/sign-in/again", async (c) => {
    const onward = onwardOf((name) => c.req.query(name));
    const session = await currentSession(c);
    return session && session.limited === null ? againPage(c, session, onward) : requestPage(c, { onward });
  })
  .post("/sign-in/passkey", async (c) => {
    await limitByAddress(c);
    const fields = await sentFields(c);
    const credential = fields.text("credential");
    const onward = onwardOf((name) => fields.text(name));
    const answered = await readAnswer(c, "get", credential);
    const device = deviceOf(c.req.header("user-agent") ?? "");
    const confirmed: Confirmation = answered
      ? await confirmPasskey(c.var.base, answered, onward.as, device)
      : { outcome: "link_refused" };
    if (confirmed.outcome === "signed_in") return goOn(c, confirmed.session, onward.to);
    if (confirmed.outcome === "choose") {
      return choicePage(c, "/sign-in/passkey", confirmed, { credential, ...carried({ ...onward, as: null }) });
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
    const fields = await sentFields(c);
    const onward = onwardOf((name) => fields.text(name));
    const parsed = parseInput(email, fields.text("email"));
    if (!parsed.ok) {
      const problems = { message: "Please check the address.", fields: { email: parsed.problems.fields[""] ?? "" } };
      return requestPage(c, { onward, value: fields.text("email"), problems });
    }
    const base = publicUrl(c.env);
    const networks = await hashNetworks(c, `sign-in ${parsed.value.toLowerCase()}`);
    const request = await countRequest(c.var.base, parsed.value, onward.to, networks);
    // Sends the e-mail after the reply, so that its time does not reveal whether the address is known.
    c.executionCtx.waitUntil(sendLink(c, { base, to: parsed.value, as: onward.as }, request));
    const query = onward.to === null ? "" : `?${new URLSearchParams({ to: onward.to }).toString()}`;
    return c.redirect(`/sign-in/sent${query}`, 303);
  })
  .get("/sign-in/sent", (c) => sentPage(c, returnPath(c.req.query("to"))))
  .post("/sign-in/confirm", async (c) => {
    await limitByAddress(c);
    const fields = await sentFields(c);
    const token = fields.text("token");
    const as = fields.text("as") || null;
    const confirmed = TOKEN_PATTERN.test(token)
      ? await confirmLink(c.var.base, token, as, deviceOf(c.req.header("user-agent") ?? ""))
      : ({ outcome: "link_refused" } as const);
    switch (confirmed.outcome) {
      case "signed_in":
        return goOn(c, confirmed.session, returnPath(confirmed.return_to ?? undefined));
      case "choose":
        return c.redirect(`/sign-in?token=${token}`, 303);
      case "link_refused":
        return refusedPage(c, "This link no longer works", "It has expired, or this or a newer link was already used.");
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
    const { email, proven_as } = record;
    const all = await identitiesOf(c.var.base, email);
    const identities = all.filter((one) => proven_as === null || identityKey(one) === proven_as);
    const is_partial = identities.length < all.length;
    return choicePage(c, "/switch", { email, identities, is_partial }, {}, identityKey(record));
  })
  .post("/switch", async (c) => {
    const { session } = c.var;
    const fields = await sentFields(c);
    const chosen = findIdentity(await identitiesOf(c.var.base, session.record.email), fields.text("as"));
    if (!chosen) throw new AppError("not_found", "This address does not have that account.");
    const opened = await switchSession(c.var.base, session, chosen);
    if (!opened) {
      return c.redirect(`/sign-in/again?${new URLSearchParams({ as: identityKey(chosen) }).toString()}`, 303);
    }
    return goOn(c, opened, null);
  });

const NOBODY = "This address no longer has an active account.";

/** Carried from the request for a link to the session: the account (`identityKey`) and the page to return to. */
interface Onward {
  as: string | null;
  to: string | null;
}

const ACCOUNT = /^\w{1,60}$/;

function onwardOf(given: (name: keyof Onward) => string | undefined): Onward {
  const as = given("as") ?? "";
  return { as: ACCOUNT.test(as) ? as : null, to: returnPath(given("to")) };
}

/** The same as form fields or address parameters. */
function carried({ as, to }: Onward): Record<string, string> {
  return { ...(as !== null && { as }), ...(to !== null && { to }) };
}

async function goOn(c: Context<PageEnv>, opened: OpenedSession, to: string | null): Promise<Response> {
  await startSession(c, opened);
  return c.redirect(homeOf(opened.audience, to), 303);
}

interface LinkMail {
  base: string;
  to: string;
  as: string | null;
}

/** Never throws, because it runs after the reply. */
async function sendLink(c: Context<PageEnv>, { base, to, as }: LinkMail, request: LinkRequest): Promise<void> {
  const { request_id } = c.var;
  try {
    const opened = await openRequest(c.var.base, request);
    if (!opened) return;
    const url = `${base}/sign-in?${new URLSearchParams({ token: opened.link.token, ...carried({ as, to: null }) }).toString()}`;
    const mail = signInMail(to, url, opened.identities, askerOf(c.req.raw));
    await sendNow(mailOf(c.env).senders, { id: newId("mail", c.var.now), ...mail }, request_id);
  } catch (error) {
    logLine("error", { what: "sign-in link not sent", request_id, reason: reasonOf(error) });
  }
}

interface Asked {
  onward: Onward;
  value?: string;
  problems?: Problems;
}

async function requestPage(c: Context<PageEnv>, { onward, value = "", problems }: Asked) {
  const options = await requestOptions(c);
  return page(
    c,
    { title: "Sign in", status: problems ? 422 : 200 },
    <Welcome title="Sign in">
      <WhySignIn
        hasEnded={c.req.query("ended") !== undefined}
        isLeadBack={onward.to !== null}
        isKept={c.req.query("kept") !== undefined}
      />
      <p class="muted">For partners and program teams. We e-mail you a link: no password needed.</p>
      <Form action="/sign-in" class="stack" problems={problems} values={{ email: value }}>
        <Hidden values={carried(onward)} />
        <Field
          name="email"
          label="E-mail address"
          type="email"
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
          values={carried(onward)}
          class="wide"
        />
      ) : null}
    </Welcome>,
  );
}

/** Explains the sign-in page to a person who opened another page. */
function WhySignIn({ hasEnded, isLeadBack, isKept }: { hasEnded: boolean; isLeadBack: boolean; isKept: boolean }) {
  if (isKept) {
    return (
      <Notice tone="warn">
        <p>
          You were signed out before the form was sent, so nothing was saved. Sign in with this browser within an hour,
          and we fill in your input again, except secrets and files.
        </p>
      </Notice>
    );
  }
  if (!hasEnded && !isLeadBack) return null;
  const why = hasEnded ? "You were signed out: your session has ended." : "Please sign in to open this page.";
  return (
    <Notice tone="calm">
      <p>
        {why} {isLeadBack ? "You continue there after you sign in." : ""}
      </p>
    </Notice>
  );
}

/** Requires a fresh proof of a session's address (PROOF-3): signing in again is the proof. */
async function againPage(c: Context<PageEnv>, { record, member }: Session, onward: Onward) {
  const { email } = record;
  const options = member ? await requestOptions(c) : null;
  const values = carried({ ...onward, as: onward.as ?? identityKey(record) });
  return page(
    c,
    { title: "Confirm that it is you" },
    <Welcome title="Confirm that it is you">
      <p>
        The next step affects who can sign in. Please confirm that you can read the mail of <strong>{email}</strong>
        {options ? " or have its passkey" : ""}. Then you continue here. Nothing has changed yet.
      </p>
      {options ? (
        <PasskeyForm
          action="/sign-in/passkey"
          purpose="get"
          options={options}
          label="Use a passkey"
          values={values}
          class="primary wide"
        />
      ) : null}
      <Form action="/sign-in" class="stack">
        <Hidden values={{ ...values, email }} />
        <button type="submit" class="primary wide">
          E-mail me a link
        </button>
      </Form>
      <p>
        <a href={homeOf(record.audience)}>Not now</a>
      </p>
    </Welcome>,
  );
}

/** The same for known and unknown addresses. */
function sentPage(c: Context<PageEnv>, to: string | null) {
  return page(
    c,
    { title: "Check your e-mail" },
    <Welcome title="Check your e-mail">
      <p>
        If this address belongs to a partner or a program's team, a sign-in link is on its way. It works once, within 15
        minutes.
      </p>
      <p class="muted small">No e-mail? Check your spam folder, or ask the program which address it has.</p>
      <p>
        <a href={signInAddress(to)}>Use another address</a>
      </p>
    </Welcome>,
  );
}

/** The accounts that a link or a session opens. */
interface Account {
  email: string;
  identities: readonly Identity[];
  /** Whether the address has further accounts: those need a fresh link (PROOF-1). */
  is_partial: boolean;
}

/**
 * Names the account, so that a link that somebody else requested does not sign a person in to another account
 * unnoticed. A used or expired link is refused only on use: the page does not reveal its state.
 */
function confirmPage(c: Context<PageEnv>, token: string, as: string | null, account: Account | null) {
  const asked = account?.identities.filter((one) => identityKey(one) === as) ?? [];
  const identities = asked.length > 0 ? asked : (account?.identities ?? []);
  if (account && identities.length > 1) return choicePage(c, "/sign-in/confirm", account, { token });
  return page(
    c,
    { title: "Sign in" },
    <Welcome title="One more click">
      {account && identities.length > 0 ? (
        <>
          <p>
            You sign in as <strong>{account.email}</strong>:
          </p>
          <ul>
            {identities.map((identity) => (
              <li>
                {roleText(identity)} of{" "}
                <bdi>{programText({ name: identity.program_name, id: identity.program_id })}</bdi>
              </li>
            ))}
          </ul>
          <Others account={account} />
          <p class="muted">Not your address? Close this page: someone else requested this link.</p>
        </>
      ) : null}
      <p class="muted">
        We ask you to press a button because some mail software opens links automatically, which would use up yours.
      </p>
      <Form action="/sign-in/confirm" class="stack">
        <Hidden values={{ token, ...carried({ as, to: null }) }} />
        <button type="submit" class="primary wide" autofocus={true}>
          Sign in
        </button>
      </Form>
    </Welcome>,
  );
}

/** The way to open the other accounts of the address. */
function Others({ account }: { account: Account }) {
  if (!account.is_partial) return null;
  return (
    <p class="muted">
      This link opens one account only. For your other accounts, <a href="/sign-in/again">request a new link</a>.
    </p>
  );
}

function roleText({ role }: Identity): string {
  return role === null ? "Partner" : ROLE_TITLES[role];
}

function choicePage(
  c: Context<PageEnv>,
  action: string,
  account: Account,
  values: Record<string, string>,
  current?: string,
) {
  const { email, identities } = account;
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
      <Others account={account} />
      {current === undefined ? (
        <p class="muted">Not your address? Close this page: someone else tried to sign in with it.</p>
      ) : (
        <p>
          <a href="/">Stay here</a>
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

/** A page before a session, with a single card in the middle. */
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

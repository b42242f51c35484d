/** The pages of signing in, each a single card. */
import type { Context } from "hono";
import type { Child } from "../../jsx.ts";
import { identityKey, type Identity } from "../../../core/sessions/identities.ts";
import type { Session } from "../../../core/sessions/sessions.ts";
import { ROLE_TITLES } from "../../../domain/member.ts";
import type { PageEnv } from "../../session.ts";
import type { Problems } from "../forms.ts";
import { Mark, Plain } from "../layout.tsx";
import { page } from "../page.tsx";
import { requestOptions } from "../passkey-answer.ts";
import { Field, Form, Hidden } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { PasskeyForm } from "../parts/passkey-form.tsx";
import { programText } from "../parts/shown-name.ts";
import { homeOf, signInAddress } from "../return-to.ts";

/** Carried from the request for a link to the session: the account (`identityKey`) and the page to return to. */
export interface Onward {
  as: string | null;
  to: string | null;
}

/** The same as form fields or address parameters. */
export function carried({ as, to }: Onward): Record<string, string> {
  return { ...(as !== null && { as }), ...(to !== null && { to }) };
}

interface Asked {
  onward: Onward;
  value?: string;
  problems?: Problems;
}

export async function requestPage(c: Context<PageEnv>, { onward, value = "", problems }: Asked) {
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
export async function againPage(c: Context<PageEnv>, { record, member }: Session, onward: Onward) {
  const { email } = record;
  const options = member ? await requestOptions(c) : null;
  const values = carried({ ...onward, as: onward.as ?? identityKey(record) });
  return page(
    c,
    { title: "Confirm it's you" },
    <Welcome title="Confirm it's you">
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
export function sentPage(c: Context<PageEnv>, to: string | null) {
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
export function confirmPage(c: Context<PageEnv>, token: string, as: string | null, account: Account | null) {
  const asked = account?.identities.filter((one) => identityKey(one) === as) ?? [];
  const identities = asked.length > 0 ? asked : (account?.identities ?? []);
  if (account && identities.length > 1) return choicePage(c, "/sign-in/confirm", account, { token });
  return page(
    c,
    { title: "Sign in" },
    <Welcome title="Sign in">
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
      <p class="muted">The link works once. Opening it does not use it up; the button does.</p>
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

export function choicePage(
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

export function refusedPage(c: Context<PageEnv>, title: string, reason: string) {
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

import { type Context, Hono } from "hono";
import { sendNow } from "../../../core/mails/senders.ts";
import { findIdentity, identitiesOf, identityKey } from "../../../core/sessions/identities.ts";
import { confirmPasskey } from "../../../core/sessions/passkeys.ts";
import {
  confirmLink,
  countRequest,
  openRequest,
  readLink,
  type Confirmation,
  type LinkRequest,
} from "../../../core/sessions/sign-in.ts";
import { switchSession, type OpenedSession } from "../../../core/sessions/sessions.ts";
import { deviceOf } from "../../../domain/device.ts";
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
import { email } from "../../../resources/input.ts";
import { hashNetworks } from "../../rate-limit.ts";
import { parseInput } from "../forms.ts";
import { limitByAddress } from "../limited.ts";
import { readAnswer } from "../passkey-answer.ts";
import { homeOf, returnPath } from "../return-to.ts";
import { sentFields } from "../act.ts";
import {
  againPage,
  carried,
  choicePage,
  confirmPage,
  refusedPage,
  requestPage,
  sentPage,
  type Onward,
} from "./pages.tsx";

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

const ACCOUNT = /^\w{1,60}$/;

function onwardOf(given: (name: keyof Onward) => string | undefined): Onward {
  const as = given("as") ?? "";
  return { as: ACCOUNT.test(as) ? as : null, to: returnPath(given("to")) };
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

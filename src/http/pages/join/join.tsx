import { type Context, Hono } from "hono";
import type { Child } from "../../jsx.ts";
import { proveAddress, takeForm, type Proof } from "../../../core/applications/apply.ts";
import { openJoin, type OpenJoin } from "../../../core/applications/offer.ts";
import type { ProgramCtx } from "../../../core/kernel/context.ts";
import type { Application, Program } from "../../../core/kernel/rows.ts";
import { TOKEN_PATTERN } from "../../../domain/shard.ts";
import { AppError, notFound } from "../../../lib/errors.ts";
import { publicUrl } from "../../../lib/public-url.ts";
import { retryAfterOf } from "../../errors.ts";
import { hashNetworks } from "../../rate-limit.ts";
import { requireVisit, type PageEnv } from "../../session.ts";
import type { FormFields, Problems } from "../forms.ts";
import { Plain, ProgramName } from "../layout.tsx";
import { limitByAddress } from "../limited.ts";
import { page } from "../page.tsx";
import { Form } from "../parts/form.tsx";
import {
  GROUP_FIELD,
  JoinForm,
  joinValues,
  newStamp,
  readForm,
  readStamp,
  STAMP_FIELD,
  TRAP,
  type JoinValues,
  type StampedForm,
} from "./form.tsx";
import { NextSteps, SiteLink } from "./next.tsx";
import { OfferText } from "./offer.tsx";
import type { Offer } from "../../../domain/offer.ts";
import { programText } from "../parts/shown-name.ts";
import { sentFields } from "../act.ts";

/** `/join/<program slug or id>`: the public page for applications (JOIN-1 to JOIN-5). */
export const join = new Hono<PageEnv>()
  .use("*", requireVisit())
  .get("/:program", async (c) => {
    const group = c.req.query("group") ?? "";
    const { ctx, offer } = await joinOf(c, group);
    return formPage(c, ctx.program, { offer, values: { ...joinValues(ctx.program), [GROUP_FIELD]: group } });
  })
  .post("/:program", async (c) => {
    const fields = await sentFields(c);
    const { ctx, offer } = await joinOf(c, fields.raw(GROUP_FIELD));
    const { program } = ctx;
    const shown = { offer, values: joinValues(program, fields), stamp: fields.text(STAMP_FIELD) };
    try {
      await limitByAddress(c, "join");
      const refused = await takeFields(c, ctx, fields);
      if (refused) return await formPage(c, program, { ...shown, ...refused });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "rate_limited") throw error;
      c.header("Retry-After", String(retryAfterOf(error)));
      return formPage(c, program, { ...shown, problems: { message: error.message, fields: {} }, status: 429 });
    }
    return sentPage(c, program, fields);
  })
  .get("/:program/confirm", async (c) => {
    const { ctx } = await joinOf(c);
    return confirmPage(c, ctx.program, c.req.query("token") ?? "");
  })
  .post("/:program/confirm", async (c) => {
    await limitByAddress(c);
    const token = (await sentFields(c)).text("token");
    const proof: Proof = TOKEN_PATTERN.test(token)
      ? await proveAddress(c.var.base, token)
      : { outcome: "link_refused" };
    if (proof.outcome === "link_refused") return refusedPage(c);
    return proofPage(c, proof);
  });

/** @throws `not_found` if no such program accepts applications, `not_configured` if addresses cannot be verified. */
async function joinOf(c: Context<PageEnv>, group = ""): Promise<OpenJoin> {
  const found = await openJoin(c.var.base, c.req.param("program") ?? "", group);
  if (!found) throw notFound("page");
  publicUrl(c.env);
  if (found.ctx.mailer === null)
    throw new AppError("not_configured", "You cannot apply here, because this service sends no e-mail.");
  return found;
}

/** The reason to show the form again; null if it was stored. A bot's form is dropped with the same reply. */
async function takeFields(
  c: Context<PageEnv>,
  ctx: ProgramCtx,
  fields: FormFields,
): Promise<Pick<Shown, "problems" | "stamp"> | null> {
  const parsed = readForm(ctx.program, fields);
  if (!parsed.ok) return { problems: parsed.problems };
  const read = await readStamp(formOf(c, ctx.program), fields.text(STAMP_FIELD), c.var.now);
  if (read.state !== "good") return { problems: { message: STAMP_PROBLEMS[read.state], fields: {} } };
  if (fields.text(TRAP) !== "") return null;
  const networks = await hashNetworks(c, `join ${ctx.program.id}`);
  const outcome = await takeForm(ctx, parsed.value, { networks, stamp: read.stamp });
  return outcome === "stored" ? null : { stamp: "", problems: { message: STAMP_PROBLEMS[outcome], fields: {} } };
}

const STAMP_PROBLEMS = {
  early: "That was very quick. Please check your input and send it again.",
  out_of_date: "This form has changed since you opened it. Please check it and send it again.",
  stamp_used:
    "You already sent this form. Check your e-mail for the link. To send another one, check your input and apply.",
};

function formOf(c: Context<PageEnv>, program: Program): StampedForm {
  const { ENCRYPTION_KEY: key } = c.env;
  if (!key) throw new AppError("not_configured", "The secret ENCRYPTION_KEY is not set.");
  return { key, visit: c.var.csrf, program };
}

interface Shown {
  offer: Offer;
  values: JoinValues;
  /** The stamp of the sent form. A valid one is kept, so that the applicant does not wait twice. */
  stamp?: string;
  problems?: Problems;
  status?: 429;
}

async function formPage(c: Context<PageEnv>, program: Program, { offer, values, stamp = "", problems, status }: Shown) {
  const { now } = c.var;
  const form = formOf(c, program);
  const { state } = await readStamp(form, stamp, now);
  const kept = state === "out_of_date" ? await newStamp(form, now) : stamp;
  return page(
    c,
    { title: `Become a partner of ${programText(program)}`, status: status ?? (problems ? 422 : 200) },
    <Card program={program} title={`Become a partner of ${programText(program)}`}>
      <OfferText program={program} offer={offer} />
      <JoinForm program={program} values={values} stamp={kept} problems={problems} />
      <p class="muted small">
        Already a partner? <a href="/sign-in">Sign in</a>
      </p>
    </Card>,
  );
}

/** The same for known and unknown addresses (JOIN-4). */
function sentPage(c: Context<PageEnv>, program: Program, fields: FormFields) {
  const { EMAIL_FROM: from } = c.env;
  const group = fields.text(GROUP_FIELD);
  const form = `/join/${c.req.param("program")}${group === "" ? "" : `?${new URLSearchParams({ group }).toString()}`}`;
  return plainPage(
    c,
    program,
    "Check your e-mail",
    <>
      <p>
        We have sent an e-mail to <strong>{fields.text("email")}</strong>. Open the link in it within 24 hours to
        continue.
      </p>
      <NextSteps program={program} at="sent" />
      <p class="muted small">
        No e-mail? Check your spam folder{from ? <> for a message from {from}</> : null}, or{" "}
        <a href={form}>send the form again</a>.
      </p>
    </>,
  );
}

function confirmPage(c: Context<PageEnv>, program: Program, token: string) {
  return page(
    c,
    { title: "Confirm your address" },
    <Card program={program} title="One more click">
      <p>
        This confirms your e-mail address and sends <bdi>{programText(program)}</bdi> your application.
      </p>
      <Form class="stack">
        <input type="hidden" name="token" value={token} />
        <button type="submit" class="primary wide" autofocus={true}>
          Send my application
        </button>
      </Form>
    </Card>,
  );
}

function proofPage(c: Context<PageEnv>, proof: Exclude<Proof, { outcome: "link_refused" }>) {
  const { program } = proof;
  const name = <bdi>{programText(program)}</bdi>;
  const show = (title: string, body: Child) => plainPage(c, program, title, body);
  if ("partner" in proof && proof.partner === "deactivated") {
    return show(
      "Not active",
      <p>
        This address belongs to a partner of {name} who is not active. Ask {name} to reactivate it.
      </p>,
    );
  }
  switch (proof.outcome) {
    case "proved":
      return show(...PROVED[proof.application.status](program));
    case "waiting":
      return show("Thank you", <Waiting program={program} text="You have already applied." />);
    case "partner":
      return show(
        "You are already a partner",
        <>
          <p>This address belongs to a partner of {name} already.</p>
          <SignIn />
        </>,
      );
    case "closed":
      return show(
        "Not at the moment",
        <p>
          {name} does not accept applications at the moment. Your application is deleted after 24 hours; until then you
          can use the link again if that changes.
        </p>,
      );
  }
}

function Waiting({ program, text }: { program: Program; text: string }) {
  return (
    <>
      <p>{text}</p>
      <NextSteps program={{ ...program, applications: "review" }} at="waiting" />
      <SiteLink program={program} />
    </>
  );
}

function SignIn() {
  return (
    <p>
      <a class="button primary wide" href="/sign-in">
        Sign in
      </a>
    </p>
  );
}

/** The page of the link, by the application's current status: the same link shows the current one again. */
const PROVED: Record<Application["status"], (program: Program) => [title: string, body: Child]> = {
  pending: (program) => ["Thank you", <Waiting program={program} text="We have received your application." />],
  approved: (program) => [
    "You are a partner",
    <>
      <p>Welcome! We have sent you an e-mail with your link and a button that signs you in.</p>
      <NextSteps program={program} at="partner" />
      <SignIn />
    </>,
  ],
  declined: (program) => [
    "Your application was declined",
    <>
      <p>
        <bdi>{programText(program)}</bdi> has declined it, and we have sent you an e-mail. You may apply again.
      </p>
      <p>
        <a class="button wide" href={`/join/${program.id}`}>
          Open the form
        </a>
      </p>
    </>,
  ],
};

async function refusedPage(c: Context<PageEnv>) {
  return page(
    c,
    { title: "This link no longer works", status: 410 },
    <Plain>
      <div class="card prose">
        <h1>This link no longer works</h1>
        <p>It is older than 24 hours or was already used. To apply, send the form again.</p>
        <p>
          <a class="button primary wide" href={`/join/${c.req.param("program")}`}>
            Open the form
          </a>
        </p>
      </div>
    </Plain>,
  );
}

function plainPage(c: Context<PageEnv>, program: Program, title: string, body: Child) {
  return page(
    c,
    { title },
    <Card program={program} title={title}>
      {body}
    </Card>,
  );
}

function Card({ program, title, children }: { program: Program; title: string; children: Child }) {
  return (
    <Plain>
      <ProgramName program={program} />
      <div class="card prose">
        <h1>{title}</h1>
        {children}
      </div>
    </Plain>
  );
}

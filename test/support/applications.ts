/** People who apply to a program, as the pages do it: form, e-mail, link. */
import { env } from "cloudflare:workers";
import { proveAddress, takeForm, type ApplicationInput, type FormOrigin } from "../../src/core/applications/apply.ts";
import type { Notice } from "../../src/core/kernel/notices.ts";
import { actingAs, forProgram } from "../../src/core/kernel/context.ts";
import { openMailer } from "../../src/core/mails/plan.ts";
import { actors } from "../../src/domain/actor.ts";
import type { Networks } from "../../src/domain/address.ts";
import { newStamp } from "../../src/http/pages/join/form.tsx";
import { randomToken } from "../../src/lib/crypto.ts";
import { iso } from "../../src/lib/time.ts";
import { testContext, type Reply, type TestProgram } from "./program.ts";
import { uniqueId } from "./vendor.ts";
import { csrfIn, makeVisitor, type Visitor } from "./visitor.ts";

/** An unused stamp, and the networks of the form's sender. */
export function originOf(now: number, networks: Networks | null = null): FormOrigin {
  return { networks, stamp: { nonce: randomToken(16), expires_at: iso(now + 86_400_000) } };
}

/** Sends the form; gives the token of the e-mailed link, null if no verification is needed. */
export async function sendForm(
  program: TestProgram,
  input: Partial<ApplicationInput> = {},
  now: number = Date.now(),
  origin: FormOrigin = originOf(now),
): Promise<string | null> {
  const notices: Notice[] = [];
  const mailer = openMailer(
    async (notice: Notice) => (notices.push(notice), []),
    () => {},
  );
  const ctx = forProgram(actingAs({ ...testContext(now), mailer }, actors.visitor()), program.program);
  const email = `${uniqueId("ann-")}@applicants.example`;
  const form = {
    email,
    name: "Ann Applicant",
    website: null,
    answers: [],
    terms_version: null,
    group_slug: null,
    ...input,
  };
  const outcome = await takeForm(ctx, form, origin);
  if (outcome !== "stored") throw new Error(outcome);
  const [notice] = notices;
  if (notice?.kind !== "application_address") throw new Error("no e-mail");
  return notice.state.is === "new" ? notice.state.token : null;
}

/** An applicant applies and verifies the address; gives the id of the application. */
export async function makeApplication(program: TestProgram, input: Partial<ApplicationInput> = {}): Promise<string> {
  const token = (await sendForm(program, input))!;
  await env.DB.prepare("update programs set applications = 'review' where id = ? and applications = 'off'")
    .bind(program.id)
    .run();
  const proof = await proveAddress(testContext(), token);
  if (proof.outcome !== "proved") throw new Error(`the address was not proved: ${proof.outcome}`);
  return proof.application.id;
}

/** Opens a link; the returned function presses its button. */
export async function openLink(program: TestProgram): Promise<() => Promise<Reply<string>>> {
  const token = (await sendForm(program))!;
  const page = `/join/${program.id}/confirm`;
  const visitor = makeVisitor();
  await visitor.get(`${page}?token=${token}`);
  return () => visitor.post(page, { token });
}

/** A stamp of a form that the visitor, who is on the page, opened this long ago. */
export async function stampOf(program: TestProgram, visitor: Visitor, ago_ms = 60_000): Promise<string> {
  const row = await env.DB.prepare("select questions, terms_version from programs where id = ?")
    .bind(program.id)
    .first<{ questions: string | null; terms_version: number }>();
  const questions = row?.questions ? (JSON.parse(row.questions) as string[]) : null;
  const asked = { ...program.program, questions, terms_version: row?.terms_version ?? 0 };
  const key = (env as unknown as { ENCRYPTION_KEY: string }).ENCRYPTION_KEY;
  return newStamp({ key, visit: csrfIn(visitor.html), program: asked }, Date.now() - ago_ms);
}

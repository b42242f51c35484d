/** A program's application page, and applicants who send its form and follow the link of the e-mail. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, vi } from "vitest";
import { stampOf } from "./applications.ts";
import { openMailbox, type Mailbox } from "./mailbox.ts";
import { makeProgram, type ProgramFields, type TestProgram } from "./program.ts";
import { uniqueId } from "./vendor.ts";
import { makeVisitor, type Visitor } from "./visitor.ts";
import { callWith } from "./watched-database.ts";

const FIELDS: ProgramFields = {
  name: "Acme & Sons",
  applications: "review",
  terms: "Bid on no names of ours.",
  terms_version: 3,
  questions: ["Who reads you?", "Anything else? (optional)"],
};

/** A program whose application page asks two questions and has terms. */
export async function makeJoinable(fields: ProgramFields = {}): Promise<TestProgram> {
  return makeProgram({ ...FIELDS, ...fields });
}

/** An unused address of an applicant. */
export const address = () => `${uniqueId("jane-")}@applicants.example`;

/** The fields of a complete form of `makeJoinable`. */
export function fill(fields: Record<string, string> = {}): Record<string, string> {
  return {
    ...{ name: "Jane Roe", email: address(), website: "jane.example.com" },
    ...{ answer_0: "People who bake.", answer_1: "", terms: "on", contact_hours: "" },
    ...fields,
  };
}

/** The path of the link in an e-mail; empty without one. */
export function linkIn(text: string): string {
  return /https:\/\/service\.example(\/join\/\S+)/.exec(text)?.[1] ?? "";
}

/** Gives each test of the file an empty mailbox, in a deployment with e-mail. */
export function playApplicants() {
  let mailbox: Mailbox;
  beforeEach(() => {
    vi.spyOn(console, "info").mockImplementation(() => {});
    mailbox = openMailbox();
  });
  afterEach(() => vi.restoreAllMocks());

  const visit = (more: Record<string, unknown> = {}, sent: Record<string, string> = {}): Visitor =>
    makeVisitor((path, init) => {
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(sent)) headers.set(name, value);
      return callWith<string>({ ...mailbox.bindings, ...more }, path, { ...init, headers });
    });
  return {
    /** A visitor, with more bindings of the deployment and headers of each request. */
    visit,
    /** Opens the page, and sends its form a minute later. */
    async send(program: TestProgram, fields: Record<string, string>, visitor = visit()) {
      await visitor.get(`/join/${program.id}`);
      return visitor.post(`/join/${program.id}`, { opened: await stampOf(program, visitor), ...fields });
    },
    async mailTo(program: TestProgram, email: string) {
      return (await mailbox.deliver(program.id, Date.now() + 1_000)).filter(({ to }) => to === email);
    },
    /** Opens the link of an e-mail and presses its button. */
    async follow(link: string, visitor = visit()) {
      const [path = "", query = ""] = link.split("?");
      await visitor.get(link);
      return visitor.post(path, { token: new URLSearchParams(query).get("token") ?? "" });
    },
  };
}

interface Row {
  id: string;
  status: string;
  email: string;
  terms_version: number | null;
  consented_at: string | null;
  partner_id: string | null;
  [field: string]: unknown;
}

/** The program's applications, or its rows of another table. */
export async function rowsOf(program: TestProgram, table = "applications"): Promise<Row[]> {
  return (await env.DB.prepare(`select * from ${table} where program_id = ?`).bind(program.id).all<Row>()).results;
}

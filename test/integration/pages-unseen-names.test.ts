/** Names that people chose to mislead, or that cannot be seen (PAGE-10). */
import { expect, it } from "vitest";
import { makeApplication } from "../support/applications.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInOwner, textOf } from "../support/visitor.ts";

const UNSEEN = ["\u200b\u2060", "\u3164", "\u2800 \u00ad", "\u202e"];

it.each(UNSEEN)("a name of nothing that is seen, %j, gives way to the address (PAGE-10)", async (name) => {
  const program = await makeProgram({ name });
  const email = `${uniqueId("unseen")}@partners.example`;
  const { id } = await makePartner(program, { first_name: name, last_name: name, email });
  const applicant = `${uniqueId("unseen")}@applicants.example`;
  await makeApplication(program, { name, email: applicant });
  const owner = await signInOwner(program);
  const { body } = await owner.get(`/dashboard/partners/${id}`);
  expect(/<h1>([\s\S]*?)<\/h1>/.exec(body)?.[1]).toContain(email);
  expect(textOf(body)).toContain(`${email} · ${program.id}`);
  expect((await owner.get("/dashboard/partners/applications")).body).toContain(`>${applicant}</a>`);
});

it("a name turns no text around it (PAGE-10)", async () => {
  const program = await makeProgram({ name: "Ac\u202eme" });
  const { id } = await makePartner(program, { first_name: "J\u202eane", last_name: "Roe\u2066\n" });
  const applicant = await makeApplication(program, { name: "Jo\u200fe" });
  const owner = await signInOwner(program);
  for (const path of ["partners", `partners/${id}`, "partners/applications", `partners/applications/${applicant}`]) {
    const { body } = await owner.get(`/dashboard/${path}`);
    expect([path, /[\u200f\u202e\u2066]/.exec(body)]).toEqual([path, null]);
  }
  expect(textOf((await owner.get("/dashboard/partners")).body)).toContain("J ane Roe");
});

it.each([...UNSEEN, " "])("%j is no name of a program (PROG-1)", async (name) => {
  const program = await makeProgram();
  const { status, body } = await program.api("PATCH", "/api/v1/programs/me", { name });
  expect([status, body]).toMatchObject([422, { error: { details: [{ path: "name" }] } }]);
});

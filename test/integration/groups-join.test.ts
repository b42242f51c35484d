/** The group in the address of the application page (JOIN-9). */
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { makeApplication, stampOf } from "../support/applications.ts";
import { sentOf } from "../support/form-fields.ts";
import { create } from "../support/groups.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { uniqueId } from "../support/vendor.ts";
import { makeVisitor, programOfOwner, textOf, type Fields } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

it("an approved applicant belongs to the group of the link, else to the default one (JOIN-9)", async () => {
  const program = await makeProgram({ applications: "review" });
  const { id } = await create(program, "/groups", { name: "Club", slug: "Club" });
  for (const [group_slug, expected] of [
    ["club", id],
    ["unknown", `grp_${program.id.slice(5)}`],
    [null, `grp_${program.id.slice(5)}`],
  ]) {
    const application = await makeApplication(program, { group_slug: group_slug ?? null });
    expect((await program.api("POST", `/api/v1/applications/${application}/approve`)).status).toBe(200);
    const partner = await env.DB.prepare(
      "select p.group_id from partners p join applications a on a.partner_id = p.id where a.id = ?",
    )
      .bind(application)
      .first<{ group_id: string }>();
    expect([group_slug, partner?.group_id]).toEqual([group_slug, expected]);
  }
});

it("`?group=` of the page counts over HTTP, with an unknown slug too: from the form to the partner (JOIN-9)", async () => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  const mailbox = openMailbox();
  const program = await makeProgram({ applications: "review" });
  const { id } = await create(program, "/groups", { name: "Club", slug: "Club" });
  const usual = `grp_${program.id.slice(5)}`;
  for (const [group, expected] of [
    ["club", id],
    ["no-such-group", usual],
    ["no slug at all", usual],
  ] as const) {
    const visitor = makeVisitor((path, init) => callWith<string>(mailbox.bindings, path, init));
    const page = await visitor.get(`/join/${program.id}?group=${encodeURIComponent(group)}`);
    expect([group, page.status]).toEqual([group, 200]);
    const email = `${uniqueId("ann-")}@applicants.example`;
    const form = {
      ...Object.fromEntries<Fields[string]>(sentOf(page.body)),
      name: "Ann Applicant",
      email,
      website: "ann.example.com",
    };
    const opened = await stampOf(program, visitor);
    const sent = await visitor.post(`/join/${program.id}`, { ...form, opened });
    expect([group, sent.status]).toEqual([group, 200]);
    const [mail] = (await mailbox.deliver(program.id, Date.now() + 1_000)).filter(({ to }) => to === email);
    const link = /https:\/\/service\.example(\/join\/\S+)/.exec(mail?.text ?? "")?.[1] ?? "";
    await visitor.get(link);
    const token = new URLSearchParams(link.split("?")[1]).get("token") ?? "";
    expect((await visitor.post(link.split("?")[0]!, { token })).status).toBe(200);
    const { body } = await program.api<{ data: { id: string; email: string }[] }>("GET", "/api/v1/applications");
    const application = body.data.find((row) => row.email === email)!;
    expect((await program.api("POST", `/api/v1/applications/${application.id}/approve`)).status).toBe(200);
    const { body: list } = await program.api<{ data: { group_id: string }[] }>(
      "GET",
      `/api/v1/partners?search=${encodeURIComponent(email)}`,
    );
    expect([group, list.data.map(({ group_id }) => group_id)]).toEqual([group, [expected]]);
  }
  vi.restoreAllMocks();
});

it("the dashboard filters partners by group, and names it in the list and its file (PAGE-7)", async () => {
  const [program, owner] = await programOfOwner();
  const { id } = await create(program, "/groups", { name: "Close friends", slug: "friends" });
  await makePartner(program, { group_id: id, email: "near@partners.example" });
  await makePartner(program, { email: "far@partners.example" });
  const { body } = await owner.get(`/dashboard/partners?group_id=${id}`);
  expect(body).toContain(`<option value="${id}" selected`);
  expect(textOf(body)).toContain("near@partners.example");
  expect(textOf(body)).not.toContain("far@partners.example");
  const { body: file } = await owner.get("/dashboard/partners/list.csv?columns=partner,group");
  const [head = "", ...lines] = file.trim().split(/\r?\n/);
  const [email, group] = ["email", "group"].map((name) => head.split(",").indexOf(name)) as [number, number];
  const cells = lines.map((line) => line.split(","));
  expect(new Map(cells.map((row) => [row[email], row[group]]))).toEqual(
    new Map([
      ["near@partners.example", "friends"],
      ["far@partners.example", "default"],
    ]),
  );
});

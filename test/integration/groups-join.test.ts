/** The group in the address of the application page (JOIN-9). */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { makeApplication } from "../support/applications.ts";
import { create } from "../support/groups.ts";
import { makeProgram } from "../support/program.ts";

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

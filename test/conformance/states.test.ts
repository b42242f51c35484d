/** States and transitions. */
import { describe, expect, it } from "vitest";
import { eventsOf, type Row } from "../support/conformance.ts";
import { makePartner, makeProgram } from "../support/program.ts";

const STATUSES = ["invited", "active", "deactivated"] as const;

describe("Partner status", () => {
  it("any state, PATCH with a status: the given value, event partner.updated (PART-3, PART-11)", async () => {
    const program = await makeProgram();
    for (const from of STATUSES) {
      for (const to of STATUSES) {
        const { id } = await makePartner(program, {}, from);
        const before = (await eventsOf(program, "partner.updated")).length;
        const patched = await program.api<Row>("PATCH", `/api/v1/partners/${id}`, { status: to });
        expect([from, to, patched.status, patched.body["status"]]).toEqual([from, to, 200, to]);
        const after = await eventsOf(program, "partner.updated");
        expect(after.length).toBe(before + 1);
        expect(after.at(-1)?.payload["partner_id"]).toBe(id);
      }
    }
    const { id } = await makePartner(program);
    expect((await program.api("PATCH", `/api/v1/partners/${id}`, { status: "paused" })).status).toBe(422);
  });

  it("any state, DELETE: deactivated, soft delete; record kept; event partner.deleted (PART-3, PART-11, HOOK-15)", async () => {
    for (const from of STATUSES) {
      const program = await makeProgram();
      const { id } = await makePartner(program, {}, from);
      const deleted = await program.api<Row>("DELETE", `/api/v1/partners/${id}`);
      expect([deleted.status, deleted.body["status"]]).toEqual([200, "deactivated"]);
      const kept = await program.api<Row>("GET", `/api/v1/partners/${id}`);
      expect([kept.status, kept.body["status"]]).toEqual([200, "deactivated"]);
      const [event, ...more] = await eventsOf(program, "partner.deleted");
      expect([event?.payload["partner_id"], more]).toEqual([id, []]);
    }
  });
});

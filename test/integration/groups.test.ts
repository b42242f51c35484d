/** Groups of partners (PART-14), and the rules of the group at the payment's time (PAY-16). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ago, amounts, change, flow, pay } from "../support/applied.ts";
import { create, patchOf, type Json } from "../support/groups.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";

interface Group {
  id: string;
  slug: string;
  is_default: boolean;
  partner_count: number;
  [field: string]: unknown;
}

async function groupsOf(program: TestProgram): Promise<Group[]> {
  return (await program.api<{ data: Group[] }>("GET", "/api/v1/groups")).body.data;
}

const club = (fields: Json = {}) => ({ name: "Club", slug: "club", ...fields });

async function refusal(program: TestProgram, method: string, path: string, body?: unknown) {
  const reply = await program.api<{ error?: { code: string; message: string; details?: { path: string }[] } }>(
    method,
    `/api/v1${path}`,
    body,
  );
  const { code, message, details } = reply.body.error ?? {};
  return [reply.status, code, details?.[0]?.path ?? message];
}

describe("groups (PART-14)", () => {
  it("a new program has one, which is the default and takes its partners", async () => {
    const program = await makeProgram();
    const [first, ...others] = await groupsOf(program);
    expect([first, others]).toMatchObject([
      { slug: "default", is_default: true, partner_count: 0, commission_pct: null },
      [],
    ]);
    const { id } = await makePartner(program);
    const partner = (await program.api<Json>("GET", `/api/v1/partners/${id}`)).body;
    expect(partner["group_id"]).toBe(first!.id);
    expect((await groupsOf(program))[0]!.partner_count).toBe(1);
    // A row as the previous version writes it.
    await env.DB.prepare(
      `insert into partners (id, program_id, email, slug, search_text, created_at, updated_at)
        values (?, ?, 'old@x.example', 'old', '', '', '')`,
    )
      .bind(`par_${program.id.slice(5)}`, program.id)
      .run();
    expect((await groupsOf(program))[0]!.partner_count).toBe(2);
  });

  it("counts deactivated partners, lists its members, and follows them when they move", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/groups", club());
    const [ann, bob, cid] = [
      await makePartner(program, { group_id: id }),
      await makePartner(program, { group_id: id }, "deactivated"),
      await makePartner(program),
    ];
    const members = async (query = "") => {
      const { body } = await program.api<{ data: Json[]; total: number }>(
        "GET",
        `/api/v1/partners?group_id=${id}${query}`,
      );
      return [body.total, ...body.data.map((one) => one["id"])];
    };
    expect(await members()).toEqual([2, bob.id, ann.id]);
    expect(await members("&status=active")).toEqual([1, ann.id]);
    expect(await members(`&search=${ann.slug}`)).toEqual([1, ann.id]);
    await patchOf(program, `/partners/${cid.id}`, { group_id: id });
    await patchOf(program, `/partners/${bob.id}`, { group_id: (await groupsOf(program))[1]!.id });
    expect(await members()).toEqual([2, cid.id, ann.id]);
    expect((await groupsOf(program)).map(({ slug, partner_count }) => [slug, partner_count])).toEqual([
      ["club", 2],
      ["default", 1],
    ]);
  });

  it("refuses what does not fit, and names it", async () => {
    const program = await makeProgram();
    const stranger = await makeProgram();
    const foreign = await create(stranger, "/groups", club());
    const { id } = await create(program, "/groups", club());
    const [, first] = await groupsOf(program);
    const partner = await makePartner(program, { group_id: id });
    expect(await refusal(program, "POST", "/groups", { name: "CLUB", slug: "other" })).toEqual([
      ...[409, "already_exists", "name"],
    ]);
    expect(await refusal(program, "POST", "/groups", { name: "Other", slug: "Club" })).toEqual([
      ...[409, "already_exists", "slug"],
    ]);
    expect(await refusal(program, "PATCH", `/groups/${id}`, { name: "default" })).toEqual([
      ...[409, "already_exists", "name"],
    ]);
    const wrong: [string, string, unknown, string][] = [
      ["POST", "/groups", { name: "x", slug: "not a slug" }, "slug"],
      ["POST", "/groups", { name: "x", slug: "x", commission_pct: 101 }, "commission_pct"],
      ["POST", "/groups", { name: "x", slug: "x", hold_days: 366 }, "hold_days"],
      ["POST", "/groups", { name: "x", slug: "x", hold_days: 1.5 }, "hold_days"],
      ["PATCH", `/groups/${id}`, { apply_from: ago(1) }, "apply_from"],
      ["PATCH", `/groups/${first!.id}`, { is_default: false }, "is_default"],
      ["POST", "/partners", { email: "a@x.example", slug: "a", group_id: foreign.id }, "group_id"],
      ["POST", "/partners", { email: "a@x.example", slug: "a", group_id: "grp_unknown" }, "group_id"],
      ["PATCH", `/partners/${partner.id}`, { group_id: foreign.id }, "group_id"],
    ];
    for (const [method, path, body, field] of wrong) {
      expect([path, ...(await refusal(program, method, path, body))]).toEqual([path, 422, "validation_failed", field]);
    }
    // A slug never changes.
    expect((await refusal(program, "PATCH", `/groups/${id}`, { slug: "new" }))[0]).toBe(422);
    expect(await refusal(program, "DELETE", `/groups/${id}`)).toEqual([
      ...[409, "invalid_transition", "1 partner belongs to this group. Move them to another group first."],
    ]);
    expect((await refusal(program, "DELETE", `/groups/${first!.id}`)).slice(0, 2)).toEqual([409, "invalid_transition"]);
    expect((await refusal(program, "DELETE", `/groups/${foreign.id}`))[0]).toBe(404);
  });

  it("has at most 100, in concurrent requests too", async () => {
    const program = await makeProgram();
    for (let i = 0; i < 97; i++) await create(program, "/groups", { name: `n${i}`, slug: `s${i}` });
    const last = await Promise.all(
      [0, 1, 2, 3].map((i) => program.api("POST", "/api/v1/groups", { name: `last${i}`, slug: `last${i}` })),
    );
    expect(last.map(({ status }) => status).toSorted()).toEqual([201, 201, 422, 422]);
    expect(await groupsOf(program)).toHaveLength(100);
  });

  it("has one default, in concurrent requests too, and new partners belong to it (PART-15)", async () => {
    const program = await makeProgram();
    const made = [
      await create(program, "/groups", club()),
      await create(program, "/groups", { name: "Press", slug: "press" }),
    ];
    await Promise.all(made.map(({ id }) => patchOf(program, `/groups/${id}`, { is_default: true })));
    const defaults = (await groupsOf(program)).filter(({ is_default }) => is_default);
    expect(defaults).toHaveLength(1);
    const partner = await makePartner(program);
    expect(partner["group_id"]).toBe(defaults[0]!.id);
    const first = (await groupsOf(program)).find(({ slug }) => slug === "default")!;
    expect((await program.api("DELETE", `/api/v1/groups/${first.id}`)).status).toBe(200);
  });

  it("a partner never ends in a group that is deleted at the same moment", async () => {
    for (let i = 0; i < 5; i++) {
      const program = await makeProgram();
      const { id } = await create(program, "/groups", club());
      const moving = await makePartner(program);
      const [deleted, moved, made] = await Promise.all([
        program.api("DELETE", `/api/v1/groups/${id}`),
        program.api("PATCH", `/api/v1/partners/${moving.id}`, { group_id: id }),
        program.api("POST", "/api/v1/partners", { email: `n${i}@x.example`, slug: `n${i}`, group_id: id }),
      ]);
      const expected = deleted.status === 200 ? [422, 422] : [200, 201];
      const statuses = [moved.status, made.status];
      if (deleted.status === 200) expect(statuses).toEqual(expected);
      else expect([409, statuses.some((status) => status < 300)]).toEqual([deleted.status, true]);
      const { results } = await env.DB.prepare(
        "select p.id from partners p left join groups g on g.id = p.group_id where p.program_id = ? and g.id is null",
      )
        .bind(program.id)
        .all();
      expect(results).toEqual([]);
    }
  });
});

describe("the rate of the group at the payment's time (PAY-16)", () => {
  it("comes after a flow's and the partner's own, and before the program's (FLOW-3)", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/groups", club({ commission_pct: 30 }));
    const own = await makePartner(program, { group_id: id, commission_pct: 7 });
    const { slug } = await makePartner(program, { group_id: id });
    const other = await makePartner(program);
    for (const [i, one] of [own.slug, slug, other.slug].entries()) await pay(program, one, 5 - i);
    expect(await amounts(program)).toEqual([700, 3_000, 2_000]);
    const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payments?per_page=1");
    const payment = (await program.api<{ trace: Json }>("GET", `/api/v1/payments/${body.data[0]!.id}`)).body;
    expect(payment.trace).toMatchObject({ group_slug: "default", rate: { source: "program" } });
    await create(program, "/flows", flow);
    await pay(program, slug, 0);
    expect((await amounts(program)).at(-1)).toBe(700);
  });

  it("moving a partner and changing a rate count from then on, in whatever order the facts arrive", async () => {
    for (const isBefore of [true, false]) {
      const program = await makeProgram();
      const { id } = await create(program, "/groups", club({ commission_pct: 30 }));
      const partner = await makePartner(program);
      const paid = () => pay(program, partner.slug, 20);
      if (isBefore) await paid();
      await patchOf(program, `/partners/${partner.id}`, { group_id: id });
      await patchOf(program, `/groups/${id}`, { commission_pct: 40 });
      if (!isBefore) await paid();
      await pay(program, partner.slug, 0);
      // The payment of 20 minutes ago came before the move.
      expect([isBefore, await amounts(program)]).toEqual([isBefore, [2_000, 4_000]]);
    }
  });

  it("a changed rate leaves what was paid before, though its facts arrive afterwards", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/groups", club({ commission_pct: 30 }));
    const { slug } = await makePartner(program, { group_id: id });
    await patchOf(program, `/groups/${id}`, { commission_pct: 40 });
    await pay(program, slug, 20);
    await pay(program, slug, 0);
    expect(await amounts(program)).toEqual([3_000, 4_000]);
  });

  it("the first group and its first rate reach back without end", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/groups", club({ commission_pct: 30 }));
    const { slug } = await makePartner(program, { group_id: id });
    await pay(program, slug, 60 * 24 * 400);
    expect(await amounts(program)).toEqual([3_000]);
  });

  it("a deleted group still decides the payments of its time", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/groups", club({ commission_pct: 30 }));
    const partner = await makePartner(program, { group_id: id });
    const first = (await groupsOf(program)).find(({ slug }) => slug === "default")!;
    await patchOf(program, `/partners/${partner.id}`, { group_id: first.id });
    expect((await program.api("DELETE", `/api/v1/groups/${id}`)).status).toBe(200);
    await pay(program, partner.slug, 10);
    expect(await amounts(program)).toEqual([3_000]);
  });

  it.each([
    ["moving a partner", (id: string, group: string) => ({ path: `/partners/${id}`, body: { group_id: group } })],
    ["a group's rate", (_: string, group: string) => ({ path: `/groups/${group}`, body: { commission_pct: 30 } })],
  ] as const)("%s applies from an earlier time if asked (FLOW-11)", async (what, changeOf) => {
    const isMove = what === "moving a partner";
    for (const isBefore of [true, false]) {
      const program = await makeProgram();
      const { id } = await create(program, "/groups", club(isMove ? { commission_pct: 30 } : {}));
      const partner = await makePartner(program, isMove ? {} : { group_id: id });
      await pay(program, partner.slug, 40);
      if (isBefore) await pay(program, partner.slug, 20);
      const { path, body } = changeOf(partner.id, id);
      const applied = { ...body, apply_from: ago(30) };
      const named = isMove ? { partner_id: partner.id, group_id: id } : { group_id: id, commission_pct: 30 };
      const tried = await program.api<{ payments: Json[] }>("POST", "/api/v1/flows/simulate", {
        ...{ ...named, apply_from: ago(30), last: 10 },
      });
      expect(tried.body.payments.map((one) => one["new_amount_cents"])).toEqual(isBefore ? [3_000] : []);
      await change(program, "PATCH", path, applied);
      if (!isBefore) await pay(program, partner.slug, 20);
      await pay(program, partner.slug, 10);
      expect([isBefore, await amounts(program)]).toEqual([isBefore, [2_000, 3_000, 3_000]]);
    }
  });

  it("a rate applied from an earlier time leaves the group of its time, and a move the rate (FLOW-11)", async () => {
    const program = await makeProgram();
    const { id } = await create(program, "/groups", club({ commission_pct: 30 }));
    const partner = await makePartner(program, { commission_pct: 10 });
    await pay(program, partner.slug, 20);
    await patchOf(program, `/partners/${partner.id}`, { group_id: id });
    // The partner's rate is taken away since before the payment, which was made in the default group.
    await change(program, "PATCH", `/partners/${partner.id}`, { commission_pct: null, apply_from: ago(30) });
    expect(await amounts(program)).toEqual([2_000]);
    await change(program, "PATCH", `/partners/${partner.id}`, { commission_pct: 10 });
    await change(program, "PATCH", `/partners/${partner.id}`, { group_id: id, apply_from: ago(30) });
    expect(await amounts(program)).toEqual([3_000]);
  });
});

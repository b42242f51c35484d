/** Pages warn a person who approves before a hold ends (COM-6). */
import { expect, it } from "vitest";
import { DAY, iso } from "../../src/lib/time.ts";
import { sentOf } from "../support/form-fields.ts";
import { commissionsOf, makeCommissions } from "../support/payouts.ts";
import { makePartner } from "../support/program.ts";
import { programOfOwner, textOf, type Fields } from "../support/visitor.ts";

const AT = "/dashboard/commissions";
const [PAST, SOON, LATER] = [-1, 2, 9].map((days) => iso(Date.now() + days * DAY)) as [string, string, string];
const dayOf = (at: string) =>
  new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" }).format(
    new Date(at),
  );

async function makeHeld() {
  const [program, owner] = await programOfOwner({ auto_approve_days: 10 });
  const { id } = await makePartner(program);
  const pending = { status: "pending", approved_at: null } as const;
  const rows = await makeCommissions(program, id, [
    { ...pending, hold_until: PAST },
    { ...pending, hold_until: SOON },
    { ...pending, hold_until: LATER },
  ]);
  const statuses = async () => {
    const found = await commissionsOf(program);
    return rows.map((row) => found.find(({ id }) => id === row.id)?.status);
  };
  return { program, owner, ids: rows.map((row) => row.id), statuses };
}

it("the list, its file and the commission's page say until when it is held (COM-6)", async () => {
  const { owner, ids } = await makeHeld();
  expect(textOf((await owner.get(`${AT}?columns=partner,hold_until`)).body)).toContain(dayOf(LATER));
  const [head = "", ...lines] = (await owner.get(`${AT}/list.csv?columns=partner,hold_until`)).body
    .trim()
    .split(/\r?\n/);
  const column = head.split(",").indexOf("hold_until");
  expect(lines.map((line) => line.split(",")[column]).toSorted()).toEqual([PAST, SOON, LATER].toSorted());
  const [past, , later] = await Promise.all(ids.map(async (id) => textOf((await owner.get(`${AT}/${id}`)).body)));
  expect(later).toContain(`On hold until ${dayOf(LATER)}`);
  expect(later).toContain("You can approve it before then");
  expect(past).not.toContain("You can approve it before then");
});

it("approving the ticked ones asks first if some are on hold (COM-6)", async () => {
  const { owner, ids, statuses } = await makeHeld();
  await owner.get(AT);
  const asked = await owner.post(`${AT}/bulk`, { ids, status: "approved", back: "" });
  expect(asked.status).toBe(200);
  expect(textOf(asked.body)).toContain(`2 of 3 commissions are held, the last until ${dayOf(LATER)}`);
  expect(textOf(asked.body)).toContain("Together 30.00 USD");
  expect(await statuses()).toEqual(["pending", "pending", "pending"]);
  const sent = Object.fromEntries<Fields[string]>(sentOf(asked.body));
  expect((await owner.post(`${AT}/bulk`, sent)).status).toBe(303);
  expect(await statuses()).toEqual(["approved", "approved", "approved"]);
});

it("the question before the hold ends decides no commission that has changed since the list was opened (PAGE-40)", async () => {
  const { program, owner, ids, statuses } = await makeHeld();
  await owner.get(AT);
  const fields = { ids, status: "approved", back: "", seen_at: iso(Date.now()) };
  const asked = await owner.post(`${AT}/bulk`, fields);
  await program.api("PATCH", `/api/v1/commissions/${ids[2]!}`, { flagged: true });
  await program.api("PATCH", `/api/v1/commissions/${ids[2]!}`, { flagged: false });
  const sent = Object.fromEntries<Fields[string]>(sentOf(asked.body));
  expect(textOf((await owner.post(`${AT}/bulk`, sent)).body)).toContain(
    `2 commissions approved; not these: ${ids[2]!}`,
  );
  expect(await statuses()).toEqual(["approved", "approved", "pending"]);
});

it("approving all that match says before how many are held and until when; rejecting does not (COM-6)", async () => {
  const { owner } = await makeHeld();
  const page = async (move: string) => textOf((await owner.get(`${AT}/matching?move=${move}`)).body);
  expect(await page("approve")).toContain(`On hold 2 commissions, held, the last until ${dayOf(LATER)}`);
  expect(await page("reject")).not.toContain("On hold");
});

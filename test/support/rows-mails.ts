/** Jobs that cause e-mails, for `BACKGROUND`. */
import { expect } from "vitest";
import { mailClosedDays } from "../../src/core/clicks/budget.ts";
import { storeDigests } from "../../src/core/ledger/digests.ts";
import { storeSummaries } from "../../src/core/overview/week.ts";
import { warnOfSize } from "../../src/core/operations/size-warning.ts";
import { openMailer } from "../../src/core/mails/plan.ts";
import { openDatabase } from "../../src/db/client.ts";
import { utcDay } from "../../src/lib/time.ts";
import { run } from "./grown-program.ts";
import { serveAll } from "./jobs.ts";
import { sizedDatabase } from "./metered-database.ts";
import { meter, meteredContext, type Operation } from "./rows-world.ts";

const now = Date.now();
/** Makes only this program's round due, over a day without events. */
const DUE_ROUND = `update mail_rounds set next_at = iif(program_id = ?, '2001-01-03T00:00:00.000Z', '9'),
  since = '2001-01-01T00:00:00.000Z', until = '2001-01-02T00:00:00.000Z', position = null`;
const MAILER = openMailer(
  async () => [],
  () => {},
);
/** A late round resumes at once only after a day's morning. */
const NOON = new Date(now).setUTCHours(12, 0, 0, 0);

export const MAIL_JOBS: Record<string, Operation> = {
  "cron: mail about closed days of clicks": async ({ program }) => {
    await run("insert or replace into click_drops values (?, ?, 'over_budget', 1, null)", program.id, utcDay(now));
    expect(await serveAll(mailClosedDays({ ...meteredContext(), mailer: MAILER }))).toBe(1);
    await run("delete from click_drops where program_id = ? and reason = 'over_budget'", program.id);
  },
  "cron: warn of full databases": async () => {
    const ctx = { ...meteredContext(), db: openDatabase(sizedDatabase(meter.binding, 7_000_000_000)) };
    expect(await serveAll(warnOfSize(ctx, async () => true))).toBe(1);
    await run("delete from size_warnings");
  },
  "cron: store weekly summaries": async ({ program }) => {
    await run(DUE_ROUND, program.id);
    expect(await serveAll(storeSummaries({ ...meteredContext(), mailer: MAILER }))).toBe(1);
  },
  "cron: store e-mails of commissions": async ({ program }) => {
    await run(DUE_ROUND, program.id);
    expect(await serveAll(storeDigests({ ...meteredContext(NOON), mailer: MAILER }))).toBe(2);
  },
};

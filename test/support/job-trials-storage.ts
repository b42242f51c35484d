/** Trials of the jobs that report the size of a database. */
import { openMailer } from "../../src/core/mails/plan.ts";
import { openDatabase } from "../../src/db/client.ts";
import type { JobName } from "../../src/jobs.ts";
import { sizedDatabase } from "./metered-database.ts";
import type { Trial } from "./trial.ts";

export const STORAGE_TRIALS = {
  "mail about closed days of clicks": {
    most: 1_000,
    why: "days, all of which one step marks",
    seed: [
      `insert into click_drops (program_id, day, reason, count)
        select t.program_id, date('2027-03-01', '-' || t.i || ' days'), 'over_budget', 1 from trial t`,
    ],
    left: "select distinct program_id from click_drops where mailed is null",
    fails: { at: "before update on click_drops", row: "new" },
    runs: { 1: 4, 32: 4 },
    change: (context) => ({
      ...context,
      ctx: {
        ...context.ctx,
        mailer: openMailer(
          async () => [],
          () => {},
        ),
      },
    }),
  },
  "warn of full databases": {
    most: 1,
    why: "there is one warning of a database",
    seed: [],
    left: "",
    fails: { never: "a warning is of no program" },
    runs: { 1: 1, 32: 1 },
    change: (context, served) => {
      const EMAIL = {
        send: async () => {
          for (let g = 0; g < 500; g++) served(g);
        },
      } as unknown as SendEmail;
      const named = { EMAIL, EMAIL_FROM: "service@example.com", OPERATOR_EMAIL: "operator@example.com" };
      const db = openDatabase(sizedDatabase(context.ctx.db.$client, 7_000_000_000));
      return { ...context, env: { ...context.env, ...named }, ctx: { ...context.ctx, db } };
    },
  },
} satisfies Partial<Record<JobName, Trial>>;

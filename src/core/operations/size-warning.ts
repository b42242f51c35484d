import { sql } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { selectRows, whole } from "../../db/rows.ts";
import { logLine } from "../../lib/log.ts";
import { iso } from "../../lib/time.ts";
import type { BaseCtx } from "../kernel/context.ts";
import { readPercentFull, WARNED_AT } from "../kernel/database-size.ts";
import type { Work } from "../kernel/work.ts";

/** Percentage points between two warnings about one database. */
const STEP = 5;

/** E-mails the operator about a database; returns whether the e-mail was accepted. */
export type Warn = (full: { shard: number; percent: number }) => Promise<boolean>;

/**
 * Warns the operator of a filling database (OPS-12), at 70 % and each 5 % more; logs daily. Without `warn` no e-mail.
 */
export function warnOfSize({ db, shard, now }: Pick<BaseCtx, "db" | "shard" | "now">, warn: Warn | null): Work {
  return {
    cost: 4,
    async due(after) {
      const percent = after === "" ? await readPercentFull(db) : 0;
      if (percent < WARNED_AT) return [];
      logLine("error", { what: "a database fills up", shard, percent });
      const step = percent - (percent % STEP);
      const [warned] = await selectRows(
        db,
        { percent: whole },
        sql`select percent from size_warnings where percent = ${step}`,
      );
      return warn === null || warned ? [] : [{ key: String(step) }];
    },
    async serve({ key }) {
      const percent = Number(key);
      if (warn !== null && !(await warn({ shard, percent }))) throw new Error("no sender took the e-mail");
      await runBatch(db, [
        db.run(
          sql`insert into size_warnings (percent, warned_at) values (${percent}, ${iso(now)}) on conflict do nothing`,
        ),
      ]);
      return false;
    },
  };
}

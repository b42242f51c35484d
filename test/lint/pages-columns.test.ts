/** A page that shows rows names the columns that it shows, and a test looks whether it shows them. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGES = "src/http/pages/";

/** Files with a table, or rows, of another form than rows named by column, each with its reason. */
const NO_ROWS: Record<string, string> = {
  "dashboard/events/clicks.tsx": "clicks, whose payloads are shown in full",
  "dashboard/payments/codes.tsx": "sums, and codes that payments wait for, by name",
  "dashboard/commissions/new.tsx": "partners by name, to choose one",
  "dashboard/events/list.tsx": "events, whose payloads are shown whole",
  "dashboard/partners/import-parts.tsx": "lines of a file",
  "dashboard/overview/top.tsx": "sums",
  "dashboard/flows/list.tsx": "its rows are in flows/table.tsx",
  "dashboard/payouts/results.tsx": "lines of a file",
  "dashboard/payouts/exports.tsx": "files, and their payouts by partner and amount",
  "dashboard/payouts/matching.tsx": "payouts to change, by partner and amount",
  "dashboard/payouts/moved.tsx": "payouts that were not changed, each with the reason",
  "dashboard/payouts/pay.tsx": "sums by method and currency, and open files",
  "dashboard/payouts/new.tsx": "payouts that are no rows yet",
  "dashboard/partners/list.tsx": "its rows are in partners/columns.tsx",
  "dashboard/partners/groups.tsx": "groups, each with its form",
  "dashboard/settings/rates.tsx": "exchange rates, of the program's own list",
  "dashboard/search.tsx": "what a text finds, by name, each a link",
  "portal/statistics.tsx": "sums",
  "dashboard/rules/simulation.tsx": "sums, and what would change",
};

/** The type of the columns of a page's rows. */
const DECLARED = /\bexport type (\w+) = Pick</g;

describe("pages that show rows", () => {
  const files = globSync(`${PAGES}{dashboard,portal}/**/*.{ts,tsx}`, { cwd: ROOT }).map((file) => {
    const name = file.replaceAll("\\", "/").slice(PAGES.length);
    return { name, text: readFileSync(`${ROOT}${file}`, "utf8") };
  });

  it("name each column, or are listed with the reason why not", () => {
    const reads = /<Table\b|\b(?:get|list(?!Page\())[A-Z]\w*\(/;
    const undecided = files.filter(({ text }) => reads.test(text) && text.search(DECLARED) < 0);
    assert.deepEqual(undecided.map(({ name }) => name).toSorted(), Object.keys(NO_ROWS).toSorted());
  });

  it("are looked at for each column that they show", () => {
    const shown = readFileSync(`${ROOT}test/integration/pages-shown.test.ts`, "utf8");
    const types = files.flatMap(({ name, text }) =>
      [...text.matchAll(DECLARED)].map(([, type = ""]) => ({ name, type })),
    );
    assert.ok(types.length > 10);
    const missing = types.filter(({ name, type }) => {
      const imported = new RegExp(`import type \\{[^}]*\\b${type}\\b[^}]*\\} from "\\.\\./\\.\\./${PAGES}${name}";`);
      return !imported.test(shown);
    });
    assert.deepEqual(
      missing.map(({ name, type }) => `${name} ${type}`),
      [],
    );
  });
});

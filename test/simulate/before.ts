/** The previous version: the release before the newest one of the changelog. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../src/dev/root.ts";

export type VersionFound = { commit: string } | { missing: string };

/** The last commit before the day of the newest release; or the reason for its absence, as in a shallow checkout. */
export function commitBefore(root = ROOT): VersionFound {
  const changelog = readFileSync(join(root, "src", "docs", "changelog.md"), "utf8");
  const [, day] = /^## (\d{4}-\d\d-\d\d)$/m.exec(changelog) ?? [];
  if (day === undefined) return { missing: "the changelog has no release" };
  if (!existsSync(join(root, ".git"))) return { missing: "this is no checkout of git" };
  try {
    const args = ["rev-list", "-1", `--before=${day}T00:00:00Z`, "HEAD"];
    const commit = execFileSync("git", args, { cwd: root, stdio: "pipe", encoding: "utf8" }).trim();
    if (commit === "") return { missing: `the history here does not go back before ${day}` };
    const [baseline] = readdirSync(join(root, "migrations")).toSorted();
    const has = spawnSync("git", ["cat-file", "-e", `${commit}:migrations/${baseline}`], { cwd: root });
    return has.status === 0 ? { commit } : { missing: "the release before has none of these migrations" };
  } catch (error) {
    return { missing: (error as Error).message.trim() };
  }
}

/** Finds the commit of the previous version, and the message without one in the history. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { commitBefore } from "./before.ts";

const made: string[] = [];
after(() => made.forEach((root) => rmSync(root, { recursive: true, force: true })));

function directory(): string {
  const root = mkdtempSync(join(tmpdir(), "affiliate-history-"));
  made.push(root);
  return root;
}

function git(root: string, args: string[], at = "2026-11-01T12:00:00Z"): string {
  const who = { GIT_AUTHOR_NAME: "x", GIT_AUTHOR_EMAIL: "x@x.example", GIT_COMMITTER_NAME: "x" };
  const env = {
    ...process.env,
    ...who,
    GIT_COMMITTER_EMAIL: "x@x.example",
    GIT_AUTHOR_DATE: at,
    GIT_COMMITTER_DATE: at,
  };
  return execFileSync("git", args, { cwd: root, env, encoding: "utf8" }).trim();
}

/** A history of the texts of a changelog, each committed at an instant. */
function history(releases: readonly (readonly [at: string, changelog: string])[]): string {
  const root = directory();
  git(root, ["init", "-q"]);
  mkdirSync(join(root, "src", "docs"), { recursive: true });
  mkdirSync(join(root, "migrations"));
  writeFileSync(join(root, "migrations", "0070_baseline.sql"), "");
  for (const [at, changelog] of releases) {
    writeFileSync(join(root, "src", "docs", "changelog.md"), changelog);
    git(root, ["add", "."], at);
    git(root, ["commit", "-q", "--allow-empty", "-m", at], at);
  }
  return root;
}

const OLD = "# Changelog\n\n## 2026-11-23\n\n- Old.\n";
const NEW = OLD.replace("## 2026-11-23", "## 2026-11-25\n\n- New.\n\n## 2026-11-23");

describe("the version before", () => {
  it("is the last commit before the day of the newest release", () => {
    const root = history([
      ["2026-11-23T09:00:00Z", OLD],
      ["2026-11-24T23:59:00Z", OLD],
      ["2026-11-25T00:01:00Z", NEW],
      ["2026-11-26T08:00:00Z", NEW],
    ]);
    const commits = git(root, ["rev-list", "HEAD"]).split("\n");
    assert.deepEqual(commitBefore(root), { commit: commits[2] });
  });

  it("is missing, with the reason, where the history does not go back so far, or there is none", () => {
    const root = history([
      ["2026-11-24T09:00:00Z", OLD],
      ["2026-11-26T08:00:00Z", NEW],
    ]);
    const shallow = directory();
    execFileSync("git", ["clone", "-q", "--depth=1", `file://${root}`, shallow]);
    assert.deepEqual(commitBefore(shallow), { missing: "the history here does not go back before 2026-11-25" });
    const later = history([
      ["2026-11-23T09:00:00Z", OLD],
      ["2026-11-26T08:00:00Z", NEW],
    ]);
    rmSync(join(later, "migrations", "0070_baseline.sql"));
    writeFileSync(join(later, "migrations", "0071_baseline.sql"), "");
    assert.deepEqual(commitBefore(later), { missing: "the release before has none of these migrations" });
    rmSync(join(root, ".git"), { recursive: true });
    assert.deepEqual(commitBefore(root), { missing: "this is no checkout of git" });
  });
});

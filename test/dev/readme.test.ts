/** The README's main journey, command by command as it stands there, against a service that `npm start` started. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readDevVars } from "../../src/dev/dev-vars.ts";
import { freePort } from "../../src/dev/local-service.ts";
import { ROOT, runScript, type Running } from "./process.ts";

const MARK = "<!-- walked by test/dev/readme.test.ts -->";

describe("the README", () => {
  let folder: string;
  let readme: string;
  let running: Running;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-readme-"));
    readme = await readFile(join(ROOT, "README.md"), "utf8");
    running = runScript("src/dev/start.ts", { PORT: String(await freePort()), PERSIST_TO: join(folder, "state") });
    await running.until(/Ctrl\+C stops the service/);
  });
  after(async () => {
    running.child.kill("SIGTERM");
    await running.ended;
    await rm(folder, { recursive: true, force: true });
  });

  it("has a main journey whose commands all work and end in a paid commission", () => {
    const printed = (what: string) => new RegExp(`^ {2}${what} +(\\S+)`, "m").exec(running.printed.out)?.[1] ?? "";
    const env = { BASE_URL: printed("Base URL"), PROGRAM: printed("Program"), API_KEY: printed("API key") };
    const section = readme.slice(readme.indexOf(MARK), readme.indexOf("\n## On the owner's website"));
    const commands = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block);
    assert.ok(commands.length >= 6);
    const script = `set -euo pipefail\n${commands.join("echo\n")}`;
    const run = spawnSync("bash", ["-c", script], { env: { ...process.env, ...env }, encoding: "utf8" });
    assert.equal(run.status, 0, `${run.stdout}\n${run.stderr}`);
    assert.match(run.stdout, /30 % of 10000 = 3000/);
    assert.match(run.stdout, /^payout\.paid$/m);
    assert.match(run.stdout, /^click$/m);
  });

  it("lists only paths of the API that are there", async () => {
    const key = /^ {2}API key +(\S+)/m.exec(running.printed.out)?.[1] ?? "";
    const url = /^ {2}Base URL +(\S+)/m.exec(running.printed.out)?.[1] ?? "";
    const paths = [...readme.matchAll(/^\| (`\/.*?) +\| [A-Z]/gm)].flatMap(
      ([, cell = ""]) => cell.match(/(?<=`)\/[^`?]+/g) ?? [],
    );
    assert.ok(paths.length > 25);
    for (const path of paths) {
      const bearer = path.startsWith("/admin") ? (await readDevVars())["ADMIN_TOKEN"] : key;
      const headers = { authorization: `Bearer ${bearer}` };
      const { status } = await fetch(`${url}${path.replaceAll(/:\w+/g, "x")}`, { method: "PUT", headers });
      assert.equal(status, 405, path);
    }
  });

  it("names every script of package.json that a reader needs, and no other", async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const named = [...readme.matchAll(/npm (?:run ([a-z:]+)|(start|test))\b/g)].map(([, run, own]) => run ?? own ?? "");
    for (const name of named) assert.ok(scripts[name], name);
    for (const name of ["start", "dev", "demo", "check", "test", "test:browser", "test:faults", "bench", "deploy"]) {
      assert.ok(named.includes(name), name);
    }
  });
});

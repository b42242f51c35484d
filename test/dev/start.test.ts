/** `npm start` as a newcomer meets it; the sample is in `sample.test.ts`. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { makeDevVars, readDevVars } from "../../src/dev/dev-vars.ts";
import { freePort, refuseTakenPort } from "../../src/dev/local-service.ts";
import { runScript, type Running } from "./process.ts";

const START = "src/dev/start.ts";

describe("npm start", () => {
  let folder: string;
  let env: { PORT: string; PERSIST_TO: string };
  let url: string;
  let key: string;
  let running: Running;
  let left: number[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-start-"));
    env = { PORT: String(await freePort()), PERSIST_TO: join(folder, "state") };
    url = `http://localhost:${env.PORT}`;
    running = runScript(START, env, ["--empty"]);
  });
  after(async () => {
    running.child.kill("SIGKILL");
    // A runtime without the process that started it never ends.
    for (const pid of left) if (await isRuntime(pid)) process.kill(pid, "SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  const me = async () => {
    const response = await fetch(`${url}/api/v1/programs/me`, { headers: { authorization: `Bearer ${key}` } });
    return { status: response.status, body: (await response.json()) as { id?: string } };
  };

  it("creates a program on the first run and prints how to use it", async () => {
    await running.until(/Ctrl\+C stops the service/);
    const { out } = running.printed;
    key = /^ {2}API key +(sk_[\w-]{43}) /m.exec(out)?.[1] ?? "";
    const program = /^ {2}Program +(prog_\w+)$/m.exec(out)?.[1];
    assert.match(out, new RegExp(`^ {2}Base URL +${url}$`, "m"));
    assert.match(
      out,
      new RegExp(`^ {2}Script tag +<script src="${url}/service.js" data-program="${program}" defer></script>$`, "m"),
    );
    assert.match(out, new RegExp(`^ {2}Dashboard +${url}/sign-in\\?`, "m"));
    assert.match(out, new RegExp(`^ {2}Docs +${url}/docs$`, "m"));
    assert.match(out, new RegExp(`^ {2}E-mails +${url}/dev/mails$`, "m"));
    const stages = out.slice(0, out.indexOf("Ready in")).trimEnd().split("\n");
    assert.deepEqual(stages, ["  Preparing the database", "  Building the pages", "  Starting the Worker"]);
    assert.doesNotMatch(out, /sample/);
    assert.deepEqual(await me().then(({ status, body: { id } }) => ({ status, id })), { status: 200, id: program });
  });

  it("says nothing else: no warning that a newcomer must learn to ignore", () => {
    assert.equal(running.printed.err, "");
    assert.doesNotMatch(running.printed.out, /wrangler|warn|⛅|⎔/i);
  });

  it("refuses a port in use in one sentence", async () => {
    const second = runScript(START, { ...env, PERSIST_TO: join(folder, "other") });
    assert.equal(await second.ended, 1);
    assert.match(second.printed.err, new RegExp(`^Port ${env.PORT} is in use\\. [^\\n]+\\n$`));
  });

  it("refuses a port that is no port", async () => {
    const second = runScript(START, { ...env, PORT: "http" });
    assert.equal(await second.ended, 1);
    assert.equal(second.printed.err, "PORT is not a port number: http\n");
  });

  it("refuses an unknown option, and names the option and the variables", async () => {
    const second = runScript(START, env, ["--help"]);
    assert.equal(await second.ended, 1);
    assert.equal(
      second.printed.err,
      "--help is not an option of npm start. The only one is --empty. It reads PORT (8787) and PERSIST_TO (.wrangler/state), the folder of the data.\n",
    );
  });

  it("ends on SIGTERM and leaves the port free", async () => {
    running.child.kill("SIGTERM");
    assert.equal(await running.ended, 0);
    await assert.rejects(fetch(`${url}/healthz`));
  });

  it("comes back with the same program, whose key is not shown again", async () => {
    running = runScript(START, env, ["--empty"]);
    await running.until(/Ctrl\+C stops the service/);
    const { id } = (await me()).body;
    assert.match(running.printed.out, new RegExp(`^ {2}Program +${id} `, "m"));
    assert.doesNotMatch(running.printed.out, /sk_/);
    running.child.kill("SIGINT");
    assert.equal(await running.ended, 0);
  });

  it("says so where a killed run left its runtime on the port, which is free once that is ended", async () => {
    running = runScript(START, env, ["--empty"]);
    await running.until(/Ctrl\+C stops the service/);
    left = await descendantsOf(running.child.pid!);
    running.child.kill("SIGKILL");
    // The runtime that is left has the pipes as well, so `ended` waits for it.
    await once(running.child, "exit");
    const next = runScript(START, env);
    assert.equal(await next.ended, 1);
    assert.match(next.printed.err, new RegExp(`is in use.* PORT=${Number(env.PORT) + 1} npm start\n$`));
    for (const pid of left) if (await isRuntime(pid)) process.kill(pid);
    const isFree = () =>
      refuseTakenPort(Number(env.PORT)).then(
        () => true,
        () => false,
      );
    const deadline = Date.now() + 60_000;
    while (!(await isFree()) && Date.now() < deadline) await sleep(20);
    await refuseTakenPort(Number(env.PORT));
  });
});

/** Linux only; elsewhere the list is empty. */
async function descendantsOf(pid: number): Promise<number[]> {
  const reported = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  const children = reported.split(" ").filter(Boolean).map(Number);
  return [...children, ...(await Promise.all(children.map(descendantsOf))).flat()];
}

async function isRuntime(pid: number): Promise<boolean> {
  return (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")).startsWith("workerd");
}

describe(".dev.vars", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-vars-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("is made with random secrets of the right shapes, and never overwritten", async () => {
    const path = join(folder, ".dev.vars");
    assert.deepEqual(await readDevVars(path), {});
    await makeDevVars(path);
    const { ADMIN_TOKEN = "", ENCRYPTION_KEY = "", ENVIRONMENT } = await readDevVars(path);
    assert.match(ADMIN_TOKEN, /^[\w-]{43}$/);
    assert.equal(Buffer.from(ENCRYPTION_KEY, "base64").length, 32);
    assert.equal(ENVIRONMENT, "development");
    const written = await readFile(path, "utf8");
    await makeDevVars(path);
    assert.equal(await readFile(path, "utf8"), written);
  });
});

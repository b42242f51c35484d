/**
 * README.md, .github/CONTRIBUTING.md and src/docs: the main journey, command by command as it is written there, against a service
 * that `npm start` started; the paths, the scripts and the links that they name.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readDevVars } from "../../src/dev/dev-vars.ts";
import { freePort } from "../../src/dev/local-service.ts";
import { ROOT, runScript, type Running } from "./process.ts";

const MARK = "<!-- walked by test/dev/readme.test.ts -->";

describe("the README and the guides", () => {
  let folder: string;
  /** Pages by path. */
  let pages: Map<string, string>;
  let running: Running;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-readme-"));
    const docs = await readdir(join(ROOT, "src/docs"), { recursive: true });
    const names = [
      "README.md",
      ".github/CONTRIBUTING.md",
      ...docs.filter((name) => name.endsWith(".md")).map((name) => `src/docs/${name.replaceAll("\\", "/")}`),
    ];
    pages = new Map(
      await Promise.all(names.map(async (name) => [name, await readFile(join(ROOT, name), "utf8")] as const)),
    );
    running = runScript("src/dev/start.ts", { PORT: String(await freePort()), PERSIST_TO: join(folder, "state") });
    await running.until(/Ctrl\+C stops the service/);
  });
  after(async () => {
    running.child.kill("SIGTERM");
    await running.ended;
    await rm(folder, { recursive: true, force: true });
  });

  it("have a main journey whose commands all work, after those of the README, and end in a paid commission", () => {
    const printed = (what: string) => new RegExp(`^ {2}${what} +(\\S+)`, "m").exec(running.printed.out)?.[1] ?? "";
    const env = { BASE_URL: printed("Base URL"), PROGRAM: printed("Program"), API_KEY: printed("API key") };
    const guide = pages.get("src/docs/start.md")!;
    assert.ok(guide.includes(MARK));
    const section = guide.slice(guide.indexOf(MARK));
    const readme = pages.get("README.md")!;
    const first = readme.slice(readme.indexOf("## The API"));
    const blocks = (text: string) => [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block);
    const commands = [...blocks(first), ...blocks(section)];
    assert.ok(commands.length >= 7);
    const script = `set -euo pipefail\n${commands.join("echo\n")}`;
    const run = spawnSync("bash", ["-c", script], { env: { ...process.env, ...env }, encoding: "utf8" });
    assert.equal(run.status, 0, `${run.stdout}\n${run.stderr}`);
    assert.match(run.stdout, /30 % of 10000 = 3000/);
    assert.match(run.stdout, /^payout\.paid$/m);
    assert.match(run.stdout, /^click$/m);
  });

  it("have reports of the owner's server that all work, and can be sent again", () => {
    const printed = (what: string) => new RegExp(`^ {2}${what} +(\\S+)`, "m").exec(running.printed.out)?.[1] ?? "";
    const env = { ...process.env, BASE_URL: printed("Base URL"), API_KEY: printed("API key") };
    const guide = pages.get("src/docs/integrate.md")!;
    const mark = "<!-- run by test/dev/readme.test.ts -->";
    assert.ok(guide.includes(mark));
    const marked = guide.split(mark).slice(1);
    const commands = marked.map((text) => /```sh\n(.*?)```/s.exec(text)?.[1] ?? "").join("\n");
    const outcomes = () => {
      const run = spawnSync("bash", ["-c", `set -euo pipefail\n${commands}`], { env, encoding: "utf8" });
      assert.equal(run.status, 0, `${run.stdout}\n${run.stderr}`);
      return [...run.stdout.matchAll(/"outcome":"(\w+)"/g)].map(([, outcome]) => outcome);
    };
    assert.deepEqual(outcomes(), ["remembered", "commission", "adjusted", "commission"]);
    assert.deepEqual(outcomes(), ["remembered", "commission", "adjusted", "commission"]);
  });

  it("have samples of single calls that all work", async () => {
    const printed = (what: string) => new RegExp(`^ {2}${what} +(\\S+)`, "m").exec(running.printed.out)?.[1] ?? "";
    const [url, key] = [printed("Base URL"), printed("API key")];
    async function call<T = { id: string }>(method: string, path: string, body: object): Promise<T> {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const reply = await fetch(`${url}/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
      return (await reply.json()) as T;
    }
    const { id } = await call("POST", "/partners", { email: "samples@partners.example", slug: "samples" });
    await call("PATCH", `/partners/${id}`, { status: "active" });
    const commission = await call("POST", "/commissions", { partner_id: id, amount_cents: 5_000, note: "a bonus" });
    await call("PATCH", `/commissions/${commission.id}`, { status: "approved" });
    const { payouts } = await call<{ payouts: { id: string; partner_id: string }[] }>("POST", "/payouts/generate", {});
    await writeFile(join(folder, "affiliates.csv"), "email,token\nlee@partners.example,lee\n");
    const samples = ["integrate", "rules", "payouts", "webhooks", "migrate", "first-deploy"].flatMap((name) =>
      [...pages.get(`src/docs/${name}.md`)!.matchAll(/(<!-- run by .*? -->\n\n)?```sh\n(.*?)```/gs)].flatMap(
        ([, run, block = ""]) => (run === undefined && block.includes("curl ") ? [block] : []),
      ),
    );
    assert.ok(samples.length >= 9);
    const names = {
      PARTNER: id,
      PARTNER_ID: id,
      PAYOUT_ID: payouts.find(({ partner_id }) => partner_id === id)!.id,
      PROVIDER: "provider_a",
      BASE_URL: url,
      API_KEY: key,
    };
    const env = { ...process.env, ...names, ADMIN_TOKEN: (await readDevVars())["ADMIN_TOKEN"] };
    const script = `set -euo pipefail\ncurl() { command curl -sS --fail-with-body "\${@//https:\\/\\/affiliates.example.com/$BASE_URL}"; }`;
    for (const sample of samples) {
      const run = spawnSync("bash", ["-c", `${script}\n${sample}`], { env, cwd: folder, encoding: "utf8" });
      assert.equal(run.status, 0, `${sample}\n${run.stdout}\n${run.stderr}`);
    }
  });

  it("name every script of package.json that a reader needs, and no other", async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const named = [...[...pages.values()].join("\n").matchAll(/npm (?:run ([a-z:]+)|(start|test))\b/g)].map(
      ([, run, own]) => run ?? own ?? "",
    );
    for (const name of named) assert.ok(scripts[name], name);
    for (const name of ["start", "dev", "demo", "check", "test", "test:browser", "test:faults", "bench", "deploy"]) {
      assert.ok(named.includes(name), name);
    }
  });

  it("lead to files and headings that are there, and the README is short", async () => {
    assert.ok(pages.get("README.md")!.split("\n").length <= 200);
    const links = [...pages].flatMap(([page, text]) =>
      [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => ({ page, target })),
    );
    assert.ok(links.length > 20);
    for (const { page, target } of links.filter((link) => !/^https?:/.test(link.target))) {
      const [path = "", heading] = target.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      const text = pages.get(file) ?? (await readFile(join(ROOT, file), "utf8"));
      if (heading !== undefined) assert.ok(headingsOf(text).includes(heading), `${page}: ${target}`);
    }
  });
});

/** The anchors that a page's headings get. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

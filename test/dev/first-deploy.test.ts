/**
 * A stranger's first deploy (src/docs/first-deploy.md): the real wrangler against a played API of the platform, from an
 * empty account. Failures on the way are in deploy-failures.test.ts and deploy-refusals.test.ts, a real terminal in
 * deploy-terminal.test.ts.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { compileSite } from "../../src/dev/build-site.ts";
import { PlayedAccount } from "./platform/account.ts";
import type { Permission } from "./platform/routes.ts";
import { ADMIN, inWorld, KEY, WORKER, type World } from "./platform/world.ts";
import { ROOT } from "./process.ts";

const DOMAIN = "affiliates.example.com";

/** The custom domain of the guide, for one environment. */
const withDomain = (text: string) =>
  text.replace(/^# routes = .*$/m, `routes = [{ pattern = "${DOMAIN}", custom_domain = true }]`);

/** The configuration of the project with the small Worker. */
const withoutDomain = (text: string) => `${text}\n`;

const makeSite = await compileSite();

/** All parts of a deployed environment, however it was made. */
async function assertWhole({ account, platform }: World, worker: string, public_url: string): Promise<void> {
  const migrations = (await readdir(join(ROOT, "migrations"))).filter((name) => name.endsWith(".sql")).toSorted();
  assert.deepEqual(platform.unknown, []);
  assert.deepEqual(account.database(worker).applied, migrations);
  const bindings = account.running(worker) ?? [];
  const text = (of: string) => bindings.find(({ name }) => name === of)?.text;
  assert.equal(text("PUBLIC_URL"), public_url);
  assert.equal(text("WORKER_NAME"), worker);
  assert.equal(
    bindings.find(({ name }) => name === "DB")?.database_id ?? bindings.find(({ name }) => name === "DB")?.id,
    account.database(worker).uuid,
  );
  assert.deepEqual(
    bindings
      .filter(({ type }) => type === "secret_text")
      .map(({ name }) => name)
      .toSorted(),
    ["ADMIN_TOKEN", "ENCRYPTION_KEY"],
  );
  const script = account.script(worker);
  assert.deepEqual([script.crons.length, script.migration_tag], [3, "v1"]);
  const consumed = account.queues.filter(({ consumers }) => consumers.some((one) => one.script === worker));
  assert.deepEqual(consumed.map(({ queue_name }) => queue_name).toSorted(), [
    `${worker}-deliveries`,
    `${worker}-deliveries-dead`,
  ]);
  // The static files go out beside the Worker, with their headers and the address of this deployment.
  const { _headers, ...files } = makeSite(public_url);
  const handling = { html_handling: "drop-trailing-slash", not_found_handling: "none" };
  const { assets } = account.runningVersion(worker) ?? {};
  assert.deepEqual(assets?.config, { ...handling, run_worker_first: ["/docs/search"], _headers });
  assert.deepEqual(
    Object.fromEntries(Object.entries(assets.files).map(([path, { text: contents }]) => [path.slice(1), contents])),
    files,
  );
  // Requests are not recorded, because they contain visitors' addresses.
  assert.deepEqual(script.observability, { enabled: true, logs: { invocation_logs: false } });
}

const guide = await readFile(join(ROOT, "src/docs/first-deploy.md"), "utf8");

/** The permissions that the guide lists. */
const listed = [...guide.matchAll(/^\| (?:Account|Zone), ([^|]+?) +\|/gm)].map(([, name]) => name as Permission);

describe("the guide", () => {
  it("has at most 60 lines, and says of each step how one knows that it worked", () => {
    assert.ok(guide.trimEnd().split("\n").length <= 60);
    const steps = [...guide.matchAll(/^\| (\d)\. [^|]+\| +(\S[^|]*\S) +\|$/gm)].map(([, number]) => number);
    assert.deepEqual(steps, ["1", "2", "3", "4", "5", "6", "7"]);
  });
});

describe("a first deploy, from an empty account", () => {
  it("in CI, with a token of the guide's permissions, to a custom domain: PUBLIC_URL follows from the route; the second deploy makes nothing", () =>
    inWorld(async (world) => {
      world.account.addZone("example.com");
      await world.configure(withDomain, "src/index.ts");
      assert.equal(listed.length, 9);
      world.platform.granted = listed;
      const first = await world.deployInCi();
      assert.equal(first.code, 0, first.printed.join("\n"));
      await assertWhole(world, WORKER, `https://${DOMAIN}`);
      assert.deepEqual(
        world.account.domains.map(({ hostname, service }) => [hostname, service]),
        [[DOMAIN, WORKER]],
      );
      assert.equal(world.account.script(WORKER).on_workers_dev, false);
      assert.equal(first.printed.at(-1), `https://${DOMAIN}/healthz answers: the service runs.`);
      assert.equal(world.account.subdomain, null);

      world.platform.calls = [];
      const second = await world.deploy(null);
      assert.equal(second.code, 0, second.printed.join("\n"));
      await assertWhole(world, WORKER, `https://${DOMAIN}`);
      const made = world.platform.calls.filter((call) =>
        /^POST .*\/(?:d1\/database|queues|assets\/upload)$/.test(call),
      );
      assert.deepEqual(made, []);
      assert.equal(world.account.script(WORKER).deployments.length, 2);
    }));

  it("at a terminal, with several accounts: asks for account, domain and secrets, and says what to keep", () =>
    inWorld(async (world) => {
      world.platform.accounts.push(new PlayedAccount("Another"));
      world.account.addZone("example.com");
      await world.configure(withoutDomain);
      const answers = ["1", "elsewhere.example.net", "not a domain", `https://${DOMAIN}/`, ` ${ADMIN} `, ""];
      const { code, printed, asked } = await world.deploy(answers);
      assert.equal(code, 0, printed.join("\n"));
      await assertWhole(world, WORKER, `https://${DOMAIN}`);
      assert.equal(asked.filter((question) => question.startsWith("Domain for the service")).length, 3);
      assert.ok(
        printed.includes("elsewhere.example.net is in no zone of this account. Add its domain to Cloudflare first."),
      );
      assert.ok(printed.includes(`account_id = "${world.account.id}"`));
      assert.ok(printed.includes(`routes = [{ pattern = "${DOMAIN}", custom_domain = true }]`));
      const key = printed.find((line) => line.startsWith("ENCRYPTION_KEY="))?.slice("ENCRYPTION_KEY=".length);
      assert.equal(world.account.running(WORKER)?.find(({ name }) => name === "ENCRYPTION_KEY")?.text, key);
      assert.ok(!printed.join("\n").includes(ADMIN));

      // The lines were not put into wrangler.toml: the address of the running Worker stays, and the questions are not
      // repeated.
      const second = await world.deploy(["1"]);
      assert.equal(second.code, 0, second.printed.join("\n"));
      await assertWhole(world, WORKER, `https://${DOMAIN}`);
      assert.deepEqual([second.asked.length, world.account.script(WORKER).on_workers_dev], [1, false]);
      assert.ok(second.printed.includes(`routes = [{ pattern = "${DOMAIN}", custom_domain = true }]`));
    }));

  it("at a terminal, to try out: registers the workers.dev name that the person chooses", () =>
    inWorld(async (world) => {
      const other = new PlayedAccount("Another");
      other.subdomain = "taken";
      world.platform.accounts.push(other);
      await world.configure(withoutDomain);
      const answers = ["1", "", ADMIN, KEY, "Not a name", "taken", "somebody"];
      const { code, printed } = await world.deploy(answers);
      assert.equal(code, 0, printed.join("\n"));
      assert.equal(world.account.subdomain, "somebody");
      await assertWhole(world, WORKER, `https://${WORKER}.somebody.workers.dev`);
      assert.ok(printed.includes("taken.workers.dev is taken."));
      assert.equal(printed.at(-1), `https://${WORKER}.somebody.workers.dev/healthz answers: the service runs.`);

      const second = await world.deploy(["1"]);
      assert.deepEqual([second.code, second.asked.length], [0, 1], second.printed.join("\n"));
      await assertWhole(world, WORKER, `https://${WORKER}.somebody.workers.dev`);
    }));

  it("in CI, to the workers.dev name that the account has: PUBLIC_URL is in wrangler.toml", () =>
    inWorld(async (world) => {
      world.account.subdomain = "somebody";
      const public_url = `https://${WORKER}.somebody.workers.dev`;
      await world.configure((text) => text.replace('PUBLIC_URL = ""', `PUBLIC_URL = "${public_url}"`));
      world.platform.granted = listed.filter((permission) => !/^(?:DNS|Email|Workers Routes|Zone)/.test(permission));
      const first = await world.deployInCi();
      assert.equal(first.code, 0, first.printed.join("\n"));
      await assertWhole(world, WORKER, public_url);
      assert.deepEqual([world.account.script(WORKER).on_workers_dev, world.account.domains], [true, []]);
      assert.equal(first.printed.at(-1), `${public_url}/healthz answers: the service runs.`);
      const second = await world.deploy(null);
      assert.equal(second.code, 0, second.printed.join("\n"));
      await assertWhole(world, WORKER, public_url);
    }));

  it("of staging, to a domain of its own: PUBLIC_URL follows, and production is untouched", () =>
    inWorld(async (world) => {
      world.account.addZone("example.com");
      await world.configure((text) => {
        const routes = 'routes = [{ pattern = "staging.example.com", custom_domain = true }]';
        return withDomain(text).replace("[env.staging]\nroutes = []", `[env.staging]\n${routes}`);
      });
      world.platform.granted = listed;
      const { code, printed } = await world.deployInCi("--env=staging");
      assert.equal(code, 0, printed.join("\n"));
      await assertWhole(world, `${WORKER}-staging`, "https://staging.example.com");
      assert.deepEqual(
        world.account.domains.map(({ hostname, service }) => [hostname, service]),
        [["staging.example.com", `${WORKER}-staging`]],
      );
      assert.equal(world.account.script(`${WORKER}-staging`).on_workers_dev, false);
      assert.deepEqual([...world.account.scripts.keys()], [`${WORKER}-staging`]);
    }));

  it("of staging, beside a production with a domain: its own resources, and none of production's addresses", () =>
    inWorld(async (world) => {
      world.account.subdomain = "somebody";
      await world.configure((text) => {
        const [production = "", staging = ""] = withDomain(text).split("[env.staging.vars]");
        const url = `PUBLIC_URL = "https://${WORKER}-staging.somebody.workers.dev"`;
        return `${production}[env.staging.vars]${staging.replace('PUBLIC_URL = ""', url)}`;
      });
      const { code, printed } = await world.deployInCi("--env=staging");
      assert.equal(code, 0, printed.join("\n"));
      await assertWhole(world, `${WORKER}-staging`, `https://${WORKER}-staging.somebody.workers.dev`);
      assert.deepEqual([[...world.account.scripts.keys()], world.account.domains], [[`${WORKER}-staging`], []]);
      assert.equal(world.account.databases.length, 1);
    }));

  it("with e-mail: binds it, and warns of a domain that cannot send yet and of its DMARC record", () =>
    inWorld(async (world) => {
      world.account.addZone("example.com");
      await world.configure((text) => {
        const named = withDomain(text).replace("[vars]", '[vars]\nEMAIL_FROM = "affiliates@mail.example.com"');
        return named.replace("[[d1_databases]]", '[[send_email]]\nname = "EMAIL"\n\n[[d1_databases]]');
      });
      world.platform.granted = listed;
      const first = await world.deployInCi();
      assert.equal(first.code, 0, first.printed.join("\n"));
      assert.ok(
        first.printed.some((line) =>
          /^E-mail: mail cannot be sent from mail\.example\.com\..*DMARC record with p=reject/.test(line),
        ),
      );
      await assertWhole(world, WORKER, `https://${DOMAIN}`);
      assert.ok(world.account.running(WORKER)?.some(({ type, name }) => type === "send_email" && name === "EMAIL"));
      world.account.sendingDomains.push("mail.example.com");
      const second = await world.deploy(null);
      assert.equal(second.code, 0);
      assert.ok(!second.printed.some((line) => line.startsWith("E-mail:")));

      world.platform.granted = listed.filter((permission) => permission !== "Email Sending: Read");
      const third = await world.deploy(null);
      assert.equal(third.code, 0);
      assert.deepEqual(
        third.printed.filter((line) => line.startsWith("E-mail:")),
        [
          "E-mail: could not check whether mail can be sent from mail.example.com. The token lacks a permission: Account, Email Sending: Read.",
        ],
      );
    }));
});

/**
 * `npm run deploy` refuses after reading the account: it does not change anything, and its message names the next step.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { PlayedAccount, type Binding } from "./platform/account.ts";
import { FAILURES, type Failure } from "./platform/fault.ts";
import type { Permission } from "./platform/routes.ts";
import { ADMIN, inWorld, KEY, WORKER, type World } from "./platform/world.ts";

const DOMAIN = "affiliates.example.com";
const withDomain = (text: string) =>
  text.replace(/^# routes = .*$/m, `routes = [{ pattern = "${DOMAIN}", custom_domain = true }]`);

/** The message about a failed read, by its failure. */
const SAID_OF: Record<Failure, RegExp> = {
  refused: /was refused: An unknown error has occurred\. \[code: 10013\]/,
  "too many": /was refused: Please wait .* \[code: 971\]/,
  broken: /was refused: An unknown error has occurred\. \[code: 10013\]/,
  page: /got an answer that is not the API's: HTTP 502/,
  "forbidding page": /got an answer that is not the API's: HTTP 403/,
  "missing page": /got an answer that is not the API's: HTTP 404/,
  reset: /got no answer: fetch failed: ./,
  cut: /got no answer: terminated: ./,
  hangs: /got no answer: none within 0\.3 seconds/,
  "token revoked": /was refused: Unable to authenticate request \[code: 10001\]/,
};

/** A refusal does not change the account: it only reads, and its text ends with the state it leaves. */
async function refuses(world: World, said: RegExp, run: () => ReturnType<World["deploy"]>): Promise<string[]> {
  const before = world.account.state();
  world.platform.calls = [];
  const { code, printed } = await run();
  const text = printed.join("\n");
  assert.equal(code, 1, text);
  assert.match(text, said);
  assert.match(text, /Nothing was changed\./);
  assert.deepEqual(world.account.state(), before);
  const changes = world.platform.calls.filter((call) => !call.startsWith("GET") && !call.endsWith("/query"));
  assert.deepEqual(changes, []);
  return printed;
}

/** A world whose configuration has a custom domain in a zone of the account. */
const inReadyWorld = (walk: (world: World) => Promise<void>) =>
  inWorld(async (world) => {
    world.account.addZone("example.com");
    await world.configure(withDomain);
    await walk(world);
  });

describe("npm run deploy refuses, and changes nothing", () => {
  it("several accounts without a terminal, and lists them", () =>
    inReadyWorld(async (world) => {
      world.platform.accounts.push(new PlayedAccount("Another"));
      const said = new RegExp(
        `Set CLOUDFLARE_ACCOUNT_ID to one of these:\\n1\\. .*: ${world.account.id}\\n2\\. Another`,
      );
      await refuses(world, said, () => world.deployInCi());
    }));

  it("no address without a terminal, and gives the lines for both kinds", () =>
    inWorld(async (world) => {
      const said =
        /routes = \[\{ pattern = .*\}\]\nor, .* below \[env\.staging\.vars\]:\nPUBLIC_URL = "https:\/\/.*-staging\./;
      await refuses(world, said, () => world.deployInCi("--env=staging"));
    }));

  it("a PUBLIC_URL that is no https address without a path", () =>
    inWorld(async (world) => {
      for (const given of ["affiliates.example.com", "http://affiliates.example.com", "https://example.com/path"]) {
        await refuses(world, /must be an https address/, () => world.deployInCi("--var", `PUBLIC_URL:${given}`));
      }
    }));

  it("an account without a workers.dev name where nobody can choose one, before anything is migrated", () =>
    inWorld(async (world) => {
      const url = `PUBLIC_URL:https://${WORKER}.somebody.workers.dev`;
      await refuses(world, /no workers\.dev name yet.*\/workers\/onboarding/, () => world.deployInCi("--var", url));
    }));

  it("a domain in no zone of the account", () =>
    inWorld(async (world) => {
      await world.configure(withDomain);
      await refuses(world, /affiliates\.example\.com is in no zone of this account/, () => world.deployInCi());
    }));

  it("without a terminal, a domain that another Worker or a DNS record has, unless it may be taken over", () =>
    inReadyWorld(async (world) => {
      world.account.zoneOf(DOMAIN)?.records.push({ name: DOMAIN, type: "CNAME", content: "shop.example.net" });
      const records = /has DNS records: CNAME shop\.example\.net\. Give --take-over-domain/;
      await refuses(world, records, () => world.deployInCi());
      world.account.domains.push({ id: "d", hostname: DOMAIN, service: "shop" });
      await refuses(world, /is the address of the Worker shop\. Give --take-over-domain/, () => world.deployInCi());
      world.platform.failWhen = (call) => call === "POST /accounts/:id/d1/database";
      const { printed } = await world.deployInCi("--take-over-domain");
      assert.ok(world.platform.calls.includes("POST /accounts/:id/d1/database"), printed.join("\n"));
    }));

  it("a database of another application; an empty one is taken", () =>
    inReadyWorld(async (world) => {
      const database = world.account.addDatabase(WORKER);
      world.platform.failWhen = (call) => call.endsWith("/workers/services/affiliate-program-service");
      await world.deployInCi();
      assert.ok(database.tables.includes("programs"));
      const foreign = world.account.addDatabase(`${WORKER}-staging`);
      foreign.query("CREATE TABLE invoices (id text); CREATE TABLE d1_migrations (id integer, name text);");
      const said = /The database .*-staging belongs to another application\./;
      await refuses(world, said, () => world.deployInCi("--env=staging", "--domain", "b.example.com"));
    }));

  it("a queue that another Worker consumes", () =>
    inReadyWorld(async (world) => {
      const queue = world.account.addQueue(`${WORKER}-deliveries`);
      queue.consumers.push({ consumer_id: "c", type: "worker", script: "shop", settings: {} });
      await refuses(world, /The queue .*-deliveries belongs to the Worker shop\./, () => world.deployInCi());
    }));

  it("another database than that of the Worker that runs: its data is there", () =>
    inReadyWorld(async (world) => {
      const before = world.account.addDatabase("affiliate-program");
      const { script, version } = world.account.addVersion(WORKER, [{ type: "d1", name: "DB", id: before.uuid }], []);
      script.deployments.push({ id: "d", versions: [{ version_id: version.id, percentage: 100 }] });
      await refuses(world, /Set database_name = "affiliate-program" there\./, () => world.deployInCi());
    }));

  it("to take a database with programs or a bucket from the Worker that runs, and gives the lines to put back", () =>
    inReadyWorld(async (world) => {
      world.platform.failWhen = (call) => call.endsWith("/workers/services/affiliate-program-service");
      await world.deployInCi();
      const [first, further] = [world.account.database(WORKER), world.account.addDatabase(`${WORKER}-1`)];
      const archive = { type: "r2_bucket", name: "ARCHIVE", bucket_name: `${WORKER}-archive` };
      const databases = [first, further].map(({ uuid }, shard) => ({
        ...{ type: "d1", name: shard === 0 ? "DB" : `DB_${shard}`, id: uuid },
      }));
      const run = (bindings: Binding[]) => {
        const { script, version } = world.account.addVersion(WORKER, bindings, []);
        script.deployments.unshift({ id: "d", versions: [{ version_id: version.id, percentage: 100 }] });
      };
      const asksToPutBack = (...lines: string[]) => new RegExp(`wrangler\\.toml lacks\\..*:\\n${lines.join("\\n")}\\n`);
      const bucketLines = ["\\[\\[r2_buckets\\]\\]", 'binding = "ARCHIVE"', `bucket_name = "${WORKER}-archive"`];
      const databaseLines = ["\\[\\[d1_databases\\]\\]", 'binding = "DB_1"', `database_name = "${WORKER}-1"`];
      databaseLines.push('migrations_dir = "migrations"');

      // A database without a table, and one without a program, may go.
      run([...databases, archive]);
      await refuses(world, asksToPutBack(...bucketLines), () => world.deployInCi());
      further.query("CREATE TABLE programs (id text);");
      await refuses(world, asksToPutBack(...bucketLines), () => world.deployInCi());
      further.query("INSERT INTO programs VALUES ('prog_1');");
      await refuses(world, asksToPutBack(...databaseLines, "", ...bucketLines), () => world.deployInCi());
      run(databases);
      await refuses(world, asksToPutBack(...databaseLines), () => world.deployInCi());

      const bucket = (name: string) =>
        `[[r2_buckets]]\nbinding = "ARCHIVE"\nbucket_name = "${name}"\n\n[[queues.producers]]`;
      await world.configure((text) => withDomain(text).replace("[[queues.producers]]", bucket("another")));
      run([databases[0]!, archive]);
      await refuses(world, asksToPutBack(...bucketLines), () => world.deployInCi());
      // Another bucket has the same name in another jurisdiction.
      await world.configure((text) => withDomain(text).replace("[[queues.producers]]", bucket(archive.bucket_name)));
      run([databases[0]!, { ...archive, jurisdiction: "eu" }]);
      const inEurope = [...bucketLines, 'jurisdiction = "eu"'];
      await refuses(world, asksToPutBack(...inEurope), () => world.deployInCi());

      // The deploy continues with both restored.
      further.query("DROP TABLE programs;");
      run([...databases, archive]);
      const putBack = databaseLines.concat("", bucketLines, "", "[[queues.producers]]").join("\n").replaceAll("\\", "");
      await world.configure((text) => withDomain(text).replace("[[queues.producers]]", putBack));
      await world.deployInCi();
      assert.deepEqual(further.applied, first.applied);
    }));

  it("secrets that are missing or unfit, also where the Worker has both by now", () =>
    inReadyWorld(async (world) => {
      const write = (secrets: object) => writeFile(world.secretsFile, JSON.stringify(secrets));
      await refuses(world, /The Worker needs ADMIN_TOKEN and ENCRYPTION_KEY\./, () => world.deploy(null));
      await refuses(world, /missing\.json cannot be read/, () => world.deploy(null, "--secrets-file=/missing.json"));
      await write({ ADMIN_TOKEN: ADMIN });
      await refuses(world, /ENCRYPTION_KEY must be in/, () => world.deployInCi());
      const has = Object.entries({ ADMIN_TOKEN: ADMIN, ENCRYPTION_KEY: KEY }).map(([name, text]) => ({ name, text }));
      world.account.addVersion(
        WORKER,
        has.map((secret) => ({ type: "secret_text", ...secret })),
        [],
      );
      for (const unfit of [{ ADMIN_TOKEN: ADMIN.slice(1) }, { ENCRYPTION_KEY: "not-a-key" }, { ADMIN_TOKEN: "" }]) {
        await write(unfit);
        await refuses(world, /(?:ADMIN_TOKEN|ENCRYPTION_KEY) in .*: That is/, () => world.deployInCi());
      }
    }));

  it("mail without an address to send from", () =>
    inWorld(async (world) => {
      world.account.addZone("example.com");
      const bound = '[[send_email]]\nname = "EMAIL"\n\n[[d1_databases]]';
      await world.configure((text) => withDomain(text).replace("[[d1_databases]]", bound));
      await refuses(world, /EMAIL is bound, but EMAIL_FROM is not an address/, () => world.deployInCi());
    }));

  it("a token without a permission, which its last line names", () =>
    inReadyWorld(async (world) => {
      const all: Permission[] = ["Account Settings: Read", "D1: Edit", "DNS: Read", "Queues: Edit"];
      all.push("Workers Routes: Edit", "Workers Scripts: Edit", "Zone: Read");
      for (const lacking of all.filter((permission) => permission !== "Workers Routes: Edit")) {
        world.platform.granted = all.filter((permission) => permission !== lacking);
        const printed = await refuses(world, /was refused: Authentication error/, () => world.deployInCi());
        assert.match(
          printed.at(-1) ?? "",
          new RegExp(`^The token lacks a permission: (?:Account|Zone), ${lacking}\\.$`),
        );
      }
    }));

  it("a platform that does not answer, or answers with something else than its API does", () =>
    inReadyWorld(async (world) => {
      const { url } = world.platform;
      for (const elsewhere of ["http://127.0.0.1:9", `${url}/internet/nowhere.example`]) {
        world.platform.url = elsewhere;
        const said = /GET \/accounts\S* got (?:no answer: fetch failed: .|an answer that is not the API's: HTTP 503)/;
        await refuses(world, said, () => world.deployInCi());
      }
      world.platform.url = url;
    }));

  it("every look that fails, in whichever way, and says how (DEP-6)", () =>
    inReadyWorld(async (world) => {
      world.platform.failWhen = (call) => call === "POST /accounts/:id/d1/database";
      await world.deployInCi();
      const looks = world.platform.calls.indexOf("POST /accounts/:id/d1/database") - 1;
      assert.ok(looks >= 10, String(looks));
      world.platform.failWhen = () => false;
      for (let place = 0; place < looks; place++) {
        for (const how of FAILURES) {
          world.patience = how === "hangs" ? 0.3 : 60;
          world.platform.faultAt = (taken) => (taken.place === place ? { how, is_done: false } : null);
          const printed = await refuses(world, SAID_OF[how], () => world.deployInCi());
          const ofToken = printed.filter((line) => line.startsWith("The token "));
          assert.equal(ofToken.length, how === "token revoked" ? 1 : 0, printed.join("\n"));
          assert.ok(ofToken.every((line) => line.startsWith("The token is not valid, or lacks a permission: ")));
        }
      }
    }));
});

/**
 * `npm run deploy` against a played wrangler: "resources made by wrangler itself, migrations applied in an order that
 * never leaves code ahead of schema, secrets asked for once".
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { deploy, type BoundDatabase, type DeployTools } from "../../src/dev/deployment.ts";

const KEY = Buffer.alloc(32, 7).toString("base64");
const TOKEN = "t".repeat(32);
const MIGRATIONS = ["0000_initial.sql", "0001_more.sql"];

/** An account as wrangler shows it, and the terminal in front of it. */
class PlayedAccount {
  secrets: Record<string, string> | null = null;
  databases = new Map<string, string[]>();
  uploads = 0;
  /** What the code of an upload would have found missing in its schema. */
  codeAheadOfSchema = false;
  commands: string[] = [];
  printed: string[] = [];
  asked: string[] = [];
  answers: string[] | null = [];
  healthy = true;
  /** Which command fails, by its place; what it does then. */
  failAt = -1;
  declines = false;
  publicUrl = "https://affiliates.example.com";
  bound: BoundDatabase[] = [{ binding: "DB", name: "affiliate-program" }];

  readonly tools: DeployTools = {
    wrangler: async (args) => this.#run(args),
    declared: async (environment) => ({
      databases: this.bound.map(({ binding, name }) => ({
        binding,
        name: environment ? `${name}-${environment}` : name,
      })),
      public_url: this.publicUrl,
    }),
    get ask() {
      return null;
    },
    print: (line) => void this.printed.push(line),
    secretsIn: async (path) => JSON.parse(await readFile(path, "utf8")) as Record<string, string>,
    withSecretsFile: async (secrets, use) => {
      const folder = await mkdtemp(join(tmpdir(), "affiliate-played-"));
      try {
        await writeFile(join(folder, "secrets.json"), JSON.stringify(secrets));
        return await use(join(folder, "secrets.json"));
      } finally {
        await rm(folder, { recursive: true });
      }
    },
    randomSecret: (name) => (name === "ENCRYPTION_KEY" ? KEY : "made ".repeat(8)),
    isHealthy: async () => this.healthy,
  };

  deploy(...args: string[]): Promise<number> {
    this.commands = [];
    const { answers } = this;
    const ask = async (question: string) => {
      this.asked.push(question);
      return answers?.shift() ?? "";
    };
    return deploy({ ...this.tools, ask: answers ? ask : null }, args);
  }

  get #left(): string[] {
    return [...this.databases.values()].flatMap((applied) => MIGRATIONS.filter((name) => !applied.includes(name)));
  }

  async #run(args: string[]): Promise<{ code: number; output: string }> {
    const place = this.commands.length;
    this.commands.push(args.join(" "));
    if (place === this.failAt) return { code: 7, output: "the network is gone" };
    const [what, ...rest] = args;
    if (what === "secret") {
      if (!this.secrets) return { code: 1, output: `✘ [ERROR] Worker "affiliate-program-service" not found.` };
      return { code: 0, output: JSON.stringify(Object.keys(this.secrets).map((name) => ({ name, type: "secret" }))) };
    }
    if (what === "d1") return this.#database(rest);
    return this.#upload(args);
  }

  #database([verb, second = "", binding = "", ...rest]: string[]): { code: number; output: string } {
    if (verb === "create") {
      this.databases.set(second, []);
      return { code: 0, output: "created" };
    }
    const suffix = rest.find((arg) => arg.startsWith("--env="))?.slice("--env=".length);
    const name = `${this.bound.find((one) => one.binding === binding)?.name}${suffix ? `-${suffix}` : ""}`;
    const applied = this.databases.get(name);
    if (!applied) return { code: 1, output: `Couldn't find it. Run 'wrangler d1 create ${name}' to create it.` };
    const left = MIGRATIONS.filter((migration) => !applied.includes(migration));
    if (second === "list")
      return { code: 0, output: left.length === 0 ? "✅ No migrations to apply!" : left.join("\n") };
    if (!this.declines) applied.push(...left);
    return { code: 0, output: "applied" };
  }

  async #upload(args: string[]): Promise<{ code: number; output: string }> {
    if (args.includes("--dry-run")) return { code: 0, output: "" };
    this.uploads++;
    this.codeAheadOfSchema ||= this.#left.length > 0 || this.databases.size < this.bound.length;
    const file = args.find((arg) => arg.startsWith("--secrets-file="))?.slice("--secrets-file=".length);
    const given = file ? (JSON.parse(await readFile(file, "utf8")) as Record<string, string>) : {};
    this.secrets = { ...this.secrets, ...given };
    return { code: 0, output: "Uploaded\n  https://affiliate-program-service.someone.workers.dev\n" };
  }
}

describe("npm run deploy", () => {
  it("makes all of a fresh account: secrets, database, schema, then the Worker", async () => {
    const account = new PlayedAccount();
    account.answers = [TOKEN, ""];
    assert.equal(await account.deploy(), 0);
    assert.deepEqual(
      account.commands.map((command) => command.replace(/--secrets-file=.*/, "--secrets-file=…")),
      [
        "secret list --env=",
        "d1 migrations apply DB --remote --env=",
        "d1 create affiliate-program --env=",
        "d1 migrations apply DB --remote --env=",
        "d1 migrations list DB --remote --env=",
        "deploy --minify --env= --secrets-file=…",
      ],
    );
    assert.deepEqual(account.secrets, { ADMIN_TOKEN: TOKEN, ENCRYPTION_KEY: KEY });
    assert.ok(!account.codeAheadOfSchema);
    // A key that was made is shown once, with what to do with it; one that was given is not.
    assert.ok(account.printed.some((line) => line.startsWith(`ENCRYPTION_KEY=${KEY}\nKeep it`)));
    assert.ok(!account.printed.join().includes(TOKEN));
    assert.match(account.printed.at(-1) ?? "", /someone\.workers\.dev\/healthz answers/);
    const file = account.commands.at(-1)?.split("--secrets-file=")[1] ?? "";
    assert.ok(file !== "" && !existsSync(file), "the file with the secrets is gone");
  });

  it("asks for the secrets once: a later deploy asks nothing and makes nothing", async () => {
    const account = new PlayedAccount();
    assert.equal(await account.deploy(), 0);
    assert.equal(account.asked.length, 2);
    assert.equal(await account.deploy(), 0);
    assert.equal(account.asked.length, 2);
    assert.deepEqual(account.commands, [
      "secret list --env=",
      "d1 migrations apply DB --remote --env=",
      "d1 migrations list DB --remote --env=",
      "deploy --minify --env=",
    ]);
  });

  it("never uploads code ahead of its schema, whichever command fails; run again, it completes (DEP-4)", async () => {
    for (const fresh of [true, false]) {
      for (let failAt = 0; failAt < 8; failAt++) {
        const account = new PlayedAccount();
        account.bound = [...account.bound, { binding: "DB_1", name: "affiliate-program-1" }];
        if (!fresh) {
          account.secrets = { ADMIN_TOKEN: "a", ENCRYPTION_KEY: KEY };
          for (const { name } of account.bound) account.databases.set(name, MIGRATIONS.slice(0, 1));
        }
        account.failAt = failAt;
        const code = await account.deploy();
        assert.equal(code === 0, failAt >= account.commands.length, `${fresh} ${failAt} ${code}`);
        account.failAt = -1;
        assert.equal(await account.deploy(), 0);
        assert.ok(!account.codeAheadOfSchema);
        assert.equal(account.databases.size, 2);
      }
    }
  });

  it("does not take wrangler's exit code for it: migrations that were declined stop the deploy", async () => {
    const account = new PlayedAccount();
    account.declines = true;
    assert.equal(await account.deploy(), 1);
    assert.equal(account.uploads, 0);
    assert.ok(account.printed.some((line) => line.includes("0001_more.sql")));
  });

  it("makes nothing where a secret is missing and nobody can be asked", async () => {
    const account = new PlayedAccount();
    account.answers = null;
    assert.equal(await account.deploy(), 1);
    assert.deepEqual(account.commands, ["secret list --env="]);
    assert.match(account.printed.join(), /ADMIN_TOKEN and ENCRYPTION_KEY.*--secrets-file/);
  });

  it("takes the secrets from a file, and refuses one that lacks a secret before anything is made", async () => {
    const folder = await mkdtemp(join(tmpdir(), "affiliate-file-"));
    try {
      const path = join(folder, "secrets.json");
      const account = new PlayedAccount();
      account.answers = null;
      await writeFile(path, JSON.stringify({ ADMIN_TOKEN: TOKEN }));
      assert.equal(await account.deploy(`--secrets-file=${path}`), 1);
      assert.match(account.printed.join(), /ENCRYPTION_KEY must be in/);
      assert.equal(account.commands.length, 1);
      await writeFile(path, JSON.stringify({ ADMIN_TOKEN: TOKEN, ENCRYPTION_KEY: KEY }));
      assert.equal(await account.deploy(`--secrets-file=${path}`), 0);
      assert.deepEqual(account.secrets, { ADMIN_TOKEN: TOKEN, ENCRYPTION_KEY: KEY });
      // Also where the Worker has both by now: a file replaces what is set.
      for (const unfit of [{ ADMIN_TOKEN: TOKEN.slice(1) }, { ENCRYPTION_KEY: KEY.slice(4) }, { ADMIN_TOKEN: "" }]) {
        await writeFile(path, JSON.stringify(unfit));
        assert.equal(await account.deploy(`--secrets-file=${path}`), 1);
        assert.equal(account.uploads, 1);
        const [name] = Object.keys(unfit);
        assert.ok(account.printed.at(-1)?.startsWith(`${name} in ${path}: That is`), account.printed.at(-1));
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("asks again for a token of less than 32 characters and for a key that is none", async () => {
    const account = new PlayedAccount();
    account.answers = ["admin", TOKEN.slice(1), ` ${TOKEN} `, "secret", KEY.slice(1), ` ${KEY} `];
    assert.equal(await account.deploy(), 0);
    assert.equal(account.secrets?.["ADMIN_TOKEN"], TOKEN);
    assert.equal(account.printed.filter((line) => line === "That is less than 32 characters.").length, 2);
    assert.equal(account.secrets?.["ENCRYPTION_KEY"], KEY);
    assert.equal(account.printed.filter((line) => line === "That is not base64 of 32 bytes.").length, 2);
  });

  it("makes nothing where PUBLIC_URL is missing or no https address, and says where to set it", async () => {
    for (const given of ["", "affiliates.example.com", "http://affiliates.example.com", "https://example.com/path"]) {
      const account = new PlayedAccount();
      account.publicUrl = given;
      account.answers = null;
      assert.equal(await account.deploy("--env=staging"), 1, given);
      assert.deepEqual(account.commands, []);
      assert.match(account.printed.join(), /PUBLIC_URL is missing: .* wrangler\.toml, below \[env\.staging\.vars\]/);
    }
    const account = new PlayedAccount();
    account.publicUrl = "";
    assert.equal(await account.deploy("--var", "PUBLIC_URL:http://wrong.example.com"), 1);
    assert.equal(await account.deploy("--var", "PUBLIC_URL:https://right.example.com"), 0);
    assert.match(account.commands.at(-1) ?? "", / --var PUBLIC_URL:https:\/\/right\.example\.com/);
  });

  it("asks for PUBLIC_URL at the terminal until it is one, deploys with it and shows how to keep it", async () => {
    const account = new PlayedAccount();
    account.publicUrl = "";
    account.answers = ["", "https://example.com/path", "affiliates.example.com", "my token", ""];
    assert.equal(await account.deploy(), 0);
    assert.equal(account.asked.filter((question) => question.startsWith("PUBLIC_URL")).length, 3);
    assert.match(
      account.commands.at(-1) ?? "",
      /^deploy --minify --env= --var PUBLIC_URL:https:\/\/affiliates\.example\.com /,
    );
    assert.ok(
      account.printed.some((line) => line.endsWith('below [vars]:\nPUBLIC_URL = "https://affiliates.example.com"')),
    );
  });

  it("acts on one environment only, in every command", async () => {
    for (const args of [["--env=staging"], ["--env", "staging"], ["-e", "staging"]]) {
      const account = new PlayedAccount();
      assert.equal(await account.deploy(...args), 0);
      assert.ok(account.commands.every((command) => command.includes("--env=staging")));
      assert.deepEqual([...account.databases.keys()], ["affiliate-program-staging"]);
    }
  });

  it("shows what wrangler says where it cannot even list the secrets, and goes no further", async () => {
    const account = new PlayedAccount();
    account.failAt = 0;
    assert.equal(await account.deploy(), 1);
    assert.deepEqual([account.commands.length, account.printed], [1, ["the network is gone"]]);
  });

  it("names the way back where the service does not answer after the upload", async () => {
    const account = new PlayedAccount();
    account.healthy = false;
    assert.equal(await account.deploy("--env=staging"), 1);
    assert.match(account.printed.at(-1) ?? "", /npx wrangler rollback --env=staging/);
  });

  it("with --dry-run builds and does nothing else, whatever else is given", async () => {
    const account = new PlayedAccount();
    assert.equal(await account.deploy("--dry-run", "--outdir", "x", "--env=staging"), 0);
    assert.deepEqual(account.commands, ["deploy --minify --env=staging --dry-run --outdir x"]);
  });
});

/**
 * `npm run deploy`: asks for `PUBLIC_URL` and the secrets that are missing, makes the databases where there are none, applies the
 * migrations, and then deploys the Worker, so that code is never ahead of its schema. Queues and the Durable Object are
 * made by wrangler itself. `--env=staging` chooses the other environment; arguments go on to `wrangler deploy`; with
 * --dry-run nothing leaves this machine.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseEnv } from "node:util";
import { deploy } from "./deployment.ts";
import { randomSecrets } from "./dev-vars.ts";
import { untilHealthy } from "./local-service.ts";
import { quietWrangler } from "./quiet.ts";
import { ROOT } from "./root.ts";
import { runWrangler } from "./run-wrangler.ts";

const HEALTHY_WITHIN_SECONDS = 60;

process.exitCode = await deploy(
  {
    wrangler: runWrangler,
    declared: async (env) => {
      quietWrangler();
      const { unstable_readConfig: readConfig } = await import("wrangler");
      const { d1_databases, vars } = readConfig({ config: join(ROOT, "wrangler.toml"), env });
      const bound = d1_databases as { binding: string; database_name?: string }[];
      return {
        databases: bound.map(({ binding, database_name: name = "" }) => ({ binding, name })),
        public_url: String(vars["PUBLIC_URL"] ?? ""),
      };
    },
    ask: process.stdin.isTTY ? ask : null,
    print: (line) => console.log(line),
    secretsIn: async (path) => {
      const text = await readFile(path, "utf8");
      const isJson = text.trimStart().startsWith("{");
      return isJson ? (JSON.parse(text) as Record<string, string>) : (parseEnv(text) as Record<string, string>);
    },
    withSecretsFile: async (secrets, use) => {
      const folder = await mkdtemp(join(tmpdir(), "affiliate-secrets-"));
      try {
        const path = join(folder, "secrets.json");
        await writeFile(path, JSON.stringify(secrets), { mode: 0o600 });
        return await use(path);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    randomSecret: (name) => randomSecrets()[name],
    isHealthy: (url) =>
      untilHealthy(url, HEALTHY_WITHIN_SECONDS).then(
        () => true,
        () => false,
      ),
  },
  process.argv.slice(2),
);

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

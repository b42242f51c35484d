/** The steps of `npm run deploy`, over a wrangler and a terminal that a test can play. */

/** What the steps need of the machine. */
export interface DeployTools {
  /** Runs a wrangler command as in a terminal, or without showing it. */
  wrangler: (args: string[], shown: "shown" | "quiet") => Promise<{ code: number; output: string }>;
  /** What an environment of wrangler.toml declares. */
  declared: (environment: string) => Promise<{ databases: BoundDatabase[]; public_url: string }>;
  /** Asks the person at the terminal; null where there is none. */
  ask: ((question: string) => Promise<string>) | null;
  print: (line: string) => void;
  /** The secrets in a file that was given, by name. @throws where it cannot be read. */
  secretsIn: (path: string) => Promise<Record<string, string>>;
  /** Puts secrets into a file that only this user reads, while `use` runs. */
  withSecretsFile: <T>(secrets: Record<string, string>, use: (path: string) => Promise<T>) => Promise<T>;
  /** A new value for a secret that nobody has given. */
  randomSecret: (name: RequiredSecret) => string;
  /** Whether `GET /healthz` answers 200 soon. */
  isHealthy: (url: string) => Promise<boolean>;
}

export interface BoundDatabase {
  binding: string;
  name: string;
}

const REQUIRED_SECRETS = ["ADMIN_TOKEN", "ENCRYPTION_KEY"] as const;
export type RequiredSecret = (typeof REQUIRED_SECRETS)[number];

/**
 * Deploys an environment (`--env=<name>`; production where none is named) and returns the exit code. Nothing is made or
 * changed before `PUBLIC_URL` and the secrets are known. Every database is made where it is missing and migrated, and wrangler has
 * confirmed that no migration is left, before the Worker is uploaded: code is never ahead of its schema. Each step that
 * fails ends it there; all of them may be run again. What is not known here goes on to `wrangler deploy`.
 */
export async function deploy(tools: DeployTools, args: readonly string[]): Promise<number> {
  const { environment, rest } = readEnvironment(args);
  const inEnvironment = `--env=${environment}`;
  const upload = ["deploy", "--minify", inEnvironment, ...rest];
  if (rest.includes("--dry-run")) return (await tools.wrangler(upload, "shown")).code;

  const { databases, public_url } = await tools.declared(environment);
  const base = isWebAddress(public_url) ? [] : await missingPublicUrl(tools, environment, rest);
  if (base === null) return 1;
  upload.push(...base);
  const secrets = await missingSecrets(tools, inEnvironment, rest);
  if (secrets === null) return 1;
  for (const database of databases) {
    if (!(await migrate(tools, inEnvironment, database))) {
      tools.print(
        "Nothing was deployed. Migrations only add, so the Worker that runs now goes on. Then run this again.",
      );
      return 1;
    }
  }
  const { code, output } =
    Object.keys(secrets).length === 0
      ? await tools.wrangler(upload, "shown")
      : await tools.withSecretsFile(secrets, (path) => tools.wrangler([...upload, `--secrets-file=${path}`], "shown"));
  if (code !== 0) {
    tools.print("The databases are migrated, the upload failed: what ran before runs on. Run this again.");
    return code;
  }
  return confirmHealth(tools, inEnvironment, output);
}

/** `--env staging`, `--env=staging` or `-e staging`; the empty name is the top level of wrangler.toml. */
function readEnvironment(args: readonly string[]): { environment: string; rest: string[] } {
  const rest = [...args];
  const at = rest.findIndex((arg) => arg === "--env" || arg === "-e");
  if (at >= 0) {
    const [, environment = ""] = rest.splice(at, 2);
    return { environment, rest };
  }
  const joined = rest.findIndex((arg) => arg.startsWith("--env="));
  if (joined < 0) return { environment: "", rest };
  const [arg = ""] = rest.splice(joined, 1);
  return { environment: arg.slice("--env=".length), rest };
}

/** An https origin, as `lib/public-url.ts` takes it. */
function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "https:" && url.href === `${url.origin}/`;
}

/** Arguments that give the Worker its `PUBLIC_URL`: asked for where wrangler.toml has none. Null must end the deploy. */
async function missingPublicUrl(
  tools: DeployTools,
  environment: string,
  args: readonly string[],
): Promise<string[] | null> {
  const given = args.find((arg) => arg.replace(/^--var=/, "").startsWith("PUBLIC_URL:"));
  if (given !== undefined && isWebAddress(given.slice(given.indexOf("PUBLIC_URL:") + "PUBLIC_URL:".length))) return [];
  const table = environment === "" ? "[vars]" : `[env.${environment}.vars]`;
  if (!tools.ask || given !== undefined) {
    tools.print(
      `PUBLIC_URL is missing: the https address under which people reach the service, without a path. Set it in wrangler.toml, below ${table}.`,
    );
    return null;
  }
  for (;;) {
    const answer = (await tools.ask(PUBLIC_URL_QUESTION)).trim();
    const address = answer.includes("://") ? answer : `https://${answer}`;
    if (!isWebAddress(address)) {
      tools.print("That is not an https address without a path.");
      continue;
    }
    const { origin } = new URL(address);
    tools.print(
      `So that the next deploy has it too, put this into wrangler.toml, below ${table}:\nPUBLIC_URL = "${origin}"`,
    );
    return ["--var", `PUBLIC_URL:${origin}`];
  }
}

const PUBLIC_URL_QUESTION =
  "PUBLIC_URL, the https address under which people reach the service (a domain of yours, or the workers.dev name): ";

/** What the deployed Worker has no value for and nobody gave: asked for, once. Null where that must end the deploy. */
async function missingSecrets(
  tools: DeployTools,
  inEnvironment: string,
  args: readonly string[],
): Promise<Partial<Record<RequiredSecret, string>> | null> {
  const set = await secretsSet(tools, inEnvironment);
  if (set === null) return null;
  const path = fileOf(args);
  const given = path === null ? {} : await tools.secretsIn(path);
  for (const name of REQUIRED_SECRETS) {
    const problem = given[name] === undefined ? null : whyUnfit(name, given[name]);
    if (problem === null) continue;
    tools.print(`${name} in ${path}: ${problem}`);
    return null;
  }
  const missing = REQUIRED_SECRETS.filter((name) => !set.includes(name) && given[name] === undefined);
  if (missing.length === 0) return {};
  if (path !== null) {
    tools.print(`${missing.join(" and ")} must be in ${path} too: the deployed Worker does not have it.`);
    return null;
  }
  if (!tools.ask) {
    tools.print(`The Worker needs ${missing.join(" and ")}. Run this in a terminal, or give --secrets-file=<file>.`);
    return null;
  }
  const secrets: Partial<Record<RequiredSecret, string>> = {};
  for (const name of missing) secrets[name] = await askFor(tools, tools.ask, name);
  return secrets;
}

/** The names of the secrets that are set; none for a Worker that is not there yet, null where it cannot be known. */
async function secretsSet(tools: DeployTools, inEnvironment: string): Promise<string[] | null> {
  const { code, output } = await tools.wrangler(["secret", "list", inEnvironment], "quiet");
  if (code !== 0) {
    if (/Worker ".*" .*not found/.test(output)) return [];
    tools.print(output.trim());
    return null;
  }
  const list = JSON.parse(/^\[.*\]/ms.exec(output)?.[0] ?? "[]") as { name: string }[];
  return list.map(({ name }) => name);
}

function fileOf(args: readonly string[]): string | null {
  const at = args.indexOf("--secrets-file");
  if (at >= 0) return args[at + 1] ?? null;
  return args.find((arg) => arg.startsWith("--secrets-file="))?.slice("--secrets-file=".length) ?? null;
}

const QUESTION: Record<RequiredSecret, string> = {
  ADMIN_TOKEN: "ADMIN_TOKEN, which opens /admin, at least 32 characters (Enter makes a new one): ",
  ENCRYPTION_KEY:
    "ENCRYPTION_KEY, base64 of 32 bytes; where the database was in use, its old one (Enter makes a new one): ",
};

async function askFor(
  tools: DeployTools,
  ask: (question: string) => Promise<string>,
  name: RequiredSecret,
): Promise<string> {
  for (;;) {
    const given = (await ask(QUESTION[name])).trim();
    if (given === "") {
      const made = tools.randomSecret(name);
      tools.print(`${name}=${made}\nKeep it where you keep passwords: it is not shown again.`);
      return made;
    }
    const problem = whyUnfit(name, given);
    if (problem === null) return given;
    tools.print(problem);
  }
}

/** The Worker takes a shorter one for none (`http/authenticate.ts`). */
const MIN_TOKEN_LENGTH = 32;

function whyUnfit(name: RequiredSecret, value: string): string | null {
  if (name === "ENCRYPTION_KEY") return isKey(value) ? null : "That is not base64 of 32 bytes.";
  return value.length >= MIN_TOKEN_LENGTH ? null : `That is less than ${MIN_TOKEN_LENGTH} characters.`;
}

function isKey(text: string): boolean {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === 32 && bytes.toString("base64") === text;
}

/** Makes the database where it is missing and applies its migrations. True when wrangler says that none is left. */
async function migrate(tools: DeployTools, inEnvironment: string, { binding, name }: BoundDatabase): Promise<boolean> {
  const apply = () => tools.wrangler(["d1", "migrations", "apply", binding, "--remote", inEnvironment], "shown");
  let applied = await apply();
  if (applied.code !== 0 && applied.output.includes(`wrangler d1 create ${name}'`)) {
    if ((await tools.wrangler(["d1", "create", name, inEnvironment], "shown")).code !== 0) return false;
    applied = await apply();
  }
  if (applied.code !== 0) return false;
  // A migration that is declined, or that fails without a message, ends wrangler with 0 anyway.
  const listed = await tools.wrangler(["d1", "migrations", "list", binding, "--remote", inEnvironment], "quiet");
  if (listed.code === 0 && listed.output.includes("No migrations to apply")) return true;
  tools.print(`${binding} still has migrations to apply:\n${listed.output.trim()}`);
  return false;
}

/** A Worker that does not answer is reported together with the way back. */
async function confirmHealth(tools: DeployTools, inEnvironment: string, output: string): Promise<number> {
  const url = /https:\/\/[\w.-]+\.workers\.dev/.exec(output)?.[0];
  if (url === undefined) return 0;
  if (await tools.isHealthy(url)) {
    tools.print(`${url}/healthz answers: the service runs.`);
    return 0;
  }
  tools.print(`${url}/healthz does not answer 200. Back to the version before: npx wrangler rollback ${inEnvironment}`);
  return 1;
}

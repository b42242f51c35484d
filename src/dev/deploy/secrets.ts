import { valuesOf } from "./arguments.ts";
import { NotReady, REQUIRED_SECRETS, scriptPath, type Deployment, type RequiredSecret } from "./environment.ts";

export type Secrets = Partial<Record<RequiredSecret, string>>;

/** Returns the names of the stored secrets. Empty if the Worker does not exist yet. @throws PlatformRefusal */
export async function secretsSet(deployment: Deployment): Promise<string[]> {
  const list = await deployment.api.find<{ name: string }[]>(`${scriptPath(deployment)}/secrets`);
  return (list ?? []).map(({ name }) => name);
}

/** Requests secrets that neither the Worker nor a file has; a file's values are checked too. @throws NotReady */
export async function missingSecrets(deployment: Deployment, set: readonly string[]): Promise<Secrets> {
  const { tools, selected } = deployment;
  const path = valuesOf(selected.rest, ["--secrets-file"])[0] ?? null;
  const given = path === null ? {} : await tools.secretsIn(path).catch(() => null);
  if (given === null) throw new NotReady(`${path} cannot be read as secrets: lines NAME=value, or a JSON object.`);
  for (const name of REQUIRED_SECRETS) {
    const problem = given[name] === undefined ? null : whyUnfit(name, given[name]);
    if (problem !== null) throw new NotReady(`${name} in ${path}: ${problem}`);
  }
  const missing = REQUIRED_SECRETS.filter((name) => !set.includes(name) && given[name] === undefined);
  if (missing.length === 0) return {};
  if (path !== null) {
    throw new NotReady(`${missing.join(" and ")} must be in ${path} too: the deployed Worker does not have it.`);
  }
  if (!tools.ask) {
    throw new NotReady(
      `The Worker needs ${missing.join(" and ")}. Run this in a terminal, or give --secrets-file=<file>.`,
    );
  }
  const secrets: Secrets = {};
  for (const name of missing) secrets[name] = await askFor(deployment, tools.ask, name);
  return secrets;
}

const QUESTION: Record<RequiredSecret, string> = {
  ADMIN_TOKEN: "ADMIN_TOKEN, which opens /admin, at least 32 characters (Enter makes a new one): ",
  ENCRYPTION_KEY:
    "ENCRYPTION_KEY, base64 of 32 bytes; where the database was in use, its old one (Enter makes a new one): ",
};

async function askFor(
  { tools }: Deployment,
  ask: (question: string) => Promise<string>,
  name: RequiredSecret,
): Promise<string> {
  for (;;) {
    const given = (await ask(QUESTION[name])).trim();
    if (given === "") {
      const made = tools.randomSecret(name);
      tools.print(`${name}=${made}\nKeep it where you keep passwords: it is set with the upload, and not shown again.`);
      return made;
    }
    const problem = whyUnfit(name, given);
    if (problem === null) return given;
    tools.print(problem);
  }
}

/** The shortest accepted token: the Worker ignores a shorter one (`http/authenticate.ts`). */
const MIN_TOKEN_LENGTH = 32;

function whyUnfit(name: RequiredSecret, value: string): string | null {
  if (name === "ENCRYPTION_KEY") return isKey(value) ? null : "That is not base64 of 32 bytes.";
  return value.length >= MIN_TOKEN_LENGTH ? null : `That is less than ${MIN_TOKEN_LENGTH} characters.`;
}

function isKey(text: string): boolean {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === 32 && bytes.toString("base64") === text;
}

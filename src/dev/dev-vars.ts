import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { ROOT } from "./root.ts";

const DEV_VARS = join(ROOT, ".dev.vars");

/** Makes random secrets for a local service, in the forms that a deployment needs. */
export function randomSecrets() {
  return {
    ADMIN_TOKEN: randomBytes(32).toString("base64url"),
    ENCRYPTION_KEY: randomBytes(32).toString("base64"),
    ENVIRONMENT: "development",
  };
}

/** Writes `.dev.vars` with random secrets. An existing file stays unchanged. */
export async function makeDevVars(path: string = DEV_VARS): Promise<void> {
  const lines = Object.entries(randomSecrets()).map(([name, value]) => `${name}="${value}"`);
  const text = `# Secrets of the local service, made by npm start. Keep them out of version control.\n${lines.join("\n")}\n`;
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Returns the variables of `.dev.vars`, or an empty object if the file is missing. */
export async function readDevVars(path: string = DEV_VARS): Promise<NodeJS.Dict<string>> {
  try {
    return parseEnv(await readFile(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}

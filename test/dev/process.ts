import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export interface Running {
  child: ChildProcess;
  /** All that it printed so far. */
  printed: { out: string; err: string };
  /** Its exit code, once it has ended. */
  ended: Promise<number | null>;
  /** Waits until it has printed this on stdout. @throws when it ends before. */
  until: (pattern: RegExp) => Promise<RegExpExecArray>;
}

/** Runs a script of the project with Node, without the environment that would point it to another service. */
export function runScript(script: string, env: Record<string, string>, args: string[] = []): Running {
  const { BASE_URL: _1, API_KEY: _2, ADMIN_TOKEN: _3, ...inherited } = process.env;
  const child = spawn(process.execPath, [script, ...args], {
    cwd: ROOT,
    env: { ...inherited, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = { out: "", err: "" };
  child.stdout.on("data", (data: Buffer) => (printed.out += data.toString()));
  child.stderr.on("data", (data: Buffer) => (printed.err += data.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const until = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(printed.out);
        if (found) resolve(found);
      };
      child.stdout.on("data", look);
      look();
      void ended.then((code) => reject(new Error(`ended with ${code}:\n${printed.out}\n${printed.err}`)));
    });
  return { child, printed, ended, until };
}

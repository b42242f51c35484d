import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WRANGLER } from "../local-service.ts";
import { quietWrangler } from "../quiet.ts";
import { ROOT } from "../root.ts";

/** How a command runs: with the person's terminal, so that wrangler can ask; shown as it prints; or without showing it. */
export type Shown = "terminal" | "shown" | "quiet";

export interface WranglerRun {
  code: number;
  /** What it printed, except at the terminal; and, where it failed, its error with the API's codes. */
  output: string;
}

/** Runs a wrangler command, with further variables in its environment. */
export async function runWrangler(args: string[], shown: Shown, env: Record<string, string>): Promise<WranglerRun> {
  quietWrangler();
  const folder = await mkdtemp(join(tmpdir(), "affiliate-wrangler-"));
  const report = join(folder, "report.ndjson");
  try {
    const child = spawn(process.execPath, [WRANGLER, ...args], {
      cwd: ROOT,
      stdio: shown === "terminal" ? "inherit" : ["inherit", "pipe", "pipe"],
      env: { ...process.env, ...env, WRANGLER_OUTPUT_FILE_PATH: report },
    });
    let output = "";
    for (const [stream, terminal] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ] as const) {
      stream?.on("data", (data: Buffer) => {
        output += data.toString();
        if (shown === "shown") terminal.write(data);
      });
    }
    const code = await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (exit) => resolve(exit ?? 1));
    });
    return { code, output: `${output}\n${failureIn(await readFile(report, "utf8").catch(() => ""))}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The error that a command ended with, as wrangler reports it for programs. */
function failureIn(report: string): string {
  return report
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { type: string; code?: number; message?: string })
    .filter(({ type }) => type === "command-failed")
    .map(({ code, message }) => `${message}${code === undefined ? "" : ` [code: ${code}]`}`)
    .join("\n");
}

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quietWrangler } from "../quiet.ts";
import { ROOT } from "../root.ts";

/** The script that wrangler's command starts. The command itself exits with 0 if this script is killed. */
const CLI = join(ROOT, "node_modules", "wrangler", "wrangler-dist", "cli.js");

/** A command's output: the person's terminal, so that wrangler can ask; printed as it arrives; or hidden. */
export type Shown = "terminal" | "shown" | "quiet";

export interface WranglerRun {
  /** The exit code, which is not 0 if the command failed or was ended. */
  code: number;
  /** The output, except at the terminal; after a failure also the error with the API's codes. */
  output: string;
  version: string | null;
}

/** Runs wrangler with further environment variables. An abort of `stopped` ends it. */
export async function runWrangler(
  args: string[],
  shown: Shown,
  env: Record<string, string>,
  stopped: AbortSignal,
): Promise<WranglerRun> {
  quietWrangler();
  const folder = await mkdtemp(join(tmpdir(), "affiliate-wrangler-"));
  const report = join(folder, "report.ndjson");
  try {
    const child = spawn(process.execPath, ["--no-warnings", CLI, ...args], {
      cwd: ROOT,
      stdio: shown === "terminal" ? "inherit" : ["inherit", "pipe", "pipe"],
      env: { ...process.env, ...env, WRANGLER_OUTPUT_FILE_PATH: report },
    });
    const end = () => void child.kill("SIGTERM");
    stopped.addEventListener("abort", end, { once: true });
    if (stopped.aborted) end();
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
    stopped.removeEventListener("abort", end);
    const entries = entriesIn(await readFile(report, "utf8").catch(() => ""));
    const version = entries.find(({ type }) => type === "deploy")?.version_id ?? null;
    return { code, output: `${output}\n${failureIn(entries)}`, version };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reads wrangler's machine-readable report, one line for each entry. A kill may have cut off the last line. */
interface Entry {
  type: string;
  /** Present after a failure. */
  code?: number;
  message?: string;
  /** Present after a deploy. */
  version_id?: string | null;
}

function entriesIn(report: string): Entry[] {
  return report
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as Entry);
}

/** Describes the error of a command. */
function failureIn(entries: readonly Entry[]): string {
  return entries
    .filter(({ type }) => type === "command-failed")
    .map(({ code, message }) => `${message}${code === undefined ? "" : ` [code: ${code}]`}`)
    .join("\n");
}

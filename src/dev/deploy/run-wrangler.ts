import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quietWrangler } from "../quiet.ts";
import { ROOT } from "../root.ts";

/** What wrangler's own command starts: that one ends with 0 where this was killed. */
const CLI = join(ROOT, "node_modules", "wrangler", "wrangler-dist", "cli.js");

/** How a command runs: with the person's terminal, so that wrangler can ask; shown as it prints; or without showing it. */
export type Shown = "terminal" | "shown" | "quiet";

export interface WranglerRun {
  /** Not 0 where it failed or was ended. */
  code: number;
  /** What it printed, except at the terminal; and, where it failed, its error with the API's codes. */
  output: string;
  /** The version that a deploy made, and that runs; null where it ended without one. */
  version: string | null;
}

/**
 * Runs a wrangler command, with further variables in its environment. Once `stopped` is aborted it is ended.
 */
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

/** What wrangler reports for programs, a line for each entry; it may have been killed within the last. */
interface Entry {
  type: string;
  /** Of a failure. */
  code?: number;
  message?: string;
  /** Of a deploy. */
  version_id?: string | null;
}

function entriesIn(report: string): Entry[] {
  return report
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as Entry);
}

/** The error that a command ended with. */
function failureIn(entries: readonly Entry[]): string {
  return entries
    .filter(({ type }) => type === "command-failed")
    .map(({ code, message }) => `${message}${code === undefined ? "" : ` [code: ${code}]`}`)
    .join("\n");
}

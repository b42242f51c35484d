/** The Worker's code in this process: `src/index.ts` as the platform calls it. */
import { join } from "node:path";
import { build } from "esbuild";
import { platform, writeAssetNames } from "../build-site.ts";
import { ROOT } from "../root.ts";

export interface Worker {
  fetch(request: Request, env: object, execution: object): Promise<Response>;
  scheduled(event: { cron: string }, env: object, execution: object): Promise<void>;
  queue(batch: object, env: object, execution: object): Promise<void>;
  ClickCounter: new (state: object, env: object) => ClickCounter;
}

/** The class of the click objects, as the platform calls it. */
export interface ClickCounter {
  commit(batch: object): Promise<unknown>;
  take(batch: object): Promise<unknown>;
  knows(ids: readonly string[]): Promise<unknown>;
  waiting(): Promise<unknown>;
  flushed(done: object): Promise<unknown>;
  look(): Promise<unknown>;
  catchUp(cursor: number | null): Promise<unknown>;
  alarm(): Promise<void>;
  /** From which load on a region is split. */
  splitLoad?: { commits: number; within: number; ids: number };
}

/** Returns the text of one module with the Worker and its libraries. */
export async function compileWorker(): Promise<string> {
  await writeAssetNames();
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, "src", "index.ts")],
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    external: ["node:*"],
    target: "es2024",
    loader: { ".txt": "text", ".css": "text" },
    plugins: [platform],
    logLevel: "error",
  });
  return outputFiles[0]!.text;
}

/** Evaluates the text of `compileWorker`. */
export async function loadWorker(text: string): Promise<Worker> {
  const url = `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;
  const { default: handlers, ClickCounter } = (await import(url)) as {
    default: Omit<Worker, "ClickCounter">;
    ClickCounter: Worker["ClickCounter"];
  };
  return { ...handlers, ClickCounter };
}

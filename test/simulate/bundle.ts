/** The service's own code for a run in this process, each time as a new isolate; with planted mistakes where asked. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Script } from "node:vm";
import { build, type Plugin } from "esbuild";
import { join, relative } from "node:path";
import { ROOT } from "../../src/dev/root.ts";

/** A text of a source file that is put in place of another; it must be found. */
export interface Patch {
  file: string;
  find: string;
  put: string;
}

/** `src/index.ts` as the platform calls it. */
export interface Service {
  fetch(request: Request, env: object, execution: object): Promise<Response>;
  scheduled(event: { cron: string }, env: object, execution: object): Promise<void>;
  queue(batch: object, env: object, execution: object): Promise<void>;
  ClickCounter: new (state: object, env: object) => ClickCounter;
}

/** The class of the click objects, as the platform calls it. */
export interface ClickCounter {
  commit(batch: object): Promise<unknown>;
  ensureAlarm(): Promise<unknown>;
  alarm(): Promise<void>;
}

export async function bundleService(patches: readonly Patch[] = []): Promise<() => Service> {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, "src", "index.ts")],
    bundle: true,
    write: false,
    format: "cjs",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "import"],
    target: "es2024",
    jsx: "automatic",
    jsxImportSource: "hono/jsx",
    loader: { ".txt": "text", ".css": "text" },
    plugins: [platform, patched(patches)],
    logLevel: "error",
  });
  const script = new Script(`(function (module, exports) {${outputFiles[0]!.text}\n})`, { filename: "service.js" });
  return () => {
    const module = { exports: {} as Pick<Service, "ClickCounter"> & { default: Omit<Service, "ClickCounter"> } };
    const load = script.runInThisContext() as (module: object, exports: object) => void;
    load(module, module.exports);
    const { default: handlers, ClickCounter } = module.exports;
    return { ...handlers, ClickCounter };
  };
}

const platform: Plugin = {
  name: "platform",
  setup(builder) {
    builder.onResolve({ filter: /^cloudflare:workers$/ }, ({ path }) => ({ path, namespace: "platform" }));
    builder.onLoad({ filter: /.*/, namespace: "platform" }, () => ({
      contents: "export class DurableObject { constructor(ctx, env) { this.ctx = ctx; this.env = env; } }",
    }));
  },
};

/** @throws where a patch's text is not in its file: the code has moved on, and the plant must follow. */
function patched(patches: readonly Patch[]): Plugin {
  for (const { file, find } of patches) {
    const found = readFileSync(join(ROOT, file), "utf8").split(find).length - 1;
    if (found !== 1)
      throw new Error(`a planted mistake is to replace one text of ${file}, which has it ${found} times`);
  }
  return {
    name: "patched",
    setup(builder) {
      if (patches.length === 0) return;
      builder.onLoad({ filter: /\/src\/.*\.tsx?$/ }, async ({ path }) => {
        const own = patches.filter(({ file }) => file === relative(ROOT, path).replaceAll("\\", "/"));
        if (own.length === 0) return null;
        let contents = await readFile(path, "utf8");
        for (const { find, put } of own) contents = contents.replace(find, () => put);
        return { contents, loader: path.endsWith("x") ? "tsx" : "ts" };
      });
    },
  };
}

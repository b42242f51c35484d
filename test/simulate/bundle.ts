/** The service's own code for a run in this process, each time as a new isolate, with planted mistakes if requested. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { copyFile, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";
import { build, type Plugin } from "esbuild";
import { ASSET_NAMES, platform, writeAssetNames } from "../../src/dev/build-site.ts";
import { ROOT } from "../../src/dev/root.ts";
import type { Worker } from "../../src/dev/stand-in/worker.ts";

// Code is evaluated again with every isolate, but the engine keeps its optimizations.
setFlagsFromString("--no-lazy-feedback-allocation");
setFlagsFromString("--always-sparkplug");

/** A text of a source file that is put in place of another; it must be found. */
export interface Patch {
  file: string;
  find: string;
  put: string;
}

/** An isolate of the service. */
export interface Service extends Worker {
  /** Drops all state of its modules: from now on it is a new isolate. */
  forget(): void;
}

/** Makes a new isolate of a version, and of the previous version if that runs too. */
export interface Versions {
  now: () => Service;
  before: (() => Service) | null;
}

/**
 * Bundles the service as it is in `root`. Libraries hold no state of a request: all isolates have them as Node has
 * evaluated them once, so that only the service's own modules are evaluated again.
 */
export async function bundleService(patches: readonly Patch[] = [], root = ROOT): Promise<() => Service> {
  const modules = new Map<string, unknown>();
  await writeAssetNames();
  const { outputFiles } = await build({
    entryPoints: [join(root, "src", "index.ts")],
    bundle: true,
    write: false,
    format: "cjs",
    platform: "neutral",
    target: "es2024",
    loader: { ".txt": "text", ".css": "text" },
    plugins: [platform, forgetful(patches), shared(modules)],
    logLevel: "error",
  });
  const script = new Script(`(function (module, modules, forgotten) {${outputFiles[0]!.text}\n})`, {
    filename: "service.js",
  });
  // One function for all isolates, so that the engine keeps its optimizations.
  const load = script.runInThisContext() as Load;
  return () => {
    const module: Loaded = { exports: {} as Loaded["exports"] };
    const forgotten: (() => void)[] = [];
    load(module, modules, forgotten);
    const { default: handlers, ClickCounter } = module.exports;
    const forget = () => {
      for (const one of forgotten) one();
    };
    return { ...handlers, ClickCounter, forget };
  };
}

interface Loaded {
  exports: Pick<Service, "ClickCounter"> & { default: Omit<Service, "ClickCounter" | "forget"> };
}

type Load = (module: Loaded, modules: ReadonlyMap<string, unknown>, forgotten: (() => void)[]) => void;

/** Libraries, and the one module of Node that the platform has for the service, in place of their text. */
function shared(modules: Map<string, unknown>): Plugin {
  return {
    name: "shared",
    setup(builder) {
      builder.onResolve({ filter: /^(@?[a-z]|node:)/ }, ({ path, kind }) =>
        kind === "entry-point" || path.startsWith("cloudflare:") ? null : { path, namespace: "shared" },
      );
      builder.onLoad({ filter: /.*/, namespace: "shared" }, async ({ path }) => {
        const module = (await import(path)) as Record<string, unknown>;
        modules.set(path, module);
        const names = Object.keys(module).map((name) => JSON.stringify(name));
        const contents = `const { ${names.map((name, i) => `${name}: _${i}`).join(", ")} } = modules.get("${path}");
          export { ${names.map((name, i) => `_${i} as ${name}`).join(", ")} };`;
        return { contents };
      });
    },
  };
}

/** The same of a commit, which the repository must have. */
export async function bundleCommit(commit: string): Promise<() => Service> {
  const root = await mkdtemp(join(tmpdir(), "affiliate-before-"));
  try {
    execFileSync("sh", ["-c", `git archive "$0" src package.json tsconfig.json | tar -x -C "$1"`, commit, root], {
      cwd: ROOT,
    });
    await symlink(join(ROOT, "node_modules"), join(root, "node_modules"));
    await writeAssetNames();
    await copyFile(join(ROOT, ASSET_NAMES), join(root, ASSET_NAMES));
    return await bundleService([], root);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/**
 * The service's own modules, with planted mistakes and droppable state. @throws if a patch's text is not in its file:
 * the plant must follow the moved code
 */
function forgetful(patches: readonly Patch[]): Plugin {
  for (const { file, find } of patches) {
    const found = readFileSync(join(ROOT, file), "utf8").split(find).length - 1;
    if (found !== 1)
      throw new Error(`a planted mistake is to replace one text of ${file}, which has it ${found} times`);
  }
  return {
    name: "forgetful",
    setup(builder) {
      builder.onLoad({ filter: /\/src\/.*\.tsx?$/, namespace: "file" }, async ({ path }) => {
        const own = patches.filter(({ file }) => file === relative(ROOT, path).replaceAll("\\", "/"));
        let contents = await readFile(path, "utf8");
        for (const { find, put } of own) contents = contents.replace(find, () => put);
        return { contents: withForgetting(contents), loader: path.endsWith("x") ? "tsx" : "ts" };
      });
    },
  };
}

/** A module's variables, and the collections that are empty when it is evaluated. */
const HELD =
  /^(?:export )?(?:let (?<variable>\w+)\b[^\n]*?(?: = (?<value>[^\n=]*))?|const (?<constant>\w+)\b(?<type>[^\n=]*) = (?<empty>(?:new (?:Map|Set|WeakMap|WeakSet)\b[^\n]*\(\)|remember\b[^\n]*)));$/gm;

function withForgetting(contents: string): string {
  const forgetting: string[] = [];
  const replaced = contents.replace(HELD, (line, ...rest) => {
    const { variable, value, constant, empty } = rest.at(-1) as Record<string, string | undefined>;
    forgetting.push(`forgotten.push(() => { ${variable ?? constant} = ${value ?? empty ?? "undefined"}; });`);
    return line.replace(/^(export )?const /, "$1let ");
  });
  return [replaced, ...forgetting].join("\n");
}

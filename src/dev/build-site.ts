/**
 * `npm run build:site`: makes the static files of a deployment in `build/site`, the folder that wrangler uploads: the
 * tracking script, style and scripts of the pages, the OpenAPI document, the types of the client and the documentation
 * (`src/site`). The files contain the address PUBLIC_URL. `npm start`, `npm test` and `npm run deploy` make their own.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import { ROOT } from "./root.ts";
import { trackerScript } from "./tracker-script.ts";

const SOURCES = join(ROOT, "src");
/** The file names of the style sheet and the scripts. Pages of the Worker and static pages refer to them. */
export const ASSET_NAMES = "src/http/pages/asset-names.txt";

/** Makes the static files' texts by path, `_headers` included, for a deployment's origin or null. */
export type MakeSite = (server: string | null) => Record<string, string>;

/** The module `src/site/site.tsx`, which compiles with the Worker's types. */
interface SiteModule {
  makeSite: (made: { tracker: string; client: string }, server: string | null) => Record<string, string>;
}

/** Writes the names of the pages' files, then compiles `src/site`. */
export async function compileSite(): Promise<MakeSite> {
  const [tracker, client] = await Promise.all([
    trackerScript(),
    readFile(join(SOURCES, "client", "index.d.ts"), "utf8"),
    writeAssetNames(),
  ]);
  const { outputFiles } = await build({
    entryPoints: [join(SOURCES, "site", "site.tsx")],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    loader: { ".css": "text", ".md": "text", ".txt": "text" },
    plugins: [platform],
    logLevel: "error",
  });
  const module = Buffer.from(outputFiles[0]!.text).toString("base64");
  const site = (await import(`data:text/javascript;base64,${module}`)) as SiteModule;
  return (server) => site.makeSite({ tracker, client }, server);
}

/** Makes the static files for a deployment's origin, or null, in a folder, and deletes all other files there. */
export async function buildSite(folder: string, server: string | null): Promise<void> {
  await writeSite(folder, (await compileSite())(server));
}

/** Writes the files that are missing or differ, and deletes all others. */
export async function writeSite(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !(relative(folder, path) in files)) await rm(path, { force: true });
  }
  await Promise.all(Object.entries(files).map(([name, text]) => writeChanged(join(folder, name), text)));
}

/** Writes the names of the pages' files, which change with their contents: without them the Worker cannot be bundled. */
export async function writeAssetNames(): Promise<void> {
  const files = ["http/pages/styles.css", "http/pages/script.txt", "site/script.txt"];
  const names = await Promise.all(
    files.map(async (file) => {
      const hash = createHash("sha256").update(await readFile(join(SOURCES, file)));
      return `${hash.digest("hex").slice(0, 16)}.${file.endsWith(".css") ? "css" : "js"}`;
    }),
  );
  await writeChanged(join(ROOT, ASSET_NAMES), names.join("\n"));
}

async function writeChanged(path: string, text: string): Promise<void> {
  if ((await readFile(path, "utf8").catch(() => null)) === text) return;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** Substitutes for the modules of the platform, for the Worker's code outside of it. */
export const platform: Plugin = {
  name: "platform",
  setup(builder) {
    builder.onResolve({ filter: /^cloudflare:/ }, ({ path }) => ({ path, namespace: "platform" }));
    builder.onLoad({ filter: /.*/, namespace: "platform" }, () => ({
      contents: "export class DurableObject { constructor(ctx, env) { this.ctx = ctx; this.env = env; } }",
    }));
  },
};

if (import.meta.main) {
  await buildSite(join(ROOT, "build", "site"), process.env["PUBLIC_URL"] || null);
  const script = await trackerScript();
  console.log(`tracking script: ${script.length} bytes, ${brotliCompressSync(script).length} with brotli`);
}

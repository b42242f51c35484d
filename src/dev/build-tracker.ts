/**
 * Makes the served tracking script from its readable source: `node src/dev/build-tracker.ts`. With `--check` it writes
 * nothing and fails when the committed file is not what the source gives.
 */
import { readFile, writeFile } from "node:fs/promises";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { transform } from "esbuild";
import { PROVIDERS } from "../providers/registry.ts";

const SOURCE = new URL("../tracker/service.js", import.meta.url);
const SERVED = new URL("../tracker/service.min.txt", import.meta.url);
/** In gzip and in brotli (TRACK-1). */
const MAX_COMPRESSED = 1_024;

/** What the source says once, of any provider that hosts payment pages. */
const PAYMENT_LINKS = /^ *if \(getRef\(\) && HOSTS[^}]*\}\n/m;

const served = await minify(withPaymentLinks(await readFile(SOURCE, "utf8")));
const gzipped = gzipSync(served, { level: 9 }).length;
const brotli = brotliCompressSync(served).length;
const most = Math.max(gzipped, brotli);
if (most > MAX_COMPRESSED) fail(`The tracking script has ${most} bytes compressed, more than ${MAX_COMPRESSED}.`);
if (!process.argv.includes("--check")) await writeFile(SERVED, served);
else if ((await readFile(SERVED, "utf8")) !== served) {
  fail("src/tracker/service.min.txt is not what src/tracker/service.js gives: run node src/dev/build-tracker.ts");
}
console.log(`tracking script: ${served.length} bytes, ${gzipped} gzipped, ${brotli} with brotli`);

/** The source with the hosts and the parameter of each provider's payment pages (TRACK-13). */
function withPaymentLinks(source: string): string {
  const links = PROVIDERS.flatMap(({ checkout }) => checkout.payment_links ?? []);
  const filled = source.replace(PAYMENT_LINKS, (one) =>
    links
      .map(({ hosts, parameter }) => one.replaceAll("HOSTS", () => String(hosts)).replaceAll("PARAMETER", parameter))
      .join(""),
  );
  if (filled === source) fail(`src/tracker/service.js has no place for payment links: ${PAYMENT_LINKS}`);
  return filled;
}

/** ES2019 is what every browser that has `fetch` with `keepalive` reads; an empty tsconfig keeps the project's out. */
async function minify(source: string): Promise<string> {
  const { code } = await transform(source, {
    minify: true,
    target: "es2019",
    charset: "utf8",
    tsconfigRaw: "{}",
    legalComments: "none",
  });
  return code;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

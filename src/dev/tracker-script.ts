import { readFile } from "node:fs/promises";
import { brotliCompressSync } from "node:zlib";
import { transform } from "esbuild";
import type { PaymentElements, PaymentLinks } from "../providers/provider.ts";
import { VENDORS } from "../providers/registry.ts";

const SOURCE = new URL("../tracker/service.js", import.meta.url);
/** The largest allowed size in brotli, in bytes (TRACK-1). */
const MAX_COMPRESSED = 1_280;

/** The placeholder for the providers that host payment pages. */
const PAYMENT_LINKS = /^ *if \(\s*getRef\(\) &&\s*\("HOSTS[^}]*\}\n/m;
/** The placeholder for the providers that have payment elements for the owner's pages. */
const PAYMENT_ELEMENTS = /^ *setInterval\([^;]*HAVING[^;]*;\n/m;

/** Makes the served script from its source. @throws if over its budget, or without a provider's placeholder */
export async function trackerScript(): Promise<string> {
  const links = VENDORS.flatMap(({ checkout }) => checkout.payment_links ?? []);
  const elements = VENDORS.flatMap(({ checkout }) => checkout.payment_elements ?? []);
  const text = withPaymentElements(await readFile(SOURCE, "utf8"), elements);
  const script = await minify(withPaymentLinks(text, links));
  const brotli = brotliCompressSync(script).length;
  if (brotli > MAX_COMPRESSED) {
    throw new Error(`The tracking script has ${brotli} bytes in brotli: over ${MAX_COMPRESSED}.`);
  }
  return script;
}

/** Inserts the hosts and the parameter of each provider's payment pages (TRACK-13). */
function withPaymentLinks(text: string, all: readonly PaymentLinks[]): string {
  const filled = text.replace(PAYMENT_LINKS, (one) =>
    all
      .map(({ hosts, parameter }) => one.replaceAll("HOSTS", hosts.join("|")).replaceAll("PARAMETER", parameter))
      .join(""),
  );
  if (filled === text) throw new Error(`src/tracker/service.js has no place for payment links: ${PAYMENT_LINKS}`);
  return filled;
}

/** Inserts each provider's payment elements (TRACK-13). */
function withPaymentElements(source: string, all: readonly PaymentElements[]): string {
  const filled = source.replace(PAYMENT_ELEMENTS, (one) =>
    all.map(({ having, attribute }) => one.replaceAll("HAVING", having).replaceAll("ATTRIBUTE", attribute)).join(""),
  );
  if (filled === source)
    throw new Error(`src/tracker/service.js has no place for payment elements: ${PAYMENT_ELEMENTS}`);
  return filled;
}

/** Every browser with `fetch` and `keepalive` runs ES2019. The empty tsconfig replaces the project's. */
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

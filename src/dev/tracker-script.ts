import { readFile } from "node:fs/promises";
import { brotliCompressSync } from "node:zlib";
import { transform } from "esbuild";
import type { PaymentElements, PaymentLinks } from "../providers/provider.ts";
import { VENDORS } from "../providers/registry.ts";

const SOURCE = new URL("../tracker/service.js", import.meta.url);
/** The size in brotli (TRACK-1). */
const MAX_COMPRESSED = 1_280;

/** The statement for a provider that hosts payment pages. */
const PAYMENT_LINKS = /^ *if \(\s*getRef\(\) &&\s*\("HOSTS[^}]*\}\n/m;
/** And of any that has elements for the owner's pages. */
const PAYMENT_ELEMENTS = /^ *setInterval\([^;]*HAVING[^;]*;\n/m;

/**
 * Makes the served tracking script from its readable source.
 * @throws if it is over its budget, or if the source has no place for the providers' parts
 */
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

/** The source with the hosts and the parameter of each provider's payment pages (TRACK-13). */
function withPaymentLinks(text: string, all: readonly PaymentLinks[]): string {
  const filled = text.replace(PAYMENT_LINKS, (one) =>
    all
      .map(({ hosts, parameter }) => one.replaceAll("HOSTS", hosts.join("|")).replaceAll("PARAMETER", parameter))
      .join(""),
  );
  if (filled === text) throw new Error(`src/tracker/service.js has no place for payment links: ${PAYMENT_LINKS}`);
  return filled;
}

/** The source with each provider's payment elements (TRACK-13). */
function withPaymentElements(source: string, all: readonly PaymentElements[]): string {
  const filled = source.replace(PAYMENT_ELEMENTS, (one) =>
    all.map(({ having, attribute }) => one.replaceAll("HAVING", having).replaceAll("ATTRIBUTE", attribute)).join(""),
  );
  if (filled === source)
    throw new Error(`src/tracker/service.js has no place for payment elements: ${PAYMENT_ELEMENTS}`);
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

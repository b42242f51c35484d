/** `node test/browser/screenshots.ts`: makes the pictures of the README in test/browser/pictures, from the sample data of `npm start`. */
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { freePort } from "../../src/dev/local-service.ts";
import { ROOT, runScript } from "../dev/process.ts";
import { launchChromium } from "./chromium.ts";

const PICTURES = join(ROOT, "test/browser/pictures");
/** The limit of a picture: every clone of the repository contains all of them. */
const MAX_BYTES = 150 * 1024;
/** The space below the last element of a picture, in pixels. */
const MARGIN = 16;
const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };

const folder = await mkdtemp(join(tmpdir(), "affiliate-pictures-"));
const running = runScript("src/dev/start.ts", { PORT: String(await freePort()), PERSIST_TO: join(folder, "state") });
const browser = await launchChromium();
try {
  await running.until(/Ctrl\+C stops the service/);
  await mkdir(PICTURES, { recursive: true });
  const url = printed("Base URL");
  const owner = await signIn(browser, printed("Dashboard"));
  const wide = await owner({ viewport: WIDE });
  await wide.goto(`${url}/dashboard`);
  const plot = await boxOf(wide.locator("figure.plot").first());
  const upper = { x: 0, y: 0, width: WIDE.width, height: plot.y + plot.height + MARGIN };
  await wide.screenshot({ path: join(PICTURES, "overview.png"), fullPage: true, clip: upper });
  await wide.goto(`${url}/dashboard/flows/new`);
  await wide.getByLabel("Name").fill("Better terms");
  await wide.getByLabel("Amount").fill("30");
  await wide.getByRole("button", { name: "Preview on past payments" }).click();
  const preview = await boxOf(wide.locator("section:has(#simulation)"));
  const clip = { ...preview, height: Math.min(preview.height, 560) };
  await wide.screenshot({ path: join(PICTURES, "rule-preview.png"), fullPage: true, clip });
  const phone = await owner({ viewport: PHONE, colorScheme: "dark" });
  await phone.goto(`${url}/dashboard/commissions/${await refundedCommission(url)}`);
  await phone.screenshot({ path: join(PICTURES, "commission.png"), fullPage: true });
  const partner = await signIn(browser, printed("Portal"));
  const portal = await partner({ viewport: WIDE });
  await portal.goto(`${url}/portal`);
  await portal.screenshot({ path: join(PICTURES, "portal.png"), fullPage: true });
  for (const name of await readdir(PICTURES)) {
    const { size } = await stat(join(PICTURES, name));
    if (size > MAX_BYTES) throw new Error(`${name} has ${size} bytes, more than ${MAX_BYTES}`);
  }
} finally {
  await browser.close();
  running.child.kill("SIGTERM");
  await running.ended;
  await rm(folder, { recursive: true, force: true });
}

/** The text beside a label in the print-out of `npm start`. */
function printed(label: string): string {
  return new RegExp(`^ {2}${label} +(\\S+)`, "m").exec(running.printed.out)?.[1] ?? "";
}

/** Uses a sign-in link, and gives a function that opens a page of its session. */
async function signIn(of: Browser, link: string): Promise<(options: BrowserContextOptions) => Promise<Page>> {
  const context = await of.newContext();
  const page = await context.newPage();
  await page.goto(link);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/\/(?:dashboard|portal)$/);
  const storageState = await context.storageState();
  return async (options) => (await of.newContext({ storageState, locale: "en-GB", ...options })).newPage();
}

async function boxOf(place: Locator) {
  const box = await place.boundingBox();
  if (!box) throw new Error(`it is not there: ${String(place)}`);
  return box;
}

/** The newest commission of a payment that was refunded in part. */
async function refundedCommission(url: string): Promise<string> {
  const list = async <T>(path: string): Promise<T[]> => {
    const headers = { authorization: `Bearer ${printed("API key")}` };
    const { data } = (await (await fetch(`${url}/api/v1${path}`, { headers })).json()) as { data: T[] };
    return data;
  };
  const payments = await list<{ id: string; adjusted_cents: number; txn_amount_cents: number }>(
    "/payments?outcome=commission&per_page=100",
  );
  const refunded = payments.find((one) => one.adjusted_cents > 0 && one.adjusted_cents < one.txn_amount_cents);
  const commissions = await list<{ id: string; payment_id: string | null }>("/commissions?per_page=100");
  const found = commissions.find(({ payment_id }) => payment_id === refunded?.id);
  if (!found) throw new Error("the sample has no commission of a refunded payment");
  return found.id;
}

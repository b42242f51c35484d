/** `node test/browser/screenshots.ts`: makes the pictures of the README in test/browser/pictures, from a program with a lively month. */
import { mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { ROOT } from "../../src/dev/root.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import {
  SECRET_A,
  signInOwner,
  signInPartner,
  startPagesWorld,
  type OwnedProgram,
  type PagesWorld,
} from "./pages-world.ts";

const DOCS = join(ROOT, "test/browser/pictures");
const OWNER = "owner@northwind.example";
const BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
const DAY = 86_400;
/** Days that the overview shows, beside as many before. */
const SPAN = 30;
/** The limit of a picture: every clone of the repository contains all of them. */
const MAX_BYTES = 150 * 1024;
/** The space below the last element of a picture, in pixels. */
const MARGIN = 16;

const PARTNERS = [
  ["Ada", "Lovelace", 9],
  ["Grace", "Hopper", 6],
  ["Alan", "Turing", 4],
  ["Katherine", "Johnson", 4],
  ["Emmy", "Noether", 2],
] as const;

const TOTAL = PARTNERS.reduce((sum, [, , weight]) => sum + weight, 0);

/** Sources of clicks, each with its weight of `TOTAL`. */
const SOURCES = {
  landing: { "/": 11, "/beans/guji": 8, "/subscribe": 6 },
  referrer: { "coffee-notes.example": 10, "(none)": 8, "slow-mornings.example": 7 },
  country: { DE: 9, US: 8, JP: 5, BR: 3 },
};

interface WithId {
  id: string;
}

const world = await startPagesWorld();
try {
  await mkdir(DOCS, { recursive: true });
  const refunded = await fill(world);
  const wide = await world.visitor({ width: 1280 });
  await signInOwner(world, wide, OWNER);
  await wide.waitForLoadState("networkidle");
  const plot = await boxOf(wide.locator(".card:has(> figure.plot)").nth(1));
  const upper = { x: 0, y: 0, width: 1280, height: plot.y + plot.height + MARGIN };
  await wide.screenshot({ path: join(DOCS, "overview.png"), fullPage: true, clip: upper });
  const top = await boxOf(wide.locator(".grid:has(> .card h2)").last());
  await wide.screenshot({ path: join(DOCS, "overview-top.png"), fullPage: true, clip: top });
  await wide.goto(`${world.url}/dashboard/flows/new`);
  await wide.getByLabel("Name").fill("Better terms");
  await wide.getByLabel("Amount").fill("30");
  await wide.getByRole("button", { name: "Preview on past payments" }).click();
  const preview = await boxOf(wide.locator("section:has(#simulation)"));
  const clip = { ...preview, height: Math.min(preview.height, 560) };
  await wide.screenshot({ path: join(DOCS, "rule-preview.png"), fullPage: true, clip });
  const phone = await world.visitor({ width: 390, dark: true });
  await signInOwner(world, phone, OWNER);
  await phone.goto(`${world.url}/dashboard/commissions/${refunded}`);
  await phone.screenshot({ path: join(DOCS, "commission.png"), fullPage: true });
  const partner = await world.visitor({ width: 1280 });
  await signInPartner(world, partner, "ada@partners.example");
  await partner.waitForLoadState("networkidle");
  await partner.screenshot({ path: join(DOCS, "portal.png"), fullPage: true });
  for (const name of await readdir(DOCS)) {
    const { size } = await stat(join(DOCS, name));
    if (size > MAX_BYTES) throw new Error(`${name} has ${size} bytes, more than ${MAX_BYTES}`);
  }
} finally {
  await world.close();
}

async function boxOf(place: Locator) {
  const box = await place.boundingBox();
  if (!box) throw new Error(`it is not there: ${String(place)}`);
  return box;
}

/** Gives the id of a commission that shows the most: a flow, and a refund. */
async function fill(into: PagesWorld): Promise<string> {
  const program = await into.createProgram({
    name: "Northwind Coffee",
    owner_email: OWNER,
    domain: "northwind.example",
  });
  const { api, sendA } = program;
  await api("PATCH", "/programs/me", { provider_a_webhook_secret: SECRET_A });
  for (const [first_name, last_name] of PARTNERS) {
    const slug = first_name.toLowerCase();
    const fields = { email: `${slug}@partners.example`, slug, first_name, last_name, payout_method: "provider_a" };
    const { id } = await api("POST", "/partners", fields);
    await api("PATCH", `/partners/${id}`, { status: "active" });
  }
  const conditions = [{ field: "txn_amount_cents", op: "gt", value: 9_000 }];
  await api("POST", "/flows", {
    name: "Large orders",
    action_type: "percentage",
    action_value: 25,
    priority: 1,
    conditions,
  });
  const now = Math.floor(Date.now() / 1000);
  const chance = chanceOf(7);
  for (let day = 2 * SPAN - 1; day >= 0; day--) {
    const sales = 1 + Math.round(chance() * 3 + Math.sin(day / 4) + (29 - day) / 12);
    // One who signs up does not buy.
    for (let n = 0; n <= sales; n++) {
      const amount = 2_400 + Math.floor(chance() * 9_000);
      const email = `buyer${day}.${n}@example.com`;
      const created = now - day * DAY - Math.floor(chance() * 30_000);
      const ref = pick(chance());
      const occurred_at = new Date((created - 600) * 1000).toISOString();
      const lead = { external_id: `signup-${day}-${n}`, ref, customer: { email }, occurred_at };
      await api("POST", "/track/lead", lead);
      if (n < sales) await sendA(sessionCompleted({ ref, amount, tax: Math.round(amount / 11), email, created }));
    }
  }
  const fields = {
    ref: "ada",
    amount: 11_000,
    tax: 1_000,
    payment_intent: "pi_told",
    created: Math.ceil(Date.now() / 1000),
  };
  await sendA(sessionCompleted({ ...fields, email: "jo@example.com" }));
  await sendA(chargeRefunded({ payment_intent: "pi_told", amount: 11_000, refunded: 2_860 }));
  const pageOf = async (page: number) =>
    api<{ data: (WithId & { amount_cents: number })[] }>("GET", `/commissions?per_page=100&page=${page}`);
  const [{ data }, older] = [await pageOf(1), await pageOf(2)];
  for (const approved of [data.slice(14), older.data]) {
    await api("POST", "/commissions/bulk", { ids: approved.map(({ id }) => id), status: "approved" });
  }
  await api("POST", "/payouts/generate", {});
  await api("POST", "/commissions/bulk", { ids: data.slice(8, 14).map(({ id }) => id), status: "approved" });
  await click(into, program, chance);
  const found = data.find(({ amount_cents }) => amount_cents === 1_850);
  if (!found) throw new Error("the commission of 18.50 is not there");
  return found.id;
}

/** New clicks count today; so the past gets its counts straight in the database that the service uses. */
async function click(into: PagesWorld, program: OwnedProgram, chance: () => number): Promise<void> {
  const body = JSON.stringify({ program_id: program.id, ref: "ada", landing: "/", referrer: "" });
  const headers = { "user-agent": BROWSER, "content-type": "application/json" };
  await fetch(`${into.url}/click`, { method: "POST", headers, body });
  const { data } = await program.api<{ data: WithId[] }>("GET", "/partners");
  const days = Array.from({ length: 2 * SPAN }, (_, day) =>
    new Date(Date.now() - day * DAY * 1000).toISOString().slice(0, 10),
  );
  const rows = days.map((day, i) => ({ day, count: Math.round(60 + chance() * 50 + 25 * Math.sin(i / 4) - i / 2) }));
  const counts = rows.map(({ day, count }) => `('${program.id}', 'click', '${day}', ${count})`);
  const shares = data
    .toReversed()
    .flatMap(({ id }, i) =>
      rows.map(({ day, count }) => `('${program.id}', '${id}', '${day}', ${partOf(count, PARTNERS[i]?.[2] ?? 0)})`),
    );
  const sources = Object.entries(SOURCES).flatMap(([kind, values]) =>
    rows.flatMap(({ day, count }) =>
      Object.entries(values).map(
        ([value, weight]) => `('${program.id}', '', '${day}', '${kind}', '${value}', ${partOf(count, weight)})`,
      ),
    ),
  );
  const upsert = (columns: string) => `on conflict (${columns}) do update set count = count + excluded.count`;
  await into.sql(
    `insert into event_counts (program_id, type, day, count) values ${counts.join()} ${upsert("program_id, type, day")};
     insert into click_counts (program_id, partner_id, day, count) values ${shares.join()}
     ${upsert("program_id, partner_id, day")};
     insert into click_sources (program_id, partner_id, day, kind, value, count) values ${sources.join()}
     ${upsert("program_id, partner_id, day, kind, value")};`,
  );
}

/** The part of a count with this weight. */
function partOf(count: number, weight: number): number {
  return Math.floor((count * weight) / TOTAL);
}

function pick(chance: number): string {
  let left = chance * TOTAL;
  for (const [name, , weight] of PARTNERS) {
    left -= weight;
    if (left < 0) return name.toLowerCase();
  }
  return "ada";
}

/** The same numbers every time: pictures change only if the pages do. */
function chanceOf(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
}

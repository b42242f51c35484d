/** Programs of any size, made of copies of a story that the service itself wrote. */
import { lead, report } from "./api.ts";
import { makeClaim } from "./claims.ts";
import { env } from "cloudflare:workers";
import { newId } from "../../src/lib/id.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { sendBody } from "./ledger.ts";
import { makeEndpoint } from "./outbound.ts";
import { makeCommissions } from "./payouts.ts";
import { makePartner, type TestProgram } from "./program.ts";
import { TEST_VENDORS } from "./vendors/index.ts";

type Row = Record<string, unknown>;

/** All that a partner and its customers leave behind, by table. */
export type Story = [table: string, rows: Row[]][];

/** Referenced tables come first. */
const TABLES = [
  ...[
    "partners",
    "partner_slugs",
    "partner_codes",
    "claims",
    "applications",
    "payments",
    "payouts",
    "commissions",
    "provider_events",
    "facts",
    "fact_subjects",
  ],
  ...["events", "messages", "deliveries", "click_counts"],
];

/** A text of the story that each copy replaces with its own. */
const NAME = "grownstory";

/** The story's own service ids, vendor ids and names of people. */
const OWN = new RegExp(
  `((?:par|app|cod|clm|com|pmt|pay|evt|dlv)_[0-9a-z]{10})[0-9a-z]{4}([0-9a-z]{12})|([0-9a-f]{12}[0-9]{6})|${NAME}`,
  "g",
);

/** Plays one story in a program: it contains every outcome, status and state of a delivery. */
export async function liveStory(program: TestProgram): Promise<Story> {
  await makeEndpoint(program, "https://everything.example.com/hook");
  const resting = await makeEndpoint(program, "https://resting.example.com/hook");
  await program.api("PATCH", `/api/v1/webhooks/${resting.id}`, { active: false });
  const partner = await makePartner(program, { slug: NAME, email: `${NAME}@partners.example`, first_name: NAME });
  const ref = partner.slug;
  await program.api("POST", `/api/v1/partners/${partner.id}/codes`, { code: NAME, provider: VENDOR_NAMES[0] });
  await makeClaim(program, partner.id, { order_id: NAME });
  await makeClaim(program, partner.id, { day: "2026-11-02", email_domain: "customers.example" });
  for (const provider of VENDOR_NAMES) {
    const { bodyOf, history } = TEST_VENDORS[provider];
    for (const event of history(ref, program.id, NAME)) await sendBody(program, provider, bodyOf(event));
  }
  await report(program, "lead", lead({ ref, customer: { email: `${NAME}@customers.example` } }));
  const statuses = ["approved", "approved", "rejected", "pending"] as const;
  await makeCommissions(
    program,
    partner.id,
    statuses.map((status) => ({ status })),
  );
  const payouts = async (how: string) => {
    await program.api("POST", "/api/v1/payouts/generate", {});
    const { data } = (await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts?status=pending")).body;
    if (how !== "left") await program.api("POST", `/api/v1/payouts/${data[0]?.id}/${how}`);
  };
  await payouts("mark-paid");
  await makeCommissions(program, partner.id, [{}]);
  await payouts("left");
  await makeCommissions(program, partner.id, [{}]);
  await run(
    `update deliveries set status = iif(rowid % 5 = 0, 'failed', 'succeeded'), next_attempt_at = null,
    attempt_count = 1, completed_at = created_at where program_id = ?`,
    program.id,
  );
  await run(
    `insert into applications (id, program_id, status, email, name, answers, token_hash, created_at, updated_at)
    values (?1, ?2, 'pending', ?3 || '@a.example', ?3, '[]', ?1, ?4, ?4)`,
    ...[newId("application", Date.now()), program.id, NAME, new Date().toISOString()],
  );
  await run(
    `insert into click_counts (program_id, partner_id, day, count) values (?, ?, '2026-10-01', 3)`,
    program.id,
    partner.id,
  );
  const results = await env.DB.batch<Row>(
    TABLES.map((table) => env.DB.prepare(`select * from ${table} where program_id = ?`).bind(program.id)),
  );
  return TABLES.map((table, i) => [table, results[i]?.results ?? []]);
}

/** Plays the story again, under other names: copies `from` to `to`, the last one not included. */
export async function repeatStory(story: Story, from: number, to: number): Promise<void> {
  for (const [table, rows] of story) {
    const columns = Object.keys(rows[0] ?? {});
    const copies = Array.from({ length: to - from }, (_, i) => rows.map((row) => copyOf(row, from + i))).flat();
    for (let at = 0; at < copies.length; at += 500) {
      await run(
        `insert into ${table} (${columns.join(", ")}) select ${columns.map((column) => `value ->> '${column}'`).join(", ")}
          from json_each(?)`,
        JSON.stringify(copies.slice(at, at + 500)),
      );
    }
  }
}

/** Ids never contain a `u`: a copy's ids differ from the story's, whatever random digits those have. */
function copyOf(row: Row, nth: number): Row {
  const digits = `u${nth.toString(36).padStart(3, "0")}`;
  const text = JSON.stringify(row).replaceAll(OWN, (_, time?: string, rest?: string, vendors?: string) => {
    if (time !== undefined) return `${time}${digits}${rest}`;
    return vendors === undefined ? `${NAME}${nth}` : `${vendors}x${nth}`;
  });
  return JSON.parse(text) as Row;
}

export async function run(sql: string, ...values: unknown[]): Promise<void> {
  await env.DB.prepare(sql)
    .bind(...values)
    .run();
}

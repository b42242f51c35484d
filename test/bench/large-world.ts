/** A program with the most rules and many partners, whose cases are compared with those of the plain program. */
import { makeBenchWorld, call, CASES, type BenchCase, type BenchWorld } from "./cases.ts";

const GROUPS = 20;
/** An import holds at most 5,000 lines. */
const PARTNERS_OF_GROUP = 2_500;
const FLOWS = 100;

/** Ends the names of its cases. */
export const LARGE = ", large";

/** The cases of the plain program, in the large one. */
export const LARGE_CASES: BenchCase[] = CASES.filter(({ least }) => least !== "only").map(
  ({ name, done, requests }) => ({ name: name + LARGE, goal: {}, done, requests, isLarge: true }),
);

/** Twenty conditions that a payment meets, but for the last one: each flow is compared to its end and does not decide. */
function conditions(flow: number): object[] {
  const texts = ["customer_email", "partner_slug", "provider", "partner_group", "currency", "product_id"];
  const met = Array.from({ length: 19 }, (_, i) => ({
    field: texts[i % texts.length],
    op: "neq",
    value: `x${flow}-${i}`,
  }));
  return [...met, { field: "payment_number", op: "gt", value: 900 }];
}

/** A program of 100 flows of 20 conditions each, and 50,000 partners in 20 groups. */
export async function makeLargeWorld(url: string): Promise<BenchWorld> {
  const world = await makeBenchWorld(url);
  const api = <T>(method: string, path: string, body?: unknown) =>
    call<T>(url, method, `/api/v1${path}`, world.api_key, body);
  for (let flow = 0; flow < FLOWS; flow++) {
    const action = { action_type: "percentage", action_value: 50 };
    await api("POST", "/flows", { name: `Flow ${flow}`, ...action, conditions: conditions(flow) });
  }
  for (let group = 0; group < GROUPS; group++) {
    const { id } = await api<{ id: string }>("POST", "/groups", { name: `Group ${group}`, slug: `group-${group}` });
    // Imported partners belong to the default group.
    await api("PATCH", `/groups/${id}`, { is_default: true, commission_pct: group });
    const lines = Array.from({ length: PARTNERS_OF_GROUP }, (_, i) => `g${group}p${i}@partners.example,g${group}p${i}`);
    await importPartners(url, world, ["email,code", ...lines].join("\n"));
  }
  return world;
}

async function importPartners(url: string, { api_key }: BenchWorld, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${api_key}`, "content-type": "text/csv" };
  const response = await fetch(`${url}/api/v1/imports?kind=partners&status=active`, { method: "POST", headers, body });
  const { added } = (await response.json()) as { added?: number };
  if (added !== PARTNERS_OF_GROUP) throw new Error(`An import answers ${response.status}, and added ${added}.`);
}

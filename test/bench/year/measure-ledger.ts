/** Measures the cost of payments, from the provider's webhook to the payout and the deletion after 90 days. */
import { bodyOfA, sessionCompleted, signA } from "../../support/provider-a.ts";
import { bearer, type MeteredService } from "./metered-service.ts";
import { sumOf, type Usage } from "./prices.ts";
import {
  constantsOf,
  DAY,
  difference,
  each,
  OF_OBJECTS,
  PARTNERS,
  PROGRAMS,
  roundsEnd,
  roundsOf,
  SECRET,
  type Program,
  type Visitor,
} from "./shared.ts";

const PAYMENTS = 400;
/** An idle job records this once in so many minutes. */
const IDLE_MINUTES = 30;
/** Each payout of the first month is of so many commissions; half as many payouts in the second are of twice as many. */
const COMMISSIONS_PER_PAYOUT = PAYMENTS / (PROGRAMS * PARTNERS);
const MAX_RUNS = 20;
const DAILY = "17 3 * * *";
/** Tables whose rows are forgotten; `provider_events` keeps its rows and forgets their bodies. */
const FORGOTTEN = ["deliveries", "delivery_attempts", "messages", "missed_deliveries", "mails"];
const BODIES = ["provider_events"];
/** Further rows of a payment until its commission is paid out; a payout has its own events. */
const LEDGER = ["payments", "commissions", "facts", "fact_subjects", "entries", "decisions"];
/** Counts of a partner and day, or of a program's. */
const EARNING_DAYS = ["earning_days", "sale_days", "list_days"];

/** Payments from the provider's webhook to their deliveries, approval, payouts and deletion. */
export async function measureLedger(service: MeteredService, programs: Program[]) {
  // Counts are set right that the rows deleted before have left, which would be logged as wrong.
  await service.cron(DAILY);
  const before = service.bytes();
  const payers = Array.from({ length: PAYMENTS }, (_, i): Visitor => {
    const { id, slugs } = programs[i % PROGRAMS]!;
    return { program_id: id, ref: slugs[Math.floor(i / PROGRAMS) % PARTNERS]! };
  });
  const { payment, approval } = await earn(service, payers);
  const earned = service.bytes();
  const rows = await rowsOf(service);
  const many = await payOut(service, programs);
  const paid = service.bytes();
  // As many commissions in half as many payouts, to separate the cost of the two.
  await earn(
    service,
    payers.map((_, i) => payers[i % (PAYMENTS / COMMISSIONS_PER_PAYOUT / 2)]!),
  );
  const few = await payOut(service, programs);
  const payout = each(sumOf([many.usage, 1], [few.usage, -1]), many.payouts - few.payouts);
  const paid_out = each(sumOf([few.usage, 1], [payout, -few.payouts]), PAYMENTS);
  const idle = await measureIdle(service, programs);

  await service.control("advance", { ms: 100 * DAY });
  await service.tally();
  await service.cron(DAILY);
  const forgetting = each(await service.tally(), 2 * PAYMENTS);
  const left = service.bytes();
  const emptied = difference(left, before, BODIES) / (2 * PAYMENTS);
  return {
    payment,
    approval,
    payout,
    paid_out,
    ...idle,
    forgetting,
    bytes: {
      payment_kept:
        difference(left, before, LEDGER) / (2 * PAYMENTS) + emptied + difference(earned, before, ["events"]) / PAYMENTS,
      payment_forgotten: difference(earned, before, [...FORGOTTEN, ...BODIES]) / PAYMENTS - emptied,
      payout_kept: difference(paid, earned, ["payouts", "payout_runs", "events"]) / many.payouts,
      payout_forgotten: difference(paid, earned, FORGOTTEN) / many.payouts,
      // Each partner has earned on one day.
      earning_day: difference(earned, before, EARNING_DAYS) / (PROGRAMS * PARTNERS),
    },
    rows,
  };
}

/** A payment by each of these, until its commission is approved. */
async function earn(
  service: MeteredService,
  payers: readonly Visitor[],
): Promise<Record<"payment" | "approval", Usage>> {
  await service.tally();
  for (const { program_id, ref } of payers) {
    const created = Math.floor((await constantsOf(service)).now / 1000);
    const body = bodyOfA(sessionCompleted({ ref, amount: 12_000, tax: 2_000, created }));
    const headers = {
      "content-type": "application/json",
      "provider-a-signature": await signA(body, SECRET, created),
    };
    await service.call("POST", `/webhooks/provider_a?program_id=${program_id}`, headers, body);
  }
  await service.delivered();
  const payment = each(await service.tally(), payers.length);
  await service.control("advance", { ms: 8 * DAY });
  await cronEnds(service, DAILY, "approve due commissions");
  await service.delivered();
  return { payment, approval: each(await service.tally(), payers.length) };
}

/** All that is approved is paid out on the first of the next month. */
async function payOut(service: MeteredService, programs: Program[]): Promise<{ payouts: number; usage: Usage }> {
  const { now } = await constantsOf(service);
  const at = new Date(now);
  await service.control("advance", { ms: Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1, 0, 23) - now });
  // The approval that is due goes first.
  await cronEnds(service, DAILY, "approve due commissions");
  await service.tally();
  await cronEnds(service, "23 0 1 * *", "generate the past month's payouts");
  const open = await service.sql<{ id: string; program_id: string }>(
    "select id, program_id from payouts where status = 'pending'",
  );
  for (const { id, program_id } of open) {
    const { api_key } = programs.find((program) => program.id === program_id)!;
    await service.call("POST", `/api/v1/payouts/${id}/mark-paid`, bearer(api_key), "{}");
  }
  await service.delivered();
  const [left] = await service.sql<{ n: number }>("select count(*) as n from commissions where status <> 'paid'");
  if (left?.n !== 0) throw new Error(`${left?.n} commissions are not paid out`);
  return { payouts: open.length, usage: await service.tally() };
}

/** A read, an idle minute, and the additional cost of the daily jobs for each program. */
async function measureIdle(
  service: MeteredService,
  programs: Program[],
): Promise<Record<"read" | "minute" | "day", Partial<Usage>>> {
  for (let i = 0; i < 20; i++)
    await service.call("GET", "/api/v1/commissions", bearer(programs[i % PROGRAMS]!.api_key));
  const read = each(await service.tally(), 20);
  await roundsEnd(service);
  const minute = each(await roundsOf(service, IDLE_MINUTES), IDLE_MINUTES);
  await service.control("advance", { ms: DAY });
  await service.tally();
  await service.cron(DAILY);
  const began = await service.tally();
  const { minutes, usage } = await roundsEnd(service);
  const day = each(sumOf([began, 1], [usage, 1], [minute, -minutes]), PROGRAMS);
  // The runs themselves are those of the minutes.
  return { read, minute: { ...minute, ...OF_OBJECTS }, day: { ...day, ...OF_OBJECTS, requests: 0 } };
}

/** Rows that a payment leaves, and those of a payout; those of a payment that are forgotten. */
async function rowsOf(service: MeteredService) {
  const count = async (tables: string[]) => {
    const [row] = await service.sql<{ count: number }>(
      `select ${tables.map((table) => `(select count(*) from ${table})`).join(" + ")} as count`,
    );
    return row?.count ?? 0;
  };
  // Includes its three events; two entries more when it is paid out.
  return {
    payment_kept: ((await count([...LEDGER, ...BODIES])) + 5 * PAYMENTS) / PAYMENTS,
    payment_forgotten: (await count(FORGOTTEN)) / PAYMENTS,
    payout: 3,
  };
}

/** A cron, again and again until a round of a job is over: a run has so many statements, and the next one goes on. */
async function cronEnds(service: MeteredService, cron: string, job: string): Promise<void> {
  for (let runs = 0; runs < MAX_RUNS; runs++) {
    await service.cron(cron);
    const [run] = await service.sql<{ finished_at: string | null }>(
      `select finished_at from job_runs where job = '${job.replaceAll("'", "''")}'`,
    );
    if (run && run.finished_at !== null) return;
  }
  throw new Error(`after ${MAX_RUNS} runs the job is not over: ${job}`);
}

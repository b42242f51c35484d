/** Trials of the jobs that read from the vendors. */
import type { JobName } from "../../src/jobs.ts";
import type { Trial } from "./trial.ts";

export const VENDOR_TRIALS = {
  "read the providers' events": {
    calls: true,
    most: 1,
    why: "the rest is at the vendor: each page is a call, each event of it a step of its own",
    seed: [],
    hasKeys: true,
    left: "select distinct program_id from provider_connections where reading is null",
    fails: { at: "before update on provider_connections", row: "new" },
    runs: { 1: 8, 32: 10 },
  },
  "read the provider's exchange rates": {
    calls: true,
    most: 1,
    why: "a program has one row",
    seed: ["update programs set payout_currency = 'EUR'"],
    hasKeys: true,
    left: `select id as program_id from programs p where not exists (
      select 1 from exchange_rates r where r.program_id = p.id)`,
    fails: { at: "before insert on exchange_rates", row: "new" },
    runs: { 1: 2, 32: 2 },
  },
} satisfies Partial<Record<JobName, Trial>>;

import * as z from "zod";
import type { viewFilling, viewLate } from "../health.ts";
import { timestamp } from "../../resources/output.ts";
import { shows } from "./fields.ts";

export const health = () =>
  z.strictObject({
    status: z.literal("ok"),
    jobs: z
      .strictObject({
        behind: z.array(
          shows<ReturnType<typeof viewLate>>()({
            job: z.string(),
            database: z.string().describe("The database, by its binding."),
            since: timestamp,
            left: z.int().min(0).describe("How many programs still have work to do, at least."),
            failed: z.int().min(0).describe("How many programs it failed for; they are tried again."),
          }),
        ),
      })
      .optional()
      .describe("Only present if jobs are more than an hour late."),
    databases: z
      .strictObject({
        filling: z.array(
          shows<ReturnType<typeof viewFilling>>()({
            database: z.string().describe("The database, by its binding."),
            percent: z.int().min(0).describe("How full it is, in percent of 10 GB."),
          }),
        ),
      })
      .optional()
      .describe("Only present if a database is at least 70 % full."),
  });

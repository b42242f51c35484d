import * as z from "zod";
import type { Installation } from "../../core/overview/installation.ts";
import { CHECK_REASONS, CHECK_RESULTS, CHECKS, type Check } from "../../domain/installation.ts";
import { shows } from "./fields.ts";

/** The check of an installation, as the API shows it. */
export const installation = () =>
  shows<Installation>()({
    url: z.string().describe("The page that was opened."),
    installed: z.boolean().describe("Whether every check is `ok`."),
    checks: z
      .array(
        shows<Check>()({
          check: z
            .enum(CHECKS)
            .describe("What is checked. The policies are those of the page's Content-Security-Policy."),
          result: z.enum(CHECK_RESULTS).describe("`unknown` if an earlier check failed."),
          reason: z.enum(CHECK_REASONS).nullable().describe("Why it failed; null if it did not."),
          text: z.string().describe("What was found and what to do, for people; it may change."),
        }),
      )
      .describe("All checks, in the order in which to fix them."),
  });

import * as z from "zod";
import { getProgram, updateProgram, type ProgramPatch } from "../../core/programs/programs.ts";
import { viewProgram } from "../../core/kernel/views.ts";
import {
  APPLICATION_MODES,
  MAX_QUESTION,
  MAX_QUESTIONS,
  MAX_TERMS,
  PROGRAM_SLUG_PATTERN,
} from "../../domain/application.ts";
import { ASSET_KINDS, assetProblem, MAX_ASSET_CONTENT, MAX_ASSET_NAME, MAX_ASSETS } from "../../domain/asset.ts";
import { isCurrency } from "../../domain/currency.ts";
import {
  ATTRIBUTIONS,
  CODE_PRECEDENCES,
  normalDomain,
  PAYOUT_TERM_PATTERN,
  SALE_AMOUNTS,
} from "../../domain/program.ts";
import { normalTimeZone } from "../../domain/time-zone.ts";
import { bySecretSetting } from "../../providers/registry.ts";
import { json, ok, route } from "../route.ts";
import { applyFrom, cents, percentage, takes, text } from "../validate.ts";
import { isVisible } from "../../domain/visible.ts";

export const programName = text(200).refine(
  (name) => name === "" || isVisible(name),
  "This must have a character that can be seen.",
);

export const currency = z.string().refine(isCurrency, "This must be an ISO 4217 code in upper case, such as USD.");

/** A host name, kept in lower case. */
export const domain = text(253).transform((value, issues) => {
  const normal = normalDomain(value);
  if (normal !== null) return normal;
  issues.addIssue({ code: "custom", message: "This must be a host name, such as shop.example.com." });
  return z.NEVER;
});

/** Kept in lower case. */
const brandColor = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, "This must be # and six hexadecimal digits, such as #3730a3.")
  .transform((value) => value.toLowerCase());

/** Kept as the tz database writes it. */
const timeZone = text(64).transform((value, issues) => {
  const normal = normalTimeZone(value);
  if (normal !== null) return normal;
  issues.addIssue({ code: "custom", message: "This must be a time zone of the tz database, such as Europe/Berlin." });
  return z.NEVER;
});

/** Pasted by hand, so the blanks around it are not part of it. */
const secret = z.string().trim().pipe(text(500));

/** What applicants are asked; none is null. */
const questions = z
  .array(z.string().meta({ minLength: 1, maxLength: MAX_QUESTION }))
  .max(MAX_QUESTIONS, `A program asks at most ${MAX_QUESTIONS} questions of its own.`)
  .refine(
    (asked) => asked.every((one) => text(MAX_QUESTION).safeParse(one).success),
    `A question has 1 to ${MAX_QUESTION} characters.`,
  )
  .refine((asked) => new Set(asked).size === asked.length, "Ask each question once.")
  .transform((asked) => (asked.length > 0 ? asked : null));

/** Null where there is none. */
const assets = z
  .array(z.strictObject({ name: text(MAX_ASSET_NAME), kind: z.enum(ASSET_KINDS), content: text(MAX_ASSET_CONTENT) }))
  .max(MAX_ASSETS, `A program has at most ${MAX_ASSETS} of them.`)
  .superRefine((listed, issues) => {
    for (const [i, asset] of listed.entries()) {
      const problem = assetProblem(asset);
      if (problem !== null) issues.addIssue({ code: "custom", message: `Number ${i + 1}: ${problem}` });
    }
  })
  .transform((listed) => (listed.length > 0 ? listed : null));

export const programPatch = takes<ProgramPatch>()({
  name: programName,
  domain: domain.nullable(),
  currency,
  default_commission_pct: percentage,
  payout_term: z.string().regex(PAYOUT_TERM_PATTERN, "This must be NET- and the days, 0 to 365: NET-30."),
  min_payout_cents: cents.min(0),
  cookie_days: z.int().min(1).max(365),
  attribution: z.enum(ATTRIBUTIONS),
  code_precedence: z.enum(CODE_PRECEDENCES),
  auto_approve_days: z.int().min(0).max(365).nullable(),
  live_only: z.boolean(),
  brand_color: brandColor.nullable(),
  time_zone: timeZone,
  applications: z.enum(APPLICATION_MODES),
  slug: z
    .string()
    .regex(PROGRAM_SLUG_PATTERN, "This must be 1 to 64 small letters, digits or -, with no - at either end.")
    .nullable(),
  questions: questions.nullable(),
  terms: text(MAX_TERMS).nullable(),
  sale_amounts: z.enum(SALE_AMOUNTS),
  assets: assets.nullable(),
  apply_from: applyFrom,
  ...bySecretSetting(() => secret.nullable()),
}).partial();

/** `/api/v1/programs/me` (PROG-7). */
export const programs = [
  route("GET /api/v1/programs/me", {
    operation: "getProgram",
    tag: "Program",
    scope: ["read"],
    summary: "Get the program's settings",
    description: "Secrets are never shown, only whether they are set (`*_set`).",
    reply: ok("Program", "The program."),
    view: viewProgram,
    handle: ({ ctx }) => getProgram(ctx),
  }),
  route("PATCH /api/v1/programs/me", {
    operation: "updateProgram",
    tag: "Program",
    // Secrets among the settings need `keys` as well.
    // So does approval by time need `payouts`, and in every route whatever has an `apply_from`.
    scope: ["write"],
    summary: "Update the program's settings",
    description:
      "The currency is locked once a commission or a lead exists. Secrets need the scope `keys` too. They are write-only, and null clears them; a signing secret that was replaced stays valid for 24 hours. `auto_approve_days` and `apply_from` need the scope `payouts` too.",
    body: json("ProgramUpdate", programPatch),
    reply: ok("Program", "The program as it is now."),
    errors: ["already_exists"],
    view: viewProgram,
    handle: ({ ctx, body }) => updateProgram(ctx, body),
  }),
];

import { getProgram, updateProgram, type ProgramPatch } from "../../core/programs/programs.ts";
import { viewProgram } from "../../core/kernel/views.ts";
import { bySecretSetting } from "../../providers/registry.ts";
import { patchShape } from "../../resources/field.ts";
import { trimmed } from "../../resources/input.ts";
import { PROGRAM } from "../../resources/program.ts";
import { json, ok, route } from "../route.ts";
import { applyFrom, takes } from "../validate.ts";

const secret = trimmed(500);

export const programPatch = takes<ProgramPatch>()({
  ...patchShape(PROGRAM),
  apply_from: applyFrom,
  ...bySecretSetting(() => secret.nullish()),
});

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
    // Secrets need `keys` as well. Approval by time and any `apply_from` need `payouts`.
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

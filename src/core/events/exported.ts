import type { EventPayloads } from "../../domain/event.ts";
import { commit } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";

/** Records the export of a list as a file (EVT-5). */
export async function recordExport(ctx: ProgramCtx, payload: EventPayloads["list.exported"]): Promise<void> {
  await commit(ctx, { writes: [], occurrences: [{ type: "list.exported", payload }] });
}

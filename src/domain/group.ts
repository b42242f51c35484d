/** The most groups of a program (PART-14). */
export const MAX_GROUPS = 100;

/** The longest hold of a group or a flow, in days; that of a program too (COM-6). */
export const MAX_HOLD_DAYS = 365;

/** The id of the group that a trigger makes with a new program. */
export function firstGroupOf(program_id: string): string {
  return program_id.replace(/^prog_/, "grp_");
}

import * as z from "zod";
import type { groups } from "../db/schema.ts";
import { MAX_HOLD_DAYS } from "../domain/group.ts";
import { SLUG_PATTERN } from "../domain/partner.ts";
import { resource } from "./field.ts";
import { percentage, visibleText } from "./input.ts";
import { idColumn, string, TIME } from "./output.ts";

/** A group, its number of partners, and whether it is the default. */
export type Group = typeof groups.$inferSelect & { is_default: boolean; partner_count: number };

export const GROUP = resource<Group>()({
  id: idColumn("group"),
  program_id: idColumn("program"),
  name: {
    ...{ audit: "plain", read: string, example: "Creators", write: visibleText(200), needed: true },
    text: "A name of your own, unique in the program.",
    form: { label: "Name" },
  },
  slug: {
    ...{ audit: "plain", read: string, example: "creators" },
    write: z.string().regex(SLUG_PATTERN, "A slug is 1 to 64 letters, digits, - or _."),
    ...{ needed: true, only: "create" },
    text: "The group's name in links, imports and conditions: 1 to 64 letters, digits, - or _. Unique in the program, ignoring case. It never changes.",
    form: { label: "Slug", hint: "For links, imports and conditions. It never changes." },
  },
  commission_pct: {
    ...{ audit: "plain", read: () => percentage.nullable(), example: 30, write: percentage.nullable() },
    text: "The percentage for the group's partners without one of their own. Null: the program's default.",
    form: { label: "Commission rate", type: "number" },
  },
  hold_days: {
    ...{
      audit: "plain",
      read: () => z.int().nullable(),
      example: 30,
      write: z.int().min(0).max(MAX_HOLD_DAYS).nullable(),
    },
    text: "How many days commissions are on hold, unless a flow has its own number. Null: the program's `auto_approve_days`.",
    form: { label: "Days on hold", type: "number" },
  },
  is_default: {
    ...{ audit: "plain", read: () => z.boolean(), example: false, write: z.boolean(), only: "patch" },
    text: "Whether new partners belong to it unless they are given another. Exactly one group is the default.",
  },
  partner_count: {
    ...{ audit: null, read: () => z.int(), example: 12 },
    text: "How many partners belong to it, deactivated ones included.",
  },
  created_at: TIME,
  updated_at: TIME,
});

import type { Context } from "hono";
import type { PageEnv } from "../../session.ts";
import type { Partner } from "../../../core/kernel/rows.ts";

/** The partner whose session it is; the portal lets nobody else in. */
export function selfOf(c: Context<PageEnv>): Partner {
  const { partner } = c.var.session;
  if (!partner) throw new Error("a page of the portal without a partner's session");
  return partner;
}

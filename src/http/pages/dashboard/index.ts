import { Hono } from "hono";
import { requireSession, type PageEnv } from "../../session.ts";
import { overview } from "./overview.tsx";
import { partnerImport } from "./partner-import.tsx";
import { partners } from "./partners.tsx";

/** `/dashboard`: the owner's pages (contract §11). They call the verbs of core, as the API does. */
export const dashboard = new Hono<PageEnv>()
  .use("*", requireSession("owner"))
  .route("/", overview)
  .route("/partners/import", partnerImport)
  .route("/partners", partners);

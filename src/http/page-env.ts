import type { ProgramCtx } from "../core/kernel/context.ts";
import type { Session } from "../core/sessions/sessions.ts";
import type { AppEnv, Bindings } from "../env.ts";

/** The context variables of page handlers, beside those of every route. */
export interface PageEnv {
  Bindings: Bindings;
  Variables: Omit<AppEnv["Variables"], "ctx"> & {
    /** Behind `requireSession` only, as is the session. */
    ctx: ProgramCtx;
    /** Behind `requireSession` only. */
    session: Session;
    /** The token that a form of this page must send back as `csrf`. */
    csrf: string;
    /** Names of the parameters that were not understood and are ignored. */
    left_out?: readonly string[];
    /** How long the page that answers this form can be loaded again (ms); an hour unless set. */
    kept_for?: number;
    /** The cookie of the visit that follows the session, if the form has ended it. */
    visit_after?: string;
  };
}

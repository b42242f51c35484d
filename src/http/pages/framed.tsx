import type { Context } from "hono";
import type { Child } from "hono/jsx";
import type { PageEnv } from "../session.ts";
import { leftOutText } from "./filters.ts";
import { Frame, type NavigationPlace } from "./layout.tsx";
import { page, type PageOptions } from "./page.tsx";
import { Notice } from "./parts/notice.tsx";
import { programText } from "./parts/shown-name.ts";

/**
 * A page behind a session: in its frame, with the place in the navigation that it belongs to. Says first what of its address
 * was left out.
 */
export function framed(
  c: Context<PageEnv>,
  options: PageOptions & { at: NavigationPlace },
  body: Child,
): Promise<Response> {
  const { session, left_out } = c.var;
  return page(
    c,
    { ...options, title: `${options.title} · ${programText(session.program)}` },
    <Frame session={session} at={options.at}>
      {left_out === undefined ? null : (
        <Notice tone="warn">
          <p>{leftOutText(left_out)}</p>
        </Notice>
      )}
      {body}
    </Frame>,
  );
}

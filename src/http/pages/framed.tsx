import type { Context } from "hono";
import type { Child } from "hono/jsx";
import type { PageEnv } from "../session.ts";
import { Frame, type NavigationPlace } from "./layout.tsx";
import { page, type PageOptions } from "./page.tsx";

/** A page behind a session: in its frame, with the place in the navigation that it belongs to. */
export function framed(
  c: Context<PageEnv>,
  options: PageOptions & { at: NavigationPlace },
  body: Child,
): Promise<Response> {
  const { session } = c.var;
  return page(
    c,
    { ...options, title: `${options.title} · ${session.program.name}` },
    <Frame session={session} at={options.at}>
      {body}
    </Frame>,
  );
}

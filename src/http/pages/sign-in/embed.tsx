import { type Context, Hono } from "hono";
import { openPortalLink, readPortalLink } from "../../../core/sessions/portal-links.ts";
import { deviceOf } from "../../../domain/device.ts";
import { TOKEN_PATTERN } from "../../../domain/shard.ts";
import { currentSession, isFramed, requireVisit, startSession, type PageEnv } from "../../session.ts";
import { framedBy, page } from "../page.tsx";
import { Form } from "../parts/form.tsx";
import { limitByAddress } from "../limited.ts";
import { homeOf } from "../return-to.ts";
import { Welcome } from "./pages.tsx";
import { programText } from "../parts/shown-name.ts";
import { sentFields } from "../act.ts";

/**
 * `/embed`: the target of a link on the owner's own site (EMBED-1). In a frame it opens the portal at once, in a
 * session for that site's frames alone. As a page it requires a confirmation first, like every link that ends the
 * previous session.
 */
export const embed = new Hono<PageEnv>()
  .use("*", requireVisit())
  .get("/", async (c) => {
    const token = c.req.query("token");
    if (token === undefined) {
      const session = await currentSession(c);
      return session ? c.redirect(homeOf(session.record.audience), 303) : refusedPage(c, null);
    }
    await limitByAddress(c, "look");
    const link = TOKEN_PATTERN.test(token) ? await readPortalLink(c.var.base, token) : null;
    if (!link?.isUsable) return refusedPage(c, link && framedBy(link.program, c.env));
    if (isFramed(c)) return open(c, token);
    return page(
      c,
      { title: "Sign in" },
      <Welcome title="One more click">
        <p>
          You sign in to the portal of <strong>{programText(link.program)}</strong> as{" "}
          <strong>{link.partner.email}</strong>.
        </p>
        <Form action="/embed" class="stack">
          <input type="hidden" name="token" value={token} />
          <button type="submit" class="primary wide">
            Sign in
          </button>
        </Form>
      </Welcome>,
    );
  })
  .post("/", async (c) => {
    await limitByAddress(c);
    return open(c, (await sentFields(c)).text("token"));
  });

async function open(c: Context<PageEnv>, token: string): Promise<Response> {
  const device = deviceOf(c.req.header("user-agent") ?? "");
  const opened = TOKEN_PATTERN.test(token)
    ? await openPortalLink(c.var.base, token, { framed: isFramed(c), device })
    : null;
  if (!opened) return refusedPage(c, null);
  await startSession(c, opened);
  return c.redirect("/portal", 303);
}

/** `framer`: the site of a link that was valid once, so that it can show the refusal. */
function refusedPage(c: Context<PageEnv>, framer: string | null) {
  return page(
    c,
    { title: "This link no longer works", status: 410, framer: isFramed(c) ? framer : null },
    <Welcome title="This link no longer works">
      <p>It is older than 5 minutes or was already used. Go back and open the page again.</p>
    </Welcome>,
  );
}

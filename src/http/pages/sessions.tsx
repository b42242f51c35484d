import { Hono } from "hono";
import { endAllSessions, endOwnSession, listSessions, type ListedSession } from "../../core/sessions/list.ts";
import { sessionId } from "../../core/sessions/sessions.ts";
import { ROLE_TITLES } from "../../domain/member.ts";
import { dropSession, type PageEnv } from "../session.ts";
import { framed } from "./framed.tsx";
import { ActionButton } from "./parts/form.tsx";
import { Badge, When } from "./parts/figures.tsx";
import { passkeySection } from "./passkeys.tsx";
import { Table } from "./parts/table.tsx";
import { nameText } from "./parts/shown-name.ts";
import { sentFields } from "./act.ts";
import { FLASH, addressWithNote } from "./flash.ts";
import { placeInFrame } from "./account-place.tsx";

/** The sessions of the signed-in account, below the page `parent`: each can be ended, or all of the address at once. */
export function sessions(parent: "/dashboard/settings" | "/portal/details"): Hono<PageEnv> {
  const at = `${parent}/sessions`;
  return new Hono<PageEnv>()
    .get("/", async (c) => {
      const { session } = c.var;
      const listed = await listSessions(c.var.base, session);
      const head = {
        lede: `Active sessions of ${session.record.email}. "Sign out everywhere" also ends the sessions of its other accounts.`,
        ...placeInFrame(parent, "sessions"),
        actions: <ActionButton action={`${at}/end-all`} label="Sign out everywhere" kind="danger" />,
      };
      return framed(
        c,
        { title: "Sessions", at: parent, done: FLASH.sessions, head },
        <>
          <section class="card flush">
            <Table
              label="Sessions"
              columns={[
                { label: "Device" },
                { label: "Account" },
                { label: "Signed in" },
                { label: "Last seen" },
                { label: "End", hidden: true },
              ]}
              rows={listed.map((one) => sessionRow(one, at))}
            />
          </section>
          {session.record.audience === "owner" ? await passkeySection(c) : null}
        </>,
      );
    })
    .post("/end", async (c) => {
      const { session, base } = c.var;
      const id = (await sentFields(c)).text("id");
      await endOwnSession(base, session, id);
      if (id !== sessionId(session.record)) return c.redirect(addressWithNote(at, "ended"), 303);
      await dropSession(c);
      return c.redirect("/sign-in", 303);
    })
    .post("/end-all", async (c) => {
      await endAllSessions(c.var.base, c.var.session);
      await dropSession(c);
      return c.redirect("/sign-in", 303);
    });
}

function sessionRow(one: ListedSession, at: string) {
  return [
    <span>
      {one.device ?? "Unknown device"} {one.is_current ? <Badge state="active" label="this one" /> : null}
    </span>,
    <span>
      <bdi>{nameText(one.program_name) || "–"}</bdi>
      <span class="second">{one.role === null ? "Partner" : ROLE_TITLES[one.role]}</span>
    </span>,
    <When at={one.created_at} />,
    one.last_seen_at === null ? "–" : <When at={one.last_seen_at} />,
    <ActionButton action={`${at}/end`} label={one.is_current ? "Sign out" : "End"} values={{ id: one.id }} />,
  ];
}

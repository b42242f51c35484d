import { type Context, Hono } from "hono";
import { addMember, listMembers, removeMember, updateMember } from "../../../../core/sessions/members.ts";
import type { Member } from "../../../../core/kernel/rows.ts";
import { MEMBER_ROLES, ROLE_TITLES, type MemberRole } from "../../../../domain/member.ts";
import { AppError, notFound } from "../../../../lib/errors.ts";
import { memberCreate, memberPatch } from "../../../api/members.ts";
import type { PageEnv } from "../../../session.ts";
import { refusedEdit, sentEdit, type EditForm } from "../../edits.ts";
import { parseInput } from "../../forms.ts";
import { framed, formPage } from "../../framed.tsx";
import { When } from "../../parts/figures.tsx";
import { Field, Form, SelectField, Actions } from "../../parts/form.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Facts, Table } from "../../parts/table.tsx";
import { ActionLink, useMay } from "../../rights.tsx";
import { act, sentFields, type Sent } from "../../act.ts";
import { FLASH, addressWithNote } from "../../flash.ts";
import { SETTINGS, SettingsTabs } from "./tabs.tsx";

const PLACE = SETTINGS;
const AT = `${SETTINGS}/team` as const;

const ROLE_OPTIONS = MEMBER_ROLES.map((value) => ({ value, label: ROLE_TITLES[value] }));

const MAY: Record<MemberRole, string> = {
  owner: "Everything, including the team.",
  finance: "Sees everything, approves and rejects commissions, prepares and pays payouts.",
  viewer: "Read-only. Payout details are hidden.",
};

const ROLE_FORM: EditForm<Member> = {
  columns: ({ role }) => ({ role }),
  texts: ({ role }) => ({ role: ROLE_TITLES[role] }),
  changes: ({ id }) => ({ type: "member.changed", about: ["member_id", id] }),
};

/** `/dashboard/settings/team` (PAGE-7): the members who sign in to the dashboard, and their roles. */
export const team = new Hono<PageEnv>()
  .get("/", (c) => teamPage(c))
  .post("/", (c) =>
    act(c, {
      schema: memberCreate,
      input: (fields) => ({ email: fields.text("email"), role: fields.text("role") }),
      verb: async (value) => {
        await addMember(c.var.ctx, value);
        return addressWithNote(AT, "added");
      },
      page: (sent) => teamPage(c, sent),
    }),
  )
  .post("/:id", async (c) => {
    const edit = sentEdit(ROLE_FORM, await memberOf(c), await sentFields(c));
    const parsed = parseInput(memberPatch, { role: edit.fields.text("role") });
    if (!parsed.ok) return teamPage(c, { refused: "This role does not exist." });
    const { role } = parsed.value;
    return decide(c, "changed", () => updateMember(c.var.ctx, edit.row.id, { role }, edit.sent)).catch(
      async (error: unknown) => {
        const { problems } = await refusedEdit(c, ROLE_FORM, edit, error);
        const theirs = problems?.fields["role"] ?? problems?.message;
        const yours = role === undefined ? "" : ` You chose “${ROLE_TITLES[role]}”: choose again.`;
        return teamPage(c, { refused: `${edit.row.email}: ${theirs ?? ""}${yours}` });
      },
    );
  })
  .get("/:id/remove", async (c) => {
    const { id, email } = await memberOf(c);
    return formPage(
      c,
      {
        ...{ title: "Remove from the team", heading: "Remove from the team?", at: PLACE, action: `${AT}/${id}/remove` },
        ...{ back: { href: AT, label: "Team" }, submit: "Remove", kind: "danger", cancel: "Keep" },
      },
      <p>
        <strong>{email}</strong> is signed out right away and can no longer sign in to this program. Their changes stay.
      </p>,
    );
  })
  .post("/:id/remove", (c) => decide(c, "removed", () => removeMember(c.var.ctx, c.req.param("id"))));

/** The member in the address. */
async function memberOf(c: Context<PageEnv>): Promise<Member> {
  const member = (await listMembers(c.var.ctx)).find(({ id }) => id === c.req.param("id"));
  if (!member) throw notFound("member");
  return member;
}

/** Runs the verb, or shows the reason of its refusal on the page. */
async function decide(c: Context<PageEnv>, done: "changed" | "removed", verb: () => Promise<unknown>) {
  try {
    await verb();
  } catch (error) {
    if (error instanceof AppError && error.code === "invalid_transition")
      return teamPage(c, { refused: error.message });
    throw error;
  }
  return c.redirect(addressWithNote(AT, done), 303);
}

interface TeamState extends Partial<Sent> {
  refused?: string;
}

async function teamPage(c: Context<PageEnv>, { fields, problems, refused }: TeamState = {}) {
  const members = await listMembers(c.var.ctx);
  const head = {
    lede: "The people who can sign in to this dashboard, and their roles.",
    tabs: <SettingsTabs at={AT} />,
  };
  return framed(
    c,
    {
      ...{ title: "Team", at: PLACE, done: FLASH.team, head },
      problems: problems ?? (refused === undefined ? undefined : { message: refused, fields: {}, status: 409 }),
    },
    <>
      {refused === undefined ? null : (
        <Notice tone="bad">
          <p role="alert">{refused}</p>
        </Notice>
      )}
      <section class="card flush">
        <MemberTable members={members} />
      </section>
      <div class="grid pairs">
        <Form
          {...{ action: AT, problems, values: fields ?? { role: "viewer" } }}
          class="card stack"
          to="change the team"
        >
          <h2>Add a member</h2>
          <Field
            name="email"
            label="E-mail address"
            type="email"
            required={true}
            inputmode="email"
            maxlength={254}
            hint={
              c.var.ctx.mailer === null
                ? "They sign in with it. This service sends no e-mail: its operator creates a link for them."
                : "We e-mail them a sign-in link. Later they request one on the sign-in page."
            }
          />
          <SelectField name="role" label="Role" options={ROLE_OPTIONS} />
          <Actions submit="Add" />
        </Form>
        <section class="card">
          <h2>Roles</h2>
          <Facts rows={MEMBER_ROLES.map((role) => [ROLE_TITLES[role], MAY[role]])} />
        </section>
      </div>
    </>,
  );
}

export type Listed = Pick<Member, "id" | "email" | "role" | "created_at">;

function MemberTable({ members }: { members: readonly Listed[] }) {
  return (
    <Table
      label="Team"
      columns={[
        { label: "Member", grow: true },
        { label: "Added" },
        { label: "Role" },
        { label: "Remove", hidden: true },
      ]}
      rows={members.map((member) => [
        member.email,
        <When at={member.created_at} only="day" />,
        <Role member={member} />,
        <ActionLink class="button" href={`${AT}/${member.id}/remove`}>
          Remove<span class="visually-hidden"> {member.email}</span>
        </ActionLink>,
      ])}
    />
  );
}

function Role({ member: { id, email, role } }: { member: Listed }) {
  if (!useMay("secure")) return <>{ROLE_TITLES[role]}</>;
  return (
    <Form action={`${AT}/${id}`} class="inline" shown={{ role }}>
      <select name="role" aria-label={`Role of ${email}`}>
        {ROLE_OPTIONS.map(({ value, label }) => (
          <option value={value} selected={value === role ? true : undefined}>
            {label}
          </option>
        ))}
      </select>{" "}
      <button type="submit" class="quiet">
        Change<span class="visually-hidden"> the role of {email}</span>
      </button>
    </Form>
  );
}

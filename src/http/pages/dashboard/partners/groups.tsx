import { type Context, Hono } from "hono";
import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from "../../../../core/programs/groups.ts";
import type { Group, Program } from "../../../../core/kernel/rows.ts";
import { GROUP } from "../../../../resources/group.ts";
import { groupCreate, groupPatch } from "../../../api/groups.ts";
import type { PageEnv } from "../../../session.ts";
import { act, change, press } from "../../act.ts";
import { openEdit, type Edit, type EditForm } from "../../edits.ts";
import { addressWithNote, FLASH } from "../../flash.ts";
import type { FormFields, Problems } from "../../forms.ts";
import { formPage, framed } from "../../framed.tsx";
import { plural } from "../../parts/figures.tsx";
import { ActionButton, Field } from "../../parts/form.tsx";
import { Table } from "../../parts/table.tsx";
import { ActionLink } from "../../rights.tsx";
import { ApplyFromField, applyFromInput, isPreview, previewPage } from "../rules/apply-from.tsx";

const PARTNERS = "/dashboard/partners";
const AT = `${PARTNERS}/groups`;
const BACK = { href: AT, label: "Groups" };

/** `/dashboard/partners/groups` (PAGE-7): list, add, edit, delete. */
export const groups = new Hono<PageEnv>()
  .get("/", async (c) => {
    const list = await listGroups(c.var.ctx);
    const head = {
      lede: "Groups give their partners a rate and a number of days on hold. Every partner belongs to one.",
      back: { href: PARTNERS, label: "Partners" },
      actions: (
        <ActionLink class="button primary" href={`${AT}/new`}>
          Add group
        </ActionLink>
      ),
    };
    return framed(
      c,
      { title: "Groups", at: PARTNERS, done: FLASH.groups, head },
      <section class="card flush">
        <GroupTable groups={list} program={c.var.session.program} />
      </section>,
    );
  })
  .get("/new", (c) => newPage(c, NEW))
  .post("/new", (c) =>
    act(c, {
      schema: groupCreate,
      input: (fields) => ({ ...inputOf(fields), slug: fields.given("slug") }),
      verb: async (value) => {
        await createGroup(c.var.ctx, value);
        return addressWithNote(AT, "added");
      },
      page: ({ fields, problems }) => newPage(c, valuesOf(null, fields), problems),
    }),
  )
  .get("/:id", async (c) => editPage(c, openEdit(GROUP_FORM, await getGroup(c.var.ctx, c.req.param("id")))))
  .post("/:id", async (c) => {
    const group = await getGroup(c.var.ctx, c.req.param("id"));
    return change(c, {
      form: GROUP_FORM,
      row: group,
      schema: groupPatch,
      input: (fields) => ({ ...inputOf(fields), ...applyFromInput(fields, c.var.session.program) }),
      verb: async (value, { fields, sent }) => {
        const { apply_from, commission_pct } = value;
        if (isPreview(fields) && apply_from !== undefined && commission_pct !== undefined) {
          const rate = commission_pct === null ? "the program's rate" : `${commission_pct}\u00a0%`;
          const rule = { group_id: group.id, commission_pct };
          const subject = `Apply ${rate} to ${group.name}`;
          return previewPage(c, { at: PARTNERS, action: `${AT}/${group.id}`, fields, subject, rule, apply_from });
        }
        await updateGroup(c.var.ctx, group.id, value, sent);
        return addressWithNote(AT, apply_from === undefined ? "saved" : "applied");
      },
      page: (edit) => editPage(c, edit),
    });
  })
  .post("/:id/default", async (c) => {
    await updateGroup(c.var.ctx, c.req.param("id"), { is_default: true });
    return c.redirect(addressWithNote(AT, "default"), 303);
  })
  .get("/:id/delete", async (c) => deletePage(c, await getGroup(c.var.ctx, c.req.param("id"))))
  .post("/:id/delete", async (c) => {
    const group = await getGroup(c.var.ctx, c.req.param("id"));
    const remove = async () => {
      await deleteGroup(c.var.ctx, group.id);
      return addressWithNote(AT, "deleted");
    };
    return press(c, remove, (problems) => deletePage(c, group, problems));
  });

/** The fields of the form, as texts. */
type GroupValues = Record<"name" | "slug" | "commission_pct" | "hold_days" | "apply_from", string>;

const NEW = valuesOf(null);

function valuesOf(stored: Group | null, fields?: FormFields): GroupValues {
  const of = (name: Exclude<keyof GroupValues, "apply_from">) => fields?.given(name) ?? String(stored?.[name] ?? "");
  return {
    ...{ name: of("name"), slug: of("slug"), commission_pct: of("commission_pct"), hold_days: of("hold_days") },
    apply_from: fields?.text("apply_from") ?? "",
  };
}

const GROUP_FORM: EditForm<Group> = {
  columns: ({ name, commission_pct, hold_days }) => ({ name, commission_pct, hold_days }),
  texts: (group) => valuesOf(group),
  changes: ({ id }) => ({ type: "group.updated", about: ["group_id", id] }),
};

/** The input for the API's schemas, without the slug. */
function inputOf(fields: FormFields) {
  return {
    name: fields.given("name"),
    commission_pct: fields.numberOrNull("commission_pct"),
    hold_days: fields.numberOrNull("hold_days"),
  };
}

function GroupTable({ groups: list, program }: { groups: readonly Group[]; program: Program }) {
  const days = program.auto_approve_days;
  return (
    <Table
      label="Groups"
      columns={[
        { label: "Group", grow: true },
        { label: "Rate", align: "end" },
        { label: "On hold", align: "end" },
        { label: "Partners", align: "end" },
        { label: "Actions", hidden: true },
      ]}
      rows={list.map((group) => [
        <span>
          <a href={`${AT}/${group.id}`}>{group.name}</a>
          <span class="second">{group.slug}</span>
          {group.is_default ? <span class="second">New partners belong to it.</span> : null}
        </span>,
        group.commission_pct === null ? (
          <span class="muted">{`${program.default_commission_pct}\u00a0%`}</span>
        ) : (
          `${group.commission_pct}\u00a0%`
        ),
        group.hold_days === null ? (
          <span class="muted">{days === null ? "–" : plural(days, "day")}</span>
        ) : (
          plural(group.hold_days, "day")
        ),
        <a href={`${PARTNERS}?group_id=${group.id}`}>{plural(group.partner_count, "partner")}</a>,
        group.is_default ? (
          ""
        ) : (
          <span class="links">
            <ActionButton action={`${AT}/${group.id}/default`} label="Make default" />
            <ActionLink href={`${AT}/${group.id}/delete`}>Delete</ActionLink>
          </span>
        ),
      ])}
    />
  );
}

function GroupFields({ program, isNew }: { program: Program; isNew: boolean }) {
  const days = program.auto_approve_days;
  return (
    <>
      <Field name="name" label={GROUP.name.form.label} required={true} maxlength={200} autocomplete="off" />
      {isNew ? (
        <Field
          name="slug"
          label={GROUP.slug.form.label}
          required={true}
          maxlength={64}
          autocomplete="off"
          hint={GROUP.slug.form.hint}
        />
      ) : null}
      <Field
        name="commission_pct"
        label={GROUP.commission_pct.form.label}
        inputmode="decimal"
        unit="%"
        hint={`Empty: the program's ${program.default_commission_pct} %. A partner's own rate comes first.`}
      />
      <Field
        name="hold_days"
        label={GROUP.hold_days.form.label}
        inputmode="numeric"
        hint={
          days === null
            ? "Shown to partners. Nothing is approved by time until you set days in the settings."
            : `Empty: the program's ${plural(days, "day")}. Counts for later payments.`
        }
      />
      {isNew ? null : <ApplyFromField />}
    </>
  );
}

function newPage(c: Context<PageEnv>, values: GroupValues, problems?: Problems) {
  return formPage(
    c,
    { ...{ title: "Add group", at: PARTNERS, problems, values, back: BACK }, submit: "Add group", cancel: "Cancel" },
    <GroupFields program={c.var.session.program} isNew={true} />,
  );
}

function editPage(c: Context<PageEnv>, { row, shown, fields, problems }: Edit<Group>) {
  return formPage(
    c,
    {
      ...{ title: row.name, at: PARTNERS, problems, values: valuesOf(row, fields), shown, back: BACK },
      ...{ action: `${AT}/${row.id}`, submit: "Save", cancel: "Cancel" },
    },
    <GroupFields program={c.var.session.program} isNew={false} />,
  );
}

function deletePage(c: Context<PageEnv>, { id, name, partner_count }: Group, problems?: Problems) {
  return formPage(
    c,
    {
      ...{ title: `Delete ${name}`, heading: `Delete “${name}”?`, at: PARTNERS, problems, back: BACK },
      ...{ submit: "Delete the group", kind: "danger", cancel: "Keep it" },
    },
    <p>
      {partner_count === 0 ? (
        "This cannot be undone. Commissions do not change."
      ) : (
        <>
          <a href={`${PARTNERS}?group_id=${id}`}>{plural(partner_count, "partner")}</a> must move to another group
          first.
        </>
      )}
    </p>,
  );
}

import type { Context } from "hono";
import { readPartnerOverview } from "../../../../core/overview/overview.ts";
import { parsePage } from "../../../../core/kernel/list-page.ts";
import { makeSlug } from "../../../../core/partners/made-slugs.ts";
import {
  createPartner,
  deletePartner,
  getPartner,
  inviteAgain,
  listPartners,
  updatePartner,
} from "../../../../core/partners/partners.ts";
import { forgetAccount } from "../../../../core/partners/onboarding.ts";
import { listGroups } from "../../../../core/programs/groups.ts";
import { invitePartner } from "../../../../core/sessions/invite.ts";
import type { Group, Partner } from "../../../../core/kernel/rows.ts";
import type { PartnerView } from "../../../../core/kernel/views.ts";
import { PARTNER_STATUSES, SEARCHED_WORDS } from "../../../../domain/partner.ts";
import { AppError } from "../../../../lib/errors.ts";
import { publicUrl } from "../../../../lib/public-url.ts";
import type { PageEnv } from "../../../session.ts";
import { partnerCreate, partnerPatch } from "../../../api/partners.ts";
import { partnerQuery } from "../../../queries.ts";
import { openEdit, type Edit } from "../../edits.ts";
import { type Problems } from "../../forms.ts";
import { framed, formPage } from "../../framed.tsx";
import { timeColumn, type ListOf, dayColumn, statusColumn } from "../../list.tsx";
import { ActionButton, Field } from "../../parts/form.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { typedDetails } from "../../parts/payout-fields.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { TRANSFER_SERVICE } from "../../../../providers/registry.ts";
import { ActionLink } from "../../rights.tsx";
import { isPreview, previewPage, applyFromInput } from "../rules/apply-from.tsx";
import { PARTNER_FORM, PartnerFields, partnerValues, type PartnerValues, partnerInput } from "./fields.tsx";
import { PartnerDetail } from "./detail.tsx";
import { act, press, change, sentFields } from "../../act.ts";
import { addressWithNote, FLASH } from "../../flash.ts";
import { listPage } from "../../list-page.tsx";
import type { Place } from "../../layout.tsx";
import { Choice } from "../../parts/filter-fields.tsx";

const AT = "/dashboard/partners";
const DAYS = 30;

/** The limits of a reactivation, with links to undo the rest. */
function ReactivatedText({ id }: { id: string }) {
  return (
    <>
      The partner is active again. Payments while the partner was deactivated earned nothing:{" "}
      <a href={`/dashboard/payments?outcome=partner_deactivated&partner_id=${id}`}>open those that should earn</a>, and
      recalculate each.
    </>
  );
}

/** Restores the partner's previous status; a deactivated partner is reactivated by the button of every such page. */
function Undo({ id, was }: { id: string; was: string | undefined }) {
  const action = `${AT}/${id}/activate`;
  if (was === "invited") return <ActionButton action={action} values={{ status: was }} label="Undo: back to invited" />;
  return was === "active" ? <ActionButton action={action} label="Undo: reactivate" /> : null;
}

export type Listed = Pick<
  PartnerView,
  | ("id" | "email" | "first_name" | "last_name" | "slug" | "status" | "commission_pct")
  | ("payout_method" | "created_at" | "updated_at")
> & { group: Pick<Group, "name" | "slug"> | undefined };

function PartnerCell({ partner }: { partner: Listed }) {
  const name = partnerText(partner);
  return (
    <span>
      <a href={`${AT}/${partner.id}`}>{name}</a>
      {name === partner.email ? null : <span class="second">{partner.email}</span>}
    </span>
  );
}

const READ = new WeakMap<object, ReturnType<typeof listGroups>>();

/** The program's groups, read once for a request. */
function groupsOf(c: Context<PageEnv>): ReturnType<typeof listGroups> {
  const groups = READ.get(c) ?? listGroups(c.var.ctx);
  READ.set(c, groups);
  return groups;
}

const LIST: ListOf<typeof partnerQuery, Listed> = {
  name: "partners",
  label: "Partners",
  query: partnerQuery,
  read: async (c, filter) => {
    const [partners, groups] = await Promise.all([listPartners(c.var.ctx, filter), groupsOf(c)]);
    const page = parsePage(partners);
    const named = new Map(groups.map((group) => [group.id, group]));
    return { ...page, data: page.data.map((partner) => ({ ...partner, group: named.get(partner.group_id) })) };
  },
  columns: [
    {
      key: "partner",
      label: "Partner",
      cell: (partner) => <PartnerCell partner={partner} />,
      csv: { partner_id: "id", first_name: "first_name", last_name: "last_name", email: "email" },
    },
    {
      key: "slug",
      label: "Slug",
      cell: (partner) => <code>{partner.slug}</code>,
      csv: { slug: "slug" },
    },
    statusColumn(),
    {
      key: "group",
      label: "Group",
      cell: ({ group }) => <span class="whole">{group?.name}</span>,
      csv: { group: ({ group }) => group?.slug ?? null },
    },
    {
      key: "payout_method",
      label: "Paid by",
      extra: true,
      cell: ({ payout_method: method }) =>
        method ? <span class="whole">{payoutMethodText(method)}</span> : <span class="muted">–</span>,
      csv: { payout_method: ({ payout_method: method }) => method && payoutMethodText(method) },
    },
    {
      key: "rate",
      label: "Own rate",
      align: "end",
      cell: ({ commission_pct }) =>
        commission_pct === null ? <span class="muted">default</span> : `${commission_pct}\u00a0%`,
      csv: { commission_pct: "commission_pct" },
    },
    timeColumn("updated_at", "Changed"),
    dayColumn("added", "Added", "created_at"),
  ],
};

/** `/dashboard/partners` (PAGE-7): list, search, add, edit. */
export const partners = listPage(LIST, {
  at: AT,
  head: {
    actions: (
      <>
        <a class="button" href={`${AT}/groups`}>
          Groups
        </a>
        <a class="button" href={`${AT}/applications`}>
          Applications
        </a>
        <ActionLink class="button" href={`${AT}/import`}>
          Import CSV
        </ActionLink>
        <ActionLink class="button primary" href={`${AT}/new`}>
          Add partner
        </ActionLink>
      </>
    ),
  },
  search: true,
  filter: async (c) => {
    const groups = await groupsOf(c);
    const nameOf = (id: string) => groups.find((group) => group.id === id)?.name ?? id;
    return (
      <>
        <Field name="search" label={`Partner: ${SEARCHED_WORDS}`} type="search" maxlength={200} class="grow" />
        <Choice name="status" label="Status" among={PARTNER_STATUSES} />
        <Choice name="group_id" label="Group" among={groups.map(({ id }) => id)} text={nameOf} />
      </>
    );
  },
  hint: `Try part of the ${SEARCHED_WORDS}. `,
  empty: {
    title: "No partners yet",
    children: "Each partner gets their own link and earns a commission on payments through it.",
    action: (
      <>
        <ActionLink class="button primary" href={`${AT}/new`}>
          Add your first partner
        </ActionLink>
        <ActionLink class="button" href={`${AT}/import`}>
          Import a list
        </ActionLink>
      </>
    ),
  },
})
  .get("/new", (c) => newPage(c, partnerValues(null)))
  .post("/new", async (c) => {
    const sent = await sentFields(c);
    // The overview's form has only the address.
    const slug = sent.given("slug") ?? (await makeSlug(c.var.ctx, "", sent.text("email")));
    return act(c, {
      schema: partnerCreate,
      input: (fields) => ({ ...partnerInput(fields), slug }),
      verb: async (value, fields) => {
        const { id } = await createPartner(c.var.ctx, { ...value, ...typedDetails(fields) });
        return addressWithNote(`${AT}/${id}`, fields.has("invite") ? await invited(c, id) : "added");
      },
      page: ({ fields, problems }) => newPage(c, { ...partnerValues(null, fields), slug }, problems),
    });
  })
  .get("/:id", async (c) => {
    const { ctx } = c.var;
    const id = c.req.param("id");
    const { partner, group, stats, clicks } = await getPartner(ctx, id);
    const overview = await readPartnerOverview(ctx, id, DAYS);
    const isUndone = c.req.query("done") === "deactivated" && partner.status === "deactivated";
    return framed(
      c,
      {
        title: partnerText(partner),
        at: AT,
        done: { ...FLASH.partners, reactivated: <ReactivatedText id={id} /> },
        undo: isUndone ? <Undo id={id} was={c.req.query("was")} /> : null,
      },
      <PartnerDetail
        {...{ partner, group, stats, clicks, overview }}
        program={ctx.program}
        origin={publicUrl(c.env)}
      />,
    );
  })
  .get("/:id/edit", async (c) => {
    const { partner } = await getPartner(c.var.ctx, c.req.param("id"));
    return editPage(c, openEdit(PARTNER_FORM, partner));
  })
  .post("/:id/edit", async (c) => {
    const { partner } = await getPartner(c.var.ctx, c.req.param("id"));
    const at = `${AT}/${partner.id}`;
    return change(c, {
      form: PARTNER_FORM,
      row: partner,
      schema: partnerPatch,
      input: (fields) => ({ ...partnerInput(fields), ...applyFromInput(fields, c.var.session.program) }),
      verb: async (value, { fields, sent }) => {
        const { apply_from, commission_pct, group_id } = value;
        if (isPreview(fields) && apply_from !== undefined && commission_pct !== undefined) {
          const rate = commission_pct === null ? "the group's or program's rate" : `${commission_pct}\u00a0%`;
          const subject = `Apply ${rate} to ${partnerText(partner)}`;
          const rule = { partner_id: partner.id, commission_pct, ...(group_id === undefined ? {} : { group_id }) };
          return previewPage(c, { at: AT, action: `${at}/edit`, fields, subject, rule, apply_from });
        }
        await updatePartner(c.var.ctx, partner.id, { ...value, ...typedDetails(fields) }, sent);
        return addressWithNote(at, apply_from === undefined ? "saved" : "applied");
      },
      page: (edit) => editPage(c, edit),
    });
  })
  .get("/:id/deactivate", async (c) => {
    const { partner } = await getPartner(c.var.ctx, c.req.param("id"));
    const title = `Deactivate ${partnerText(partner)}`;
    return formPage(
      c,
      {
        ...{ title, heading: `${title}?`, at: AT, back: placeOf(partner) },
        ...{ submit: "Deactivate", kind: "danger", cancel: "Keep as is" },
      },
      <p>
        The partner is signed out and cannot sign in, and new payments earn no commission. Earlier earnings stay and can
        still be paid out. You can reactivate the partner on their page, and then recalculate payments from the meantime
        one by one.
      </p>,
    );
  })
  .post("/:id/deactivate", async (c) => {
    const { partner, was } = await deletePartner(c.var.ctx, c.req.param("id"));
    return c.redirect(`${addressWithNote(`${AT}/${partner.id}`, "deactivated")}&was=${was}`, 303);
  })
  .get("/:id/forget-account", (c) => forgetPage(c))
  .post("/:id/forget-account", async (c) => {
    const id = c.req.param("id");
    const account = (await sentFields(c)).text("account_id");
    const forget = async () => {
      await forgetAccount(c.var.ctx, id, account);
      return addressWithNote(`${AT}/${id}`, "forgotten");
    };
    return press(c, forget, (problems) => forgetPage(c, problems));
  })
  .post("/:id/invite", async (c) => {
    const { id } = await invitePartner(c.var.ctx, c.req.param("id"));
    return c.redirect(addressWithNote(`${AT}/${id}`, "invited"), 303);
  })
  .post("/:id/activate", async (c) => {
    const id = c.req.param("id");
    const at = `${AT}/${id}`;
    if ((await sentFields(c)).text("status") === "invited") {
      const { status } = await inviteAgain(c.var.ctx, id);
      return c.redirect(status === "invited" ? addressWithNote(at, "invited_again") : at, 303);
    }
    const { partner: before } = await getPartner(c.var.ctx, id);
    await updatePartner(c.var.ctx, id, { status: "active" });
    return c.redirect(addressWithNote(at, before.status === "deactivated" ? "reactivated" : "activated"), 303);
  });

function placeOf(partner: Partner): Place {
  return { href: `${AT}/${partner.id}`, label: partnerText(partner) };
}

async function forgetPage(c: Context<PageEnv, "/:id/forget-account">, problems?: Problems) {
  const { partner } = await getPartner(c.var.ctx, c.req.param("id"));
  const account = partner.provider_a_account_id;
  return formPage(
    c,
    {
      ...{ title: `Disconnect the account at ${TRANSFER_SERVICE}?`, at: AT, problems, back: placeOf(partner) },
      ...{ submit: account === null ? null : "Disconnect", kind: "danger", cancel: "Keep as is" },
    },
    <>
      <p>
        {account === null ? (
          "The partner has no account there."
        ) : (
          <>
            This is <code>{account}</code>.
          </>
        )}{" "}
        Disconnect an account that is closed or does not belong to your current API key. Nothing changes at{" "}
        {TRANSFER_SERVICE}. The partner then sets up a new one in the portal; until then you cannot pay there. Prepared
        payouts keep the old account: cancel them and prepare them again.
      </p>
      <input type="hidden" name="account_id" value={account ?? ""} />
    </>,
  );
}

/** The partner exists even if the invitation cannot be sent. */
async function invited(c: Context<PageEnv>, id: string): Promise<"added_invited" | "added_alone"> {
  try {
    await invitePartner(c.var.ctx, id);
    return "added_invited";
  } catch (error) {
    if (error instanceof AppError) return "added_alone";
    throw error;
  }
}

async function newPage(c: Context<PageEnv>, values: PartnerValues, problems?: Problems) {
  const groups = await listGroups(c.var.ctx);
  const group_id = values.group_id || c.var.session.program.default_group_id;
  return formPage(
    c,
    {
      ...{
        title: "Add partner",
        at: AT,
        problems,
        values: { ...values, group_id },
        back: { href: AT, label: "Partners" },
      },
      ...{ submit: "Add partner", cancel: "Cancel" },
      more: (
        <button type="submit" name="invite" value="yes">
          Add and invite
        </button>
      ),
    },
    <PartnerFields program={c.var.session.program} groups={groups} stored={null} />,
  );
}

async function editPage(c: Context<PageEnv>, { row, shown, fields, problems }: Edit<Partner>) {
  return formPage(
    c,
    {
      ...{ title: `Edit ${partnerText(row)}`, at: AT, problems, values: partnerValues(row, fields), shown },
      ...{ back: placeOf(row), submit: "Save", cancel: "Cancel" },
    },
    <PartnerFields program={c.var.session.program} groups={await listGroups(c.var.ctx)} stored={row} />,
  );
}

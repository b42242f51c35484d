import type { Context } from "hono";
import { readPartnerOverview } from "../../../../core/overview/overview.ts";
import { makeSlug } from "../../../../core/partners/made-slugs.ts";
import {
  createPartner,
  deletePartner,
  getPartner,
  inviteAgain,
  updatePartner,
} from "../../../../core/partners/partners.ts";
import { forgetAccount } from "../../../../core/partners/onboarding.ts";
import { releaseHold } from "../../../../core/partners/release-hold.ts";
import { listGroups } from "../../../../core/programs/groups.ts";
import { invitePartner } from "../../../../core/sessions/invite.ts";
import type { Partner } from "../../../../core/kernel/rows.ts";
import { PARTNER_STATUSES, SEARCHED_WORDS } from "../../../../domain/partner.ts";
import { AppError } from "../../../../lib/errors.ts";
import { publicUrl } from "../../../../lib/public-url.ts";
import type { PageEnv } from "../../../session.ts";
import { partnerCreate, partnerPatch } from "../../../api/partners.ts";
import { openEdit, type Edit } from "../../edits.ts";
import { type Problems } from "../../forms.ts";
import { framed, formPage } from "../../framed.tsx";
import { ListTable } from "../../list.tsx";
import { ActionButton } from "../../parts/form.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { PartnerPlots, PLOT_DAYS } from "../../parts/partner-plots.tsx";
import { typedDetails } from "../../parts/payout-fields.tsx";
import { TRANSFER_SERVICE } from "../../../../providers/registry.ts";
import { ActionLink } from "../../rights.tsx";
import { isPreview, previewPage, applyFromInput } from "../rules/apply-from.tsx";
import { PARTNER_FORM, PartnerFields, partnerValues, type PartnerValues, partnerInput } from "./fields.tsx";
import { groupsOf, PARTNER_LIST, PARTNERS as AT, type Listed } from "./columns.tsx";
import { PartnerDetail } from "./detail.tsx";
import { act, press, change, sentFields } from "../../act.ts";
import { addressWithNote, FLASH } from "../../flash.ts";
import { listPage } from "../../list-page.tsx";
import type { Place } from "../../layout.tsx";
import { choice } from "../../parts/filter-fields.tsx";

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

function Invite({ row, back }: { row: Listed; back: string }) {
  if (row.status !== "invited") return null;
  const label = (
    <>
      Invite<span class="visually-hidden"> {partnerText(row)}</span>
    </>
  );
  return <ActionButton action={`${AT}/${row.id}/invite`} values={{ back }} label={label} />;
}

/** `/dashboard/partners` (PAGE-7): list, search, add, edit. */
export const partners = listPage(PARTNER_LIST, {
  at: AT,
  done: FLASH.partners,
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
  filter: async (c) => {
    const groups = await groupsOf(c);
    const nameOf = (id: string) => groups.find((group) => group.id === id)?.name ?? id;
    const label = `Partner: ${SEARCHED_WORDS}`;
    return [
      { name: "search", label, chip: "Search", maxlength: 200, isSearch: true },
      choice("status", "Status", PARTNER_STATUSES),
      choice(
        "group_id",
        "Group",
        groups.map(({ id }) => id),
        nameOf,
      ),
    ];
  },
  presets: [
    { label: "Active", query: { status: "active" } },
    { label: "Invited", query: { status: "invited" } },
  ],
  rows: (shown) => (
    <ListTable
      {...{ list: PARTNER_LIST, shown, path: AT }}
      act={{ label: "Invite", cell: (row) => <Invite row={row} back={new URLSearchParams(shown.query).toString()} /> }}
    />
  ),
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
    const { partner, group, stats, slugs, clicks } = await getPartner(ctx, id);
    const overview = await readPartnerOverview(ctx, id, PLOT_DAYS);
    const isUndone = c.req.query("done") === "deactivated" && partner.status === "deactivated";
    return framed(
      c,
      {
        title: partnerText(partner),
        at: AT,
        utcDays: true,
        done: { ...FLASH.partners, reactivated: <ReactivatedText id={id} /> },
        undo: isUndone ? <Undo id={id} was={c.req.query("was")} /> : null,
      },
      <PartnerDetail
        {...{ partner, group, stats, slugs, clicks, overview }}
        now={c.var.now}
        program={ctx.program}
        origin={publicUrl(c.env)}
      >
        <PartnerPlots c={c} seen={overview} />
      </PartnerDetail>,
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
  .post("/:id/release-hold", async (c) => {
    const { id } = await releaseHold(c.var.ctx, c.req.param("id"));
    return c.redirect(addressWithNote(`${AT}/${id}`, "released"), 303);
  })
  .post("/:id/invite", async (c) => {
    const { id } = await invitePartner(c.var.ctx, c.req.param("id"));
    const fields = await sentFields(c);
    const to = fields.has("back") ? addressWithNote(AT, "invited", fields.text("back")) : null;
    return c.redirect(to ?? addressWithNote(`${AT}/${id}`, "invited"), 303);
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

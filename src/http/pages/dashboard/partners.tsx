import type { Context } from "hono";
import { Hono } from "hono";
import { readPartnerOverview } from "../../../core/overview/overview.ts";
import { parsePage } from "../../../core/kernel/list-page.ts";
import { makeSlug } from "../../../core/partners/made-slugs.ts";
import {
  createPartner,
  deletePartner,
  getPartner,
  inviteAgain,
  listPartners,
  updatePartner,
} from "../../../core/partners/partners.ts";
import { forgetAccount } from "../../../core/partners/onboarding.ts";
import { invitePartner } from "../../../core/sessions/invite.ts";
import type { Decided, Partner } from "../../../core/kernel/rows.ts";
import type { Shown } from "../../../core/kernel/stale.ts";
import type { PartnerView } from "../../../core/kernel/views.ts";
import { PARTNER_STATUSES, SEARCHED_WORDS } from "../../../domain/partner.ts";
import { AppError } from "../../../lib/errors.ts";
import { publicUrl } from "../../../lib/public-url.ts";
import type { PageEnv } from "../../session.ts";
import { partnerCreate, partnerPatch } from "../../api/partners.ts";
import { partnerQuery } from "../../queries.ts";
import { openEdit, refusedEdit, sentEdit, type Edit } from "../edits.ts";
import { FormFields, parseInput, problemsOf, type Problems } from "../forms.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { csvOf } from "../list-csv.ts";
import { ListFilter, ListFoot, ListTable, readList, textColumn, timeColumn, type ListOf } from "../list.tsx";
import { ActionButton, Field, Form, SelectField } from "../parts/form.tsx";
import { Badge, When } from "../parts/figures.tsx";
import { Done } from "../parts/notice.tsx";
import { partnerText } from "../parts/partner.tsx";
import { payoutMethodText } from "../parts/payout-method.ts";
import { Empty } from "../parts/table.tsx";
import { TRANSFER_SERVICE } from "../../../providers/registry.ts";
import { ActionLink } from "../rights.tsx";
import { APPLIED, applyFromInput, previewPage, stepOf } from "./apply-from.tsx";
import { PARTNER_FORM, PartnerFields, partnerInput, partnerValues, type PartnerValues } from "./partner-fields.tsx";
import { PartnerDetail } from "./partner-detail.tsx";

const AT = "/dashboard/partners";
const DAYS = 30;

const DONE = {
  added: "The partner was added. Send the invitation, or ask them to sign in: that turns them active.",
  added_invited:
    "The partner was added, and the invitation is on its way: a link that signs in, once, within seven days.",
  added_alone: "The partner was added, but the invitation was not sent. Try again below, or ask them to sign in.",
  invited: "The invitation is on its way: a link that signs the partner in, once, within seven days.",
  invited_again: "The partner is invited again, as before. Payments that were refused meanwhile earned nothing.",
  saved: "Saved.",
  applied: APPLIED,
  forgotten: "The account is forgotten. The partner can set up another one in the portal, under Payout details.",
  deactivated: "The partner is deactivated and signed out.",
  activated: "The partner is active. Payments that waited for them earn their commissions within minutes.",
};

/** What a reactivation does not undo, and where it is undone. */
function ReactivatedText({ id }: { id: string }) {
  return (
    <>
      The partner is active again. Payments that were refused meanwhile earned nothing:{" "}
      <a href={`/dashboard/payments?outcome=partner_deactivated&partner_id=${id}`}>open those that should have</a>, and
      recalculate each.
    </>
  );
}

/** Back to what the partner was; one who was deactivated already is made active by the button of every such page. */
function Undo({ id, was }: { id: string; was: string | undefined }) {
  const action = `${AT}/${id}/activate`;
  if (was === "invited") return <ActionButton action={action} values={{ status: was }} label="Undo: invited again" />;
  return was === "active" ? <ActionButton action={action} label="Undo: make active again" /> : null;
}

/** `/dashboard/partners` (PAGE-7): list, search, add, edit. */
export const partners = new Hono<PageEnv>()
  .get("/", async (c) => {
    const shown = await readList(c, LIST);
    const { page, filter, isFiltered } = shown;
    return framed(
      c,
      { title: "Partners", at: AT },
      <>
        <PageHead
          title="Partners"
          actions={
            <>
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
          }
        />
        <ListFilter list={LIST} shown={shown} path={AT} search>
          <Field
            name="search"
            label={`Partner: ${SEARCHED_WORDS}`}
            type="search"
            value={filter.value.search}
            maxlength={200}
            class="grow"
          />
          <SelectField
            name="status"
            label="Status"
            value={filter.value.status}
            options={[{ value: "", label: "Any" }, ...PARTNER_STATUSES.map((value) => ({ value, label: value }))]}
          />
        </ListFilter>
        <section class="card flush">
          {page.total === 0 ? (
            isFiltered ? (
              <Empty title="No partner matches">
                Try a part of the {SEARCHED_WORDS}. <a href={AT}>Show all partners</a>
              </Empty>
            ) : (
              <NoPartners />
            )
          ) : (
            <>
              <ListTable list={LIST} shown={shown} />
              <ListFoot shown={shown} path={AT} />
            </>
          )}
        </section>
      </>,
    );
  })
  .get("/list.csv", (c) => csvOf(c, LIST))
  .get("/new", (c) => newPage(c, partnerValues(null)))
  .post("/new", async (c) => {
    const fields = new FormFields(await c.req.formData());
    // The overview asks for the address alone.
    const slug = fields.given("slug") ?? (await makeSlug(c.var.ctx, "", fields.text("email")));
    const values = { ...partnerValues(null, fields), slug };
    const parsed = parseInput(partnerCreate, { ...partnerInput(fields), slug });
    if (!parsed.ok) return newPage(c, values, parsed.problems);
    try {
      const { id } = await createPartner(c.var.ctx, parsed.value);
      const done = fields.has("invite") ? await invited(c, id) : "added";
      return c.redirect(`${AT}/${id}?done=${done}`, 303);
    } catch (error) {
      return newPage(c, values, problemsOf(error));
    }
  })
  .get("/:id", async (c) => {
    const { ctx } = c.var;
    const id = c.req.param("id");
    const { partner, stats, clicks } = await getPartner(ctx, id);
    const overview = await readPartnerOverview(ctx, id, DAYS);
    const done = c.req.query("done");
    return framed(
      c,
      { title: partnerText(partner), at: AT },
      <>
        <Done
          code={done}
          texts={{ ...DONE, reactivated: <ReactivatedText id={id} /> }}
          undo={
            done === "deactivated" && partner.status === "deactivated" ? (
              <Undo id={id} was={c.req.query("was")} />
            ) : null
          }
        />
        <PartnerDetail
          partner={partner}
          stats={stats}
          clicks={clicks}
          overview={overview}
          program={ctx.program}
          origin={publicUrl(c.env)}
        />
      </>,
    );
  })
  .get("/:id/edit", async (c) => {
    const { partner } = await getPartner(c.var.ctx, c.req.param("id"));
    return editPage(c, openEdit(PARTNER_FORM, partner));
  })
  .post("/:id/edit", async (c) => {
    const { partner } = await getPartner(c.var.ctx, c.req.param("id"));
    const fields = new FormFields(await c.req.formData());
    const edit = sentEdit(PARTNER_FORM, partner, fields);
    const step = stepOf(fields);
    if (step === "edit") return editPage(c, edit);
    const parsed = parseInput(partnerPatch, {
      ...partnerInput(fields),
      ...applyFromInput(fields, c.var.session.program),
    });
    if (!parsed.ok) return editPage(c, { ...edit, problems: parsed.problems });
    const { apply_from, commission_pct } = parsed.value;
    try {
      if (step === "preview" && apply_from !== undefined && commission_pct !== undefined) {
        const rate = commission_pct === null ? "the program's rate" : `${commission_pct}\u00a0%`;
        const subject = `Apply ${rate} to ${partnerText(partner)}`;
        const rule = { partner_id: partner.id, commission_pct };
        return await previewPage(c, { at: AT, action: `${AT}/${partner.id}/edit`, fields, subject, rule, apply_from });
      }
      await updatePartner(c.var.ctx, partner.id, parsed.value, edit.sent);
      return c.redirect(`${AT}/${partner.id}?done=${apply_from === undefined ? "saved" : "applied"}`, 303);
    } catch (error) {
      return editPage(c, await refusedEdit(c, PARTNER_FORM, edit, error));
    }
  })
  .get("/:id/deactivate", async (c) => {
    const { partner } = await getPartner(c.var.ctx, c.req.param("id"));
    return framed(
      c,
      { title: `Deactivate ${partnerText(partner)}`, at: AT },
      <>
        <PageHead
          title={`Deactivate ${partnerText(partner)}?`}
          back={{ href: `${AT}/${partner.id}`, label: partnerText(partner) }}
        />
        <Form class="card stack form-narrow">
          <p>
            The partner is signed out at once and cannot sign in, and payments that name them from now on earn no
            commission. What they have earned stays and can still be paid out. You can make them active again from their
            page; payments refused meanwhile can then be recalculated, one by one.
          </p>
          <div class="actions">
            <button type="submit" class="danger">
              Deactivate
            </button>
            <a href={`${AT}/${partner.id}`}>Keep as is</a>
          </div>
        </Form>
      </>,
    );
  })
  .post("/:id/deactivate", async (c) => {
    const { partner, was } = await deletePartner(c.var.ctx, c.req.param("id"));
    return c.redirect(`${AT}/${partner.id}?done=deactivated&was=${was}`, 303);
  })
  .get("/:id/forget-account", (c) => forgetPage(c))
  .post("/:id/forget-account", async (c) => {
    const id = c.req.param("id");
    const fields = new FormFields(await c.req.formData());
    try {
      await forgetAccount(c.var.ctx, id, fields.text("account_id"));
      return c.redirect(`${AT}/${id}?done=forgotten`, 303);
    } catch (error) {
      return forgetPage(c, problemsOf(error));
    }
  })
  .post("/:id/invite", async (c) => {
    const { id } = await invitePartner(c.var.ctx, c.req.param("id"));
    return c.redirect(`${AT}/${id}?done=invited`, 303);
  })
  .post("/:id/activate", async (c) => {
    const id = c.req.param("id");
    if (new FormFields(await c.req.formData()).text("status") === "invited") {
      const { status } = await inviteAgain(c.var.ctx, id);
      return c.redirect(`${AT}/${id}${status === "invited" ? "?done=invited_again" : ""}`, 303);
    }
    const { partner: before } = await getPartner(c.var.ctx, id);
    await updatePartner(c.var.ctx, id, { status: "active" });
    return c.redirect(`${AT}/${id}?done=${before.status === "deactivated" ? "reactivated" : "activated"}`, 303);
  });

async function forgetPage(c: Context<PageEnv, "/:id/forget-account">, problems?: Problems) {
  const { partner } = await getPartner(c.var.ctx, c.req.param("id"));
  const account = partner.provider_a_account_id;
  const title = `Forget the account at ${TRANSFER_SERVICE}?`;
  return framed(
    c,
    { title, at: AT, status: problems ? 422 : 200 },
    <>
      <PageHead title={title} back={{ href: `${AT}/${partner.id}`, label: partnerText(partner) }} />
      <Form class="card stack form-narrow" problems={problems}>
        <p>
          {account === null ? (
            "The partner has no account there."
          ) : (
            <>
              This is <code>{account}</code>.
            </>
          )}{" "}
          Forget an account that is closed, or is not of your present API key. Nothing is changed at {TRANSFER_SERVICE}.
          The partner then sets up another one in the portal; until then nothing can be paid there. Payouts that are
          prepared keep the old account: cancel them, and prepare them again.
        </p>
        <input type="hidden" name="account_id" value={account ?? ""} />
        <div class="actions">
          {account === null ? null : (
            <button type="submit" class="danger">
              Forget the account
            </button>
          )}
          <a href={`${AT}/${partner.id}`}>Keep as is</a>
        </div>
      </Form>
    </>,
  );
}

/** The partner is there, also where no invitation can be sent. */
async function invited(c: Context<PageEnv>, id: string): Promise<keyof typeof DONE> {
  try {
    await invitePartner(c.var.ctx, id);
    return "added_invited";
  } catch (error) {
    if (error instanceof AppError) return "added_alone";
    throw error;
  }
}

function NoPartners() {
  return (
    <Empty
      title="No partners yet"
      action={
        <>
          <ActionLink class="button primary" href={`${AT}/new`}>
            Add your first partner
          </ActionLink>
          <ActionLink class="button" href={`${AT}/import`}>
            Import a list
          </ActionLink>
        </>
      }
    >
      Each partner gets a link of their own. Payments that come through it earn them a commission.
    </Empty>
  );
}

/** A partner in the list. */
export type Listed = Decided<
  PartnerView,
  | ("id" | "email" | "first_name" | "last_name" | "slug" | "status" | "commission_pct")
  | ("payout_method" | "created_at" | "updated_at"),
  "program_id" | "payout_email" | "provider_a_account_id" | "metadata"
>;

function PartnerCell({ partner }: { partner: Listed }) {
  const name = partnerText(partner);
  return (
    <span>
      <a href={`${AT}/${partner.id}`}>{name}</a>
      {name === partner.email ? null : <span class="second">{partner.email}</span>}
    </span>
  );
}

function newPage(c: Context<PageEnv>, values: PartnerValues, problems?: Problems) {
  return formPage(c, { partner: null, values, problems });
}

function editPage(c: Context<PageEnv>, { row, shown, fields, problems }: Edit<Partner>) {
  return formPage(c, { partner: row, values: partnerValues(row, fields), problems, shown });
}

interface PartnerForm {
  partner: Partner | null;
  values: PartnerValues;
  problems: Problems | undefined;
  shown?: Shown;
}

function formPage(c: Context<PageEnv>, { partner, values, problems, shown }: PartnerForm) {
  const title = partner ? `Edit ${partnerText(partner)}` : "Add partner";
  const back = partner ? { href: `${AT}/${partner.id}`, label: partnerText(partner) } : { href: AT, label: "Partners" };
  return framed(
    c,
    { title, at: AT, status: problems ? 422 : 200 },
    <>
      <PageHead title={title} back={back} />
      <Form class="card stack form-narrow" problems={problems} shown={shown}>
        <PartnerFields values={values} problems={problems} program={c.var.session.program} isNew={partner === null} />
        <div class="actions">
          <button type="submit" class="primary">
            {partner ? "Save" : "Add partner"}
          </button>
          {partner ? null : (
            <button type="submit" name="invite" value="yes">
              Add and invite
            </button>
          )}
          <a href={back.href}>Cancel</a>
        </div>
      </Form>
    </>,
  );
}

const LIST: ListOf<typeof partnerQuery, Listed> = {
  name: "partners",
  label: "Partners",
  query: partnerQuery,
  read: async (c, filter) => parsePage(await listPartners(c.var.ctx, filter)),
  columns: [
    {
      key: "partner",
      label: "Partner",
      cell: (partner) => <PartnerCell partner={partner} />,
      csv: {
        partner_id: (partner) => partner.id,
        first_name: (partner) => partner.first_name,
        last_name: (partner) => partner.last_name,
        email: (partner) => partner.email,
      },
    },
    {
      key: "slug",
      label: "Slug",
      cell: (partner) => <code>{partner.slug}</code>,
      csv: { slug: (partner) => partner.slug },
    },
    {
      key: "status",
      label: "Status",
      cell: (partner) => <Badge state={partner.status} />,
      csv: { status: (partner) => partner.status },
    },
    textColumn(
      "payout_method",
      "Paid by",
      (partner) => partner.payout_method && payoutMethodText(partner.payout_method),
    ),
    {
      key: "rate",
      label: "Own rate",
      align: "end",
      cell: ({ commission_pct }) =>
        commission_pct === null ? <span class="muted">default</span> : `${commission_pct}\u00a0%`,
      csv: { commission_pct: (partner) => partner.commission_pct },
    },
    timeColumn("updated_at", "Changed", (partner) => partner.updated_at),
    {
      key: "added",
      label: "Added",
      align: "end",
      cell: (partner) => <When at={partner.created_at} only="day" />,
      csv: { created_at: (partner) => partner.created_at },
    },
  ],
};

import { type Context, Hono } from "hono";
import {
  createApiKey,
  deleteApiKey,
  listApiKeys,
  readApiKey,
  rotateApiKey,
  type MadeApiKey,
} from "../../../../core/programs/api-keys.ts";
import type { ApiKey } from "../../../../core/kernel/rows.ts";
import { MAX_API_KEY_NAME, SCOPES, type Scope } from "../../../../domain/scope.ts";
import { iso, MINUTE } from "../../../../lib/time.ts";
import { apiKeyCreate } from "../../../api/api-keys.ts";
import type { PageEnv } from "../../../session.ts";
import { type Problems } from "../../forms.ts";
import { framed, formPage } from "../../framed.tsx";
import { CopyLine } from "../../parts/copy.tsx";
import { ActionButton, Checkbox, Field, Form, Actions, type Values } from "../../parts/form.tsx";
import { Badge, When } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Empty, Facts, Table } from "../../parts/table.tsx";
import { ActionLink, IfMay } from "../../rights.tsx";
import { act, press } from "../../act.ts";
import { FLASH, addressWithNote } from "../../flash.ts";
import { SETTINGS, SettingsTabs } from "./tabs.tsx";

const AT = `${SETTINGS}/keys` as const;

const SCOPE_TEXTS: Record<Scope, string> = {
  read: "See everything except full payout details and secrets.",
  write: "Add and change partners, flows and settings, report sales, and reject commissions.",
  payouts:
    "Approve commissions and add bonuses; pay, mark as paid, cancel and export payouts; see and change payout details.",
  keys: "Create and delete keys; change the providers' secrets.",
};

/** `/dashboard/settings/keys` (PAGE-13): the keys beside the program's first. */
export const apiKeys = new Hono<PageEnv>()
  .get("/", (c) => keysPage(c, NEW_KEY))
  .post("/", (c) =>
    act(c, {
      schema: apiKeyCreate,
      input: (fields) => ({
        ...{ name: fields.text("name"), scopes: fields.all("scopes") },
        expires_at: fields.startOfDate("expires_at", c.var.session.program.time_zone) || null,
      }),
      verb: async (value) => madePage(c, await createApiKey(c.var.ctx, value)),
      page: ({ fields, problems }) => keysPage(c, fields, problems),
    }),
  )
  .post("/:id/rotate", (c) => {
    const id = c.req.param("id");
    const rotate = async () => madePage(c, await rotateApiKey(c.var.ctx, id));
    return press(c, rotate, async (problems) => {
      const { name, scopes } = await readApiKey(c.var.ctx, id);
      return keysPage(c, { ...NEW_KEY, name, scopes }, problems);
    });
  })
  .get("/:id/delete", async (c) => {
    const { name, last4 } = await readApiKey(c.var.ctx, c.req.param("id"));
    return formPage(
      c,
      {
        ...{ title: "Delete the key", heading: "Delete this key?", at: AT, back: { href: AT, label: "API keys" } },
        ...{ submit: "Delete the key", kind: "danger", cancel: "Keep it" },
      },
      <>
        <p>
          <strong>{name}</strong>, which ends in <code>{last4}</code>
        </p>
        <p>It stops working right away, everywhere. This cannot be undone.</p>
      </>,
    );
  })
  .post("/:id/delete", async (c) => {
    await deleteApiKey(c.var.ctx, c.req.param("id"));
    return c.redirect(addressWithNote(AT, "deleted"), 303);
  });

/** The form of a new key as it is opened. */
const NEW_KEY = { name: "", scopes: ["read"], expires_at: "" };

export type Listed = Pick<ApiKey, "id" | "name" | "scopes" | "last4" | "created_at" | "expires_at" | "last_used_at">;

function KeyTable({ keys, now }: { keys: readonly Listed[]; now: number }) {
  return (
    <Table
      label="Further keys"
      columns={[
        { label: "Key" },
        { label: "Permissions" },
        { label: "Created" },
        { label: "Last used" },
        { label: "Expires" },
        { label: "Rotate or delete", hidden: true },
      ]}
      rows={keys.map((key) => [
        <span>
          {key.name}
          <span class="second">
            <code>sk_…{key.last4}</code>
          </span>
        </span>,
        key.scopes.join(", "),
        <When at={key.created_at} only="day" />,
        key.last_used_at === null ? "never" : <When at={key.last_used_at} />,
        <End at={key.expires_at} now={now} />,
        <span class="actions">
          <IfMay right="secure">
            <ActionButton
              action={`${AT}/${key.id}/rotate`}
              label={
                <>
                  Rotate<span class="visually-hidden"> {key.name}</span>
                </>
              }
            />
          </IfMay>
          <IfMay right="manage">
            <a href={`${AT}/${key.id}/delete`} aria-label={`Delete ${key.name}`}>
              Delete
            </a>
          </IfMay>
        </span>,
      ])}
    />
  );
}

function End({ at, now }: { at: string | null; now: number }) {
  if (at === null) return <>never</>;
  return (
    <span>
      <When at={at} /> {at <= iso(now) ? <Badge state="failed" label="expired" /> : null}
    </span>
  );
}

function Until({ at, now }: { at: string; now: number }) {
  return (
    <>
      {at <= iso(now) ? "expired" : "works until"} <When at={at} />
    </>
  );
}

interface FirstKeyProps {
  api_key_last4: string;
  api_key_created_at: string;
  api_key_last_used_at: string | null;
}

/** The program's first key, which is replaced and never deleted. */
function FirstKey({ api_key_last4, api_key_created_at, api_key_last_used_at }: FirstKeyProps) {
  return (
    <>
      <Facts
        rows={[
          ["Key", <code>sk_…{api_key_last4}</code>],
          ["Permissions", "Everything"],
          ["Created", <When at={api_key_created_at} />],
          ["Last used", api_key_last_used_at === null ? "Never" : <When at={api_key_last_used_at} />],
        ]}
      />
      <p class="more">
        <ActionLink class="button danger" href={`${SETTINGS}/api-key`}>
          Replace this key
        </ActionLink>
      </p>
    </>
  );
}

async function keysPage(c: Context<PageEnv>, values: Values, problems?: Problems) {
  const keys = await listApiKeys(c.var.ctx);
  const head = {
    lede: "Use one key for each of your systems, with only the permissions it needs.",
    tabs: <SettingsTabs at={AT} />,
  };
  return framed(
    c,
    { title: "API keys", at: AT, problems, done: FLASH.keys, head },
    <>
      <section class="card" id="first">
        <h2>First key</h2>
        <FirstKey {...c.var.session.program} />
      </section>
      <section class="card flush">
        <h2>Further keys</h2>
        {keys.length === 0 ? (
          <Empty title="No further keys yet">
            Create one for each of your systems. To rotate a key without downtime, the old one works until you delete
            it.
          </Empty>
        ) : (
          <KeyTable keys={keys} now={c.var.now} />
        )}
      </section>
      <IfMay right="manage">
        <section class="card" id="make">
          <h2>Create a key</h2>
          <NewKey values={values} problems={problems} />
        </section>
      </IfMay>
    </>,
  );
}

function NewKey({ values, problems }: { values: Values; problems: Problems | undefined }) {
  // The problem is at one scope or at the whole list.
  const isUnscoped = Object.keys(problems?.fields ?? {}).some((path) => path.startsWith("scopes"));
  return (
    <Form {...{ values, problems }} action={`${AT}#make`} class="stack form-narrow" to="create or rotate a key">
      <Field
        name="name"
        label="Name"
        maxlength={MAX_API_KEY_NAME}
        required={true}
        hint="The system that uses it, as shown in the audit log."
      />
      <fieldset id="f-scopes" aria-describedby={isUnscoped ? "f-scopes-problem" : undefined}>
        <legend>Permissions</legend>
        <div class="rows">
          {SCOPES.map((scope) => (
            <Checkbox name="scopes" value={scope} label={<code>{scope}</code>} hint={SCOPE_TEXTS[scope]} />
          ))}
        </div>
        {isUnscoped ? (
          <p class="problem" id="f-scopes-problem">
            Choose at least one.
          </p>
        ) : null}
      </fieldset>
      <Field
        name="expires_at"
        label="Expires on"
        type="date"
        hint="At the start of that day. Empty: it works until you delete it."
      />
      <Actions submit="Create the key" />
    </Form>
  );
}

/** The only page that shows the key. */
function madePage(c: Context<PageEnv>, { key, api_key, before }: MadeApiKey & { before?: ApiKey }) {
  c.set("kept_for", MINUTE);
  return framed(
    c,
    { title: "Your new API key", at: AT, head: { back: { href: AT, label: "API keys" } } },
    <section class="card prose">
      <Notice tone="warn">
        <p>Copy it now: we show it only once.</p>
      </Notice>
      <CopyLine label="API key" text={api_key} />
      <p>
        {key.name}. It may: {key.scopes.join(", ")}. Use it on your servers only.
        {key.expires_at === null ? null : (
          <>
            {" "}
            It expires <When at={key.expires_at} />.
          </>
        )}
      </p>
      {before === undefined ? null : (
        <p>
          The previous key, <code>sk_…{before.last4}</code>,{" "}
          {before.expires_at === null ? "works until you delete it" : <Until at={before.expires_at} now={c.var.now} />}.
          Once your system uses the new one, <a href={`${AT}/${before.id}/delete`}>delete it</a>.
        </p>
      )}
      <p>
        <a class="button primary" href={AT}>
          I have copied it
        </a>
      </p>
    </section>,
  );
}

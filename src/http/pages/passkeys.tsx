import { Hono, type Context } from "hono";
import { addPasskey, listPasskeys, newHandle, removePasskey } from "../../core/sessions/passkeys.ts";
import { deviceOf } from "../../domain/device.ts";
import { AppError } from "../../lib/errors.ts";
import type { PageEnv } from "../session.ts";
import { creationOptions, readAnswer } from "./passkey-answer.ts";
import { When } from "./parts/figures.tsx";
import { ActionButton } from "./parts/form.tsx";
import { PasskeyForm } from "./parts/passkey-form.tsx";
import { Table } from "./parts/table.tsx";
import { IfMay, ProveFirst, useMay } from "./rights.tsx";
import { sentFields } from "./act.ts";
import { addressWithNote } from "./flash.ts";

const SESSIONS = "/dashboard/settings/sessions";
const AT = `${SESSIONS}/passkeys`;

/** Members add and remove their own passkeys (PASS-1); partners sign in by links only. */
export const passkeys = new Hono<PageEnv>()
  .post("/", async (c) => {
    const { session, base } = c.var;
    const answered = await readAnswer(c, "create", (await sentFields(c)).text("credential"));
    if (!answered)
      throw new AppError("validation_failed", "Your browser's answer was not accepted. Open the page again.");
    await addPasskey(base, session, answered, deviceOf(c.req.header("user-agent") ?? ""));
    return c.redirect(addressWithNote(SESSIONS, "passkey_added"), 303);
  })
  .post("/remove", async (c) => {
    await removePasskey(c.var.base, c.var.session, (await sentFields(c)).text("id"));
    return c.redirect(addressWithNote(SESSIONS, "passkey_removed"), 303);
  });

/** The passkeys of the signed-in member, with the button that adds one. */
export async function passkeySection(c: Context<PageEnv>) {
  const { session, base } = c.var;
  const listed = await listPasskeys(base, session);
  const { email } = session.record;
  const existing = listed.map(({ credential_id }) => credential_id);
  const options = await creationOptions(c, { handle: newHandle(session), email, existing });
  return (
    <section class="card flush">
      <h2>Passkeys</h2>
      <div class="inset stack">
        <p class="muted">Sign in with your device's fingerprint, face or PIN instead of an e-mail.</p>
        {options ? <AddForm options={options} /> : <p>{NO_PASSKEYS}</p>}
      </div>
      {listed.length === 0 ? null : (
        <Table
          label="Passkeys"
          columns={[{ label: "Device" }, { label: "Added" }, { label: "Last used" }, { label: "Remove", hidden: true }]}
          rows={listed.map((one) => [
            one.device ?? "Unknown device",
            <When at={one.created_at} />,
            one.last_used_at === null ? "Never" : <When at={one.last_used_at} />,
            <IfMay right="own_secure">
              <ActionButton action={`${AT}/remove`} label="Remove" values={{ id: one.id }} />
            </IfMay>,
          ])}
        />
      )}
    </section>
  );
}

const NO_PASSKEYS = "Passkeys are unavailable until the operator of this service has set its address and key.";

function AddForm({ options }: { options: object }) {
  if (!useMay("own_secure")) return <ProveFirst to="add or remove a passkey" />;
  return (
    <>
      <PasskeyForm action={AT} purpose="create" options={options} label="Add a passkey" />
      <p class="no-passkeys">
        This browser does not support passkeys, or scripts are off. Sign in with e-mailed links.
      </p>
    </>
  );
}

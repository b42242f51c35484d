import { type Context, Hono } from "hono";
import {
  confirmChange,
  readChangeLink,
  type ConfirmableChange,
  type ConfirmedChange,
} from "../../core/partners/confirm-change.ts";
import { TOKEN_PATTERN } from "../../domain/shard.ts";
import { MINUTE } from "../../lib/time.ts";
import { publicUrl } from "../../lib/public-url.ts";
import { TRANSFER_SERVICE } from "../../providers/registry.ts";
import { connectOf } from "../connect.ts";
import { changeLines } from "../mails/payout-details.ts";
import { requireVisit, type PageEnv } from "../session.ts";
import { sentFields } from "./act.ts";
import { addressWithNote } from "./flash.ts";
import { problemsOf, type Problems } from "./forms.ts";
import { limitByAddress } from "./limited.ts";
import { page } from "./page.tsx";
import { When } from "./parts/figures.tsx";
import { Form, Hidden } from "./parts/form.tsx";
import { programText } from "./parts/shown-name.ts";
import { destinationText } from "./portal/unpayable.ts";
import { Welcome } from "./sign-in/pages.tsx";

const DETAILS = "/portal/details";

/** `/confirm-payout-details`: the link that confirms a partner's change (OUT-25). Only a POST uses it. */
export const confirmDetails = new Hono<PageEnv>()
  .use("*", requireVisit())
  .get("/", async (c) => {
    await limitByAddress(c, "look");
    return linkPage(c, c.req.query("token") ?? "");
  })
  .post("/", async (c) => {
    await limitByAddress(c);
    const token = (await sentFields(c)).text("token");
    if (!TOKEN_PATTERN.test(token)) return refusedPage(c);
    const at = `${publicUrl(c.env)}${DETAILS}`;
    const addresses = { return_url: addressWithNote(at, "connected"), refresh_url: at };
    try {
      const confirmed = await confirmChange(c.var.base, token, { ...addresses, accounts: connectOf(c.env) });
      if (confirmed.outcome === "link_refused") return refusedPage(c);
      return confirmed.outcome === "linked" ? continuePage(c, confirmed.url) : changedPage(c, confirmed);
    } catch (error) {
      return linkPage(c, token, problemsOf(error));
    }
  });

async function linkPage(c: Context<PageEnv>, token: string, problems?: Problems) {
  const found = TOKEN_PATTERN.test(token) ? await readChangeLink(c.var.base, token) : null;
  if (!found) return refusedPage(c);
  return page(
    c,
    { title: "Confirm your payout details", status: problems ? 422 : 200 },
    <Welcome title="Confirm your payout details">
      <Requested found={found} />
      <Form class="stack" problems={problems}>
        <Hidden values={{ token }} />
        <button type="submit" class="primary wide" autofocus={true}>
          Confirm
        </button>
      </Form>
    </Welcome>,
  );
}

function Requested({ found: { ctx, partner, change, changes } }: { found: ConfirmableChange }) {
  const name = <bdi>{programText(ctx.program)}</bdi>;
  return (
    <>
      <p>
        For <strong>{partner.email}</strong>, partner of {name}:
      </p>
      {"account" in change ? (
        <p>A link to your payout account at {TRANSFER_SERVICE}, where your bank account is entered.</p>
      ) : (
        <ul>
          {changeLines(changes).map((line) => (
            <li>{line}</li>
          ))}
        </ul>
      )}
      <p class="muted">
        Not you? Close this page, and inform {name}: someone is signed in to your portal. Sign in and sign out all other
        devices.
      </p>
    </>
  );
}

function changedPage(c: Context<PageEnv>, { program, partner }: Extract<ConfirmedChange, { outcome: "changed" }>) {
  const { payouts_held_until: until } = partner;
  return page(
    c,
    { title: "Payout details changed", zone: program.time_zone },
    <Welcome title="Payout details changed">
      <p>{destinationText(partner, program)}</p>
      {until === null ? null : (
        <p>
          Your payouts are held until <When at={until} />. This protects you if it was somebody else.
        </p>
      )}
      <DetailsLink />
    </Welcome>,
  );
}

/** A link, not a redirect: the policy limits forms of these pages to this service. */
function continuePage(c: Context<PageEnv>, url: string) {
  c.set("kept_for", MINUTE);
  const title = `Continue at ${TRANSFER_SERVICE}`;
  return page(
    c,
    { title },
    <Welcome title={title}>
      <p>The link works once and for a few minutes. Afterwards you come back here.</p>
      <p>
        <a class="button primary wide" href={url} rel="noreferrer">
          {title}
        </a>
      </p>
    </Welcome>,
  );
}

function refusedPage(c: Context<PageEnv>) {
  return page(
    c,
    { title: "This link no longer works", status: 410 },
    <Welcome title="This link no longer works">
      <p>It has expired, was used, or your payout details were changed in another way. Nothing was changed now.</p>
      <DetailsLink />
    </Welcome>,
  );
}

function DetailsLink() {
  return (
    <p>
      <a class="button primary wide" href={DETAILS}>
        See your payout details
      </a>
    </p>
  );
}

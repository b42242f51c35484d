import type { MadeDestination } from "../../../../core/inbound/destination.ts";
import { connectionOf } from "../../../../core/kernel/connections.ts";
import { readingStatus } from "../../../../core/inbound/reading.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import type { AppError } from "../../../../lib/errors.ts";
import type { Vendor } from "../../../../providers/provider.ts";
import type { Problems } from "../../forms.ts";

import { Field, Form } from "../../parts/form.tsx";
import { Notice } from "../../parts/notice.tsx";
import { providerName } from "../../../../providers/registry.ts";
import { providerSettings } from "../settings/tabs.tsx";

const AT = "/dashboard/integration";

/** The result of a button, or the reason of its refusal. */
export type ActionResult =
  | { did: "made"; outcome: MadeDestination["outcome"]; notes: readonly Note[] }
  | { did: "read" }
  | { did: "nothing"; error: AppError }
  | { did: "not read"; problems: Problems };

/** A notice about a destination that exists. */
type Note = "test" | "unverified" | "not_removed" | "shared";

/** The address of the page with the result, so that a reload does not repeat the action. */
export function placeAfter(provider: string, done: MadeDestination | "read"): string {
  const query = new URLSearchParams({ done: done === "read" ? done : done.outcome, provider });
  if (done !== "read") for (const note of notesOf(done)) query.append("note", note);
  return `${AT}?${query.toString()}#checkout-${provider}`;
}

function notesOf({ test, secret, not_removed, other_programs }: MadeDestination): Note[] {
  const all: Record<Note, boolean> = {
    ...{ test, unverified: secret === "unverified", not_removed: not_removed > 0 },
    shared: other_programs > 0,
  };
  return NOTES.filter((note) => all[note]);
}

const NOTES: readonly Note[] = ["test", "unverified", "not_removed", "shared"];

/** Parses the result in such an address; null for unknown words. */
export function resultIn(done: string | undefined, notes: readonly string[] | undefined): ActionResult | null {
  if (done === "read") return { did: "read" };
  if (done !== "created" && done !== "updated" && done !== "unchanged") return null;
  return { did: "made", outcome: done, notes: NOTES.filter((note) => notes?.includes(note)) };
}

interface ProviderActionsProps {
  program: Program;
  provider: Vendor;
  result: ActionResult | null;
}

/** The buttons that use a provider's API key: one reads its list of events, one enters our address there. */
export function ProviderActions({ program, provider, result }: ProviderActionsProps) {
  const { name, reads, destinations } = provider;
  const { api_key, webhook_secret } = connectionOf(program, name);
  if (api_key === null) return null;
  const mayReplace = result?.did === "nothing" && result.error.code === "already_exists";
  const problems = result?.did === "not read" ? result.problems : undefined;
  return (
    <div class="prose spaced">
      {result === null ? null : <Result program={program} provider={provider} result={result} />}
      {reads === undefined ? null : (
        <Form action={`${AT}/${name}/reconcile`} class="stack">
          <Field
            name="since"
            id={`${name}-since`}
            label="Sync since"
            type="date"
            problems={problems && { ...problems, fields: { [`${name}-since`]: problems.fields["since"] ?? "" } }}
            hint="Default: one hour before the last complete sync. At most 30 days back."
          />
          <div class="actions">
            <button type="submit">Sync events now</button>
          </div>
        </Form>
      )}
      {destinations === undefined ? null : (
        <Form action={`${AT}/${name}/destination`} to={`add our webhook address at ${providerName(name)}`}>
          {mayReplace ? <input type="hidden" name="replace" value="yes" /> : null}
          <p class="muted">
            {webhook_secret === null
              ? `We can add our webhook address at ${providerName(name)}, with the events below, and store the signing secret.`
              : `We can check whether our webhook address at ${providerName(name)} has all of the events below, and add missing ones.`}
          </p>
          <div class="actions">
            <button type="submit" class={mayReplace ? "danger" : undefined}>
              {mayReplace
                ? "Add our address and replace the stored secret"
                : webhook_secret === null
                  ? `Add our address at ${providerName(name)}`
                  : `Check our address at ${providerName(name)}`}
            </button>
          </div>
        </Form>
      )}
    </div>
  );
}

const OUTCOMES: Record<MadeDestination["outcome"], string> = {
  created: "Our address is set up at the provider with all of the events below, and its signing secret is stored.",
  updated: "Our address at the provider now has all of the events below.",
  unchanged: "Our address at the provider already has all of the events below.",
};

/** The instructions for an account that sends to several programs. */
export function sharedText({ name, claims_programs }: Vendor): string {
  return claims_programs
    ? `Let ${providerName(name)} send to one address only, and store its signing secret in each program.`
    : `A payment can earn in each of them: each program needs an account of its own at ${providerName(name)}.`;
}

function Result({ program, provider, result }: ProviderActionsProps & { result: ActionResult }) {
  if (result.did === "not read") return null;
  if (result.did === "nothing") {
    const { message, details = [] } = result.error;
    return (
      <Notice tone="bad">
        <p>{details[0]?.message ?? message}</p>
      </Notice>
    );
  }
  if (result.did === "read") return <ReadResult program={program} provider={provider} />;
  const { outcome, notes } = result;
  return (
    <Notice tone={notes.length > 0 ? "warn" : "good"}>
      <p>{OUTCOMES[outcome]}</p>
      {notes.includes("unverified") ? (
        <p>
          The provider does not show its signing secret again, so we cannot compare it with the stored one. If
          deliveries are refused for their signature,{" "}
          <a href={providerSettings(provider.name)}>remove the stored secret</a> and add our address again.
        </p>
      ) : null}
      {notes.includes("test") ? <p>This is a test-mode API key: it only gets test events.</p> : null}
      {notes.includes("shared") ? (
        <p>This account sends the same events to another program here. {sharedText(provider)}</p>
      ) : null}
      {notes.includes("not_removed") ? (
        <p>We could not remove an older entry of this address. Check again later, or remove it by hand.</p>
      ) : null}
    </Notice>
  );
}

/** Hidden if the list could not be read: the reason is shown above. */
function ReadResult({ program, provider }: { program: Program; provider: Vendor }) {
  const { is_reading, read_failure } = readingStatus(program, provider.name);
  if (read_failure !== null) return null;
  return (
    <Notice tone="good">
      <p>
        {is_reading ? "Part of the list is read. The rest follows within minutes." : "The whole list is read."}{" "}
        <a href={`${AT}#checkout-${provider.name}`}>Refresh</a>
      </p>
    </Notice>
  );
}

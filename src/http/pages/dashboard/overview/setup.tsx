import type { Child } from "../../../jsx.ts";
import { connectionOf } from "../../../../core/kernel/connections.ts";
import type { SetupSeen } from "../../../../core/overview/overview.ts";
import { When } from "../../parts/figures.tsx";
import type { Program } from "../../../../core/kernel/rows.ts";
import type { VendorName } from "../../../../domain/provider-name.ts";
import { providerName, VENDOR_NAMES } from "../../../../providers/registry.ts";
import { InviteForm } from "../partners/fields.tsx";
import { providerSettings } from "../settings/tabs.tsx";

interface Step {
  title: string;
  done: boolean;
  body: Child;
  /** A program works without it. */
  optional?: boolean;
}

interface SetupProps {
  program: Program;
  seen: SetupSeen;
  /** Whether the list is alone on the page, so that partners are invited here. */
  isNew: boolean;
}

/** The remaining steps of a new program; each ticks itself when the service sees its result. */
export function Setup({ program, seen, isNew }: SetupProps) {
  const steps = stepsOf(program, seen, isNew);
  const required = steps.filter(({ optional }) => !optional);
  const open = required.filter(({ done }) => !done);
  const list = (
    <ol class="steps">
      {steps.map((step, i) => (
        <li class={step.done ? "step yes" : "step"}>
          <span class="step-mark" aria-hidden="true">
            {step.done ? "✓" : i + 1}
          </span>
          <div class="step-body">
            <p class="step-title">
              {step.title}
              <span class="visually-hidden">{step.done ? ", done" : ", to do"}</span>
              {step.optional && !step.done ? <span class="optional"> optional</span> : null}
            </p>
            <div class="muted">{step.body}</div>
          </div>
        </li>
      ))}
    </ol>
  );
  if (open.length === 0) return null;
  return (
    <section class="card setup" aria-labelledby="setup">
      <div class="card-head">
        <h2 id="setup">Set up your program</h2>
        <span class="muted small">
          {required.length - open.length} of {required.length} done
        </span>
      </div>
      {list}
    </section>
  );
}

function stepsOf(program: Program, seen: SetupSeen, isNew: boolean): Step[] {
  return [
    {
      title: "Set your domain",
      done: program.domain !== null,
      body: program.domain ?? (
        <>
          Partners' links lead to it. <a href="/dashboard/settings">Open settings</a>
        </>
      ),
    },
    {
      title: "Add the script to your site",
      done: seen.clicks,
      body: seen.clicks ? (
        "Clicks are arriving."
      ) : (
        <>
          One line before the closing body tag. Completed by the first click on a partner's link.{" "}
          <a href="/dashboard/integration#script">Copy the script</a>, then{" "}
          <a href="/dashboard/integration/check">check it</a>
        </>
      ),
    },
    providerStep(program, seen),
    {
      title: "Add a partner",
      done: seen.partners,
      body: (
        <>
          {seen.partners ? (
            <a href="/dashboard/partners">See your partners</a>
          ) : (
            <>
              <a href="/dashboard/partners/new">Add one</a>, or <a href="/dashboard/partners/import">import a list</a>.
            </>
          )}
          {isNew ? <InviteForm /> : null}
        </>
      ),
    },
    {
      title: "Create a webhook endpoint",
      optional: true,
      done: seen.endpoints,
      body: seen.endpoints ? (
        <a href="/dashboard/webhooks">See your endpoints</a>
      ) : (
        <>
          It reports commissions and payouts to your own systems. <a href="/dashboard/webhooks/new">Create one</a>
        </>
      ),
    },
    ...provingSteps(seen),
  ];
}

/** The last steps prove the others: a real event has come the whole way. */
function provingSteps(seen: SetupSeen): Step[] {
  return [
    {
      title: "See a click",
      done: seen.recorded_clicks,
      body: seen.recorded_clicks ? (
        "A click on a partner's link arrived."
      ) : (
        <>
          Open a partner's link in a browser without an ad blocker.{" "}
          <a href="/dashboard/integration/check">Check the installation</a> if it does not arrive.
        </>
      ),
    },
    {
      title: "See a test payment",
      done: seen.payments,
      body: seen.payments ? (
        <a href="/dashboard/payments">See your payments</a>
      ) : (
        <>
          After that click, buy something in the provider's test mode, or{" "}
          <a href="/dashboard/integration#api">report a sale from your server</a>. Received payments are under{" "}
          <a href="/dashboard/payments">Payments</a>, refused events on{" "}
          <a href="/dashboard/integration/check">the check</a>.
        </>
      ),
    },
  ];
}

/** One provider is enough. A server that reports the sales replaces it. */
function providerStep(program: Program, seen: SetupSeen): Step {
  const all = VENDOR_NAMES.map((name) => ({ name, ...connectionOf(program, name) }));
  const heard = all.filter(({ last_event_at }) => last_event_at !== null);
  const set = all.filter(({ webhook_secret }) => webhook_secret !== null);
  const settings = (name: VendorName, text = providerName(name)) => <a href={providerSettings(name)}>{text}</a>;
  return {
    title: "Connect your payment provider",
    done: seen.payments || heard.length > 0,
    body:
      heard.length > 0 ? (
        heard.map(({ name, last_event_at }) => (
          <p>
            {providerName(name)}: last event <When at={last_event_at} />
          </p>
        ))
      ) : seen.payments ? (
        "Your server reports the sales."
      ) : set.length > 0 ? (
        set.map(({ name }) => (
          <p>
            The signing secret of {providerName(name)} is set. Waiting for the first event.{" "}
            {settings(name, "Webhook address")}
          </p>
        ))
      ) : (
        <>
          Paste the signing secret of{" "}
          {all.map(({ name }, i) => (
            <>
              {i === 0 ? "" : " or "}
              {settings(name)}
            </>
          ))}
          , and enter our webhook address there.
        </>
      ),
  };
}

import type { EndpointInput } from "../../../../core/webhooks/endpoints.ts";
import type { Endpoint } from "../../../../core/kernel/rows.ts";
import { EVENTS, OUTBOUND_EVENT_TYPES } from "../../../../domain/event.ts";
import { MAX_TARGET_URL_LENGTH } from "../../../../domain/target-url.ts";
import type { EditForm } from "../../edits.ts";
import type { FormFields } from "../../forms.ts";
import { Checkbox, Field, useProblems } from "../../parts/form.tsx";

/** An endpoint as its form shows it. */
interface EndpointValues {
  url: string;
  description: string;
  events: string[];
}

/** The input, or the stored value of fields that were not sent; a new endpoint gets all events by default. */
export function endpointValues(stored: Endpoint | null, fields?: FormFields): EndpointValues {
  return {
    url: fields?.given("url") ?? stored?.url ?? "",
    description: fields?.given("description") ?? stored?.description ?? "",
    events: (fields && tickedIn(fields)) ?? stored?.events ?? ["*"],
  };
}

/** Undefined if the form lacks the boxes; a form with boxes marks their presence, even if all are empty. */
function tickedIn(fields: FormFields): string[] | undefined {
  return fields.has("events") ? fields.all("events").filter((type) => type !== "") : undefined;
}

export const ENDPOINT_FORM: EditForm<Endpoint> = {
  columns: ({ url, description, events }) => ({ url, description, events }),
  texts: (endpoint) => ({ ...endpointValues(endpoint) }),
  changes: ({ id }) => ({ type: "webhook_endpoint.updated", about: ["endpoint_id", id] }),
};

/** The input for the API's schemas. */
export function endpointInput(fields: FormFields): Record<keyof EndpointInput, unknown> {
  return {
    url: fields.given("url"),
    description: fields.textOrNull("description"),
    events: tickedIn(fields),
  };
}

export function EndpointFields() {
  const problems = useProblems();
  const problem = problems?.fields.events;
  return (
    <>
      <Field
        name="url"
        label="Address"
        type="url"
        inputmode="url"
        maxlength={MAX_TARGET_URL_LENGTH}
        required={true}
        placeholder="https://api.example.com/webhooks"
        hint="An https address that is reachable from the internet."
      />
      <Field name="description" label="Description" maxlength={500} />
      <fieldset aria-describedby={problem === undefined ? undefined : "f-events-problem"}>
        <legend>Events</legend>
        <input type="hidden" name="events" value="" />
        <div class="rows">
          <Checkbox name="events" value="*" label="Everything" hint="Including future event types." />
          {OUTBOUND_EVENT_TYPES.map((type) => (
            <Checkbox name="events" value={type} label={<code>{type}</code>} hint={EVENTS[type].text} />
          ))}
        </div>
        {problem === undefined ? null : (
          <p class="problem" id="f-events-problem">
            {problems?.meanwhile?.["events"] === undefined ? "Choose at least one." : problem}
          </p>
        )}
      </fieldset>
    </>
  );
}

import type { Program } from "../../../core/rows.ts";
import type { ProviderName } from "../../../domain/provider-name.ts";
import type { Problems } from "../forms.ts";
import { Field, Form } from "../parts/form.tsx";
import { providerText, When } from "../parts/figures.tsx";
import { LastRefusal } from "./last-refusal.tsx";
import { ProviderWebhook } from "./provider-webhook.tsx";

const AT = "/dashboard/settings";

interface SecretFormProps {
  name: "provider_a_webhook_secret" | "provider_b_webhook_secret" | "provider_a_api_key";
  label: string;
  hint: string;
  isSet: boolean;
  problems: Problems | undefined;
}

/** A field for a secret: write-only, so it never shows what is set. */
function SecretForm({ name, label, hint, isSet, problems }: SecretFormProps) {
  const message = problems?.fields[name];
  // Every secret has its own form, and the field one name: a problem belongs to one of them.
  const own = problems && message !== undefined ? { ...problems, fields: { [`${name}-secret`]: message } } : undefined;
  return (
    <Form action={`${AT}/secrets`} class="secret">
      <input type="hidden" name="name" value={name} />
      <Field
        name="secret"
        id={`${name}-secret`}
        label={label}
        type="password"
        problems={own}
        required={true}
        autocomplete="off"
        maxlength={500}
        placeholder={isSet ? "set; paste a new one to replace it" : ""}
        hint={hint}
      />
      <div class="actions">
        <button type="submit">{isSet ? "Replace" : "Save"}</button>
        {isSet ? (
          <a href={`${AT}/secrets/${name}/remove`}>
            Remove<span class="visually-hidden"> the {label.toLowerCase()}</span>
          </a>
        ) : null}
      </div>
    </Form>
  );
}

interface ProviderSecretProps {
  program: Program;
  origin: string;
  provider: ProviderName;
  problems: Problems | undefined;
}

/** One provider: the state of the connection, the signing secret, the address and events for its side. */
export function ProviderSecret({ program, origin, provider, problems }: ProviderSecretProps) {
  const isSet = program[`${provider}_webhook_secret`] !== null;
  const last = program[`${provider}_last_event_at`];
  return (
    <div class="prose">
      <p>
        {last !== null ? (
          <>
            Connected. Last event <When at={last} />.
          </>
        ) : isSet ? (
          "The secret is set. We are waiting for the first event."
        ) : (
          "Not connected."
        )}
      </p>
      <LastRefusal program={program} provider={provider} />
      <SecretForm
        name={`${provider}_webhook_secret`}
        label="Webhook signing secret"
        hint={`${providerText(provider)} shows it where you add the webhook address below.`}
        isSet={isSet}
        problems={problems}
      />
      <details open={last === null ? true : undefined}>
        <summary>Webhook address and events</summary>
        <ProviderWebhook program={program} origin={origin} provider={provider} />
      </details>
    </div>
  );
}

export function ApiKeyOfProviderA({ program, problems }: { program: Program; problems: Problems | undefined }) {
  return (
    <div class="spaced">
      <SecretForm
        name="provider_a_api_key"
        label="API key of provider A"
        hint="Only for payouts through provider A's connected accounts. A restricted key that may write transfers and accounts is enough."
        isSet={program.provider_a_api_key !== null}
        problems={problems}
      />
    </div>
  );
}

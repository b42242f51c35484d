import type { Program } from "../../../../core/kernel/rows.ts";
import { connectionOf } from "../../../../core/kernel/connections.ts";
import type { Vendor, SecretField, VendorName } from "../../../../providers/provider.ts";
import { type SecretSetting, providerName } from "../../../../providers/registry.ts";
import type { Problems } from "../../forms.ts";
import { Field, Form } from "../../parts/form.tsx";
import { ConnectionState } from "./connection-state.tsx";
import { ProviderWebhook } from "./provider-webhook.tsx";

const AT = "/dashboard/settings";

interface SecretFormProps {
  provider: VendorName;
  setting: SecretSetting;
  field: SecretField;
  isSet: boolean;
  problems: Problems | undefined;
}

/** A write-only field for a secret: it never shows the stored one. */
function SecretForm({ provider, setting, field, isSet, problems }: SecretFormProps) {
  const name = providerName(provider);
  const [label, hint] = [field.label(name), field.hint(name)];
  const message = problems?.fields[setting];
  // Every secret has its own form with the same field name: a problem belongs to one of them.
  const own =
    problems && message !== undefined ? { ...problems, fields: { [`${setting}-secret`]: message } } : undefined;
  return (
    <Form action={`${AT}/secrets`} class="secret" to={`change the ${label.toLowerCase()}`}>
      <input type="hidden" name="name" value={setting} />
      <Field
        name="secret"
        id={`${setting}-secret`}
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
          <a href={`${AT}/secrets/${setting}/remove`}>
            Remove<span class="visually-hidden"> the {label.toLowerCase()}</span>
          </a>
        ) : null}
      </div>
    </Form>
  );
}

interface ProviderSecretsProps {
  program: Program;
  origin: string;
  provider: Vendor;
  /** The clock, ms. */
  now: number;
  problems: Problems | undefined;
}

/** One provider: the state of the connection, its secrets, the address and events for its side. */
export function ProviderSecrets({ program, origin, provider, now, problems }: ProviderSecretsProps) {
  const { webhook_secret, api_key } = connectionOf(program, provider.name);
  const isSet = webhook_secret !== null;
  return (
    <>
      <div class="prose">
        <ConnectionState program={program} provider={provider} />
        <SecretForm
          provider={provider.name}
          setting={`${provider.name}_webhook_secret`}
          field={provider.secrets.webhook_secret}
          isSet={isSet}
          problems={problems}
        />
        <ProviderWebhook program={program} origin={origin} provider={provider} now={now} />
      </div>
      {provider.secrets.api_key === undefined ? null : (
        <div class="spaced">
          <SecretForm
            provider={provider.name}
            setting={`${provider.name}_api_key`}
            field={provider.secrets.api_key}
            isSet={api_key !== null}
            problems={problems}
          />
        </div>
      )}
    </>
  );
}

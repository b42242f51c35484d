import { CsrfField } from "../page.tsx";
import { Hidden } from "./form.tsx";

interface PasskeyFormProps {
  action: string;
  /** The request to the browser: create a passkey, or use an existing one. */
  purpose: "create" | "get";
  options: object;
  label: string;
  class?: string;
  /** Fields that are sent with the browser's answer. */
  values?: Record<string, string>;
}

/** A button that sends a passkey from the browser; hidden without support (`script.txt`). */
export function PasskeyForm({ action, purpose, options, label, values = {}, ...rest }: PasskeyFormProps) {
  return (
    <form
      method="post"
      action={action}
      class="stack"
      hidden={true}
      data-passkey={purpose}
      data-options={JSON.stringify(options)}
    >
      <CsrfField />
      <Hidden values={values} />
      <input type="hidden" name="credential" value="" />
      <p class="notice bad" role="alert" hidden={true}>
        We got no passkey from your browser. Try again, or use a link.
      </p>
      <button type="submit" class={rest.class}>
        {label}
      </button>
    </form>
  );
}

import type { Program } from "../../../../core/kernel/rows.ts";
import type { Vendor } from "../../../../providers/provider.ts";
import { CopyBlock } from "../../parts/copy.tsx";
import { ConnectionState } from "./connection-state.tsx";
import { siteOf } from "../../parts/snippets.ts";
import { ProviderActions, type ActionResult } from "./provider-actions.tsx";
import { ProviderWebhook } from "./provider-webhook.tsx";
import { providerName } from "../../../../providers/registry.ts";

interface CheckoutProps {
  program: Program;
  origin: string;
  provider: Vendor;
  /** An example slug of a partner. */
  slug: string;
  isFirst: boolean;
  /** The result of this provider's buttons; null before one is pressed. */
  result: ActionResult | null;
  /** The clock, ms. */
  now: number;
}

/** Explains how a provider's checkout gets the reference, and the address for the provider's webhooks. */
export function Checkout({ program, origin, provider, slug, isFirst, result, now }: CheckoutProps) {
  const { checkout, name } = provider;
  const values = { program_id: program.id, slug, domain: siteOf(program) };
  return (
    <section class="card" id={`checkout-${name}`}>
      <h2>
        2. {isFirst ? "The" : "Or the"} checkout: {providerName(name)}
      </h2>
      <p>
        <WithCode text={checkout.intro} />
      </p>
      {checkout.snippets.map(({ label, page, server }) => (
        <details>
          <summary>{label}</summary>
          {page && <CopyBlock label={`${label}: in the page`} text={page(values)} />}
          {server && <CopyBlock label={`${label}: on your server`} text={server(values)} />}
        </details>
      ))}
      <div class="prose spaced">
        <ConnectionState program={program} provider={provider} />
      </div>
      <ProviderActions program={program} provider={provider} result={result} />
      <ProviderWebhook program={program} origin={origin} provider={provider} now={now} />
    </section>
  );
}

/** Shows text between backquotes as code. */
function WithCode({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 === 1 ? <code>{part}</code> : part))}</>;
}

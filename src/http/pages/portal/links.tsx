/** Further links with names of the partner's choice (PART-16). */
import * as z from "zod";
import { MAX_OWN_SLUGS, SLUG_PATTERN, slugKey } from "../../../domain/partner.ts";
import type { FormFields, Problems } from "../forms.ts";
import { CopyLine } from "../parts/copy.tsx";
import { Field, Form } from "../parts/form.tsx";
import { referralLink } from "../parts/snippets.ts";
import type { OwnProgram } from "./self.ts";

export const ownSlug = z.strictObject({
  slug: z.string().regex(SLUG_PATTERN, "Use 1 to 64 letters, digits, - or _."),
});

/** The input for `ownSlug`. */
export function slugInput(fields: FormFields): { slug: string } {
  return { slug: fields.text("slug") };
}

interface LinksProps {
  program: Pick<OwnProgram, "domain">;
  /** The partner's own slug, whose link is above. */
  slug: string;
  /** Every slug that leads to the partner. */
  slugs: readonly string[];
  sent: { fields: FormFields; problems: Problems } | undefined;
}

/** The partner's other links, and the form that adds one. */
export function FurtherLinks({ program, slug, slugs, sent }: LinksProps) {
  const others = slugs.filter((one) => one !== slugKey(slug));
  return (
    <section class="card">
      <h2>More links</h2>
      <p class="muted small">Sales through each of these links count for you.</p>
      {others.map((one) => (
        <CopyLine label={`link ${one}`} text={referralLink(program, one)} />
      ))}
      {slugs.length >= MAX_OWN_SLUGS ? (
        <p class="muted after">You have {MAX_OWN_SLUGS} links, the most that are possible.</p>
      ) : (
        <Form
          action="/portal/assets/links"
          class="stack after"
          problems={sent?.problems}
          values={{ slug: sent?.fields.raw("slug") ?? "" }}
        >
          <Field
            name="slug"
            label="Name of the new link"
            required={true}
            maxlength={64}
            placeholder="newsletter"
            hint="Letters, digits, - or _. It stays yours and cannot be removed."
          />
          <div class="actions">
            <button type="submit" class="primary">
              Add link
            </button>
          </div>
        </Form>
      )}
    </section>
  );
}

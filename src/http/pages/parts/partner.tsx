import type { Child } from "../../jsx.ts";
import type { PartnerName } from "../../../core/partners/display-names.ts";
import { nameText } from "./shown-name.ts";

/** The display name of a partner: the name if it is visible, else the address. */
export function partnerText(partner: Pick<PartnerName, "first_name" | "last_name" | "email">): string {
  return nameText(partner.first_name, partner.last_name) || partner.email;
}

/** A partner in a form that is unique: others may have the same name, or have chosen it to deceive. */
export function PartnerInFull({ partner }: { partner: Omit<PartnerName, "id" | "status"> }) {
  const name = partnerText(partner);
  return (
    <>
      <bdi>{name}</bdi> ({partner.slug}
      {name === partner.email ? "" : `, ${partner.email}`})
    </>
  );
}

interface PartnerLinkProps {
  partner: PartnerName | undefined;
  /** Default: the partner's page. */
  href?: string | undefined;
  /** The line below the name; default: the slug. */
  second?: Child;
}

/** A partner in a list: the name as a link, the slug below it. */
export function PartnerLink({ partner, href, second }: PartnerLinkProps) {
  if (!partner && href === undefined) return <span class="muted">–</span>;
  return (
    <span class="person">
      <a href={href ?? `/dashboard/partners/${partner?.id}`}>{partner ? partnerText(partner) : "Unknown partner"}</a>
      <span class="second">{second ?? partner?.slug}</span>
    </span>
  );
}

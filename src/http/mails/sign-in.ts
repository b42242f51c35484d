import type { Identity } from "../../core/sessions/identities.ts";
import { countryOf, type VisitorLocation } from "../../clicks/region.ts";
import { deviceOf } from "../../domain/device.ts";
import { oneLine, type Mail } from "../../lib/mail.ts";
import { renderLetter } from "./frame.ts";
import type { LetterRow } from "./letter.ts";

/** The device and the rough place of a sign-in request; null if unknown. */
export interface Asker {
  device: string | null;
  /** `Berlin, Germany`, or the country alone. */
  place: string | null;
}

/** Describes a request in words of this service and the platform, without any text from the sender. */
export function askerOf(request: Pick<Request, "headers" | "cf">): Asker {
  const location = request.cf as (VisitorLocation & { city?: unknown }) | undefined;
  const code = countryOf(location);
  const country = code === null ? [] : [new Intl.DisplayNames("en", { type: "region" }).of(code) ?? code];
  const city = country.length > 0 && typeof location?.city === "string" ? [oneLine(location.city)] : [];
  return {
    device: deviceOf(request.headers.get("user-agent") ?? ""),
    place: [...city, ...country].join(", ") || null,
  };
}

/** The e-mail with a sign-in link, from the program if it is the only account. `asker` shows whose request it was. */
export function signInMail(to: string, url: string, identities: readonly Identity[], { device, place }: Asker): Mail {
  const [only] = identities.length === 1 ? identities : [];
  const where = only ? oneLine(only.program_name) : "your affiliate programs";
  const rows: LetterRow[] = [
    ...(device === null ? [] : [["Requested with", device] as const]),
    ...(place === null ? [] : [["Near", place] as const]),
  ];
  const letter = {
    to,
    subject: `Your sign-in link for ${where}`,
    program: { name: where, brand_color: only?.brand_color ?? null },
    parts: [`Sign in to ${where}. The link works once and for 15 minutes.`, ...(rows.length === 0 ? [] : [rows])],
    action: { label: "Sign in", url },
  };
  return renderLetter(letter, {
    reason: "Someone entered this address on the sign-in page. If it was not you, ignore this e-mail.",
    links: [],
  });
}

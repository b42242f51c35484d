import { ID_PREFIXES } from "../../lib/id.ts";
import { EXAMPLE_PROVIDER, exampleId } from "../../resources/output.ts";
import { singular } from "./field-texts.ts";

const IN_PATHS: Record<string, string> = {
  ...{ provider: String(EXAMPLE_PROVIDER), program_id: exampleId("prog"), slug: "jane", section: "partners" },
  ...{ file: "payout.paid.json", guide: "start" },
};

/** The example of a path parameter; for an id, one of the kind of the noun before it. */
export function pathExample(name: string, path: string): string {
  const noun = singular(new RegExp(`([a-z-]+)/:${name}(/|$)`).exec(path)?.[1] ?? "").replaceAll("-", "_");
  const prefixes: Record<string, string> = { ...ID_PREFIXES, webhook: ID_PREFIXES.endpoint };
  return IN_PATHS[name] ?? exampleId(prefixes[noun] ?? noun);
}

/** The fields that a document's form sends. */

function textareaIn(form: string, name: string): string {
  const [, text = ""] = new RegExp(`<textarea\\b[^>]*\\sname="${name}"[^>]*>([^<]*)</textarea>`).exec(form) ?? [];
  return text.trim();
}

function decoded(text: string): string {
  return text.replaceAll(/&(quot|#39|lt|gt|amp);/g, (_whole, name: string) => ENTITIES[name] ?? "");
}

const ENTITIES: Record<string, string> = { quot: '"', "#39": "'", lt: "<", gt: ">", amp: "&" };

/** The tokens of a form. */
const TOKENS: ReadonlySet<string> = new Set(["csrf", "form", "made_for"]);

/** The fields that a browser sends for a document's longest form, by name. */
export function sentOf(html: string): Map<string, string[]> {
  const sent = rawOf(html);
  return new Map([...sent].map(([name, values]) => [name, values.map(decoded)]));
}

function rawOf(html: string): Map<string, string[]> {
  const forms = [...html.matchAll(/<form\b[^>]*method="post"[^>]*>(.*?)<\/form>/gs)].map(([, inside = ""]) => inside);
  const form = forms.toSorted((a, b) => b.length - a.length)[0] ?? "";
  const sent = new Map<string, string[]>();
  for (const [, tag, attributes = "", inside = ""] of form.matchAll(
    /<(input|select|textarea)\b([^>]*)>((?:<option\b.*?)?(?=<\/select>))?/gs,
  )) {
    const of = (name: string, text = attributes) => new RegExp(`\\s${name}="([^"]*)"`).exec(text)?.[1];
    const name = of("name");
    if (name === undefined || TOKENS.has(name)) continue;
    if (of("type") === "checkbox" && of("checked") === undefined) {
      sent.set(name, sent.get(name) ?? []);
      continue;
    }
    if (tag === "textarea") {
      sent.set(name, [textareaIn(form, name)]);
      continue;
    }
    const selected = /<option\b[^>]*\bselected\b[^>]*>/.exec(inside)?.[0] ?? "";
    sent.set(name, [...(sent.get(name) ?? []), (tag === "select" ? of("value", selected) : of("value")) ?? ""]);
  }
  return sent;
}

/**
 * A provider is one folder and one line (CONTRIBUTING, "Add a provider"): code outside `src/providers` does not name
 * one, or import from its folder. `EXCEPTIONS` are the places where the API, another product or an older version names
 * one.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { OF_SOME } from "./provider-texts.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Written by tools, or Node programs that play a vendor. */
const LEFT_OUT = /^src\/(?:providers|client|dev|docs|tracker\/assets)\/|worker-configuration\.d\.ts$/;

const read = (file: string) => readFileSync(`${ROOT}${file}`, "utf8");

const folders = readdirSync(`${ROOT}src/providers`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** The files of a provider's folder. */
function textsOf(name: string): string[] {
  return readdirSync(`${ROOT}src/providers/${name}`).map((file) => read(`src/providers/${name}/${file}`));
}

/** Providers that report by webhooks; the owner's server has no webhook, secret or vendor. */
const VENDORS = folders.filter((name) => textsOf(name).some((text) => text.includes('reported_by: "webhook"')));

/** A name that is an ordinary word, such as `api`, counts if it is the whole of a text. */
const isWord = (name: string) => !name.includes("-");

/** A name of a provider or of its vendor, in any spelling of code: those of the list, and similar ones. */
const NAMED = new RegExp(
  [
    String.raw`\bprovider_[a-z](?:_\w+)?\b|\bprovider-[a-z](?:-\w+)?\b|\bPROVIDER_[A-Z](?:_\w+)?\b|\b[pP]rovider[A-Z]\b|[sS]tripe|[pP]addle`,
    ...folders
      .flatMap((name) => [
        name,
        name.replaceAll("-", "_"),
        name.replaceAll(/-(\w)/g, (_, next: string) => next.toUpperCase()),
      ])
      .map((name) => (isWord(name) ? `(?<=["'\`])${name}(?=["'\`])` : `\\b${name}\\b`)),
  ].join("|"),
  "g",
);

/** The folders of those whose events claim programs. */
const CLAIMING = folders.filter((name) => textsOf(name).some((text) => text.includes("claims_programs: true")));

const EXCEPTIONS: { file: RegExp; texts: string[]; why: string }[] = [
  {
    file: /^src\//,
    texts: ["provider_a_account_id"],
    why: "the API's field of a partner",
  },
  {
    file: /^src\/http\/(?:api\/onboarding\.ts|pages\/portal\/details\.tsx)$/,
    texts: ["provider-a-account"],
    why: "the API's path of onboarding (OUT-15)",
  },
  {
    file: /^src\/domain\/partner\.ts$/,
    texts: ["provider_a"],
    why: "the API's payout method, as TRANSFER_METHOD",
  },
  { file: /^src\/domain\/provider-name\.ts$/, texts: ["api"], why: "the API's name of the owner's server" },
  { file: /^src\/domain\/(?:condition|reference)\.ts$/, texts: ["api"], why: "the API's value of ref_source" },
  {
    file: /^src\/http\/pages\/dashboard\/integration\/integration\.tsx$/,
    texts: ["api"],
    why: "the anchor of the API's card",
  },
  {
    file: /^src\/db\/schema-ledger\.ts$/,
    texts: CLAIMING.map((name) => name.replace("-", "_")),
    why: "the index of payments whose events claim programs",
  },
  {
    file: /^src\/http\/import\/(?:columns|product)\.ts$/,
    texts: ["stripe", "paddle"],
    why: "columns of other products",
  },
];

/** Comments may name a provider to give a reason. */
function codeOf(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, "");
}

function namesIn(file: string, text: string, used = new Set<string>()): string[] {
  return [...codeOf(text).matchAll(NAMED)].flatMap(([name]) => {
    const found = EXCEPTIONS.find(
      (exception) => exception.file.test(file) && exception.texts.some((own) => new RegExp(`^${own}$`, "i").test(name)),
    );
    if (found) used.add(found.why);
    return found ? [] : [`${file}: ${name}`];
  });
}

const files = globSync("src/**/*.{ts,tsx,js}", { cwd: ROOT })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => !LEFT_OUT.test(file));

describe("a provider", () => {
  it("is named by nothing outside its folder", () => {
    assert.ok(files.length > 200);
    const used = new Set<string>();
    assert.deepEqual(
      files.flatMap((file) => namesIn(file, read(file), used)),
      [],
    );
    assert.deepEqual(
      EXCEPTIONS.filter(({ why }) => !used.has(why)),
      [],
      "an exception that nothing needs",
    );
  });

  it("is found wherever it is named", () => {
    for (const text of [
      'if (name === "provider_b") return;',
      "program.provider_a_webhook_secret",
      'import { providerA } from "x";',
      'if (provider === "api") return;',
      "const host = 'buy.stripe.com';",
      '"Paddle-Signature"',
      "env.PROVIDER_B_API_URL",
    ]) {
      assert.equal(namesIn("src/http/x.ts", text).length, 1, text);
    }
    for (const text of [
      "providerNamed(name)",
      "provider_connections",
      "partner.provider_a_account_id",
      "// provider_a",
      'app.use("/api/v1/*")',
      "program.api",
    ]) {
      assert.deepEqual(namesIn("src/http/x.ts", text), [], text);
    }
  });

  it("is one folder, and one line of the list", () => {
    const lines = codeOf(read("src/providers/list.ts"))
      .split("\n")
      .filter((line) => line.trim() !== "");
    const listed = lines.map((line) => /^export \{ \w+ \} from "\.\/([a-z-]+)\/index\.ts";$/.exec(line)?.[1]);
    assert.deepEqual(listed.toSorted(), folders.toSorted());
    const inside = files.filter((file) => /from "[^"]*providers\/[a-z-]+\//.test(read(file)));
    assert.deepEqual(inside, []);
  });

  it("has makers of its events and tests of its own", () => {
    for (const name of folders) {
      const makers = [`test/support/${name}.ts`, `test/support/vendors/${name}/index.ts`];
      assert.ok(
        makers.some((file) => existsSync(`${ROOT}${file}`)),
        makers.join(" or "),
      );
      assert.ok(globSync(`test/unit/${name}*.test.ts`, { cwd: ROOT }).length > 0, `test/unit/${name}.test.ts`);
    }
  });

  it("whose events claim programs has an index by the vendor's ids", () => {
    const schema = read("src/db/schema-ledger.ts");
    for (const name of CLAIMING) {
      const index = `.on(t.provider_transaction_id, t.program_id)\n      .where(sql\`provider = '${name.replace("-", "_")}'\`)`;
      assert.ok(schema.includes(index), `${name}: an index of payments, as payments_of_b is`);
    }
  });
});

/**
 * Rules, paragraphs and rows of the documents in which the providers differ. Decisions and the changelog are of their
 * time: a later provider does not change them.
 */
const DOCUMENTS = globSync("src/docs/*.md", { cwd: ROOT }).filter((path) => !path.endsWith("changelog.md"));
const TEXTS = ["README.md", ...DOCUMENTS].flatMap((path) => {
  const file = path.replaceAll("\\", "/");
  const texts = read(file).split(/\n(?=[-|#\n]|\d+\. )/);
  return texts.map((text) => ({ at: `${file}: ${text.trim().replaceAll("*", "").slice(0, 40)}`, text }));
});

/**
 * Names of each provider in a text: its name in the API, its name for people, or one of the types of events that its
 * folder reads.
 */
const NAMES = new Map(
  folders.map((name) => {
    const types = textsOf(name).flatMap((text) =>
      [...text.matchAll(/\["([a-z_]+(?:\.[a-z_]+)+)", /g)].map(([, type]) => type!),
    );
    const people = textsOf(name).flatMap((text) =>
      [...text.matchAll(/^  text: "([A-Z][\w ]+)",$/gm)].map(([, own]) => own!),
    );
    return [name, [isWord(name) ? `provider ${name}` : name, ...people, ...types]];
  }),
);

/** Providers after a noun that they share: "providers A and B", "a payment provider, A, B or C". */
const LETTERS = /(?<=\bproviders?,? )[a-z](?:, [a-z])*,? (?:or|and) [a-z]\b/g;

/** The providers that a text names. */
function namedIn(text: string, providers: readonly string[]): string[] {
  const plain = (words: string) =>
    words
      .toLowerCase()
      .replaceAll("`", "")
      .replaceAll(/[\s_-]+/g, " ");
  const whole = plain(text).replaceAll(LETTERS, (letters) => letters.replaceAll(/\b[a-z]\b/g, "provider $&"));
  const isNamed = (name: string) => new RegExp(`\\b${RegExp.escape(plain(name))}\\b`).test(whole);
  return providers.filter((provider) => (NAMES.get(provider) ?? [provider]).some(isNamed));
}

/** Texts that name two of these providers and not all, each with those that it lacks. */
function lacking(providers: readonly string[], texts = TEXTS): string[] {
  const ofSomeAlone = OF_SOME.flatMap(({ texts: some }) => some);
  return texts.flatMap(({ at, text }) => {
    if (ofSomeAlone.some(isAt(at))) return [];
    const named = namedIn(text, providers);
    const missing = providers.filter((name) => !named.includes(name));
    return missing.length > 0 && named.length >= 2 ? [`${at} lacks ${missing.join(", ")}`] : [];
  });
}

describe("a text that names two vendors", () => {
  it("names all", () => {
    assert.deepEqual(lacking(VENDORS), []);
  });

  it("is found where it lacks one, in whatever form it names the others", () => {
    const found = (text: string) => lacking(["provider-a", "provider-b", "provider-none"], [{ at: "x", text }]);
    assert.deepEqual(found("`/webhooks/provider_a` and Provider-B-Signature"), ["x lacks provider-none"]);
    assert.deepEqual(found("`invoice.paid` and `transaction.completed`"), ["x lacks provider-none"]);
    assert.deepEqual(found("a payment provider, A or B; its company"), ["x lacks provider-none"]);
    assert.deepEqual(found("the events of providers A and B"), ["x lacks provider-none"]);
    assert.deepEqual(found("of a provider, a fact and a payment, or B"), []);
    assert.deepEqual(found("Stripe (provider\nA), provider B, provider none's"), []);
    assert.deepEqual(found("a transfer through provider A"), []);
    assert.deepEqual(found("Stripe takes it, Paddle too"), ["x lacks provider-none"]);
    assert.deepEqual(found("`invoice.paidx` and `xtransaction.completed`"), []);
  });

  it("is each rule and guide that says something of every provider", () => {
    const found = lacking([...VENDORS, "provider-none"]).join("\n");
    for (const rule of "IN-1 IN-6 IN-8 IN-9 PAY-1 PAY-17 PAY-19 REF-1 PROG-9 EVT-5 TRACK-13".split(" ")) {
      assert.ok(found.includes(`specification.md: - ${rule} `), rule);
    }
    for (const file of ["README.md", "src/docs/testing.md"]) assert.ok(found.includes(file), file);
  });
});

/** The folders one of whose files has this text. */
const having = (part: string) => folders.filter((name) => textsOf(name).some((text) => text.includes(part)));

/** Texts that name some vendors and not all; a text that also applies to the owner's server names it. */
function textsOfSome(texts = TEXTS): { at: string; named: string[] }[] {
  return texts
    .map(({ at, text }) => ({ at, named: namedIn(text, VENDORS) }))
    .filter(({ named }) => named.length > 0 && named.length < VENDORS.length);
}

const isAt = (at: string) => (text: string) => at.startsWith(`src/docs/${text}`);

describe("a text that names some of the providers", () => {
  it("is true of these, and it was said for each other why it is not", () => {
    const groups = OF_SOME.map(({ why, having: part, of = {}, texts }) => {
      const answers = of === "any" ? {} : of;
      const isAnswered = part !== undefined || of === "any" || VENDORS.every((name) => name in answers);
      assert.ok(isAnswered, `for each of ${VENDORS.join(", ")}: ${why}? ${texts.join(", ")}`);
      const own = Object.keys(answers).filter((name) => answers[name] === true);
      return { why, texts, isOfAny: of === "any", of: part === undefined ? own : having(part) };
    });
    const used = new Set<string>();
    const wrong = textsOfSome().flatMap(({ at, named }) => {
      const group = groups.find(({ texts }) => texts.some(isAt(at)));
      if (!group) return named.length > 1 ? [] : [`${at}: is it true of these alone? Say why in OF_SOME`];
      for (const text of group.texts.filter(isAt(at))) used.add(text);
      const isTrue = group.isOfAny || named.join() === group.of.toSorted().join();
      return isTrue ? [] : [`${at}: ${group.why}: ${group.of.join(", ")}`];
    });
    assert.deepEqual(wrong, []);
    const unused = groups.flatMap(({ texts }) => texts.filter((text) => !used.has(text)));
    assert.deepEqual(unused, [], "texts that are not there, or name all providers");
  });

  it("is found by its name or its events", () => {
    const found = textsOfSome()
      .map(({ at }) => at)
      .join("\n");
    for (const rule of "PAY-8 PAY-18 OUT-6 OUT-15".split(" ")) {
      assert.ok(found.includes(`specification.md: - ${rule} `), rule);
    }
    for (const file of ["deploy", "security", "comparison"]) assert.ok(found.includes(`src/docs/${file}.md`), file);
    const [text] = textsOfSome([{ at: "x", text: "`subscription.canceled` flags" }]);
    assert.deepEqual(text, { at: "x", named: ["provider-b"] });
  });
});

/** The first of all providers is of any kind: code for vendors alone takes `VENDOR_NAMES`. */
const FIRST_OF_ALL = /\bPROVIDER(?:_NAMES|S)\[0\]|\b(?:first|name|provider)\w*\] = PROVIDER(?:_NAMES|S)\b/;

describe("some provider", () => {
  it("is not the first of all kinds", () => {
    const code = globSync("{src,test}/**/*.{ts,tsx}", { cwd: ROOT }).map((path) => path.replaceAll("\\", "/"));
    assert.deepEqual(
      code.filter((file) => file !== "test/lint/providers.test.ts" && FIRST_OF_ALL.test(read(file))),
      [],
    );
  });

  it("is found where it is", () => {
    for (const text of ["PROVIDER_NAMES[0]!", "const [name] = PROVIDER_NAMES;"]) assert.match(text, FIRST_OF_ALL);
    assert.doesNotMatch("VENDOR_NAMES[0]", FIRST_OF_ALL);
  });
});

/** A text with the number of providers is wrong after the next one is added, without a reminder. */
const COUNTED =
  /\b(?:both|either|neither|the two|two (?:payment|listed))(?:\s\*?|\s(?:the|of the|payment|listed)\s)*(?:providers?|vendors?)\b/gi;

describe("a text or a comment", () => {
  const counted = (text: string) => [...text.matchAll(COUNTED)].map(([found]) => found);

  it("does not count the providers", () => {
    const code = globSync("{src,test}/**/*.{ts,tsx}", { cwd: ROOT }).map((path) => path.replaceAll("\\", "/"));
    const own = code.filter((file) => !/^test\/lint\/providers\.test\.ts$|^src\/client\//.test(file));
    const texts = [...TEXTS, ...own.map((file) => ({ at: file, text: read(file) }))];
    assert.ok(texts.length > 800);
    assert.deepEqual(
      texts.flatMap(({ at, text }) => counted(text).map((found) => `${at}: ${found}`)),
      [],
    );
  });

  it("is found where it does", () => {
    const texts = ["both providers", "either\n * provider", "the two payment providers", "Both of the vendors"];
    for (const text of texts) assert.equal(counted(text).length, 1, text);
    for (const text of ["two providers whose ids begin alike", "every provider"]) assert.deepEqual(counted(text), []);
  });
});

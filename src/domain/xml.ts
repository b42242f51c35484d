/** A strict reader of small XML files: elements and text, no document type, no entities of its own. */

export interface XmlElement {
  /** Without its namespace prefix. */
  name: string;
  /** Counted from 1. */
  line: number;
  /** The text of its start tag after the name. */
  attributes: string;
  children: XmlElement[];
  /** Its own text, trimmed; not that of its children. */
  text: string;
}

export type ReadXml = { ok: true; root: XmlElement } | { ok: false; line: number; message: string };

const MAX_DEPTH = 32;
const LF = 0x0a;
const NAME = "[A-Za-z_][\\w.\\-]*";
const TAG = new RegExp(`<(/?)(?:${NAME}:)?(${NAME})((?:\\s+[\\w:.\\-]+\\s*=\\s*(?:"[^"<]*"|'[^'<]*'))*)\\s*(/?)>`, "y");
const PROLOG = /^\uFEFF?\s*<\?xml[^?<>]*\?>/;

class XmlProblem extends Error {}

/** Reads a whole document. The work is linear in the text. */
export function readXml(text: string): ReadXml {
  const reader = new Reader(text);
  try {
    return { ok: true, root: reader.read() };
  } catch (error) {
    if (!(error instanceof XmlProblem)) throw error;
    return { ok: false, line: reader.line, message: error.message };
  }
}

class Reader {
  readonly #text: string;
  #at = 0;
  line = 1;
  /** The open elements. The first is no element: it contains the root. */
  readonly #open: XmlElement[] = [{ name: "", line: 1, attributes: "", children: [], text: "" }];

  constructor(text: string) {
    this.#text = text;
  }

  read(): XmlElement {
    this.#advance(PROLOG.exec(this.#text)?.[0].length ?? 0);
    while (this.#at < this.#text.length) this.#next();
    const [outer, unclosed] = this.#open;
    if (unclosed) throw new XmlProblem(`The element ${unclosed.name} is not closed.`);
    const [root] = outer!.children;
    if (!root) throw new XmlProblem("The file has no element.");
    return root;
  }

  /** The text before the next tag, and that tag or comment. */
  #next(): void {
    const found = this.#text.indexOf("<", this.#at);
    const end = found === -1 ? this.#text.length : found;
    this.#take(this.#text.slice(this.#at, end));
    this.#advance(end);
    if (found === -1) return;
    if (this.#text.startsWith("<!--", end)) return this.#skipComment();
    TAG.lastIndex = end;
    const tag = TAG.exec(this.#text);
    if (!tag) throw new XmlProblem("This is not a tag. Document types, entities and CDATA are not read.");
    const [all, closes, name = "", attributes = "", isEmpty] = tag;
    if (closes) this.#close(name, attributes + isEmpty!);
    else this.#begin(name, attributes, isEmpty === "/");
    this.#advance(end + all.length);
  }

  #skipComment(): void {
    const end = this.#text.indexOf("-->", this.#at + 4);
    if (end === -1) throw new XmlProblem("A comment is not closed.");
    this.#advance(end + 3);
  }

  #begin(name: string, attributes: string, isEmpty: boolean): void {
    const parent = this.#open.at(-1)!;
    if (this.#open.length === 1 && parent.children.length > 0) throw new XmlProblem("The file has two root elements.");
    if (this.#open.length > MAX_DEPTH) throw new XmlProblem("The elements are too deep.");
    const element: XmlElement = { name, line: this.line, attributes, children: [], text: "" };
    parent.children.push(element);
    if (!isEmpty) this.#open.push(element);
  }

  #close(name: string, more: string): void {
    const element = this.#open.length > 1 ? this.#open.pop()! : null;
    if (element?.name !== name || more !== "") throw new XmlProblem(`The end tag ${name} fits no start tag.`);
    element.text = element.text.trim();
  }

  #take(raw: string): void {
    const element = this.#open.at(-1)!;
    if (this.#open.length > 1) element.text += decoded(raw);
    else if (raw.replace("\uFEFF", "").trim() !== "")
      throw new XmlProblem("There is text outside of the root element.");
  }

  #advance(to: number): void {
    for (; this.#at < to; this.#at++) if (this.#text.charCodeAt(this.#at) === LF) this.line++;
  }
}

const PREDEFINED: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/** The text with its character references. */
function decoded(raw: string): string {
  return raw.replaceAll(/&([^;&]{0,8});?/g, (all, name: string) => {
    const character = all.endsWith(";") ? (PREDEFINED[name] ?? characterOf(name)) : undefined;
    if (character === undefined)
      throw new XmlProblem("An & is neither written as &amp; nor part of a character's name.");
    return character;
  });
}

function characterOf(name: string): string | undefined {
  const [, hex, decimal] = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(name) ?? [];
  const code = hex === undefined ? Number(decimal ?? Number.NaN) : Number.parseInt(hex, 16);
  const isCharacter = code >= 0x20 ? code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) : code === 9 || code === 10;
  return isCharacter ? String.fromCodePoint(code) : undefined;
}

/** The elements at a path below an element, in the order of the file. */
export function xmlAt(element: XmlElement, ...path: string[]): XmlElement[] {
  return path.reduce(
    (found, name) => found.flatMap(({ children }) => children.filter((one) => one.name === name)),
    [element],
  );
}

/** The text of the first element at a path; null without one, and if it is empty. */
export function xmlText(element: XmlElement, ...path: string[]): string | null {
  return xmlAt(element, ...path)[0]?.text || null;
}

/** The value of an attribute; null without it. */
export function xmlAttribute({ attributes }: XmlElement, name: string): string | null {
  for (let at = 0; ;) {
    const equals = attributes.indexOf("=", at);
    if (equals === -1) return null;
    let open = equals + 1;
    while (/\s/.test(attributes.charAt(open))) open++;
    const close = attributes.indexOf(attributes.charAt(open), open + 1);
    if (attributes.slice(at, equals).trim() === name) return attributes.slice(open + 1, close);
    at = close + 1;
  }
}

/**
 * Renders the pages' JSX to text (`jsxImportSource` in `tsconfig.json`). Rendering is synchronous, and every text and
 * attribute is escaped unless it is `raw`. An element renders its children only when it is rendered itself, so that they
 * see the contexts around them.
 */
import type { JSX as Html } from "hono/jsx";

export type Child = string | number | boolean | null | undefined | Element | Raw | readonly Child[];

/** A component of any properties. */
type Component = (props: never) => Child;

class Element {
  readonly tag: string | Component;
  readonly props: Record<string, unknown>;

  constructor(tag: string | Component, props: Record<string, unknown>) {
    this.tag = tag;
    this.props = props;
  }
}

class Raw {
  readonly html: string;

  constructor(html: string) {
    this.html = html;
  }
}

/** Elements without content. */
const VOID = new Set("area base br col embed hr img input link meta source track wbr".split(" "));

/** Attributes whose presence is their value. Other attributes have the text `true` or `false`. */
const BOOLEAN = new Set(
  "allowfullscreen async autofocus autoplay checked controls default defer disabled download formnovalidate hidden inert ismap loop multiple muted nomodule novalidate open playsinline readonly required reversed selected".split(
    " ",
  ),
);

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** Makes an element; the compiler calls it. */
export function jsx(tag: string | Component, props: Record<string, unknown>): Element {
  return new Element(tag, props);
}
export { jsx as jsxs, jsx as jsxDEV };

/** `<>…</>` */
export function Fragment({ children }: { children?: Child }): Child {
  return children;
}

/** HTML that is not escaped. It must not contain text of a person or of a vendor. */
export function raw(html: string): Child {
  return new Raw(html);
}

/** Renders to HTML. Null, undefined and booleans are empty. */
export function render(child: Child): string {
  if (typeof child === "string") return escapeText(child);
  if (child instanceof Element) return renderElement(child);
  if (typeof child === "number") return String(child);
  if (child instanceof Raw) return child.html;
  return Array.isArray(child) ? child.map(render).join("") : "";
}

function renderElement({ tag, props }: Element): string {
  if (typeof tag === "function") return render(tag(props as never));
  let start = `<${tag}`;
  for (const name in props) if (name !== "children") start += attribute(name, props[name] as Attribute);
  return VOID.has(tag) ? `${start}/>` : `${start}>${render(props["children"] as Child)}</${tag}>`;
}

type Attribute = string | number | boolean | null | undefined;

function attribute(name: string, value: Attribute): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean" && BOOLEAN.has(name)) return value ? ` ${name}=""` : "";
  return ` ${name}="${escapeText(String(value))}"`;
}

export interface Context<T> {
  /** Provides a value to the elements inside. */
  Provider: (props: { value: T; children?: Child }) => Child;
  values: T[];
}

export function createContext<T>(initial: T): Context<T> {
  const values = [initial];
  return {
    values,
    Provider: ({ value, children }) => {
      values.push(value);
      try {
        return raw(render(children));
      } finally {
        values.pop();
      }
    },
  };
}

/** The value of the nearest provider, or the initial one. */
export function useContext<T>({ values }: Context<T>): T {
  return values.at(-1)!;
}

type Tags = Html.IntrinsicElements;

/** The types that the compiler checks elements by. */
export declare namespace JSX {
  type Element = Child;
  type ElementType = string | Component;
  interface ElementChildrenAttribute {
    children: unknown;
  }
  type IntrinsicElements = {
    [Tag in keyof Tags as string extends Tag ? never : Tag]: Omit<Tags[Tag], "children"> & { children?: Child };
  } & Record<"svg" | "path" | "rect" | "line", Record<string, string | number | Child>>;
}

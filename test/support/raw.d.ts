/** A file's text, as the test bundler gives it. */
declare module "*?raw" {
  const text: string;
  export default text;
}

/** Files by their path from the one that asks, as the test bundler finds them. */
interface ImportMeta {
  glob<T>(pattern: string, options: { query: string; import: string; eager: true }): Record<string, T>;
}

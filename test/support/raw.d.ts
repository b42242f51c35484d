/** A file's text, as the test bundler gives it. */
declare module "*?raw" {
  const text: string;
  export default text;
}

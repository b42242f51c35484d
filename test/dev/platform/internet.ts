/** Preloaded into a process: its requests to https addresses go to the played platform, which decides the answer. */
const { fetch: real } = globalThis;

globalThis.fetch = (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  if (url.protocol !== "https:") return real(input, init);
  return real(`${process.env["CLOUDFLARE_API_BASE_URL"]}/internet/${url.host}${url.pathname}`, init);
};

/** The names under which the service itself is reachable. */
export interface OwnHosts {
  /** The host of `PUBLIC_URL`; null if it is not set. */
  public_host: string | null;
  worker_name: string;
}

/** A phrase that follows "the URL …", like the refusals of `domain/target-url.ts`. */
export const OWN_HOST_REASON = "must not lead to this service itself";

/**
 * Whether a host is the service itself, which is refused as a webhook target: the host of `PUBLIC_URL` and the
 * workers.dev name (HOOK-7). On workers.dev a Worker has `<name>.<account>`, with a prefix for each preview. `hostname`
 * as in `URL.hostname`.
 */
export function isOwnHost(hostname: string, { public_host, worker_name }: OwnHosts): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, "");
  if (host === public_host) return true;
  const [label = "", ...rest] = host.split(".");
  const isWorkersDev = rest.length === 3 && rest[1] === "workers" && rest[2] === "dev";
  return isWorkersDev && (label === worker_name || label.endsWith(`-${worker_name}`));
}

/** By which names the service itself is reached. */
export interface OwnHosts {
  /** That of `PUBLIC_URL`; null where it is not set. */
  public_host: string | null;
  worker_name: string;
}

/** A phrase that continues "the URL …", as the refusals of `domain/target-url.ts`. */
export const OWN_HOST_REASON = "must not lead to this service itself";

/**
 * Refused as targets too: the service's own hosts, `PUBLIC_URL` and the workers.dev name (HOOK-7). On workers.dev
 * a Worker has `<name>.<account>` and, before the name, the prefix of each preview. `hostname` as in `URL.hostname`.
 */
export function isOwnHost(hostname: string, { public_host, worker_name }: OwnHosts): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, "");
  if (host === public_host) return true;
  const [label = "", ...rest] = host.split(".");
  const isWorkersDev = rest.length === 3 && rest[1] === "workers" && rest[2] === "dev";
  return isWorkersDev && (label === worker_name || label.endsWith(`-${worker_name}`));
}

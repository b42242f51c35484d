import { AppError } from "./errors.ts";

/** The settings of the deployment that this module needs. */
export interface PublicUrlSettings {
  PUBLIC_URL?: string | undefined;
  ENVIRONMENT: string;
}

/** The local service's default; `npm start` sets it with its port. */
const LOCAL = "http://localhost:8787";

/**
 * `PUBLIC_URL`: the base of every link that the service writes, an origin without a final slash. Host and scheme of a
 * request are never used for that (HTTP-19), because the sender of the request chooses them. @throws `not_configured`
 * outside development if it is not set or is not an https address.
 */
export function publicUrl(settings: PublicUrlSettings): string {
  const read = readPublicUrl(settings);
  if ("problem" in read) throw new AppError("not_configured", read.problem);
  return read.origin;
}

/** The service's own hosts, for `domain/own-host.ts`. */
export function ownHosts(settings: PublicUrlSettings & { WORKER_NAME: string }) {
  const read = readPublicUrl(settings);
  return { public_host: "origin" in read ? new URL(read.origin).hostname : null, worker_name: settings.WORKER_NAME };
}

export function readPublicUrl({
  PUBLIC_URL = "",
  ENVIRONMENT,
}: PublicUrlSettings): { origin: string } | { problem: string } {
  const isLocal = ENVIRONMENT === "development";
  const text = PUBLIC_URL.trim() || (isLocal ? LOCAL : "");
  if (text === "") return { problem: "The variable PUBLIC_URL is not set." };
  const url = URL.parse(text);
  const isWeb = url?.protocol === "https:" || (isLocal && url?.protocol === "http:");
  if (url && isWeb && url.href === `${url.origin}/`) return { origin: url.origin };
  return { problem: "The variable PUBLIC_URL is not an https address without a path." };
}

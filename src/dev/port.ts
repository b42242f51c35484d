/** Returns a port number from the environment, or the fallback if it is not set. @throws if it is not a port number */
export function portFrom(value: string | undefined, fallback: number): number {
  if (value === undefined || value === "") return fallback;
  const port = Number(value);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`PORT is not a port number: ${value}`);
  return port;
}

/** A port number from the environment; the fallback where it is not set. @throws on anything else. */
export function portFrom(value: string | undefined, fallback: number): number {
  if (value === undefined || value === "") return fallback;
  const port = Number(value);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`PORT is not a port number: ${value}`);
  return port;
}

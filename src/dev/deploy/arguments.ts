/** The arguments of `npm run deploy`: what is read here, and what goes on to wrangler. */

export interface Selected {
  /** The empty name is the top level of wrangler.toml. */
  environment: string;
  /** Another configuration file than wrangler.toml. */
  config: string | null;
  /** Whether a domain may be taken from another Worker, or from DNS records that are there. */
  takeOver: boolean;
  /** Which environment and file, for every wrangler command. */
  everywhere: string[];
  /** What goes on to `wrangler deploy` as it is. */
  rest: string[];
}

/** Reads `--env staging`, `--env=staging`, `-e staging`, `--config`, `-c` and `--take-over-domain`. */
export function readArguments(args: readonly string[]): Selected {
  const rest = [...args];
  const environment = takeOption(rest, ["--env", "-e"]) ?? "";
  const config = takeOption(rest, ["--config", "-c"]);
  const at = rest.indexOf("--take-over-domain");
  if (at >= 0) rest.splice(at, 1);
  const everywhere = [`--env=${environment}`, ...(config === null ? [] : [`--config=${config}`])];
  return { environment, config, takeOver: at >= 0, everywhere, rest };
}

/** The values of an option that stays where it is. */
export function valuesOf(args: readonly string[], names: readonly string[]): string[] {
  return args.flatMap((arg, at) => {
    if (names.includes(arg)) return args[at + 1] ?? [];
    const name = names.find((one) => arg.startsWith(`${one}=`));
    return name === undefined ? [] : arg.slice(name.length + 1);
  });
}

function takeOption(args: string[], names: readonly string[]): string | null {
  const at = args.findIndex((arg) => names.includes(arg) || names.some((name) => arg.startsWith(`${name}=`)));
  if (at < 0) return null;
  const [value = ""] = valuesOf(args.slice(at, at + 2), names);
  args.splice(at, names.includes(args[at] ?? "") ? 2 : 1);
  return value;
}

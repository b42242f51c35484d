/** The arguments of `npm run deploy`: its own options, and those for wrangler. */

export interface Selected {
  /** The empty name is the top level of wrangler.toml. */
  environment: string;
  /** A configuration file that replaces wrangler.toml. */
  config: string | null;
  /** Whether a domain may be taken from another Worker or from existing DNS records. */
  takeOver: boolean;
  /** The environment and configuration file, for every wrangler command. */
  everywhere: string[];
  /** The arguments for `wrangler deploy`, unchanged. */
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

/** Returns the values of an option, which stays among the arguments. */
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

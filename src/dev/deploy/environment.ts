import type { PlatformApi } from "./platform-api.ts";
import type { Selected } from "./arguments.ts";
import type { Shown, WranglerRun } from "./run-wrangler.ts";

export const REQUIRED_SECRETS = ["ADMIN_TOKEN", "ENCRYPTION_KEY"] as const;
export type RequiredSecret = (typeof REQUIRED_SECRETS)[number];

/** What the steps need of the machine and the person. */
export interface DeployTools {
  wrangler: (args: string[], shown: Shown, env: Record<string, string>) => Promise<WranglerRun>;
  /** What an environment of the configuration declares. */
  declared: (selected: Selected) => Promise<Declared>;
  /** The platform's API with the credentials that wrangler uses; null where nobody is logged in. */
  platform: () => Promise<PlatformApi | null>;
  /** The account that the machine's environment names. */
  accountGiven: string | null;
  /** Every migration, in order. */
  migrations: () => Promise<Migration[]>;
  /** Asks the person at the terminal; null where there is none. @throws NotReady where the person ends the command. */
  ask: ((question: string) => Promise<string>) | null;
  print: (line: string) => void;
  /** The secrets in a file that was given, by name. @throws where it cannot be read. */
  secretsIn: (path: string) => Promise<Record<string, string>>;
  /** Puts a text into a file that only this user reads, while `use` runs. */
  withFile: <T>(name: string, text: string, use: (path: string) => Promise<T>) => Promise<T>;
  /** Makes the static files for an origin, or null, in a folder that exists while `use` runs. */
  withSite: <T>(origin: string | null, use: (folder: string) => Promise<T>) => Promise<T>;
  /** A new value for a secret that nobody has given. */
  randomSecret: (name: RequiredSecret) => string;
  /** Whether `GET /healthz` answers 200 within so many seconds. */
  isHealthy: (url: string, seconds: number) => Promise<boolean>;
}

/** What the configuration says of an environment. */
export interface Declared {
  /** The Worker's. */
  name: string;
  account_id: string | null;
  databases: BoundResource[];
  buckets: (BoundResource & { jurisdiction: string | undefined })[];
  queues: string[];
  /** Custom domains of `routes`. */
  domains: string[];
  /** Whether there are other routes than custom domains. */
  has_patterns: boolean;
  /** Null: on where there is no route. */
  workers_dev: boolean | null;
  public_url: string;
  /** The address that mail comes from; null where `EMAIL` is not bound. */
  email_from: string | null;
  /** Whether the platform logs each request, with its address and the visitor's. */
  logs_requests: boolean;
}

/** A database or a bucket, by the name that the account knows it by. */
export interface BoundResource {
  binding: string;
  name: string;
}

export interface Migration {
  name: string;
  text: string;
}

/** A deploy under way: what was chosen, declared and found. */
export interface Deployment {
  tools: DeployTools;
  selected: Selected;
  declared: Declared;
  api: PlatformApi;
  account: string;
}

/** Something is not as a deploy needs it, and nothing was changed. The message says what to do. */
export class NotReady extends Error {}

/** A step of a deploy failed, and it was shown why. `output` is what wrangler printed. */
export class StepFailed extends Error {
  readonly output: string;

  constructor(message: string, output = "") {
    super(message);
    this.output = output;
  }
}

/** Of the Worker, in the API. */
export const scriptPath = ({ account, declared }: Deployment): string =>
  `/accounts/${account}/workers/scripts/${declared.name}`;

/** Runs a wrangler command on the environment and the account. */
export function wranglerOn({ tools, selected, account }: Deployment, args: string[], shown: Shown) {
  return tools.wrangler([...args, ...selected.everywhere], shown, { CLOUDFLARE_ACCOUNT_ID: account });
}

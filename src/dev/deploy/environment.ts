import type { PlatformApi } from "./platform-api.ts";
import type { Selected } from "./arguments.ts";
import type { Shown, WranglerRun } from "./run-wrangler.ts";

export const REQUIRED_SECRETS = ["ADMIN_TOKEN", "ENCRYPTION_KEY"] as const;
export type RequiredSecret = (typeof REQUIRED_SECRETS)[number];

/** The tools of the machine and the person that the steps use. */
export interface DeployTools {
  wrangler: (args: string[], shown: Shown, env: Record<string, string>) => Promise<WranglerRun>;
  /** Reads the declarations of an environment in the configuration. */
  declared: (selected: Selected) => Promise<Declared>;
  /** The platform's API with wrangler's credentials, or null without a login. */
  platform: () => Promise<PlatformApi | null>;
  /** The account id of the machine's environment. */
  accountGiven: string | null;
  /** Every migration, in order. */
  migrations: () => Promise<Migration[]>;
  /** Asks the person at the terminal; null without a terminal. @throws NotReady if the person ends the command */
  ask: ((question: string) => Promise<string>) | null;
  print: (line: string) => void;
  /** Reads the secrets of a file, by name. @throws if the file cannot be read */
  secretsIn: (path: string) => Promise<Record<string, string>>;
  /** Stores a text, while `use` runs, in a file that only this user can read. */
  withFile: <T>(name: string, text: string, use: (path: string) => Promise<T>) => Promise<T>;
  /** Makes the static files for an origin, or null, in a folder that exists only while `use` runs. */
  withSite: <T>(origin: string | null, use: (folder: string) => Promise<T>) => Promise<T>;
  /** Makes a new value for a missing secret. */
  randomSecret: (name: RequiredSecret) => string;
  /** Checks whether `GET /healthz` answers 200 within a number of seconds. */
  isHealthy: (url: string, seconds: number) => Promise<boolean>;
}

export interface Declared {
  /** The Worker's name. */
  name: string;
  account_id: string | null;
  databases: BoundResource[];
  buckets: (BoundResource & { jurisdiction: string | undefined })[];
  queues: string[];
  /** Custom domains of `routes`. */
  domains: string[];
  /** Whether there are other routes than custom domains. */
  has_patterns: boolean;
  /** Null: on if there is no route. */
  workers_dev: boolean | null;
  public_url: string;
  /** The sender's address of e-mails, or null if `EMAIL` is not bound. */
  email_from: string | null;
  /** Whether the platform logs each request, with its URL and the visitor's address. */
  logs_requests: boolean;
}

/** A database or a bucket, by its name in the account. */
export interface BoundResource {
  binding: string;
  name: string;
}

export interface Migration {
  name: string;
  text: string;
}

/** A running deploy: its choices, declarations and tools. */
export interface Deployment {
  tools: DeployTools;
  selected: Selected;
  declared: Declared;
  api: PlatformApi;
  account: string;
}

/** A precondition of the deploy fails, and the account is unchanged. The message contains the remedy. */
export class NotReady extends Error {}

/** A step of a deploy failed, and `output` is wrangler's output. */
export class StepFailed extends Error {
  readonly output: string;

  constructor(message: string, output = "") {
    super(message);
    this.output = output;
  }
}

/** The Worker's path in the API. */
export const scriptPath = ({ account, declared }: Deployment): string =>
  `/accounts/${account}/workers/scripts/${declared.name}`;

/** Runs a wrangler command on the environment and the account. */
export function wranglerOn({ tools, selected, account }: Deployment, args: string[], shown: Shown) {
  return tools.wrangler([...args, ...selected.everywhere], shown, { CLOUDFLARE_ACCOUNT_ID: account });
}

import { existsSync } from "node:fs";
import { chromium, type Browser, type LaunchOptions } from "playwright-core";

const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/opt/google/chrome/chrome",
];

/** How long a page may take on a busy machine before it counts as stuck (ms). */
export const PATIENCE = 120_000;

/** The browser of the machine: `CHROMIUM_PATH`, or the usual place of the system. */
export function launchChromium(options: LaunchOptions = {}): Promise<Browser> {
  const executablePath = process.env["CHROMIUM_PATH"] ?? PLACES.find((path) => existsSync(path));
  if (!executablePath)
    throw new Error("No Chromium found: install one (apt-get install chromium) or set CHROMIUM_PATH.");
  const args = ["--no-sandbox", ...(options.args ?? [])];
  return chromium.launch({ timeout: PATIENCE, ...options, executablePath, args });
}

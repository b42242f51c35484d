import { copyFile, rename, rm } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import type { Variables } from "../stand-in/service.ts";
import { compileWorker } from "../stand-in/worker.ts";
import type { MadeProgram } from "./play.ts";

/** The program that `npm start` creates on its first run. */
export const OWNER = { name: "My program", owner_email: "owner@example.com" };

export interface ThreadInput {
  /** The text of `compileWorker`. */
  worker: string;
  file: string;
  variables: Variables;
  owner: typeof OWNER;
  /** The last instant of the sample, in ms. */
  end: number;
}

export type ThreadMessage = { done: number } | { made: MadeProgram };

/**
 * Creates the newcomer's program with a year of sample data in a migrated database file that is not open elsewhere. All
 * of it appears at once. `onProgress` is called with the finished part, from 0 to 1. `end`: the last instant, in ms.
 */
export async function addSample(
  file: string,
  variables: Variables,
  onProgress: (done: number) => void = () => {},
  end = Date.now(),
): Promise<MadeProgram> {
  const draft = `${file}.sample`;
  await copyFile(file, draft);
  try {
    const made = await play({ worker: await compileWorker(), file: draft, variables, owner: OWNER, end }, onProgress);
    await rename(draft, file);
    return made;
  } finally {
    await Promise.all(["", "-wal", "-shm"].map((ending) => rm(`${draft}${ending}`, { force: true })));
  }
}

function play(input: ThreadInput, onProgress: (done: number) => void): Promise<MadeProgram> {
  const thread = new Worker(new URL("thread.ts", import.meta.url), { workerData: input });
  return new Promise((resolve, reject) => {
    thread.on("message", (message: ThreadMessage) => {
      if ("done" in message) onProgress(message.done);
      else resolve(message.made);
    });
    thread.once("error", reject);
    thread.once("exit", (code) => reject(new Error(`The sample ended with ${code}.`)));
  });
}

/** A process that dies between two steps, or at a call of its database. */
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { SECRET_A, type TestProgram } from "./program.ts";
import { bodyOfA, signA, type EventA } from "./provider-a.ts";
import { callWith, watchDatabase, type SentStatement } from "./watched-database.ts";

/** Receives an event, and dies after its facts are stored: it is neither settled nor closed. */
export async function receiveAndDie(program: TestProgram, event: EventA): Promise<void> {
  const body = bodyOfA(event);
  const { binding } = watchDatabase(env.DB, {
    before: (statements) => {
      if (statements.some((text) => text.includes("insert into events"))) throw new Error("the process died");
    },
  });
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { status } = await callWith({ DB: binding }, `/webhooks/provider_a?program_id=${program.id}`, {
    method: "POST",
    headers: { "content-type": "application/json", "Provider-A-Signature": await signA(body, SECRET_A) },
    body,
  });
  expect(status).toBe(503);
  vi.restoreAllMocks();
}

/**
 * The call of the database, counted from 1, at which the process dies: before the call is carried out, as after the one
 * before. Or the process continues without the call's answer.
 */
export interface Fault {
  call: number;
  how: "death" | "lost answer";
}

/** The database of a process with this fault. `writes` lists the calls so far that may have changed data. */
export function databaseUntil(fault: Fault | null): {
  binding: D1Database;
  calls: () => number;
  writes: () => number[];
} {
  const isNow = (how: Fault["how"], at: number) =>
    fault?.how === how && (how === "death" ? at >= fault.call : at === fault.call);
  const { binding, roundTrips } = watchDatabase(env.DB, {
    before: () => {
      if (isNow("death", roundTrips.length)) throw new Error("the process died");
    },
    after: () => {
      if (isNow("lost answer", roundTrips.length)) throw new Error("the answer is lost");
    },
  });
  const isWrite = (sent: SentStatement[]) => sent.some((one) => /\b(insert|update|delete)\b/i.test(one.sql));
  return {
    binding,
    calls: () => roundTrips.length,
    writes: () => roundTrips.flatMap((sent, i) => (isWrite(sent) ? [i + 1] : [])),
  };
}

/** A process that dies between two steps. */
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { SECRET_A, type TestProgram } from "./program.ts";
import { bodyOfA, signA, type EventA } from "./provider-a.ts";
import { callWith, watchDatabase } from "./watched-database.ts";

/** Receives an event, and dies after its facts are stored: nothing is settled, nothing is closed. */
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

/** Calls for the tests of groups. */
import { expect } from "vitest";
import type { TestProgram } from "./program.ts";

export type Json = Record<string, unknown>;

/** Creates an object and returns it. */
export async function create(program: TestProgram, path: string, body: unknown): Promise<Json & { id: string }> {
  const reply = await program.api<Json & { id: string }>("POST", `/api/v1${path}`, body);
  expect([path, reply.status, reply.body]).toEqual([path, 201, reply.body]);
  return reply.body;
}

export async function patchOf(program: TestProgram, path: string, body: unknown): Promise<Json> {
  const reply = await program.api<Json>("PATCH", `/api/v1${path}`, body);
  expect([path, reply.status, reply.body]).toEqual([path, 200, reply.body]);
  return reply.body;
}

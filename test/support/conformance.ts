/** Shared code of the conformance tests. All input and output is HTTP. */
import { expect } from "vitest";
import type { Reply, TestProgram } from "./program.ts";

export interface AuditEvent {
  id: string;
  program_id: string;
  type: string;
  payload: Record<string, unknown>;
  created_at: string;
}

export interface Delivery {
  id: string;
  event_id: string;
  event: string;
  status: string;
  payload: { event: string; timestamp: string; data: Record<string, unknown> };
}

export interface Failure {
  error: { code: string; message: string; details?: { path: string; message: string }[]; request_id: string };
}

export type Row = Record<string, unknown> & { id: string };

export const FLOW = { name: "Ten percent", action_type: "percentage", action_value: 10 };
export const ENDPOINT = { url: "https://receiver.example.com/hook", events: ["*"] };

/** ISO 8601 in UTC. */
export const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/;

/** The audit log, oldest first. */
export async function eventsOf(program: TestProgram, type?: string): Promise<AuditEvent[]> {
  const filter = type === undefined ? "" : `&type=${type}`;
  const { body } = await program.api<{ data: AuditEvent[] }>("GET", `/api/v1/events?per_page=100${filter}`);
  return body.data.toReversed();
}

/** The past and pending deliveries of an endpoint, oldest first. */
export async function deliveriesOf(program: TestProgram, endpoint_id: string): Promise<Delivery[]> {
  const { body } = await program.api<{ deliveries: Delivery[] }>("GET", `/api/v1/webhooks/${endpoint_id}`);
  return body.deliveries.toReversed();
}

/** Creates a resource by POST and returns it. */
export async function create<T = Row>(program: TestProgram, path: string, body: unknown): Promise<T> {
  const reply = await program.api<T>("POST", path, body);
  if (reply.status !== 201) throw new Error(`${path}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** Expects a 422 and gives the paths it names. */
export function refusedPaths(reply: Reply<unknown>): string[] {
  const { error } = reply.body as Failure;
  expect([reply.status, error.code]).toEqual([422, "validation_failed"]);
  return (error.details ?? []).map(({ path }) => path);
}

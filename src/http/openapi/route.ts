import type * as z from "zod";
import type { ErrorCode } from "../../lib/errors.ts";
import type { ReplyName } from "./replies.ts";
import type { RequestName } from "./requests.ts";

export const TAGS = {
  Program: "The program's settings and its connections.",
  Team: "The people who sign in to the dashboard, and what they may do there.",
  Partners: "The people who refer customers, with their links, promotion codes and applications.",
  Flows: "Rules that decide what a payment earns. The first whose conditions all match applies.",
  Payments: "What the payment providers reported, and how each payment was decided.",
  Facts: "What your own server reports: leads, and the sales and refunds of a checkout without a payment provider.",
  Commissions: "What partners have earned.",
  Claims: "Sales that partners report as missing, and what was decided.",
  Payouts: "What partners are paid: generated for a period, then paid by transfer or by hand.",
  Clicks: "Clicks on referral links.",
  Events: "The audit log.",
  Webhooks: "Endpoints of yours that receive events, signed and retried.",
  Customers: "Erasure of a customer's e-mail address.",
  Operator: "For the person who runs the deployment, with its ADMIN_TOKEN. Without that secret, /admin answers 404.",
  Inbound: "Called by the payment providers and verified by their signatures.",
  Tracking: "Called by visitors' browsers; needs no key.",
  Service: "The service itself.",
} as const;

export type Tag = keyof typeof TAGS;

/** A route as the document describes it; `document.ts` adds what every route of its kind has. */
export interface Route {
  method: "GET" | "POST" | "PATCH" | "DELETE" | "OPTIONS";
  /** As the router spells it. */
  path: string;
  tag: Tag;
  summary: string;
  description?: string;
  query?: z.ZodObject;
  body?: RequestBody;
  replies: RouteReply[];
  /** Beside those of the route's kind. */
  errors?: ErrorCode[];
}

export interface RequestBody {
  schema: RequestName;
  optional?: true;
  media_types?: string[];
}

export interface RouteReply {
  status: 200 | 201 | 202 | 204 | 302 | 304;
  description: string;
  schema?: ReplyName;
  /** Of a body that is not JSON; several where the address chooses. */
  media_type?: string | readonly string[];
  headers?: Record<string, string>;
}

/** 200 with a JSON body. */
export function ok(schema: ReplyName, description: string): RouteReply[] {
  return [{ status: 200, description, schema }];
}

/** 201 with a JSON body. */
export function created(schema: ReplyName, description: string): RouteReply[] {
  return [{ status: 201, description, schema }];
}

import { expect } from "vitest";
import type { ParseResult } from "../../src/providers/provider.ts";

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function expectAmount(amount: number): void {
  expect(Number.isSafeInteger(amount) && amount >= 0, String(amount)).toBe(true);
}

/** The invariants of every answer of a provider's parser, whatever its input. */
export function expectLawful(result: ParseResult): void {
  if (!result.ok) {
    expect(result.details.length).toBeGreaterThan(0);
    expect(result.details.length).toBeLessThanOrEqual(20);
    for (const detail of result.details)
      expect(detail).toEqual({ path: expect.any(String), message: expect.any(String) });
    return;
  }
  const { event_id, event_type, occurred_at, facts, ignored } = result.event;
  expect(event_id.length * event_type.length).toBeGreaterThan(0);
  expect(occurred_at).toMatch(ISO);
  expect(facts.length === 0).toBe(ignored !== null && ignored !== "");
  for (const fact of facts) {
    expect(fact.occurred_at).toBe(occurred_at);
    if ("aliases" in fact) {
      expect(fact.aliases.length).toBeGreaterThanOrEqual(fact.kind === "link" ? 2 : 1);
      expect(new Set(fact.aliases).size).toBe(fact.aliases.length);
      for (const alias of fact.aliases) expect(alias).not.toBe("");
    }
    if (fact.kind === "payment") {
      expectAmount(fact.base_cents);
      expectAmount(fact.gross_cents);
      expect(fact.base_cents).toBeLessThanOrEqual(fact.gross_cents);
      expect(fact.aliases).toContain(fact.key);
      expect(fact.currency).toMatch(/^[A-Z]{3}$/);
      expect(fact.ref).not.toBe("");
      expect(fact.customer_email).not.toBe("");
    }
    if (fact.kind === "adjustment") expectAmount(fact.amount_cents);
    if (fact.kind === "attribution") {
      expect(fact.ref).not.toBe("");
      expect(fact.subscription_id ?? fact.customer_id).not.toBeNull();
    }
  }
}

/** The event with the value at one place of it replaced; `pick` in [0, 1) chooses the place among all there are. */
export function mutate(event: unknown, pick: number, value: unknown): unknown {
  const copy = { root: structuredClone(event) };
  const places: [object, string][] = [];
  const walk = (holder: object) => {
    for (const [key, child] of Object.entries(holder)) {
      places.push([holder, key]);
      if (typeof child === "object" && child !== null) walk(child);
    }
  };
  walk(copy);
  const [holder, key] = places[Math.floor(pick * places.length)]!;
  Object.assign(holder, { [key]: value });
  return copy.root;
}

/** The changes of a row in the audit log, as its resource shows them (EVT-2). */
import type { Changes } from "../../domain/actor.ts";
import { maskAccount, maskAddress, maskDistinctly } from "../../domain/mask.ts";
import { APPLICATION, type Application } from "../../resources/application.ts";
import { CLAIM, type SaleClaim } from "../../resources/claim.ts";
import { CODE, type PartnerCode } from "../../resources/code.ts";
import { COMMISSION, type Commission } from "../../resources/commission.ts";
import { ENDPOINT, type Endpoint } from "../../resources/endpoint.ts";
import type { AnyField, Fields } from "../../resources/field.ts";
import { FLOW, type Flow } from "../../resources/flow.ts";
import { GROUP, type Group } from "../../resources/group.ts";
import { PARTNER, type Partner } from "../../resources/partner.ts";
import { PAYOUT, type Payout } from "../../resources/payout.ts";
import { PROGRAM, type ProgramColumns } from "../../resources/program.ts";
import { MEMBER, type Member } from "../../resources/team.ts";

interface Rows {
  application: Application;
  partner: Partner;
  program: ProgramColumns;
  member: Member;
  flow: Flow;
  group: Group;
  code: PartnerCode;
  endpoint: Endpoint;
  commission: Commission;
  payout: Payout;
  claim: SaleClaim;
}

const FIELDS: Record<keyof Rows, Fields> = {
  ...{ application: APPLICATION, partner: PARTNER, program: PROGRAM, member: MEMBER, flow: FLOW, group: GROUP },
  ...{ code: CODE, endpoint: ENDPOINT, commission: COMMISSION, payout: PAYOUT, claim: CLAIM },
};

const SHOWN: Record<NonNullable<AnyField["audit"]>, (value: unknown) => unknown> = {
  plain: (value) => value,
  address: (value) => maskAddress(String(value)),
  account: (value) => maskAccount(String(value)),
  sealed: (value) => String(value).split("\0")[0],
  secret: () => "(secret)",
};

/** `{field: [old, new]}` of differing columns. Secrets read `"(secret)"` or null; payout details are masked. */
export function changesOf<K extends keyof Rows>(kind: K, before: Rows[K], after: Rows[K]): Changes {
  return Object.fromEntries(
    Object.entries(FIELDS[kind]).flatMap(([name, { audit }]): [string, [unknown, unknown]][] => {
      if (audit === null) return [];
      const [old, now] = [before, after].map((row) => valueOf(row as Record<string, unknown>, name, audit));
      if (JSON.stringify(old) === JSON.stringify(now)) return [];
      const apart = maskDistinctly(SHOWN[audit]);
      const display = (value: unknown) => (value === null ? null : apart(value));
      return [[name, [display(old), display(now)]]];
    }),
  );
}

/** Two sealed values with one masked text differ by their seals. */
function valueOf(row: Record<string, unknown>, name: string, audit: AnyField["audit"]): unknown {
  const value = row[name];
  return audit === "sealed" && value !== null ? [value, row[`${name}_sealed`]].join("\0") : value;
}

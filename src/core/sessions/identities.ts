import { sql } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { nullable, selectRows, text, textOf } from "../../db/rows.ts";
import { partners, programMembers, programs } from "../../db/schema.ts";
import type { MemberRole } from "../../domain/member.ts";
import { ageOfProgramId } from "../../domain/shard.ts";
import type { BaseCtx } from "../kernel/context.ts";
import { askAll } from "../kernel/shards.ts";

export type Audience = "owner" | "partner";

/** Someone an e-mail address can sign in as: a member of a program's team, or a partner in one. */
export interface Identity {
  audience: Audience;
  program_id: string;
  program_name: string;
  brand_color: string | null;
  /** Null for members. */
  partner_id: string | null;
  /** Null for partners. */
  role: MemberRole | null;
  /** Null for partners. */
  member_since: string | null;
}

/**
 * Every identity of an address, in any database that answers: its teams, then active or invited partners; newest first.
 */
export async function identitiesOf(ctx: BaseCtx, email: string): Promise<Identity[]> {
  return (await askIdentities(ctx, email)).identities;
}

/** `linkedIds` are the shards that have answered; `failure` is set if others have not. */
export async function askIdentities(ctx: BaseCtx, email: string) {
  const { said, failure } = await askAll(ctx, (on) => readIdentities(on, email));
  const found = said.flatMap(({ answer }) => answer);
  const identities = said.length === 1 ? found : found.toSorted(ownersFirst);
  return { identities, reachable: said.map(({ ctx: on }) => on.shard), failure };
}

function ownersFirst(a: Identity, b: Identity): number {
  if (a.audience !== b.audience) return a.audience === "owner" ? -1 : 1;
  const age = (one: Identity) => one.partner_id ?? ageOfProgramId(one.program_id);
  return age(a) < age(b) ? 1 : -1;
}

async function readIdentities(ctx: BaseCtx, email: string): Promise<Identity[]> {
  const [teams, joined] = await runBatch(ctx.db, [
    // Joins from the address to its programs in this order: the planner might begin with all programs.
    selectRows(
      ctx.db,
      {
        role: textOf<MemberRole>(),
        member_since: text,
        program_id: text,
        program_name: text,
        brand_color: nullable(text),
      },
      sql`
      select m.role, m.created_at as member_since, g.id as program_id, g.name as program_name, g.brand_color
      from ${programMembers} m cross join ${programs} g on g.id = m.program_id
      where lower(m.email) = ${email} order by g.id desc`,
    ),
    selectRows(
      ctx.db,
      { partner_id: text, program_id: text, program_name: text, brand_color: nullable(text) },
      sql`
      select p.id as partner_id, g.id as program_id, g.name as program_name, g.brand_color
      from ${partners} p cross join ${programs} g on g.id = p.program_id
      where lower(p.email) = ${email} and p.status <> 'deactivated' order by p.id desc`,
    ),
  ]);
  return [
    ...teams.map((row): Identity => ({ audience: "owner", partner_id: null, ...row })),
    ...joined.map((row): Identity => ({ audience: "partner", role: null, member_since: null, ...row })),
  ];
}

/** The key of an identity in a form; it is looked up only among the identities of the address. */
export function identityKey(identity: Pick<Identity, "program_id" | "partner_id">): string {
  return identity.partner_id ?? identity.program_id;
}

/** Whether two identities have the same program and partner. */
export function isOfAccount(
  one: Pick<Identity, "program_id" | "partner_id">,
  other: Pick<Identity, "program_id" | "partner_id">,
): boolean {
  return one.program_id === other.program_id && one.partner_id === other.partner_id;
}

export function findIdentity(identities: readonly Identity[], key: string | null): Identity | undefined {
  return identities.find((identity) => identityKey(identity) === key);
}

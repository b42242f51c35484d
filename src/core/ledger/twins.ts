/** Which payments may be one under two ids (PAY-25): those of one customer and sum, made within hours or days. */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { FactScope } from "../../db/schema.ts";
import type { Fact } from "../../domain/fact.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { COMPARED, comparedFacts, roleOf, amountTaken } from "../../domain/twin.ts";
import { paymentsNamed, reachable } from "./named.ts";
import { factsOf, listOfAll, programOf, stage } from "./stages.ts";

/**
 * By what a report of money finds the ones that it is compared with: the role comes before the time, so that a range of times
 * holds reports of one role. An ordinary payment then reads nothing of the customer's other ordinary payments.
 */
export function sumSubjects(fact: Fact): { scope: FactScope; subject: string }[] {
  return comparedFacts([fact]).map((paid) => {
    const subject = [paid.customer_id, paid.currency, amountTaken(paid), roleOf(paid), paid.occurred_at].join("|");
    return { scope: "sum", subject };
  });
}

/** Whether a fact can make two payments one, or show that they may be. */
export function showsTwins(fact: Fact): boolean {
  return fact.kind === "link" || comparedFacts([fact]).length > 0;
}

const TIME = "2000-01-01T00:00:00.000Z".length;

/** A join of the sums `t` that are compared with those of the fact that `fact_id` names. */
function near(program_id: SQL, provider: ProviderName, fact_id: SQL): SQL {
  const compared = COMPARED.map(({ role, other, within_ms }) => [`|${role}|`, `|${other}|`, within_ms / 1000]);
  const [role, other, seconds] = [sql`c.value ->> 0`, sql`c.value ->> 1`, sql`c.value ->> 2`];
  const fromRole = sql`-${literal(TIME)} - length(${role})`;
  const limit = (sign: 1 | -1) => sql`substr(s.subject, 1, length(s.subject) ${fromRole}) || (${other})
    || strftime('%Y-%m-%dT%H:%M:%fZ', substr(s.subject, -${literal(TIME)}), (${literal(sign)} * (${seconds})) || ' seconds')`;
  return sql`fact_subjects s on s.program_id = ${program_id} and s.provider = ${literal(provider)} and s.fact_id = ${fact_id}
      and +s.scope = 'sum'
    cross join json_each(${JSON.stringify(compared)}) c on substr(s.subject, ${fromRole}, length(${role})) = ${role}
    cross join fact_subjects t on t.program_id = s.program_id and t.provider = s.provider and t.scope = 'sum'
      and t.subject between ${limit(-1)} and ${limit(1)}`;
}

/** The ids of the payments that may be one with the payment that vendor ids name (`seeds`: SQL for a one-column select). */
export function twinsOfNamed(program_id: string, provider: ProviderName, seeds: SQL): SQL {
  const twins = sql`select n.subject from (${reachable(program_id, provider, seeds)}) r
    cross join fact_subjects a on a.program_id = ${program_id} and a.provider = ${literal(provider)}
      and a.scope = 'payment' and a.subject = r.subject
    cross join ${near(sql`${program_id}`, provider, sql`a.fact_id`)}
    cross join fact_subjects n on n.program_id = t.program_id and n.provider = t.provider and n.fact_id = t.fact_id
      and +n.scope = 'payment'`;
  return paymentsNamed(program_id, provider, reachable(program_id, provider, twins));
}

/** After `stated`: `twins`, the facts of the other payments that may be this one, each with the least of the ids of its payment. */
export function twinStages(provider: ProviderName): SQL {
  const own = literal(provider);
  const names = reachable(
    programOf("stated"),
    provider,
    sql`select n.subject from fact_subjects n where n.program_id = ${programOf("stated")} and n.provider = ${own}
      and n.fact_id = near.fact_id and +n.scope = 'payment'`,
  );
  return sql`${stage("paired", "stated", {
    near: listOfAll(
      sql`distinct names`,
      sql`select ${listOfAll(sql`subject`, sql`select subject from (${names}) order by subject`)} as names from (
          select distinct t.fact_id from ${factsOf("stated", "stated")}
            cross join ${near(sql`f.program_id`, provider, sql`f.fact_id`)}
          where f.kind = 'payment' and t.fact_id not in (select value ->> 1 from json_each(stated.stated))) near`,
    ),
  })},
  ${stage("twinned", "paired", {
    twins: listOfAll(
      sql`distinct json_array(fact_id, payment)`,
      sql`select s.fact_id, e.value ->> 0 as payment from json_each(paired.near) e
          cross join json_each(e.value) n
          cross join fact_subjects s on s.program_id = ${programOf("paired")} and s.provider = ${own}
            and s.scope = 'payment' and s.subject = n.value`,
    ),
  })}`;
}

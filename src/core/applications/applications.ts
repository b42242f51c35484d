import { and, eq, gte, lt, sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { PageOfTexts, PageRequest } from "../../db/page.ts";
import { selectRows, text, textOf } from "../../db/rows.ts";
import { applications } from "../../db/schema.ts";
import type { ApplicationStatus } from "../../domain/application.ts";
import type { PartnerStatus } from "../../domain/partner.ts";
import { notFound } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import type { Occurrence } from "../kernel/commit.ts";
import type { Reader } from "../kernel/context.ts";
import { isTimed, pagedList, readPage } from "../kernel/list-page.ts";
import type { Application } from "../kernel/rows.ts";
import { viewApplication, viewApplicationData, type ApplicationView } from "../kernel/views.ts";

export interface ApplicationFilter extends PageRequest {
  status?: ApplicationStatus | undefined;
  /** Milliseconds; `to` is exclusive. */
  from?: number | undefined;
  to?: number | undefined;
}

const LIST = pagedList("applications", "application", applications, viewApplication);

/** The program's applications, newest first. */
export async function listApplications(ctx: Reader, filter: ApplicationFilter): Promise<PageOfTexts<ApplicationView>> {
  const conditions = and(
    sql`${applications.program_id} = ${ctx.programId}`,
    filter.status === undefined ? undefined : sql`${applications.status} = ${literal(filter.status)}`,
    filter.from === undefined ? undefined : gte(applications.created_at, iso(filter.from)),
    filter.to === undefined ? undefined : lt(applications.created_at, iso(filter.to)),
  );
  return readPage(ctx, LIST, filter, { conditions, state: filter.status, narrowed: isTimed(filter) });
}

export async function getApplication(ctx: Reader, id: string): Promise<Application> {
  const [[application]] = await ctx.read(ctx.db.select().from(applications).where(ownedApplication(ctx, id)));
  if (!application) throw notFound("application");
  return application;
}

/** Possibly the same person: the partner with the address, and earlier applications of it. */
export interface SamePerson {
  partner: { id: string; status: PartnerStatus } | null;
  earlier: { id: string; status: ApplicationStatus; created_at: string }[];
}

const MOST_EARLIER = 10;

/** One application, with possible earlier records of the same person. */
export async function readApplication(
  ctx: Reader,
  id: string,
): Promise<{ application: Application; same: SamePerson }> {
  const address = sql`(select lower(email) from applications where id = ${id} and program_id = ${ctx.programId})`;
  const [[application], [partner = null], earlier] = await ctx.read(
    ctx.db.select().from(applications).where(ownedApplication(ctx, id)),
    selectRows(
      ctx.db,
      { id: text, status: textOf<PartnerStatus>() },
      sql`select id, status from partners where program_id = ${ctx.programId} and lower(email) = ${address}`,
    ),
    selectRows(
      ctx.db,
      { id: text, status: textOf<ApplicationStatus>(), created_at: text },
      sql`select id, status, created_at from applications where program_id = ${ctx.programId}
        and lower(email) = ${address} and id <> ${id} order by created_at desc limit ${literal(MOST_EARLIER)}`,
    ),
  );
  if (!application) throw notFound("application");
  return { application, same: { partner, earlier } };
}

export function ownedApplication(ctx: Reader, id: string): SQL | undefined {
  return and(eq(applications.id, id), sql`${applications.program_id} = ${ctx.programId}`);
}

type ApplicationEvent = `applications.${"received" | "approved" | "declined"}`;

/** The payload and the webhook of an event about an application. */
export function applicationEvent<E extends ApplicationEvent>(event: E, application: Application) {
  const { id, status, partner_id } = application;
  return {
    payload: { application_id: id, status, partner_id },
    outbound: { event, data: viewApplicationData(application) },
  };
}

export function applicationReceived(application: Application): Occurrence {
  return { type: "applications.received", ...applicationEvent("applications.received", application) };
}

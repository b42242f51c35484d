import * as z from "zod";
import type { viewMember } from "../../core/kernel/views.ts";
import { MEMBER_ROLES } from "../../domain/member.ts";
import { allOf, idOf, once, shows, timestamp } from "./fields.ts";

const member = once(() =>
  shows<ReturnType<typeof viewMember>>()({
    id: idOf("member"),
    program_id: idOf("program"),
    email: z.string(),
    role: z.enum(MEMBER_ROLES),
    created_at: timestamp,
    updated_at: timestamp,
  }),
);

export const teamReplies = () => ({ Member: member(), MemberList: allOf(member()) });

import { openRefusalOf } from "../../core/inbound/refusals.ts";
import type { AmountOf, NoticeOf } from "../../core/kernel/notices.ts";
import { formatMoney } from "../../domain/currency.ts";
import { oneLine } from "../../lib/mail.ts";
import { providerName, VENDORS } from "../../providers/registry.ts";
import { plural } from "../pages/parts/figures.tsx";
import { dayText } from "../pages/locale.ts";
import { dayFor, type Letter, type LetterRow } from "./letter.ts";

const DAY_MS = 86_400_000;

/** Sends the owner open tasks and the results of the week (MAIL-12). Not sent if both are empty. */
export function weeklySummaryLetters(notice: NoticeOf<"weekly_summary">, origin: string | null): Letter[] {
  const { program, from, until, earned } = notice;
  const waits = waitingRows(notice);
  if (waits.length === 0 && earned.length === 0) return [];
  const last = new Date(Date.parse(until) - DAY_MS).toISOString().slice(0, 10);
  const happened = earned.map(({ currency, commissions, amount_cents }): LetterRow => {
    return [`Commissions in ${currency}`, `${commissions} of ${formatMoney(amount_cents, currency)}`];
  });
  return [
    {
      to: program.owner_email,
      reader: { audience: "owner" },
      subject: `Your week at ${oneLine(program.name)}`,
      program,
      parts: [
        ...(waits.length > 0 ? ["To do:", waits] : ["All done."]),
        `From ${dayText(from)} to ${dayText(last)} (days of UTC) ${happened.length > 0 ? "partners earned:" : "partners earned nothing."}`,
        ...(happened.length > 0 ? [happened] : []),
      ],
      action: origin === null ? undefined : { label: "Open the dashboard", url: `${origin}/dashboard` },
    },
  ];
}

function waitingRows({ program, from, waiting, pending, in_payout }: NoticeOf<"weekly_summary">): LetterRow[] {
  const amounts = (label: string, of: readonly AmountOf[]) =>
    of.map(({ currency, amount_cents }): LetterRow => [`${label} in ${currency}`, formatMoney(amount_cents, currency)]);
  const rows: LetterRow[] = [
    ["Applications", plural(waiting.applications, "application")],
    ["Missing sales", plural(waiting.claims, "claim")],
    [
      program.auto_approve_days === null ? "Commissions to approve" : "Flagged commissions",
      plural(waiting.commissions, "commission"),
    ],
    ...(waiting.commissions > 0 ? amounts("To approve", pending) : []),
    ["Payouts to pay", plural(waiting.payouts, "payout")],
    ["Payouts that cannot be paid", plural(waiting.held, "payout")],
    ...(waiting.payouts + waiting.held > 0 ? amounts("In open payouts", in_payout) : []),
    ["Codes without a partner", plural(waiting.codes, "code")],
    ...refusedSince(program, from),
  ];
  return rows.filter(([, value]) => !value.startsWith("0 "));
}

function refusedSince(program: NoticeOf<"weekly_summary">["program"], from: string): LetterRow[] {
  return VENDORS.flatMap(({ name }): LetterRow[] => {
    const refusal = openRefusalOf(program, name);
    if (refusal === null || refusal.at < from) return [];
    return [["Webhooks refused", `from ${providerName(name)}, last on ${dayFor(program, refusal.at)}`]];
  });
}

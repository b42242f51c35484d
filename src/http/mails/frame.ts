import { SERVICE_COLOR, textColorOn } from "../../domain/brand-color.ts";
import { escapeHtml, oneLine, type Mail } from "../../lib/mail.ts";
import type { LetterRow, PlainLetter } from "./letter.ts";

/** The text below every letter: the reason for it, and the place to change that. */
export interface Footer {
  reason: string;
  links: readonly { label: string; url: string }[];
}

const FONT = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Helvetica,Arial,sans-serif";
const TABLE = `role="presentation" cellpadding="0" cellspacing="0" border="0"`;

/** A name within a subject takes up to 80 characters; the rest of the subject follows it. */
const MAX_SUBJECT = 160;

/** Renders a letter as text and HTML with inline styles, for all clients, and dark mode if supported. */
export function renderLetter(letter: PlainLetter, footer: Footer): Mail {
  const subject = oneLine(letter.subject, MAX_SUBJECT);
  return { to: letter.to, subject, text: textOf(letter, footer), html: documentOf(letter, subject, footer) };
}

function textOf({ parts, action }: PlainLetter, { reason, links }: Footer): string {
  const said = parts.map((part) =>
    typeof part === "string" ? part : part.map(([label, value]) => `${label}: ${value}`).join("\n"),
  );
  if (action) said.push(`${action.label}: ${action.url}`);
  const below = [reason, ...links.map(({ label, url }) => `${label}: ${url}`)].join("\n");
  return `${[...said, `-- \n${below}`].join("\n\n")}\n`;
}

function lines(text: string): string {
  return escapeHtml(text).replaceAll("\n", "<br>");
}

function partOf(part: string | readonly LetterRow[]): string {
  if (typeof part === "string") return `<p style="margin:0 0 16px">${lines(part)}</p>`;
  const cell = `class="line" style="padding:8px 0;border-top:1px solid #e3e3dd;${FONT};font-size:16px;line-height:1.5`;
  const rows = part.map(
    ([label, value]) =>
      `<tr><td ${cell};padding-right:16px;word-break:normal;white-space:nowrap">${lines(label)}</td><td align="right" ${cell};font-weight:600">${lines(value)}</td></tr>`,
  );
  return `<table ${TABLE} width="100%" style="margin:0 0 16px">${rows.join("")}</table>`;
}

/** The address is shown as well, because some clients do not show links. */
function buttonTo({ url, label }: { url: string; label: string }, color: string): string {
  const href = escapeHtml(url);
  return (
    `<table ${TABLE}><tr><td bgcolor="${color}" style="border-radius:6px">` +
    `<a href="${href}" style="display:inline-block;padding:11px 20px;border:1px solid ${color};border-radius:6px;${FONT};font-size:16px;font-weight:600;` +
    `color:${textColorOn(color)};text-decoration:none">${escapeHtml(label)}</a></td></tr></table>` +
    `<p class="quiet" style="margin:16px 0 0;font-size:13px;color:#5c5c56;word-break:break-all">Or open this address: ` +
    `<a href="${href}" class="quiet" style="color:#5c5c56">${href}</a></p>`
  );
}

/** Outlook's web client sets `data-ogsc` on darkened elements; it does not support the media query. */
const DARK = [
  ".page{background-color:#131316!important}",
  ".card{background-color:#1d1d21!important;border-color:#3a3a42!important}",
  ".text{color:#ececf0!important}",
  ".quiet{color:#a8a8b3!important}",
  ".line{border-color:#3a3a42!important}",
];

const STYLE = [
  ":root{color-scheme:light dark;supported-color-schemes:light dark}",
  `@media (prefers-color-scheme:dark){${DARK.join("")}}`,
  ...DARK.map((rule) => `[data-ogsc] ${rule}`),
  "@media (max-width:480px){.card{padding:20px!important}}",
].join("\n");

function documentOf({ program, parts, action }: PlainLetter, subject: string, { reason, links }: Footer): string {
  const color = program.brand_color ?? SERVICE_COLOR;
  const said = [...parts.map(partOf), ...(action ? [buttonTo(action, color)] : [])].join("\n");
  const ways = links.map(
    ({ label, url }) => `<br><a href="${escapeHtml(url)}" class="quiet" style="color:#5c5c56">${escapeHtml(label)}</a>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>
${STYLE}
</style></head>
<body class="page" style="margin:0;padding:0;background-color:#f4f4f1">
<table ${TABLE} width="100%" class="page" bgcolor="#f4f4f1"><tr><td align="center" style="padding:24px 12px">
<!--[if mso]><table ${TABLE} width="600"><tr><td><![endif]-->
<table ${TABLE} width="100%" style="max-width:600px;table-layout:fixed">
<tr><td class="text" style="padding:0 4px 12px;${FONT};font-size:14px;font-weight:600;color:#1d1d1b;word-break:break-word">${escapeHtml(oneLine(program.name))}</td></tr>
<tr><td height="4" bgcolor="${color}" style="height:4px;line-height:4px;font-size:0;border-radius:8px 8px 0 0">&nbsp;</td></tr>
<tr><td class="card text" bgcolor="#ffffff" style="padding:28px;border:1px solid #e3e3dd;border-top:0;border-radius:0 0 8px 8px;background-color:#ffffff;${FONT};font-size:16px;line-height:1.5;color:#1d1d1b;word-break:break-word">
<h1 style="margin:0 0 16px;font-size:20px;line-height:1.3;font-weight:600">${escapeHtml(subject)}</h1>
${said}
</td></tr>
<tr><td class="quiet" style="padding:16px 4px 0;${FONT};font-size:13px;line-height:1.6;color:#5c5c56;word-break:break-word">${lines(reason)}${ways.join("")}</td></tr>
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr></table>
</body></html>
`;
}

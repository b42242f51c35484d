import { html } from "hono/html";
import type { Identity } from "../../../core/sessions/identities.ts";
import { oneLine, type Mail } from "../../../lib/mail.ts";

/** The e-mail that carries a sign-in link: the same words as text and as a page. */
export async function signInMail(to: string, url: string, identities: readonly Identity[]): Promise<Mail> {
  const [only] = identities.length === 1 ? identities : [];
  const where = only ? oneLine(only.program_name) : "your affiliate programs";
  const subject = `Your sign-in link for ${where}`;
  const reason = "The link works once and for 15 minutes. If you did not ask for it, ignore this e-mail.";
  const text = [`Sign in to ${where}:`, url, reason].join("\n\n");
  const document = (
    <html lang="en">
      <body style="margin:0;background:#f6f6f3;padding:32px 16px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;color:#1d1d1b">
        <div style="max-width:480px;margin:0 auto;padding:32px;background:#ffffff;border:1px solid #e3e3dd;border-radius:10px">
          <h1 style="margin:0 0 16px;font-size:20px;line-height:1.3">Sign in to {where}</h1>
          <p style="margin:0 0 24px">
            <a
              href={url}
              style="display:inline-block;padding:10px 18px;border-radius:7px;background:#3730a3;color:#ffffff;font-weight:600;text-decoration:none"
            >
              Sign in
            </a>
          </p>
          <p style="margin:0 0 16px;color:#5c5c56;font-size:14px">{reason}</p>
          <p style="margin:0;color:#5c5c56;font-size:13px;word-break:break-all">
            Or open this address: <a href={url}>{url}</a>
          </p>
        </div>
      </body>
    </html>
  );
  return { to, subject, text, html: String(await html`<!doctype html>${document}`) };
}

interface Program {
  id: string;
  name: string;
  owner_email: string;
}

/** Prints a newcomer's first steps. The first run creates a program and prints its API key, which is shown only once. */
export async function welcome(url: string, admin_token: string | undefined): Promise<string> {
  if (!admin_token) {
    return [
      `  Base URL      ${url}`,
      "",
      "There is no ADMIN_TOKEN in .dev.vars, so /admin is closed and no program can be created here.",
    ].join("\n");
  }
  const operator = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${admin_token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  };

  const { data, total } = await operator<{ data: Program[]; total: number }>("GET", "/admin/programs?per_page=100");
  const known = data.at(-1);
  if (known) {
    return [
      `  Base URL      ${url}`,
      `  Program       ${known.id} (${known.name})${total > 1 ? ` and ${total - 1} more` : ""}`,
      ...(await dashboardLine(url, known, operator)),
      "",
      "Its API key was shown when it was created. A new one, which ends the old one:",
      `  curl -X POST ${url}/admin/programs/${known.id}/api-key -H "Authorization: Bearer $ADMIN_TOKEN"`,
      "with the ADMIN_TOKEN of .dev.vars. Ctrl+C stops the service.",
    ].join("\n");
  }

  const { program, api_key } = await operator<{ program: Program; api_key: string }>("POST", "/admin/programs", {
    name: "My program",
    owner_email: "owner@example.com",
  });
  return [
    `  Base URL      ${url}`,
    `  Program       ${program.id}`,
    `  API key       ${api_key}   (shown only now; for servers only)`,
    `  Script tag    <script src="${url}/service.js" data-program="${program.id}" defer></script>`,
    ...(await dashboardLine(url, program, operator)),
    `  Docs          ${url}/docs`,
    "",
    "Next:",
    `  curl ${url}/api/v1/programs/me -H "Authorization: Bearer ${api_key}"`,
    "  npm run demo      (in a second terminal: the whole journey, step by step)",
    "  src/docs/start.md (the same journey by hand)",
    "Ctrl+C stops the service.",
  ].join("\n");
}

/** Returns a one-time link to the dashboard, if this service has the page for it. */
async function dashboardLine(
  url: string,
  program: Program,
  operator: <T>(method: string, path: string, body?: unknown) => Promise<T>,
): Promise<string[]> {
  const link = await operator<{ url: string }>("POST", "/admin/sign-in-links", { email: program.owner_email });
  const page = await fetch(`${url}${new URL(link.url).pathname}${new URL(link.url).search}`);
  return page.ok ? [`  Dashboard     ${link.url}   (signs in once, within 15 minutes)`] : [];
}

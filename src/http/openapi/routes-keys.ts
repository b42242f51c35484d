import { created, ok, type Route } from "./route.ts";

/** The keys that a program has beside its first. */
export const KEY_ROUTES: Route[] = [
  {
    method: "GET",
    path: "/api/v1/api-keys",
    tag: "Program",
    summary: "List API keys",
    description: "Those beside the program's first, the oldest first.",
    replies: ok("ApiKeyList", "The keys."),
  },
  {
    method: "POST",
    path: "/api/v1/api-keys",
    tag: "Program",
    summary: "Make an API key",
    description:
      "Works at once, beside the others: so a key is changed without a gap. A key makes none that may do more than itself or that ends later. At most 50 beside the program's first.",
    body: { schema: "ApiKeyCreate" },
    replies: created("ApiKeyWithText", "The key; no other reply shows it."),
  },
  {
    method: "DELETE",
    path: "/api/v1/api-keys/:id",
    tag: "Program",
    summary: "Delete an API key",
    description: "It is unknown from the next request on. The program's first key cannot be deleted, only replaced.",
    replies: ok("Deleted", "It is gone."),
    errors: ["not_found"],
  },
];

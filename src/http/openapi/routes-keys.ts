import { created, ok, type Route } from "./route.ts";

/** The keys that a program has beside its first. */
export const KEY_ROUTES: Route[] = [
  {
    method: "GET",
    path: "/api/v1/api-keys",
    tag: "Program",
    summary: "List API keys",
    description: "All keys but the program's first, oldest first.",
    replies: ok("ApiKeyList", "The keys."),
  },
  {
    method: "POST",
    path: "/api/v1/api-keys",
    tag: "Program",
    summary: "Create an API key",
    description:
      "The new key works at once, alongside the others, so a key can be replaced without a gap. A key cannot create one that may do more than itself or that expires later. At most 50, not counting the program's first.",
    body: { schema: "ApiKeyCreate" },
    replies: created("ApiKeyWithText", "The key; no other reply shows it."),
  },
  {
    method: "DELETE",
    path: "/api/v1/api-keys/:id",
    tag: "Program",
    summary: "Delete an API key",
    description: "It stops working with the next request. The program's first key cannot be deleted, only replaced.",
    replies: ok("Deleted", "It is deleted."),
    errors: ["not_found"],
  },
];

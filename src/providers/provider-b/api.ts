/** Calls of provider B's API. */
import { callApi, type Answer, type ApiReach, type ApiRequest } from "../api-call.ts";

const VERSION = "1";

/** Whether a key is of the vendor's test environment, which is another host and knows no other key. */
export function isOfSandbox(api_key: string): boolean {
  return api_key.startsWith("pdl_sdbx_");
}

export function call(
  reach: ApiReach,
  api_key: string,
  request: Pick<ApiRequest, "method" | "path" | "body" | "most_bytes">,
): Promise<Answer> {
  const baseUrl = isOfSandbox(api_key) ? reach.baseUrl.replace("//api.", "//sandbox-api.") : reach.baseUrl;
  return callApi(
    { ...reach, baseUrl },
    {
      ...request,
      headers: {
        Authorization: `Bearer ${api_key}`,
        "Paddle-Version": VERSION,
        "User-Agent": "Service-Events/1.0",
        ...(request.body === undefined ? {} : { "Content-Type": "application/json" }),
      },
    },
  );
}

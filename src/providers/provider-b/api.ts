/** Calls of provider B's API. */
import { callApi, type Answer, type ApiReach, type ApiRequest } from "../api-call.ts";
import { field } from "../wire.ts";

const VERSION = "1";

/** Whether a key belongs to the vendor's test environment, which is another host with its own keys. */
export function isOfSandbox(api_key: string): boolean {
  return api_key.startsWith("pdl_sdbx_");
}

/** Codes of a 403 for a key that the vendor does not accept; for a missing permission the code is `forbidden`. */
const KEY_REFUSED: readonly unknown[] = ["authentication_missing", "authentication_malformed", "invalid_token"];

/** Answers with 401, as other vendors do, if the key is not accepted. */
export async function call(
  reach: ApiReach,
  api_key: string,
  request: Pick<ApiRequest, "method" | "path" | "body" | "most_bytes">,
): Promise<Answer> {
  const baseUrl = isOfSandbox(api_key) ? reach.baseUrl.replace("//api.", "//sandbox-api.") : reach.baseUrl;
  const answer = await callApi(
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
  const isKeyRefused = answer.status === 403 && KEY_REFUSED.includes(field(field(answer.json, "error"), "code"));
  return isKeyRefused ? { ...answer, status: 401 } : answer;
}

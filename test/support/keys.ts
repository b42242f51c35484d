/** Keys that a program has beside its first. */
import { SCOPES, type Scope } from "../../src/domain/scope.ts";
import { callApi, type TestProgram } from "./program.ts";

export interface TestKey extends Pick<TestProgram, "api" | "api_key"> {
  id: string;
}

/** A key made through the API with the program's first, of these scopes or of all. */
export async function newKey(
  program: Pick<TestProgram, "api">,
  scopes: readonly Scope[] = SCOPES,
  fields: object = {},
): Promise<TestKey> {
  const made = await program.api<{ id: string; api_key: string }>("POST", "/api/v1/api-keys", {
    name: `May ${scopes.join(", ")}`,
    scopes,
    ...fields,
  });
  if (made.status !== 201) throw new Error(`key not made: ${JSON.stringify(made.body)}`);
  const { id, api_key } = made.body;
  return { id, api_key, api: (...args) => callApi(api_key, ...args) };
}

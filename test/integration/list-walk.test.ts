/** Every list of the API document, new ones included: an object in the list equals the reply at its own address. */
import { beforeAll, describe, expect, it } from "vitest";
import { operations } from "../support/openapi.ts";
import { makeStocked, type Stocked } from "../support/stocked.ts";

interface Listed {
  data: { id: string }[];
  total: number;
}

const GIVEN = new Set(operations().flatMap(({ method, path }) => (method === "GET" ? [path] : [])));
/** Lists with an address for one of their objects: `/api/v1/claims` with `/api/v1/claims/{id}`. */
const LISTS = operations()
  .filter(({ method, path }) => method === "GET" && GIVEN.has(`${path}/{id}`))
  .map(({ path }) => path);

let stocked: Stocked;
beforeAll(async () => {
  stocked = await makeStocked();
});

describe("every list", () => {
  it("is found", () => {
    expect(LISTS).toEqual(expect.arrayContaining(["/api/v1/applications", "/api/v1/claims", "/api/v1/partners"]));
  });

  it.each(LISTS)("has the objects as %s/{id} gives them", async (path) => {
    const { program } = stocked;
    const { data } = (await program.api<Listed>("GET", path)).body;
    expect(data.length).toBeGreaterThan(0);
    for (const one of data) {
      const { status, body } = await program.api<object>("GET", `${path}/${one.id}`);
      expect([path, status]).toEqual([path, 200]);
      expect(body).toMatchObject(one);
      expect(Object.keys(body).slice(0, Object.keys(one).length)).toEqual(Object.keys(one));
    }
  });
});

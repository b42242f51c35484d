/** A suite runs with the one mistake that it is to find in this run. */
import { expect, inject } from "vitest";

const { testPath = "" } = expect.getState();
const suite = Object.keys(inject("mutantOf")).find((name) => testPath.endsWith(`/test/${name}.test.ts`));
Object.assign(globalThis, { MUTANT: suite === undefined ? null : inject("mutantOf")[suite] });
